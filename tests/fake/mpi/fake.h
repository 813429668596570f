/*
 * A double of an MPI in one process: ranks are threads, and any number of threads may act for a rank, since a communicator's handle
 * says whose it is. It has the functions of mpi/functions.inc in the types of the MPI-5 standard ABI, really moves data, and keeps MPI's rules where
 * they can be seen: the order of messages and of collectives, truncation, blocking against non-blocking collectives, thread levels.
 *
 * Not modelled: overlapping buffers, displacements of bytes (derived types are contiguous), inter-communicators, groups of another
 * order than the communicator's, cancelled requests, error handlers, processes that die; progress is made by whoever comes last, so that a
 * started call needs no wait to move.
 */
#ifndef FAKE_MPI_H
#define FAKE_MPI_H

#include "mpi/mpi.h"

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

typedef struct MPI_ABI_Comm *MPI_Comm;
typedef struct MPI_ABI_Datatype *MPI_Datatype;
typedef struct MPI_ABI_Op *MPI_Op;
typedef struct MPI_ABI_Request *MPI_Request;
typedef struct MPI_ABI_Errhandler *MPI_Errhandler;
typedef struct MPI_ABI_Group *MPI_Group;

enum { FAKE_RANKS = 8 };
enum { FAKE_OK = 0, FAKE_TRUNCATED = 15, FAKE_WRONG = 16, FAKE_MISMATCH = 17, FAKE_FORBIDDEN = 18, FAKE_INJECTED = 19 };

/* What stands at the beginning of a status of the MPI-5 ABI. */
struct fake_status {
    int source, tag, error, reserved[5];
};

/* The bound table, for struct rmpi_comm. */
const struct rmpi_mpi *fake_mpi(void);

/* A communicator of n ranks: one handle for each. Freed by MPI_Comm_free of every one. */
void fake_comm_new(int n, MPI_Comm handles[]);

/* What the "MPI" was initialised with: THREAD_MULTIPLE ... of the ABI's numbers. With less, a call from a wrong thread, or a second one
 * at the same time, gives FAKE_FORBIDDEN and counts. FUNNELED: the thread that called this is the main one. */
enum fake_level { FAKE_FUNNELED = 1, FAKE_SERIALIZED, FAKE_MULTIPLE };
void fake_set_level(enum fake_level level);
void fake_set_finalized(int flag);

/* The next `times` calls of a function, after `skip` more, fail with FAKE_INJECTED. */
void fake_fail(enum rmpi_function function, int skip, int times);

/* Alive now: communicator handles, requests, derived types; and rules broken so far. */
struct fake_counts {
    long comms, requests, types, forbidden;
};
struct fake_counts fake_count(void);

/* ---- inside ---- */

struct meeting;
struct message;

/* What the ranks of a communicator share. */
struct fake_shared {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int size, handles;
    struct meeting *meetings;                 /* collectives under way */
    struct message *first, *last;             /* sent, not received; and receives that wait */
    struct fake_receive *receives;
};

struct MPI_ABI_Comm {
    struct fake_shared *shared;
    int rank;
    unsigned long collectives; /* begun by this rank */
};

struct MPI_ABI_Request {
    struct fake_shared *shared; /* its lock guards `done` */
    int done, rc;
    struct fake_status status;
};

struct fake_call; /* a collective's arguments (collectives.c) */

/* At the beginning of each function, and before it returns. */
int fake_enter(enum rmpi_function function);
void fake_leave(void);

size_t fake_bytes(MPI_Datatype type);
void fake_reduce(const void *in, void *inout, int count, MPI_Datatype type, MPI_Op op);

MPI_Request fake_request(struct fake_shared *shared);
/* Waits, gives the result and frees the request. */
int fake_finish(MPI_Request *request, struct fake_status *status);
void fake_counted(long *counter, long by);
extern struct fake_counts fake_alive;

#endif
