/*
 * Inside the doubles of libnccl and librccl. NCCL_CODE is the version they show (21805), FAKE_RCCL is set for RCCL.
 */
#ifndef FAKE_NCCL_H
#define FAKE_NCCL_H

#include <pthread.h>

#include "fake_gpu.h"

typedef struct {
    char internal[128];
} ncclUniqueId;
typedef struct ncclComm *ncclComm_t;
typedef int ncclResult_t;

enum { SUCCESS, CUDA_ERROR, SYSTEM_ERROR, INTERNAL_ERROR, INVALID_ARGUMENT, INVALID_USAGE, REMOTE_ERROR, IN_PROGRESS, TIMEOUT };
enum { INT8, UINT8, INT32, UINT32, INT64, UINT64, FLOAT16, FLOAT32, FLOAT64, BFLOAT16, FLOAT8E4M3, FLOAT8E5M2, N_TYPES };
enum { SUM, PROD, MAX, MIN, AVG, N_OPS };
enum { PREMUL = 99 }; /* of which handle it is does not matter to the others */
enum { CHUNK = 256 << 10, BOX = 32 << 10, MAX_SCALARS = 16, MAX_COMMS = 1 << 16 };

/* An exported function, with its second name for profilers. */
#define API(name, ...)                                                                                                             \
    FAKE_EXPORT ncclResult_t p##name(__VA_ARGS__) __attribute__((alias(#name)));                                                   \
    FAKE_EXPORT ncclResult_t name(__VA_ARGS__)

#define ENTER_AS(name, count, type, op, peer, comm, stream)                                                                        \
    do {                                                                                                                           \
        static struct fake_site site_;                                                                                             \
        if (fake_traces())                                                                                                         \
            call_traced(name, count, type, op, peer, comm, stream);                                                                \
        int code_ = fake_enter(&site_, name);                                                                                      \
        if (code_)                                                                                                                 \
            return fail(code_, "%s: an injected fault", name);                                                                     \
    } while (0)
#define ENTER(count, type, op, peer, comm, stream) ENTER_AS(__func__, count, type, op, peer, comm, stream)
#define ENTER_COMM(comm) ENTER(-1, -1, -1, -1, comm, NULL)
#define ENTER_PLAIN() ENTER(-1, -1, -1, -1, NULL, NULL)

void call_traced(const char *function, long count, int type, int op, int peer, const void *comm, const void *stream);
/* Sets the one text of the process that ncclGetLastError shows, and returns the code. */
ncclResult_t fail(ncclResult_t code, const char *format, ...) __attribute__((format(printf, 2, 3)));
int library_version(void);

/* ---- rendezvous.c: the segment that the ranks of a communicator share. All zeros is its state before anybody came. ---- */

enum peer_state { ABSENT, CLAIMED, ARRIVED, LEFT, ABORTED, FAILED };

struct work { /* what a rank is doing: compared between ranks */
    int kind, type, op, root;
    uint64_t count;
};

struct peer {
    atomic_int state;
    int pid, version, device;
    uint64_t born, host;
    uint8_t uuid[16];
    char pci[16];
    struct work work;
    int color, key; /* of a split */
};

struct box { /* messages of one rank to one other */
    atomic_ulong announced, posted;   /* sends and receives begun */
    atomic_ulong written, consumed;   /* bytes, ever */
    uint64_t sent[2], wanted[2];      /* bytes of the message begun, by parity */
    char data[BOX];
};

struct segment {
    _Atomic uint32_t bell;
    atomic_int nranks, finished;
    atomic_ulong barrier, host_barrier;
    struct peer peers[];
};

int segment_open(ncclComm_t comm, const char *name); /* an ncclResult_t */
void segment_close(ncclComm_t comm);
void segment_unlink(ncclComm_t comm);
void segment_waits(ncclComm_t comm, bool waits); /* its file is unlinked should the process end while it does */
char *segment_slot(ncclComm_t comm, int rank);
struct box *segment_box(ncclComm_t comm, int from, int to);
void ring(ncclComm_t comm);
void doze(ncclComm_t comm, uint32_t seen);
bool peer_gone(const struct peer *peer); /* its process ended and it had not left */
uint64_t process_born(int pid);
uint64_t host_hash(void);
ncclResult_t unique_id(ncclUniqueId *id);
bool unique_id_name(const ncclUniqueId *id, char name[64]);
void derived_name(const char *parent, uint64_t sequence, int color, char name[64]);

/* Until condition; the comm's abort ends it with aborted set. */
#define WAIT_UNTIL(comm, condition, aborted)                                                                                       \
    do {                                                                                                                           \
        uint32_t seen_ = (comm)->segment->bell;                                                                                    \
        if (condition)                                                                                                             \
            break;                                                                                                                 \
        if ((comm)->aborting) {                                                                                                    \
            aborted = true;                                                                                                        \
            break;                                                                                                                 \
        }                                                                                                                          \
        doze(comm, seen_);                                                                                                         \
    } while (1)

/* ---- communicators ---- */

struct config { /* of NCCL 2.32, by its offsets */
    size_t size;
    unsigned magic, version;
    int blocking, cga_cluster_size, min_ctas, max_ctas;
    const char *net_name;
    int split_share, traffic_class;
    const char *comm_name;
    int collnet_enable, cta_policy, shrink_share, nvls_ctas, n_channels_per_net_peer, nvlink_centric_sched, graph_usage_mode, num_rma_ctx,
        max_p2p_peers, graph_stream_ordering, launch_order_implicit, num_rma_sig, rma_eager_init, host_cft_mode, nvls_host_mode, unused;
};

struct scalar { /* of ncclRedOpCreatePreMulSum */
    bool used, on_device;
    int type;
    double value; /* its bytes */
    const void *where;
};

struct ncclComm {
    int rank, nranks, device;
    bool blocking, split_child;
    struct config config;
    char name[64];
    atomic_int live;   /* 1 from its creation to destroy or abort */
    atomic_int result; /* what ncclCommGetAsyncError says */
    atomic_bool aborting, finalized;
    struct segment *segment;
    size_t bytes;
    uint64_t barriers, host_barriers, splits, *sent, *received;
    atomic_int pending, started; /* batches in streams; whether there was a first */
    uint64_t tickets, served;    /* they run one after the other, whatever the streams */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t watcher, helper;
    bool watched, helped, stop_watching;
    struct scalar scalars[MAX_SCALARS];
};

enum { DEAD, LIVE, CLOSING };

bool comm_known(const void *comm);
ncclComm_t comm_new(int rank, int nranks, const struct config *config);
/* Whether an operation may be begun: 0 or the code to return, with its text. */
ncclResult_t comm_ready(ncclComm_t comm, const char *function);
void comm_watch(ncclComm_t comm);
void comm_close(ncclComm_t comm, enum peer_state state); /* gives up what it holds; the few bytes of the handle stay */
void comm_help(ncclComm_t comm, void *(*run)(void *), void *what); /* a thread of the communicator's own */
bool meet(ncclComm_t comm, atomic_ulong *counter, uint64_t *mine); /* false: aborted */
void set_result(ncclComm_t comm, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));
void quiet_thread(pthread_t *thread, void *(*run)(void *), void *what); /* signals blocked */

ncclResult_t config_read(struct config *into, const void *user, const struct config *parent);
const struct fake_gpu_hooks *gpu(void); /* NULL: no driver */
ncclResult_t gpu_failed(int code, const char *function);
ncclResult_t init_run(ncclComm_t comm);

/* ---- group.c ---- */

enum kind { ALL_REDUCE, REDUCE, BROADCAST, ALL_GATHER, REDUCE_SCATTER, ALL_TO_ALL, GATHER, SCATTER, SEND, RECV };

struct task {
    ncclComm_t comm;
    void *stream;
    enum kind kind;
    const char *send;
    char *recv;
    uint64_t count;
    int type, op, root; /* root or peer */
    struct scalar scalar;
    int fault;
};

struct batch {
    ncclComm_t comm;
    uint64_t ticket;
    int n;
    struct task tasks[];
};

extern __thread int group_depth;
void group_start(void);
ncclResult_t group_end(void);
ncclResult_t group_add(const struct task *task);
ncclResult_t group_failed(ncclResult_t code);
void group_add_init(ncclComm_t comm);
ncclResult_t collective(const char *function, struct task task);

/* ---- move.c, on a stream's thread ---- */

void run_batch(void *batch);

/* ---- reduce.c ---- */

size_t type_size(int type);
void reduce_into(void *to, const void *from, size_t n, int type, int op);
void reduce_scale(void *to, const void *from, size_t n, int type, const void *scalar); /* the scalar is of the type */
void reduce_average_scale(void *to, const void *from, size_t n, int type, int ranks);  /* floating types */
void reduce_divide(void *to, size_t n, int type, int by);                               /* integers */
bool type_floating(int type);

#endif
