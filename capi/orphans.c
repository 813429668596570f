/* Requests freed while under way: looked at now and then, and their slots used again when they are done. */
#include "capi/flight.h"

#include <pthread.h>
#include <stdlib.h>

struct orphan {
    struct orphan *next;
    struct rmpi_request *request;
};
/* A queue: the one looked at goes to its end. */
static struct orphan *first, **end = &first;
static int number;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void append(struct orphan *o)
{
    o->next = NULL;
    *end = o;
    end = &o->next;
    __atomic_store_n(&number, number + 1, __ATOMIC_RELEASE);
}

void rmpi_adopt(struct rmpi_request *r)
{
    struct orphan *o = malloc(sizeof *o);
    if (!o)
        return; /* the slot is lost, nothing else */
    o->request = r;
    pthread_mutex_lock(&lock);
    append(o);
    pthread_mutex_unlock(&lock);
}

/* Whether MPI can be asked, now and by this thread. */
static int can_look(const struct rmpi_comm *c)
{
    const struct rmpi_mpi *m = c->mpi;
    int flag = 0;
    return rmpi_comm_state(c) == RMPI_LIVE && !(rmpi_modes(c) & RMPI_OUT_OF_STEP) &&
           !(rmpi_modes(c) & RMPI_LOOK_FINALIZED && m->control->finalized(m, &flag) == 0 && flag) &&
           (!(rmpi_modes(c) & RMPI_MAIN_THREAD) || (m->control->is_thread_main(m, &flag) == 0 && flag));
}

static int is_over(struct rmpi_request *r)
{
    int open = 1;
    if (rmpi_comm_state(r->comm) != RMPI_LIVE)
        return 1;
    if (can_look(r->comm))
        rmpi_end_request(r, 0, &open);
    return !open;
}

/* Looks at `most` of them. How many of a communicator (NULL: of all) are still under way, as far as one can see; *collectives: not all
 * of these are the user's messages. */
static int look(int most, const struct rmpi_comm *of, int *collectives)
{
    int left = 0;
    pthread_mutex_lock(&lock);
    for (int n = number < most ? number : most; n > 0; n--) {
        struct orphan *o = first;
        const struct rmpi_comm *c = o->request->comm;
        if (!(first = o->next))
            end = &first;
        __atomic_store_n(&number, number - 1, __ATOMIC_RELEASE);
        if (is_over(o->request)) {
            rmpi_request_recycle(o->request);
            free(o);
            continue;
        }
        append(o);
        if ((!of || c == of) && can_look(c)) {
            left++;
            *collectives |= !(rmpi_rows[o->request->call.row].rules & IS_MESSAGE);
        }
    }
    pthread_mutex_unlock(&lock);
    return left;
}

void rmpi_look_at_orphans(int most)
{
    int collectives = 0;
    if (unlikely(__atomic_load_n(&number, __ATOMIC_ACQUIRE) > 0))
        look(most, NULL, &collectives);
}

/* MPIs crash, or wait for ever, when they end under a collective: its communicator is given up, and MPI with it. Messages do no harm. */
static void give_up(const struct rmpi_comm *of)
{
    pthread_mutex_lock(&lock);
    for (struct orphan *o = first; o; o = o->next) {
        struct rmpi_comm *c = o->request->comm;
        if ((of && c != of) || !can_look(c) || rmpi_rows[o->request->call.row].rules & IS_MESSAGE)
            continue;
        rmpi_call_failed(c, REACTANT_MPI_ERR_STATE, "reactant_mpi_finalize",
                         "a started %s is still under way: some rank has not started it, or does not wait for it",
                         rmpi_rows[o->request->call.row].name);
        rmpi_comm_out_of_step(c);
    }
    pthread_mutex_unlock(&lock);
}

static void abandon(struct rmpi_request *r, void *unused)
{
    (void)unused;
    rmpi_request_give(r, RMPI_REQUEST_GONE);
    rmpi_adopt(r);
}

/* The started calls of one communicator, as look() has the freed ones. */
struct started {
    int left, collectives;
};

static void look_at(struct rmpi_request *r, void *arg)
{
    struct started *s = arg;
    if (can_look(r->comm) && !rmpi_flight_done(r->comm, &r->call, &r->flight)) {
        s->left++;
        s->collectives |= !(rmpi_rows[r->call.row].rules & IS_MESSAGE);
    }
    rmpi_request_give(r, RMPI_REQUEST_STARTED);
}

static void settle(struct rmpi_comm *c, int64_t collectives_ms)
{
    enum { MESSAGES_MS = 1000 };
    int64_t start = 0;
    for (int turn = 0;; turn++) {
        struct started s = {0, 0};
        int64_t waited;
        s.left = look(RMPI_ALL, c, &s.collectives);
        if (c) { /* what a thread is at counts as a message: it is not waited for long, since it may wait for this very end */
            const int busy = rmpi_requests_visit(c, look_at, &s);
            s.left += can_look(c) ? busy : 0;
        }
        if (s.left == 0)
            return;
        waited = rmpi_pace(turn, &start);
        if (waited >= MESSAGES_MS && !s.collectives)
            return;
        if (waited >= collectives_ms) {
            give_up(c);
            return;
        }
    }
}

void rmpi_settle(struct rmpi_comm *c)
{
    /* A freed collective may take as long as initialize does by default: another rank may be late, and that is no reason to leave it
     * alone. One that was neither freed nor waited for when MPI ends is a mistake of the program, and may never be joined. */
    enum { FREED_MS = 300000, FORGOTTEN_MS = 2000 };
    settle(c, FREED_MS);
    if (!c) {
        rmpi_requests_visit(NULL, abandon, NULL);
        settle(NULL, FORGOTTEN_MS);
    }
}
