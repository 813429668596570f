/* A clique of devices of which some share a process. */
#ifndef REACTANT_MPI_WRAPPER_GROUP_H
#define REACTANT_MPI_WRAPPER_GROUP_H

#include <pthread.h>
#include <stdatomic.h>

#include "wrapper.h"

/* What one device calls. */
struct call {
    const char *name; /* one address for each function */
    const void *send;
    void *recv;
    size_t count;
    int type, op;
};

struct place {
    _Alignas(64) struct call call;
    _Atomic uint32_t turn; /* of its last call */
};

struct member {
    int process; /* rank in the communicator of the processes */
    int place;   /* among the devices of that process */
};

struct post;

struct group {
    int size, here, processes;  /* devices, devices in this process, processes */
    int me;                     /* this process */
    struct member *members;     /* by rank */
    int *order;                 /* the ranks, process after process */
    int *devices;               /* of each process */
    int *ranks;                 /* of the devices here */
    int most;                   /* devices in one process */
    bool natural;               /* order counts up */
    bool even;                  /* every process has as many */
    reactant_mpi_comm *core;    /* of the processes; NULL: only this one */
    int timeout_ms;
    _Atomic int error;          /* the failure that ended it */

    /* meeting.c */
    _Alignas(64) _Atomic uint32_t arrived;
    _Alignas(64) _Atomic uint32_t turn;
    int result;
    struct place *places;

    /* post.c */
    pthread_mutex_t lock;
    struct post *sends, *recvs; /* that wait for the other side, oldest first */

    void *scratch; /* of the thread that works for all; kept, since fresh memory is slow */
    size_t scratch_bytes;
};

/* ---- group.c ------------------------------------------------------------------------------------------------------------------ */

/* The group of the n members (world process and rank among devices by key), made with the processes that hold them. NULL: *error says why. */
struct group *group_make(int n, const struct member *members, int *error);
/* Ends it for all of its devices here, and gives the code to return. */
int group_end(struct group *group, int error);
/* "rank 3 (process 1, device 0)" */
void group_name(const struct group *group, int rank, char *text, size_t n);

/* ---- group_collectives.c ------------------------------------------------------------------------------------------------------ */

/* The calls of XLA for a device of a group. */
int group_allreduce(const struct comm *comm, const struct call *call);
int group_reduce_scatter(const struct comm *comm, const struct call *call);
int group_allgather(const struct comm *comm, const struct call *call);
int group_barrier(const struct comm *comm, const struct call *call);

/* ---- waiting.c ---------------------------------------------------------------------------------------------------------------- */

/*
 * A word that one thread changes and others wait for: even numbers, counting up; the lowest bit says that somebody sleeps.
 * waits for a change, for a short time awake, then asleep; false: the deadline has come (nanoseconds of now_ns; 0 = none).
 */
bool word_wait(_Atomic uint32_t *word, uint32_t was, int64_t deadline);
void word_change(_Atomic uint32_t *word);
void waiting_prepare(int devices_on_host);
int64_t now_ns(void);
int64_t deadline_after(int timeout_ms); /* 0 for 0 */

/* ---- meeting.c ---------------------------------------------------------------------------------------------------------------- */

/* All devices of the group in this process call it; the last one does the work for all. */
/* No call begins any more; false: one is under way whose devices have all come, or it was stopped before. */
bool meeting_stop(struct group *group);
int meet(const struct comm *comm, const struct call *call, int (*work)(struct group *, const struct call *));
/* Once more in the same call. */
int meet_again(const struct comm *comm, int (*work)(struct group *, const struct call *));

/* ---- reduce.c ----------------------------------------------------------------------------------------------------------------- */

/* to[i] = a[i] op b[i]; to may be a. */
typedef void reduce_fn(void *to, const void *a, const void *b, size_t n);
reduce_fn *reduce_find(int type, int op); /* NULL: not defined */

/* ---- post.c ------------------------------------------------------------------------------------------------------------------- */

/* One side of a message between two devices. */
struct post {
    struct post *next;
    struct group *group;
    reactant_mpi_request *core; /* between processes; else in memory: */
    bool sends;
    int source, dest;
    const void *from;
    void *to;
    size_t bytes;
    _Atomic uint32_t done; /* 2 when it is */
    int result;
};

/* Whether it may be started. */
int post_check(const struct comm *comm, bool sends, int peer, int tag);
int post_start(struct post *post, const struct comm *comm, bool sends, const void *from, void *to, size_t bytes, int peer, int tag);
int post_wait(struct post *post);
/* Ends all that wait. */
void post_flush(struct group *group, int error);

#endif
