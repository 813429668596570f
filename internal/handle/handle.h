/*
 * Communicator and request handles. Both live in arenas of the library's own zero pages (address space only until a slot is used),
 * so that any word offered as a handle is judged by one subtract and compare before it is touched. Slots of communicators are
 * never used again; a dead one stays as a tombstone.
 */
#ifndef RMPI_HANDLE_H
#define RMPI_HANDLE_H

#include "internal/table/call.h"

#pragma GCC visibility push(hidden)

enum { RMPI_COMM_SLOTS = 1 << 16, RMPI_REQUEST_SLOTS = 1 << 16, RMPI_SLOT_BYTES = 256, RMPI_REQUEST_BYTES = 512, RMPI_HOST_BYTES = 64 };

/* Predefined communicators of the MPI-5 ABI, as compiled code has them: no numbers of ours. */
enum { RMPI_FIRST_COMM_WORD = 0x100, RMPI_LAST_COMM_WORD = 0x102 };

/* Tags of the library's own messages on control communicators. Lists of ranks (comm_create) have those from 16 on. */
enum rmpi_tag { RMPI_TAG_NOTICE = 1, RMPI_TAG_DATA = 2, RMPI_TAG_WHERE = 3, RMPI_TAG_CLOCK = 4 /* and 5 */, RMPI_TAG_BARRIER = 6 };

enum rmpi_state {
    RMPI_FREE,    /* never used */
    RMPI_CLAIMED, /* being made */
    RMPI_LIVE,
    RMPI_DEAD,   /* finalized */
    RMPI_ENDED,  /* MPI itself was finalized under it */
    RMPI_FORKED, /* copy in a forked child */
};

/* Reasons why a call must go through the layers (capi/layers.c); 0 = the plain path. */
enum rmpi_mode {
    RMPI_MAIN_THREAD = 1 << 0,    /* MPI gave FUNNELED or SINGLE */
    RMPI_ONE_AT_A_TIME = 1 << 1,  /* MPI gave SERIALIZED */
    RMPI_LOOK_FINALIZED = 1 << 2, /* this MPI cannot tell us that it ends: ask before each call */
    RMPI_COPY_REDUCE = 1 << 4,    /* this MPI crashes in reduce in place at other roots than 0 */
    RMPI_DEVICE_FAILED = 1 << 3,  /* NCCL failed: device calls are refused, host calls go on */
    RMPI_TIMEOUT = 1 << 5,        /* calls wait at most timeout_ms */
    RMPI_CHECK = 1 << 6,          /* the ranks compare their arguments before each collective */
    RMPI_TRACE = 1 << 7,          /* each call is written to the trace */
    RMPI_HALF_BY_F32 = 1 << 8,    /* 16-bit floats are reduced in buffers of 32-bit ones */
    RMPI_OUT_OF_STEP = 1 << 9,    /* a call has timed out, or a peer has died: nothing more is done here */
};

struct rmpi_mpi;
struct rmpi_device;
struct rmpi_company;

struct rmpi_comm {
    /* the line of the data path */
    uint32_t state;
    uint32_t modes;
    const rmpi_run_fn *run;
    const struct rmpi_mpi *mpi;
    uint64_t word;       /* our duplicate, for the user's operations */
    uint64_t max_count;  /* elements in one MPI call */
    uint64_t max_block;  /* elements of a block in one MPI call: size * max_block fits an int */
    int32_t rank, size;
    const struct rmpi_device *device; /* NULL: host communicator */
    /* the rest */
    uint64_t control; /* our second duplicate, for the library's own messages */
    int32_t local_rank, local_size;
    int32_t tag_ub;
    int32_t error; /* first error, latched */
    int32_t timeout_ms;        /* with RMPI_TIMEOUT */
    uint64_t sequence;         /* collectives begun, counted in the modes that need it */
    struct rmpi_company *company; /* with RMPI_TIMEOUT: where the other ranks are (capi/company.h) */
    char *error_text;
    void *session; /* opaque Go object of lifecycle/ */
    uint64_t given;         /* the host's communicator that it was made of; 0: made of one of ours */
    uint32_t predefined;    /* bit 0: of all ranks of MPI_COMM_WORLD in their order; bit 1: of MPI_COMM_SELF */
    uint32_t told;          /* a failure in compiled code has been logged (capi/compiled.c) */
    uint32_t of_nccl_split; /* made by ncclCommSplit: ncclCommDestroy ends it */
    char host[RMPI_HOST_BYTES];
} __attribute__((aligned(RMPI_SLOT_BYTES)));

/* MPI's requests of one call, in lists of growing length. */
struct rmpi_parts {
    struct rmpi_parts *next;
    uint32_t n, room;
    uint64_t *part; /* a word each, whatever the ABI's width */
};

/* A call under way (capi/flight.h). */
struct rmpi_flight {
    struct rmpi_parts first, *last;
    uint64_t few[3];
    struct rmpi_parts *at; /* the first that is not known to be done */
    uint32_t next;
    uint32_t receives;        /* the first part is a receive, with a status */
    int32_t rc;               /* MPI's first failure */
    uint32_t watched;         /* begun under a timeout */
    reactant_mpi_status got;  /* of it, or of a probe */
    uint64_t number;          /* watched: of the collective, from 1; a message: of the last one before it */
    int64_t first_look;       /* under a timeout: of a program that only tests */
    struct rmpi_stage *stage; /* NULL: MPI works on the user's buffers */
    int64_t since;            /* trace: when it began */
};

/* Who may touch a request. A thread that takes one has it alone. */
enum rmpi_phase {
    RMPI_REQUEST_GONE,
    RMPI_REQUEST_IDLE, /* prepared, not started */
    RMPI_REQUEST_STARTED,
    RMPI_REQUEST_TAKEN, /* a thread starts, ends or frees it */
};

struct rmpi_request {
    /* Generation and phase in one word: of threads that go for the same request one gets it, and an old handle never gets the slot's
     * next one. Low bits of the generation are part of the handle. */
    uint32_t phase;
    uint32_t prepared; /* else it is gone when it is done */
    struct rmpi_comm *comm;
    struct rmpi_call call;
    struct rmpi_flight flight; /* while active */
} __attribute__((aligned(RMPI_REQUEST_BYTES)));

_Static_assert(sizeof(struct rmpi_comm) == RMPI_SLOT_BYTES, "a communicator fills its slot");
_Static_assert(sizeof(struct rmpi_request) == RMPI_REQUEST_BYTES, "a request fills its slot");

extern struct rmpi_comm rmpi_comms[RMPI_COMM_SLOTS];

/* The slot that a word means (a handle or an id), whatever its state; NULL if none. */
static inline struct rmpi_comm *rmpi_comm_slot(const void *word)
{
    uintptr_t offset = (uintptr_t)word - (uintptr_t)rmpi_comms;
    if (__builtin_expect(offset < sizeof rmpi_comms && offset % RMPI_SLOT_BYTES == 0, 1))
        return (struct rmpi_comm *)(uintptr_t)word;
    if ((uintptr_t)word - 1 < RMPI_COMM_SLOTS - 1)
        return &rmpi_comms[(uintptr_t)word];
    return NULL;
}

static inline uint32_t rmpi_comm_state(const struct rmpi_comm *c)
{
    return __atomic_load_n(&c->state, __ATOMIC_ACQUIRE);
}

/* Other threads may set a mode at any time. What belongs to it was written before. */
static inline uint32_t rmpi_modes(const struct rmpi_comm *c)
{
    return __atomic_load_n(&c->modes, __ATOMIC_ACQUIRE);
}

/* The live communicator that a word means; NULL otherwise. */
static inline struct rmpi_comm *rmpi_comm_live(const void *word)
{
    struct rmpi_comm *c = rmpi_comm_slot(word);
    return __builtin_expect(c && rmpi_comm_state(c) == RMPI_LIVE, 1) ? c : NULL;
}

/* For a thread that has not taken it: the communicator of this request, or of the slot's next one. */
static inline struct rmpi_comm *rmpi_request_comm(const struct rmpi_request *r)
{
    return __atomic_load_n(&r->comm, __ATOMIC_RELAXED);
}

static inline uint64_t rmpi_comm_sequence(const struct rmpi_comm *c)
{
    return __atomic_load_n(&c->sequence, __ATOMIC_RELAXED);
}

static inline void rmpi_comm_set_sequence(struct rmpi_comm *c, uint64_t n)
{
    __atomic_store_n(&c->sequence, n, __ATOMIC_RELAXED);
}

static inline int rmpi_comm_number(const struct rmpi_comm *c)
{
    return (int)(c - rmpi_comms);
}

/* Slots of communicators. claim: 1 if the slot was free and is now ours. */
int rmpi_comm_next(void); /* lowest id above every one ever claimed here */
int rmpi_comm_claim(int id);
void rmpi_comm_unclaim(int id);
void rmpi_comm_publish(struct rmpi_comm *c);
void rmpi_comm_set_state(struct rmpi_comm *c, uint32_t state);
/* What MPI_COMM_WORLD (0) and MPI_COMM_SELF (1) of compiled code mean: a communicator made of them, or of one with the same ranks; NULL: none
 * was made. It may be dead: then rmpi_look_for_predefined finds another one that lives, or NULL. */
extern struct rmpi_comm *rmpi_predefined_comms[2];
static inline struct rmpi_comm *rmpi_predefined(int self)
{
    return __atomic_load_n(&rmpi_predefined_comms[self], __ATOMIC_ACQUIRE);
}
struct rmpi_comm *rmpi_look_for_predefined(int self);
struct rmpi_comm *rmpi_comm_any(void); /* one that lives, or NULL */
/* Every live communicator gets `state`: MPI has ended, or this is a forked child. */
void rmpi_comms_all_become(uint32_t state);
/* MPI ends: live communicators become RMPI_ENDED, then whoever has more to end is called (nccl/watch.c, internal/trace). No Go. */
void rmpi_mpi_ends(void);
void rmpi_when_mpi_ends(void (*also)(void));

/* A call has failed such that the ranks no longer make the same calls: refused from now on. */
void rmpi_comm_out_of_step(struct rmpi_comm *c);
int rmpi_comm_is_out_of_step(const struct rmpi_comm *c);
/* Calls wait at most timeout_ms (0 = for ever) from now on. */
void rmpi_comm_set_timeout(struct rmpi_comm *c, int32_t timeout_ms, struct rmpi_company *company);

/* With SERIALIZED one thread at a time is inside MPI; a second one waits. */
void rmpi_enter(void);
void rmpi_leave(void);
int rmpi_is_inside(void); /* this thread */

/* The first error wins, unless a later one ends the communicator (codes 31, 32); text is copied. */
void rmpi_comm_latch(struct rmpi_comm *c, int code, const char *text);

/* Requests. The word handed out is the slot's address plus the low bits of its generation. */
struct rmpi_request *rmpi_request_new(struct rmpi_comm *c, void **word); /* its maker's alone; NULL: no slot */
enum rmpi_phase rmpi_request_look(const void *word, struct rmpi_request **);    /* the slot, if it is not gone */
struct rmpi_request *rmpi_request_take(const void *word, enum rmpi_phase from); /* NULL: it is in another phase */
void rmpi_request_give(struct rmpi_request *, enum rmpi_phase to);              /* GONE: its word is dead from now on */
void rmpi_request_recycle(const struct rmpi_request *);                         /* its slot may be used again */
/* Requests as compiled code has them: positive numbers of 4 bytes, below 2^31 and never the value of a null request. */
enum { RMPI_FIRST_TOKEN = 1 << 16 };
uint32_t rmpi_request_token(const void *word);
void *rmpi_request_of_token(uint32_t token); /* NULL: no number of a request */
/* Every started request of a communicator (NULL: of all) that no thread is at, taken for the visit, which gives it back; a thread that
 * wants it meanwhile waits. How many there are that some thread is at. */
int rmpi_requests_visit(const struct rmpi_comm *of, void (*visit)(struct rmpi_request *, void *), void *arg);

#pragma GCC visibility pop

#endif
