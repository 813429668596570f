/*
 * The devices of all processes say how they split. XLA calls MPI_Comm_split once for each device that it makes a clique with, from a thread
 * for each, at the same time; neither the number nor the members of the clique are said, so all devices of all processes are waited for.
 * The first thread of a process to come leads: it sends what each device here says to the other processes as soon as it is said,
 * so that a process that gives up knows who has called.
 */
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "group.h"

#define LOOK_NS 100000 /* between two looks at the messages */

struct round {
    int came, left;        /* devices here that have called, that have taken their result */
    bool done, given_up;
    int error;             /* for all of them */
    struct said *said;     /* of the devices of all processes, one process after the other */
    struct comm *out;      /* for the devices here */
    int *errors;           /* likewise */
    reactant_mpi_request **requests; /* receives by device, then sends */
    int waiting;           /* messages not yet done */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t over = PTHREAD_COND_INITIALIZER;
static struct round *current;
static int broken; /* a round that was given up: the others are out of step */

void round_forget(void)
{
    pthread_mutex_lock(&lock);
    broken = 0;
    pthread_mutex_unlock(&lock);
}

static int devices_before(int process)
{
    int n = 0;
    for (int p = 0; p < process; p++)
        n += world.devices[p];
    return n;
}

static int devices_here(void)
{
    return world.devices[world.comm.rank];
}

static struct round *round_new(void)
{
    const size_t all = (size_t)devices_before(world.comm.size), here = (size_t)devices_here();
    struct round *r = calloc(1, sizeof *r);
    if (!r)
        return NULL;
    r->said = calloc(all, sizeof *r->said);
    r->out = calloc(here, sizeof *r->out);
    r->errors = calloc(here, sizeof *r->errors);
    r->requests = calloc(all + here * (size_t)world.comm.size, sizeof *r->requests);
    return r->said && r->out && r->errors && r->requests ? r : NULL;
}

/* A round that was given up is not freed: messages may still come. */
static void round_free(struct round *r)
{
    free(r->said);
    free(r->out);
    free(r->errors);
    free(r->requests);
    free(r);
}

static int receive_all(struct round *r)
{
    for (int p = 0, i = 0; p < world.comm.size; p++)
        for (int device = 0; device < world.devices[p]; device++, i++) {
            if (p == world.comm.rank)
                continue;
            if (core.irecv(&r->said[i], sizeof *r->said, REACTANT_MPI_BYTE, p, device, world.talk, &r->requests[i]))
                return fail_core("MPI_Comm_split");
            r->waiting++;
        }
    return 0;
}

static int send_to_all(struct round *r, int device)
{
    reactant_mpi_request **requests = r->requests + devices_before(world.comm.size) + device * world.comm.size;
    const struct said *said = &r->said[devices_before(world.comm.rank) + device];
    for (int p = 0; p < world.comm.size; p++) {
        if (p == world.comm.rank)
            continue;
        if (core.isend(said, sizeof *said, REACTANT_MPI_BYTE, p, device, world.talk, &requests[p]))
            return fail_core("MPI_Comm_split");
        r->waiting++;
    }
    return 0;
}

static int look(struct round *r)
{
    const int n = devices_before(world.comm.size) + devices_here() * world.comm.size;
    for (int i = 0; i < n; i++) {
        int done = 0;
        if (!r->requests[i])
            continue;
        if (core.test(r->requests[i], &done, NULL))
            return fail_core("MPI_Comm_split");
        if (done)
            r->requests[i] = NULL, r->waiting--;
    }
    return 0;
}

static void append(char text[900], const char *format, ...) __attribute__((format(printf, 2, 3)));
static void append(char text[900], const char *format, ...)
{
    const size_t used = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + used, 900 - used, format, arguments);
    va_end(arguments);
}

/* What every process has said so far: the devices that called, with which colour, and how many have not. */
static int gave_up(const struct round *r)
{
    char text[900] = "";
    for (int p = 0, i = 0; p < world.comm.size; p++) {
        int called = 0;
        append(text, "; process %d:", p);
        for (int device = 0; device < world.devices[p]; device++, i++)
            if (r->said[i].called)
                append(text, "%s colour %d key %d", called++ ? "," : "", r->said[i].color, r->said[i].key);
        const int left = world.devices[p] - called;
        if (left)
            append(text, "%s %d of %d devices %s not called", called ? "," : "", left, world.devices[p], left == 1 ? "has" : "have");
    }
    return fail(REACTANT_MPI_ERR_TIMEOUT, "MPI_Comm_split: after %d ms not all devices have called: a mesh must take every device of every "
                "process%s", world.split_timeout_ms, text);
}

/* Until all devices here have called and all messages have come. */
static int exchange(struct round *r)
{
    const int64_t deadline = deadline_after(world.split_timeout_ms);
    int sent = 0, error = receive_all(r);
    while (!error) {
        pthread_mutex_lock(&lock);
        const int came = r->came;
        pthread_mutex_unlock(&lock);
        while (!error && sent < came)
            error = send_to_all(r, sent++);
        if (!error)
            error = look(r);
        if (error || (!r->waiting && came == devices_here()))
            return error;
        if (deadline && now_ns() > deadline)
            return gave_up(r);
        nanosleep(&(struct timespec){0, LOOK_NS}, NULL);
    }
    return error;
}

struct keyed {
    int key, process, device; /* device: among those of its process that called */
};

static int by_key(const void *a, const void *b)
{
    const struct keyed *x = a, *y = b;
    return x->key != y->key ? (x->key < y->key ? -1 : 1) : x->process != y->process ? x->process - y->process : x->device - y->device;
}

/* Those who said this colour, in the order of the ranks. */
static int members_of(const struct round *r, int color, struct keyed *members)
{
    int n = 0;
    for (int p = 0, i = 0; p < world.comm.size; p++)
        for (int device = 0; device < world.devices[p]; device++, i++)
            if (r->said[i].color == color)
                members[n++] = (struct keyed){r->said[i].key, p, device};
    qsort(members, (size_t)n, sizeof *members, by_key);
    return n;
}

/* XLA's keys are the ranks in the clique: where they are not, devices are missing, since a process has more of them than it was said to have. */
static int whole(const struct keyed *keyed, int n)
{
    for (int rank = 0; rank < n; rank++)
        if (keyed[rank].key != rank)
            return fail(REACTANT_MPI_ERR_STATE, "MPI_Comm_split: %d devices make a clique, and the key of one is %d: processes have more devices than is "
                        "known here by JAX_NUM_CPU_DEVICES, by --xla_force_host_platform_device_count in XLA_FLAGS, or by reactant_mpi.jax.initialize",
                        n, keyed[rank].key);
    return 0;
}

static void make_clique(struct round *r, int color, struct keyed *keyed, struct member *members)
{
    const int n = members_of(r, color, keyed);
    int error = whole(keyed, n);
    for (int rank = 0; rank < n; rank++)
        members[rank] = (struct member){keyed[rank].process, keyed[rank].device};
    struct group *g = error ? NULL : group_make(n, members, &error);
    const bool alone = g && g->processes == n; /* one device in each process: no group is needed */
    for (int rank = 0, place = 0; rank < n; rank++)
        if (keyed[rank].process == world.comm.rank) {
            r->errors[keyed[rank].device] = error;
            if (g)
                r->out[keyed[rank].device] = (struct comm){g->core, alone && n > 1 ? NULL : g, rank, n, place++};
        }
}

/* The cliques of the devices here, by colour: in this order on every process, so that none waits for another in a circle. */
static int make_cliques(struct round *r)
{
    const int all = devices_before(world.comm.size), first = devices_before(world.comm.rank);
    struct keyed *keyed = calloc((size_t)all, sizeof *keyed);
    struct member *members = calloc((size_t)all, sizeof *members);
    int64_t last = -1;
    if (!keyed || !members)
        return fail(REACTANT_MPI_ERR_MEMORY, "MPI_Comm_split: out of memory");
    for (;;) {
        int64_t color = INT64_MAX;
        for (int i = first; i < first + devices_here(); i++)
            if (r->said[i].color > last && r->said[i].color < color)
                color = r->said[i].color;
        if (color == INT64_MAX)
            break;
        make_clique(r, (int)color, keyed, members);
        last = color;
    }
    free(keyed);
    free(members);
    return 0;
}

static void lead(struct round *r)
{
    int error = exchange(r);
    r->given_up = error;
    if (!error)
        error = make_cliques(r);
    pthread_mutex_lock(&lock);
    r->error = error;
    if (r->given_up)
        broken = latch(error);
    r->done = true;
    current = NULL;
    pthread_cond_broadcast(&over);
    pthread_mutex_unlock(&lock);
}

/* With the lock held: this device's place in the round. */
static int enter(int color, int key, struct round **out)
{
    if (broken)
        return broken;
    if (!current && !(current = round_new()))
        return fail(REACTANT_MPI_ERR_MEMORY, "MPI_Comm_split: out of memory");
    struct round *r = *out = current;
    if (r->came == devices_here())
        return fail(REACTANT_MPI_ERR_STATE, "MPI_Comm_split: more devices of this process call than the %d that it has by "
                    "JAX_NUM_CPU_DEVICES, by --xla_force_host_platform_device_count in XLA_FLAGS, or by reactant_mpi.jax.initialize", r->came);
    r->said[devices_before(world.comm.rank) + r->came++] = (struct said){1, color, key};
    return 0;
}

int round_join(int color, int key, struct comm *out)
{
    struct round *r = NULL;
    pthread_mutex_lock(&lock);
    int error = enter(color, key, &r);
    const int device = error ? 0 : r->came - 1;
    if (!error && device == 0) {
        pthread_mutex_unlock(&lock);
        lead(r);
        pthread_mutex_lock(&lock);
    }
    while (!error && !r->done)
        pthread_cond_wait(&over, &lock);
    if (!error) {
        error = r->error ? r->error : r->errors[device];
        *out = r->out[device];
        if (++r->left == r->came && !r->given_up)
            round_free(r);
    }
    pthread_mutex_unlock(&lock);
    return error;
}
