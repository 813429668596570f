/*
 * What ranks that share no board tell each other, in small messages on the control communicator. A question carries what the asker is doing,
 * so that a rank that gives up has told everybody before.
 */
#include "capi/company.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_ASKED = 512, MOST_HEARD_AT_ONCE = 256 };

struct message {
    int32_t from;
    int32_t is_question;
    int64_t pid;
    struct rmpi_whereabouts at;
};

struct rmpi_parcel {
    struct rmpi_parcel *next;
    char request[16];
    struct message message; /* MPI's until the request is done */
};

/* Messages this small leave at once; one that does not is kept, and never waited for. */
static void drop_what_has_left(struct rmpi_comm *c)
{
    struct rmpi_parcel **at = &c->company->sent, *p;
    while ((p = *at)) {
        int done = 0;
        if (c->mpi->control->test(c->mpi, p->request, &done) == 0 && !done) {
            at = &p->next;
            continue;
        }
        *at = p->next;
        free(p);
    }
}

static void tell(struct rmpi_comm *c, int rank, int is_question)
{
    const struct rmpi_company *all = c->company;
    struct rmpi_parcel *p = calloc(1, sizeof *p);
    if (!p)
        return;
    p->message.from = c->rank;
    p->message.is_question = is_question;
    p->message.pid = all->own->pid;
    p->message.at.begun = __atomic_load_n(&all->own->at.begun, __ATOMIC_ACQUIRE);
    p->message.at.now = __atomic_load_n(&all->own->at.now, __ATOMIC_ACQUIRE);
    if (c->mpi->control->isend_bytes(c->mpi, c->control, &p->message, sizeof p->message, rank, RMPI_TAG_WHERE, p->request) != 0) {
        free(p);
        return;
    }
    p->next = c->company->sent;
    c->company->sent = p;
}

void rmpi_company_ask(struct rmpi_comm *c, const struct rmpi_call *a)
{
    const struct rmpi_company *all = c->company;
    int asked = 0;
    for (int rank = 0; rank < all->size && asked < MOST_ASKED; rank++)
        if (!all->member[rank].slot && rmpi_company_concerns(c, a, rank)) {
            tell(c, rank, 1);
            asked++;
        }
    drop_what_has_left(c);
}

void rmpi_company_hear(struct rmpi_comm *c, int64_t now_ms)
{
    struct rmpi_company *all = c->company;
    const struct rmpi_control *control = c->mpi->control;
    if (!all->elsewhere)
        return;
    for (int n = 0; n < MOST_HEARD_AT_ONCE; n++) {
        struct message m;
        int there = 0;
        if (control->iprobe(c->mpi, c->control, -1, RMPI_TAG_WHERE, &there) != 0 || !there ||
            control->recv_bytes(c->mpi, c->control, &m, sizeof m, RMPI_TAG_WHERE) != 0 || m.from < 0 || m.from >= all->size)
            break;
        all->member[m.from].told = m.at;
        all->member[m.from].told_pid = m.pid;
        all->member[m.from].told_ms = now_ms;
        if (m.is_question)
            tell(c, m.from, 0);
    }
    drop_what_has_left(c);
}
