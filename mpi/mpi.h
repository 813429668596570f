/*
 * A bound MPI: the tables that the library found at run time fills. Handles of the host's MPI travel as 64-bit words; each ABI
 * family has one C file (abi_*.c) that turns them into its own types.
 */
#ifndef RMPI_MPI_H
#define RMPI_MPI_H

#include "internal/table/call.h"

#pragma GCC visibility push(hidden)

enum rmpi_family {
    RMPI_MPICH_ABI,
    RMPI_OPEN_MPI_ABI,
    RMPI_MPI5_ABI,
    RMPI_MPIABI, /* MPItrampoline's */
    RMPI_MUKAUTUVA,
    RMPI_WI4MPI, /* its own, "interface mode" */
    RMPI_FAMILIES
};

enum rmpi_constant {
#define HANDLE(name, ...) RMPI_K_##name,
#define NUMBER(name, ...) RMPI_K_##name,
#define ADDRESS(name, ...) RMPI_K_##name,
#define EXTENSION(name, ...) RMPI_K_##name,
#include "mpi/constants.inc"
#undef HANDLE
#undef NUMBER
#undef ADDRESS
#undef EXTENSION
    RMPI_CONSTANTS
};

enum rmpi_function {
#define NEEDED(name, ...) RMPI_F_##name,
#define OPTIONAL NEEDED
#define EXTENSION NEEDED
#include "mpi/functions.inc"
#undef NEEDED
#undef OPTIONAL
#undef EXTENSION
    RMPI_FUNCTIONS
};

enum { RMPI_STATUS_BYTES = 64, RMPI_STRING_BYTES = 8192 };

struct rmpi_mpi {
    /* read by data calls */
    uint64_t type[RMPI_TYPES];
    uint64_t op[RMPI_TYPES][RMPI_OPS]; /* by type, since some are ours (repair.inc) */
    uint64_t constant[RMPI_CONSTANTS];
    void *function[RMPI_FUNCTIONS];
    const rmpi_run_fn *run;     /* one function per row; NULL for those without an MPI call */
    const rmpi_start_fn *start; /* the same, started */
    const struct rmpi_control *control;
    int parts_allreduce; /* its Iallreduce goes wrong where some ranks work in place and some do not */
    /* read by messages */
    enum rmpi_family family;
    char *path;
    char *name; /* as "MPICH 5.0.2" */
};

/* What one family's file offers: typed calls behind words. MPI's own return codes. */
struct rmpi_control {
    int (*initialized)(const struct rmpi_mpi *, int *flag);
    int (*finalized)(const struct rmpi_mpi *, int *flag);
    int (*init_thread)(const struct rmpi_mpi *, int required, int *provided);
    int (*query_thread)(const struct rmpi_mpi *, int *provided);
    int (*is_thread_main)(const struct rmpi_mpi *, int *flag);
    int (*finalize)(const struct rmpi_mpi *);
    int (*version)(const struct rmpi_mpi *, int *major, int *minor);
    int (*processor_name)(const struct rmpi_mpi *, char *text);
    int (*abort)(const struct rmpi_mpi *, uint64_t comm, int code);
    int (*error_string)(const struct rmpi_mpi *, int code, char *text);
    int (*error_class)(const struct rmpi_mpi *, int code, int *class);
    int (*comm_rank)(const struct rmpi_mpi *, uint64_t comm, int *rank);
    int (*comm_size)(const struct rmpi_mpi *, uint64_t comm, int *size);
    int (*comm_test_inter)(const struct rmpi_mpi *, uint64_t comm, int *flag);
    int (*comm_compare)(const struct rmpi_mpi *, uint64_t a, uint64_t b, int *same);
    int (*comm_free)(const struct rmpi_mpi *, uint64_t comm);
    int (*comm_tag_ub)(const struct rmpi_mpi *, uint64_t comm, int *tag_ub);
    int (*comm_fromint)(const struct rmpi_mpi *, int fcomm, uint64_t *comm); /* -1: no such function */
    int (*errors_return)(const struct rmpi_mpi *, uint64_t comm);
    int (*make_errors_return)(const struct rmpi_mpi *, uint64_t *handler); /* a handler that does nothing */
    int (*errhandler_swap)(const struct rmpi_mpi *, uint64_t comm, uint64_t *saved);     /* to ERRORS_RETURN */
    int (*errhandler_restore)(const struct rmpi_mpi *, uint64_t comm, uint64_t saved);
    int (*watch_end)(const struct rmpi_mpi *, void (*at_finalize)(void));
    /* replace the operations that this library gets wrong by ours; *repaired counts them */
    int (*repair)(struct rmpi_mpi *, int *repaired);
    int (*type_size)(const struct rmpi_mpi *, uint64_t type, int *bytes);
    /* `count` elements as one contiguous element, made of pieces of at most `piece`; the count may pass 2^31 */
    int (*type_block)(const struct rmpi_mpi *, uint64_t type, size_t bytes, size_t count, size_t piece, uint64_t *block);
    int (*type_free)(const struct rmpi_mpi *, uint64_t type);
    /* started operations end in `test`, so that a deadline can be kept. result and request are the caller's until then. */
    int (*comm_idup)(const struct rmpi_mpi *, uint64_t comm, void *result, void *request);
    uint64_t (*comm_of)(const void *result);
    int (*iallgather)(const struct rmpi_mpi *, const void *send, void *recv, int bytes, uint64_t comm, void *request);
    int (*iallgatherv)(const struct rmpi_mpi *, const void *send, int bytes, void *recv, const int *counts, const int *displs,
                       uint64_t comm, void *request);
    int (*ibcast)(const struct rmpi_mpi *, void *data, int bytes, int root, uint64_t comm, void *request);
    int (*ibarrier)(const struct rmpi_mpi *, uint64_t comm, void *request);
    int (*test)(const struct rmpi_mpi *, void *request, int *done);
    /* the same for data calls; status is filled when done, if it is not NULL */
    int (*test_status)(const struct rmpi_mpi *, void *request, int *done, reactant_mpi_status *status);
    int (*wait)(const struct rmpi_mpi *, void *request, reactant_mpi_status *status);
    /* peer and tag are the host MPI's numbers */
    int (*iprobe_status)(const struct rmpi_mpi *, uint64_t comm, int source, int tag, int *there, reactant_mpi_status *status);
    /* empty messages: "I have failed" */
    int (*isend_empty)(const struct rmpi_mpi *, uint64_t comm, int dest, int tag, void *request);
    int (*iprobe)(const struct rmpi_mpi *, uint64_t comm, int source, int tag, int *there); /* source < 0: any */
    int (*recv_empty)(const struct rmpi_mpi *, uint64_t comm, int source, int tag);
    /* small messages that say where a rank is; recv after iprobe */
    int (*isend_bytes)(const struct rmpi_mpi *, uint64_t comm, const void *data, int bytes, int dest, int tag, void *request);
    int (*recv_bytes)(const struct rmpi_mpi *, uint64_t comm, void *data, int bytes, int tag); /* from any */
    /* color < 0: no part of any, and *out is COMM_NULL */
    int (*comm_split)(const struct rmpi_mpi *, uint64_t comm, int color, int key, uint64_t *out);
    int (*comm_create_group)(const struct rmpi_mpi *, uint64_t comm, int n, const int *ranks, int tag, uint64_t *out);
    /* life after the failure of a process; -1: no such function */
    int (*fault_tolerant)(const struct rmpi_mpi *, int *flag);
    int (*comm_failed)(const struct rmpi_mpi *, uint64_t comm, int room, int *ranks, int *n); /* which ranks have; n may pass room */
    int (*comm_revoke)(const struct rmpi_mpi *, uint64_t comm);
    int (*comm_iagree)(const struct rmpi_mpi *, uint64_t comm, int *flag, void *request); /* of those that live */
    int (*comm_shrink)(const struct rmpi_mpi *, uint64_t comm, uint64_t *out);
};

extern const struct rmpi_control rmpi_control_mpich, rmpi_control_ompi, rmpi_control_mpi5, rmpi_control_mpiabi;
extern const rmpi_run_fn rmpi_run_mpich[RMPI_ROWS], rmpi_run_ompi[RMPI_ROWS], rmpi_run_mpi5[RMPI_ROWS], rmpi_run_mpiabi[RMPI_ROWS];
extern const rmpi_start_fn rmpi_start_mpich[RMPI_ROWS], rmpi_start_ompi[RMPI_ROWS], rmpi_start_mpi5[RMPI_ROWS],
    rmpi_start_mpiabi[RMPI_ROWS];

/* The data of the .inc tables, for the binder (bind.go). */
struct rmpi_constant_row {
    const char *name; /* of MPI, without MPI_ */
    int bytes;        /* of the variable that holds it in MPItrampoline's ABI; 0: there is none */
    uint64_t value[RMPI_FAMILIES];
    const char *symbol; /* Open MPI: the handle is the address of this symbol */
};
struct rmpi_function_row {
    const char *name;
    int needed;
};
extern const struct rmpi_constant_row rmpi_type_rows[RMPI_TYPES], rmpi_op_rows[RMPI_OPS], rmpi_constant_rows[RMPI_CONSTANTS];
extern const struct rmpi_function_row rmpi_function_rows[RMPI_FUNCTIONS];
extern const int rmpi_type_bytes[RMPI_TYPES];

/* Replaces what WI4MPI gets wrong. */
void rmpi_mend_wi4mpi(struct rmpi_mpi *m);

/* The pace of a wait: spins a little, since most waits are short; then yields, so that ranks that share a core meet fast; then sleeps, so
 * that a long wait costs nothing. turn counts from 0, *start is the time of turn 50. Gives the milliseconds since then. */
int64_t rmpi_pace(int turn, int64_t *start);
int64_t rmpi_now_ms(void);
/* Wait for a started operation: 0 done, 1 deadline passed (the request stays open, its memory must stay), 2 MPI failed (*rc). */
int rmpi_wait(const struct rmpi_mpi *m, void *request, int64_t timeout_ms, int *rc);
/* The same for an empty message of one of two tags, which is received; *tag becomes the one that came. */
int rmpi_await(const struct rmpi_mpi *m, uint64_t comm, int source, int *tag, int other, int64_t timeout_ms, int *rc);
/* Whether a rank of a communicator has sent the notice of its failure; for waits elsewhere (nccl/job.h). */
struct rmpi_notice {
    const struct rmpi_mpi *mpi;
    uint64_t comm;
    int tag;
};
int rmpi_noticed(void *notice);
/* Whether an MPI error code says that a process has failed, or that a rank which noticed has revoked the communicator. */
int rmpi_is_peer_failure(const struct rmpi_mpi *m, int rc);
/* Text of an MPI error code. */
void rmpi_mpi_error_text(const struct rmpi_mpi *m, int rc, char text[RMPI_STRING_BYTES]);
/* The 8 bytes at an address that may be anything; 0 if they cannot be read. */
int rmpi_peek(uint64_t address, uint64_t *word);
/* MPI_Abi_get_version of a library, callable before MPI_Init. */
int rmpi_abi_version(void *function, int *major, int *minor);
/* MPI_Get_library_version, callable before MPI_Init. */
void rmpi_version_text(void *function, char text[RMPI_STRING_BYTES]);
/* MPI_Initialized or MPI_Finalized by pointer. */
int rmpi_flag(void *function);

#pragma GCC visibility pop

#endif
