/*
 * libreactant_mpi_wrapper.so: what JAX's own collectives ("mpi") call in place of an MPI. They were compiled to call MPI through MPItrampoline,
 * which opens this file and takes its functions and constants by name (symbols.inc). It is opened before any MPI is known, by a
 * constructor of jaxlib, so there is no Go in it, and it opens libreactant_mpi.so at the first MPI_Init, whose public functions do all the work.
 *
 * The devices of XLA are the ranks (round: how they split). With one device in each process a call goes straight on (collectives, messages);
 * with several, the threads of one process's devices meet first (meeting, group_collectives, post).
 */
#ifndef REACTANT_MPI_WRAPPER_H
#define REACTANT_MPI_WRAPPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reactant_mpi.h"

#define EXPORT __attribute__((visibility("default")))

/* Handles: small words for what is fixed, those of communicators count up from COMM_FIRST. */
#define WRAPPER_COMM_NULL    0x100
#define WRAPPER_COMM_WORLD   0x101
#define WRAPPER_REQUEST_NULL 0x180
#define WRAPPER_IN_PLACE     1
#define WRAPPER_COMM_FIRST   0x1000
#define NO_TYPE              0x200
#define WRAPPER_UNDEFINED    (-32766)

/* ---- library.c: the functions of libreactant_mpi.so that are used here ------------------------------------------------------- */

#define CORE_FUNCTIONS(F)                                                                                                       \
    F(version) F(initialize_with) F(finalize) F(comm_create) F(comm_dup) F(comm_set_timeout) F(rank) F(size) F(local_size)      \
    F(comm_id) F(describe) F(last_error) F(last_error_code) F(error_name)                                                                  \
    F(allreduce) F(reduce_scatter) F(reduce_scatterv) F(allgather) F(allgatherv) F(barrier) F(isend) F(irecv) F(sendrecv)       \
    F(wait) F(test)

struct core {
#define MEMBER(name) __typeof__(reactant_mpi_##name) *name;
    CORE_FUNCTIONS(MEMBER)
#undef MEMBER
};
extern struct core core; /* filled by library_open */

/* Finds and opens the library once. 0, or a failed call's code. */
int library_open(void);

/* ---- errors.c ---------------------------------------------------------------------------------------------------------------- */

/* Keeps the text and gives the code that MPIABI_Error_string finds it by. code is one of reactant_mpi.h. */
int fail(int code, const char *format, ...) __attribute__((format(printf, 2, 3), cold));
/* The same for what a function of the library has just returned on this thread. */
int fail_core(const char *what) __attribute__((cold));
/* Its text is kept for good, since later calls will give it again. Gives it back. */
int latch(int error) __attribute__((cold));
int error_code(int error);           /* the code of reactant_mpi.h */
void error_text(int error, char *text, size_t n);

/* ---- types.c ------------------------------------------------------------------------------------------------------------------ */

size_t type_size(uintptr_t type); /* 0: none of ours */
/* XLA narrows its counts to int: these are the 32 bits that it kept. */
static inline size_t elements(int count)
{
    return (uint32_t)count;
}

/* ---- comms.c ------------------------------------------------------------------------------------------------------------------ */

struct group;

/* A communicator as one device sees it. */
struct comm {
    reactant_mpi_comm *core; /* of the processes; NULL where a group is in one process */
    struct group *group;     /* NULL: one device in each process */
    int rank, size;          /* among devices */
    int place;               /* among the devices of the group in this process */
};

/* NULL: not a communicator of ours. */
struct comm *comm_of(uintptr_t word);
/* Why comm_of gave NULL, as a failed call's code. */
int comm_wrong(uintptr_t word, const char *function);
/* A word for it, or 0 when there are too many. */
uintptr_t comm_publish(const struct comm *comm);

/* ---- life.c ------------------------------------------------------------------------------------------------------------------- */

/* What the processes of the job have; written by MPI_Init and use. */
struct world {
    struct comm comm;        /* MPI_COMM_WORLD: the processes */
    reactant_mpi_comm *talk; /* for the messages of split; no deadline, split has its own */
    int *devices;            /* of each process */
    int timeout_ms;          /* of calls; 0 = none */
    int split_timeout_ms;    /* of making communicators; 0 = none */
};
extern struct world world;
extern int world_error; /* why there is none: a failed call's code */
bool life_ended(void);
/* There is a new world: what ended the old one is forgotten. */
void split_forget(void);
void round_forget(void);

/* ---- round.c: what the devices of all processes say when they split ----------------------------------------------------------- */

struct said {
    int32_t called, color, key;
};

/*
 * Tells the others what this device says; one thread of each process gathers what all say and makes the communicators of this process's
 * devices from it. Gives this device's, or a failed call's code.
 */
int round_join(int color, int key, struct comm *out);

#endif
