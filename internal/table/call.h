/*
 * The call record and the enums of the table. Every operation, whatever its form (blocking, prepared, split), is one record run by
 * one function of a communicator's table; layers such as splitting are written once, over the record.
 */
#ifndef RMPI_CALL_H
#define RMPI_CALL_H

#include "reactant_mpi.h"

enum rmpi_row_id {
#define COLLECTIVE(name, ...) RMPI_##name,
#define VARIED COLLECTIVE
#define EXCHANGE COLLECTIVE
#define MESSAGE COLLECTIVE
#define PAIR COLLECTIVE
#define PROBE COLLECTIVE
#include "internal/table/rows.inc"
#include "internal/table/end.h"
    RMPI_ROWS
};

enum rmpi_type_index {
#define TYPE(name, ...) RMPI_##name,
#define OP(...)
#include "internal/table/types.inc"
#undef TYPE
#undef OP
    RMPI_TYPES
};

enum rmpi_op_index {
#define TYPE(...)
#define OP(name, ...) RMPI_##name,
#include "internal/table/types.inc"
#undef TYPE
#undef OP
    RMPI_OPS
};

/* Which operations a kind of type allows, as bits of rmpi_op_index. The gate is ours, since MPIs differ and some abort. */
#define RMPI_BIT(op) (1u << RMPI_##op)
#define BITS_ORDERED (RMPI_BIT(SUM) | RMPI_BIT(MIN) | RMPI_BIT(MAX) | RMPI_BIT(PROD))
#define BITS_LOGICAL (RMPI_BIT(LAND) | RMPI_BIT(LOR) | RMPI_BIT(LXOR))
#define KIND_REAL (BITS_ORDERED | RMPI_BIT(AVG))
#define KIND_HALF KIND_REAL /* our own operations (mpi/half.inc) */
#define KIND_COMPLEX (RMPI_BIT(SUM) | RMPI_BIT(PROD) | RMPI_BIT(AVG))
#define KIND_BITS (RMPI_BIT(BAND) | RMPI_BIT(BOR) | RMPI_BIT(BXOR))
#define KIND_LOGICAL (BITS_LOGICAL | RMPI_BIT(MIN) | RMPI_BIT(MAX)) /* MPI is told LAND and LOR */
#define KIND_MOVED 0u /* no reductions on the host */
#define KIND_INTEGER (BITS_ORDERED | KIND_BITS | BITS_LOGICAL)

/* What a row's arguments hold (HAS_, from its shape) and how they behave (from the row). */
enum rmpi_rule {
    HAS_SEND = 1 << 0,
    HAS_RECV = 1 << 1,
    HAS_OP = 1 << 2,
    HAS_ROOT = 1 << 3,
    HAS_DEST = 1 << 4,
    HAS_SOURCE = 1 << 5,
    HAS_SEND_BLOCKS = 1 << 6,   /* send_counts and send_displs */
    HAS_RECV_BLOCKS = 1 << 7,   /* recv_counts and recv_displs */
    HAS_SUM_OF_BLOCKS = 1 << 15, /* recv_counts of blocks that lie one after the other */
    HAS_DESTS = 1 << 16,        /* permute: source and a list of destinations */
    HAS_COUNTS = HAS_SEND_BLOCKS | HAS_RECV_BLOCKS | HAS_SUM_OF_BLOCKS,
    SEND_AT_ROOT = 1 << 8,           /* send counts at the root only */
    RECV_AT_ROOT = 1 << 9,           /* recv counts at the root only */
    SEND_IN_PLACE = 1 << 10,         /* send may be IN_PLACE (where recv counts) */
    RECV_IN_PLACE = 1 << 11,         /* recv may be IN_PLACE (where send counts) */
    EQUAL_IS_IN_PLACE = 1 << 12,     /* send == recv means IN_PLACE */
    EQUAL_IS_REFUSED = 1 << 13,      /* send == recv is an error */
    NO_AVERAGE = 1 << 17,            /* AVG is not defined */
    NO_MPI_CALL = 1 << 18,           /* made of messages (capi/exchange.c) */
    IS_MESSAGE = 1 << 19,            /* point to point: nobody else need call */
    OWN_BLOCK_IS_IN_PLACE = 1 << 14, /* the small buffer being this rank's block of the large one means IN_PLACE */
};

/* How a call too large for one MPI call is done (capi/parts.c). */
enum rmpi_large {
    AS_IS,       /* there is no count */
    BY_ELEMENTS, /* one call per max_count elements */
    BY_BLOCK,    /* one call with a derived type of one block */
    BY_REDUCE,   /* reduce_scatter: one reduce per block */
    BY_BCAST,    /* allgatherv: one broadcast per block */
    BY_MESSAGE,  /* one message of one element of a derived type */
};

struct rmpi_row {
    const char *name; /* of the public function */
    const char *mpi;  /* of the MPI function */
    unsigned rules;
    enum rmpi_large large;
};

extern const struct rmpi_row rmpi_rows[RMPI_ROWS] __attribute__((visibility("hidden")));

/* The record. Which fields are set depends on the row; type, op, root and tags are as the user gave them until the check has
 * passed, then indices and the host MPI's numbers. */
struct rmpi_call {
    const void *send;
    void *recv;
    size_t count;
    size_t recv_count;
    int type;
    int op;
    int root; /* or dest */
    int tag;
    int source;
    int recv_tag;
    reactant_mpi_status *status;
    uint64_t send_type; /* the host MPI's datatype: of the element, or of what a layer made of several */
    uint64_t recv_type;
    uint32_t row;
    uint32_t special; /* set by the check: why it is not one plain MPI call (enum rmpi_special) */
    void *stream;     /* of a device call */
    /* rows with blocks of different sizes: one entry per rank */
    const size_t *send_counts, *send_displs;
    const size_t *recv_counts, *recv_displs;
    const int *int_counts, *int_displs; /* the same for MPI */
    const int *dests;                   /* permute */
    int n_dests;
};

enum rmpi_special {
    SPECIAL_LARGE = 1 << 0,   /* more elements than one MPI call takes */
    SPECIAL_INTS = 1 << 1,    /* MPI wants int arrays of its counts */
    SPECIAL_AVERAGE = 1 << 2, /* MPI sums, we divide */
    SPECIAL_STAGED = 1 << 3,  /* MPI cannot work on the user's buffers */
    SPECIAL_MADE = 1 << 4,    /* made of messages */
    SPECIAL_OURS = 1 << 5,    /* sendrecv of the library's own, over the control communicator */
};

/* No code of any MPI: out of memory before MPI was called. */
enum { RMPI_NO_MEMORY = -2147483647 };

struct rmpi_comm;
typedef int (*rmpi_run_fn)(const struct rmpi_comm *, const struct rmpi_call *);
/* Start it on a communicator given by word; *request is the host MPI's. */
typedef int (*rmpi_start_fn)(const struct rmpi_comm *, const struct rmpi_call *, uint64_t comm, void *request);

#endif
