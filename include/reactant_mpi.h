/*
 * Reactant MPI: collectives for XLA programs, over whatever MPI is found at run time.
 *
 * This is the only public header. It needs no mpi.h and no CUDA, compiles as C99 to C17 and C++11 to C++20,
 * and can stand before or after any mpi.h. Link with -lreactant_mpi or open the library with dlopen.
 *
 * Rules that hold for every function unless its comment says otherwise
 *   Result     int functions return REACTANT_MPI_SUCCESS (0) or one of the REACTANT_MPI_ERR_ codes. Nothing here ever calls
 *              exit, abort or MPI_Abort, except reactant_mpi_abort and the option REACTANT_MPI_ERRORS_ABORT. The text of a failure is reactant_mpi_last_error() on the
 *              same thread. The first failure of a communicator is also kept: reactant_mpi_comm_error().
 *   Threads    Any thread may call. What runs at the same time is what the thread level of MPI allows: with MULTIPLE (asked for
 *              when this library initialises MPI) everything; with SERIALIZED a lock is held during each call into MPI: messages and
 *              requests release it while they wait, a blocking collective only on a communicator with a timeout (elsewhere it
 *              keeps the lock, since MPI's blocking collectives do not match non-blocking ones of other ranks); with FUNNELED or
 *              SINGLE only the thread that initialised MPI, others get code 9. Calls on one communicator follow MPI's rule:
 *              every rank makes the same collective calls in the same order.
 *   Where not  Not from a signal handler, an atexit handler of your own that runs after MPI's end, or a forked child
 *              (there every call returns code 20).
 *   Handles    Every argument `reactant_mpi_comm *` also takes the communicator's small integer id, cast to a pointer. Any other
 *              word (freed, foreign, random) is recognised before it is touched and gives code 2.
 *   Buffers    Host memory, owned by the caller, used only during the call (until wait for a started one). Counts are elements,
 *              not bytes, up to the size of memory: there is no limit at 2^31. A NULL buffer is fine when its count is 0.
 *   Source     Semantics are those of the MPI function of the same name; sections given are of the MPI-5.0 standard.
 */
#ifndef REACTANT_MPI_H
#define REACTANT_MPI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- version ------------------------------------------------------------------------------------------------------------- */

#define REACTANT_MPI_VERSION_MAJOR 0
#define REACTANT_MPI_VERSION_MINOR 1
#define REACTANT_MPI_VERSION_PATCH 0
#define REACTANT_MPI_VERSION \
    ((uint32_t)(REACTANT_MPI_VERSION_MAJOR * 65536 + REACTANT_MPI_VERSION_MINOR * 256 + REACTANT_MPI_VERSION_PATCH))

/* Version of the loaded library, as REACTANT_MPI_VERSION is of this header. Local, never fails. */
uint32_t reactant_mpi_version(void);

/* ---- types, operations, constants: equal on every MPI -------------------------------------------------------------------- */

/* Element types. Values are those of the MPI-5.0 standard ABI (Appendix A). */
#define REACTANT_MPI_FLOAT32    0x210
#define REACTANT_MPI_COMPLEX64  0x212
#define REACTANT_MPI_FLOAT64    0x214
#define REACTANT_MPI_COMPLEX128 0x216
#define REACTANT_MPI_BOOL       0x238
#define REACTANT_MPI_INT8       0x240
#define REACTANT_MPI_UINT8      0x241
#define REACTANT_MPI_BYTE       0x247
#define REACTANT_MPI_INT16      0x248
#define REACTANT_MPI_UINT16     0x249
#define REACTANT_MPI_INT32      0x250
#define REACTANT_MPI_UINT32     0x251
#define REACTANT_MPI_INT64      0x258
#define REACTANT_MPI_UINT64     0x259
/* Outside the standard. FLOAT8 is moved, not reduced, on the host. */
#define REACTANT_MPI_FLOAT16       0x2f0
#define REACTANT_MPI_BFLOAT16      0x2f1
#define REACTANT_MPI_FLOAT8_E4M3FN 0x2f2
#define REACTANT_MPI_FLOAT8_E5M2   0x2f3

/*
 * Reduction operations, values of the MPI-5.0 standard ABI. Legal pairs:
 *   integers            all ten of the standard
 *   FLOAT32, FLOAT64    SUM MIN MAX PROD AVG
 *   FLOAT16, BFLOAT16   SUM MIN MAX PROD AVG
 *   COMPLEX64, 128      SUM PROD AVG
 *   BOOL                LAND LOR LXOR, and MIN = LAND, MAX = LOR
 *   BYTE                BAND BOR BXOR
 * Everything else gives code 4 before MPI sees it, on every MPI alike. AVG is the sum divided by the number of ranks; not for scan
 * and exscan.
 * FLOAT16, BFLOAT16: each pairwise combination is done in FLOAT32 and rounded once to nearest even (at most size - 1 roundings); with
 * option half = f32 the whole reduction runs in FLOAT32 and is rounded once. NaN wins in MIN and MAX. The same ranks, placement and
 * library give the same bits.
 */
#define REACTANT_MPI_SUM  0x21
#define REACTANT_MPI_MIN  0x22
#define REACTANT_MPI_MAX  0x23
#define REACTANT_MPI_PROD 0x24
#define REACTANT_MPI_BAND 0x28
#define REACTANT_MPI_BOR  0x29
#define REACTANT_MPI_BXOR 0x2a
#define REACTANT_MPI_LAND 0x30
#define REACTANT_MPI_LOR  0x31
#define REACTANT_MPI_LXOR 0x32
#define REACTANT_MPI_AVG  0x3f /* outside the standard */

/* Values of no MPI, so that a constant of the host's MPI passed by mistake is an error and not a hang. */
#define REACTANT_MPI_ANY_SOURCE (-101)
#define REACTANT_MPI_ANY_TAG    (-102)
#define REACTANT_MPI_PROC_NULL  (-103)

/* As a buffer: take the input from the other buffer (MPI-5.0 section 6.2.1). */
#define REACTANT_MPI_IN_PLACE ((void *)1)

/* As the argument of reactant_mpi_initialize: MPI_COMM_WORLD. */
#define REACTANT_MPI_COMM_WORLD ((uintptr_t)0)

/* ---- result codes: explicit, never re-used ------------------------------------------------------------------------------- */

#define REACTANT_MPI_SUCCESS            0
#define REACTANT_MPI_ERR_ARGUMENT       1  /* a pointer or value that the function cannot take */
#define REACTANT_MPI_ERR_COMM           2  /* not a live communicator */
#define REACTANT_MPI_ERR_TYPE           3  /* unknown element type */
#define REACTANT_MPI_ERR_OP             4  /* unknown operation, or not defined on this type */
#define REACTANT_MPI_ERR_COUNT          5  /* count times size does not fit the address space */
#define REACTANT_MPI_ERR_RANK           6  /* root or peer outside the communicator, or bad tag */
#define REACTANT_MPI_ERR_REQUEST        7  /* not a live request */
#define REACTANT_MPI_ERR_STATE          8  /* right call at the wrong time */
#define REACTANT_MPI_ERR_THREAD         9  /* MPI's thread level forbids this thread, or a second one, to call */
#define REACTANT_MPI_ERR_UNSUPPORTED   10  /* not offered by this version or this MPI */
#define REACTANT_MPI_ERR_OPTION        11  /* an option or environment variable with an unusable value */
#define REACTANT_MPI_ERR_FORKED        20  /* called in a forked child */
#define REACTANT_MPI_ERR_POISONED      21  /* an internal failure made the control functions unusable */
#define REACTANT_MPI_ERR_MEMORY        22  /* out of memory or of handle slots */
#define REACTANT_MPI_ERR_MISMATCH      30  /* ranks disagree: library, options, arguments */
#define REACTANT_MPI_ERR_TIMEOUT       31  /* some rank did not arrive in time; the text says which, and where they are */
#define REACTANT_MPI_ERR_PEER          32  /* another rank failed (its text is included) or its process has ended */
#define REACTANT_MPI_ERR_NO_MPI        40  /* no MPI library found, or it cannot be loaded */
#define REACTANT_MPI_ERR_MPI_ABI       41  /* an MPI of unknown or unsupported ABI */
#define REACTANT_MPI_ERR_LAUNCHER      42  /* the launcher belongs to another MPI: N worlds of one rank */
#define REACTANT_MPI_ERR_MPI_FINALIZED 43  /* MPI has been finalized */
#define REACTANT_MPI_ERR_MPI           44  /* an MPI call failed; its own text is included */
#define REACTANT_MPI_ERR_NO_NCCL       60  /* gpu = required, and no NCCL or RCCL can be loaded */
#define REACTANT_MPI_ERR_NO_DEVICE     61  /* no GPU, or a device call on a host communicator */
#define REACTANT_MPI_ERR_FEW_DEVICES   62  /* fewer GPUs than ranks on a host */
#define REACTANT_MPI_ERR_SAME_DEVICE   63  /* two ranks would share a GPU */
#define REACTANT_MPI_ERR_NCCL_VERSIONS 64  /* the ranks found different versions of NCCL */
#define REACTANT_MPI_ERR_NCCL_OLD      65  /* this NCCL is too old for what was asked */
#define REACTANT_MPI_ERR_TWO_NCCL      66  /* two NCCL libraries in the process */
#define REACTANT_MPI_ERR_DRIVER        67  /* the GPU driver or runtime failed */
#define REACTANT_MPI_ERR_VISIBLE       68  /* the visible devices, or wishes for them, contradict each other */
#define REACTANT_MPI_ERR_NCCL          69  /* an NCCL call failed; its own text is included */
#define REACTANT_MPI_ERR_NO_XLA        80  /* no XLA library to make the client with */
#define REACTANT_MPI_ERR_XLA           81  /* the XLA client could not be made, or has another device */

/* ---- handles ------------------------------------------------------------------------------------------------------------- */

typedef struct reactant_mpi_comm reactant_mpi_comm;       /* a communicator */
typedef struct reactant_mpi_request reactant_mpi_request; /* a prepared or started call */

/* What a receive got: the rank and tag it came with, never ANY_ values; PROC_NULL and ANY_TAG for a receive from PROC_NULL. */
typedef struct reactant_mpi_status {
    int source;
    int tag;
    size_t bytes;
} reactant_mpi_status;

/* ---- options ------------------------------------------------------------------------------------------------------------- */

#define REACTANT_MPI_GPU_AUTO     0 /* a GPU communicator where there are NCCL and devices, else a host communicator */
#define REACTANT_MPI_GPU_OFF      1 /* host communicator */
#define REACTANT_MPI_GPU_REQUIRED 2 /* an error where there is none */

#define REACTANT_MPI_CLIENT_NONE     0 /* no client */
#define REACTANT_MPI_CLIENT_EXTERNAL 1 /* the host makes it, with the device that reactant_mpi_device tells */
#define REACTANT_MPI_CLIENT_REACTANT 2 /* made with libReactantExtra; the host adopts it */
#define REACTANT_MPI_CLIENT_PJRT     3 /* made with a PJRT plugin; freed by finalize */

#define REACTANT_MPI_HALF_PAIRWISE 0 /* 16-bit floats are reduced pair by pair, each result rounded */
#define REACTANT_MPI_HALF_F32      1 /* in FLOAT32 buffers, rounded once: twice the bytes on the wire */

#define REACTANT_MPI_LOG_ERROR 1
#define REACTANT_MPI_LOG_WARN  2
#define REACTANT_MPI_LOG_INFO  3
#define REACTANT_MPI_LOG_DEBUG 4

#define REACTANT_MPI_THREAD_SINGLE     0
#define REACTANT_MPI_THREAD_FUNNELED   1
#define REACTANT_MPI_THREAD_SERIALIZED 2
#define REACTANT_MPI_THREAD_MULTIPLE   3

/*
 * Receives log lines (without rank prefix or newline). Called on the calling thread, from C only; it must not throw, longjmp,
 * fork or call this library.
 */
typedef void (*reactant_mpi_log_fn)(void *arg, int level, const char *text);

/*
 * Options of initialize. Start from REACTANT_MPI_OPTIONS_INIT, which leaves every one unset; an unset option is taken from the
 * environment variable named beside it (read at the time of the call), and else has the default given.
 * Options marked (process) count at the first initialize of the process only; a later different value gives code 8.
 */
typedef struct reactant_mpi_options {
    size_t size;                /* sizeof(reactant_mpi_options): lets the struct grow */
    int32_t gpu;                /* REACTANT_MPI_GPU=auto|off|required; default auto; unset -1 */
    int32_t thread_level;       /* REACTANT_MPI_THREAD_LEVEL=single|funneled|serialized|multiple: asked for where this library
                                   initialises MPI (process); default multiple; unset -1 */
    int32_t launcher_check;     /* REACTANT_MPI_LAUNCHER_CHECK=on|off: 1 or 0; default on; unset -1 */
    int32_t timeout_ms;         /* REACTANT_MPI_TIMEOUT_MS: longest wait for the other ranks in initialize; 0 = for ever;
                                   default 300000; unset -1 */
    uint64_t max_count;         /* REACTANT_MPI_MAX_COUNT: elements handed to MPI in one call, 1 to 2^30; larger calls are
                                   split or use derived types; equal on every rank; default 2^30; unset 0 */
    const char *libmpi;         /* REACTANT_MPI_LIBMPI: path or name of the MPI library (process); unset NULL */
    const char *mpi_dirs;       /* REACTANT_MPI_MPI_DIRS: colon-separated folders or prefixes searched for an MPI, after the
                                   launcher's own and the usual hints (process); unset NULL */
    reactant_mpi_log_fn log_fn; /* receives log lines instead of standard error (process); unset NULL */
    void *log_arg;              /* first argument of log_fn */
    int32_t device;             /* REACTANT_MPI_DEVICE: ordinal of this rank's GPU, as its runtime counts after
                                   CUDA_VISIBLE_DEVICES and the like; default: chosen; unset -1 */
    int32_t client;             /* REACTANT_MPI_CLIENT=none|external|reactant|pjrt: who makes the XLA client; default reactant
                                   if libReactantExtra is in the process, pjrt if libxla names a plugin, else external; unset -1 */
    int32_t preallocate;        /* REACTANT_MPI_PREALLOCATE=on|off: XLA takes its share of the memory at once; default on;
                                   unset -1 */
    int32_t nccl_nonblocking;   /* REACTANT_MPI_NCCL_NONBLOCKING=on|off: start NCCL non-blocking, so that a start that hangs can be
                                   aborted; default off: a thread that hangs is left behind; unset -1 */
    double memory_fraction;     /* REACTANT_MPI_MEMORY_FRACTION: XLA's share of the device memory, above 0, up to 1; default 0.75;
                                   unset 0 */
    const char *libnccl;        /* REACTANT_MPI_LIBNCCL: path or name of NCCL or RCCL (process); unset NULL */
    const char *libxla;         /* REACTANT_MPI_LIBXLA: path of libReactantExtra or of a PJRT plugin; unset NULL */
    int32_t call_timeout_ms;    /* REACTANT_MPI_CALL_TIMEOUT_MS: longest wait of a call on host buffers of this communicator and of
                                   those made from it (reactant_mpi_comm_set_timeout); equal on every rank; 0 = for ever; default 0;
                                   unset -1 */
    int32_t check;              /* REACTANT_MPI_CHECK=on|off: before each collective over host buffers the ranks compare operation, type,
                                   count, root and order, and a difference gives code 30 with every rank's view. Started calls wait
                                   for the other ranks too; a call that is refused on one rank leaves the others waiting for it
                                   (call_timeout_ms ends that); equal on every rank; default off; unset -1 */
    int32_t half;               /* REACTANT_MPI_HALF=pairwise|f32: how 16-bit floats are reduced on the host; equal on every rank;
                                   default pairwise; unset -1 */
    int32_t reserved;           /* 0 */
    const char *trace;          /* REACTANT_MPI_TRACE: folder for a trace of every call, one file a rank, for chrome://tracing and
                                   Perfetto; `python -m reactant_mpi trace DIR` merges them (process); unset NULL */
} reactant_mpi_options;

#define REACTANT_MPI_OPTIONS_INIT                                                                                               \
    { sizeof(reactant_mpi_options), -1, -1, -1, -1, 0, NULL, NULL, NULL, NULL, -1, -1, -1, -1, 0.0, NULL, NULL, -1, -1, -1, 0, NULL }

/* ---- life ---------------------------------------------------------------------------------------------------------------- */

/*
 * Make a communicator over the ranks of a communicator of the host's MPI. Collective over those ranks, blocking.
 *
 * comm    the host MPI's handle by value (MPICH's negative handles may be sign-extended), or 0 = MPI_COMM_WORLD.
 *         Implausible and unreadable values are refused, and addresses where something else stands than a communicator of this MPI. A
 *         communicator that the host has freed may pass under Open MPI, as in MPI itself.
 * returns the communicator, or NULL: reactant_mpi_last_error_code() and reactant_mpi_last_error() say why.
 *
 * Finds MPI at the first call: the one in the process, else `libmpi`, hints (MPI4PY_LIBMPI, MPI_HOME, ...), the launcher's own,
 * `mpi_dirs`, default names. Initialises MPI if nobody has. Works on duplicates, so its messages never meet the host's, and
 * leaves the host's error handlers as they are. A host communicator that was given before and is still the same one
 * (MPI_Comm_compare: CONGRUENT, on every rank) gives the same pointer again, one reference more; options that are set then must be what it
 * was made with (code 8 on every rank).
 * Devices: with gpu = auto each rank gets exactly one GPU, an XLA client with just that (option client), and an NCCL communicator
 * over the same ranks; where there is no NCCL or no device anywhere, a host communicator (reactant_mpi_describe says why). Devices on
 * some ranks only, or fewer than ranks on a host, are an error on every rank.
 * Errors: 1, 8, 9, 11, 20, 21, 22, 30, 31, 40 to 44, 60 to 69, 80, 81. A failure found by one rank before the ranks have met is
 * returned there at once, and by the others with code 31 when timeout_ms is over; a later one by every rank alike.
 * MPI-5.0 sections 7.4.2 (MPI_Comm_dup), 11.2 (MPI_Init_thread).
 */
reactant_mpi_comm *reactant_mpi_initialize(uintptr_t comm);

/* The same with options (NULL = all unset). *out is set to NULL on error. */
int reactant_mpi_initialize_with(uintptr_t comm, const reactant_mpi_options *options, reactant_mpi_comm **out);

/* The same by the Fortran or integer handle (MPI_Comm_c2f, MPI_Comm_toint; mpi4py's py2f). MPI-5.0 section 19.3.4. */
int reactant_mpi_initialize_fint(int fcomm, const reactant_mpi_options *options, reactant_mpi_comm **out);

/*
 * End one reference of a communicator; the last one frees it. Collective over its ranks, blocking. Never ends MPI. Safe to
 * repeat: a communicator that has ended gives 0. Its handle and id stay invalid for ever and give code 2 everywhere else.
 *
 * NULL: end every communicator, newest first, whatever its references, then MPI, if this library initialised it. Programs end
 * with it. After MPI has ended, initialize gives 43. On a communicator whose ranks are out of step (after codes 31 and 32 of a data call)
 * nothing is called that could hang: its duplicates, and MPI itself, are left as they are, and a warning says so.
 * Errors: 2, 9, 20, 21, 44, 69, 81.   MPI-5.0 sections 7.4.3 (MPI_Comm_free), 11.2.2 (MPI_Finalize).
 */
int reactant_mpi_finalize(reactant_mpi_comm *comm);

/*
 * End the whole job at once (MPI_Abort on the communicator; NULL = the world). For the rank that wants it; returns only on error.
 * Errors: 2, 8, 20.   MPI-5.0 section 9.7.
 */
int reactant_mpi_abort(reactant_mpi_comm *comm, int code);

/* ---- communicators from communicators -------------------------------------------------------------------------------------------- */

/*
 * Split: one new communicator per colour, ranks ordered by key, then by rank in comm. A negative colour takes part and gets NULL (0 is
 * returned). A GPU communicator gives GPU communicators with the same devices (ncclCommSplit where NCCL has it). Collective over comm,
 * blocking. The result is an own communicator: it lives on when comm ends.
 * Errors: 1, 2, 8 (an earlier split or create of comm timed out), 9, 20, 21, 22, 31, 44, 69.   MPI-5.0 section 7.4.2.
 */
int reactant_mpi_comm_split(reactant_mpi_comm *comm, int color, int key, reactant_mpi_comm **out);

/*
 * A communicator of the n listed ranks of comm, in the order of the list. Called by those ranks only, with the same list (different lists
 * give 31 when the time of initialize is over); blocking.
 * Errors: 1 (not in the list), 2, 6 (a rank outside comm, or twice), 8, 9, 20, 21, 22, 30 (another list at the same time), 31, 44, 69.   MPI-5.0 section 7.4.2
 * (MPI_Comm_create_group).
 */
int reactant_mpi_comm_create(reactant_mpi_comm *comm, int n, const int *ranks, reactant_mpi_comm **out);

/* A second communicator of the same ranks, whose calls are independent. Collective over comm, blocking. Errors: those of split. */
int reactant_mpi_comm_dup(reactant_mpi_comm *comm, reactant_mpi_comm **out);

/* Split by host: the ranks that share one, ordered by key, then by rank. Collective over comm, blocking. Errors: those of split. */
int reactant_mpi_comm_split_node(reactant_mpi_comm *comm, int key, reactant_mpi_comm **out);

/*
 * Cliques by device id, as XLA names them. set_devices tells once which global device ids this process holds (n of them, 0 to any
 * number); collective over comm, blocking (one exchange). comm_from_devices then makes the communicator of the processes that hold the
 * listed ids: found locally, made by those processes only, ranks in the order of the list; a process that holds several of the ids takes
 * the place of its first. Two threads may make different cliques at once.
 * Errors of set_devices: 1 (an id twice in the list), 2, 8 (already set), 9, 20, 21, 22, 30 (an id that two processes claim), 31, 44.
 * Errors of comm_from_devices: 1 (an id that nobody holds, or twice; none of the ids is held here), 8 (no devices set), and those of
 * comm_create.   MPI-5.0 section 7.4.2 (MPI_Comm_create_group).
 */
int reactant_mpi_set_devices(reactant_mpi_comm *comm, const int64_t *ids, int n);
int reactant_mpi_comm_from_devices(reactant_mpi_comm *comm, const int64_t *ids, int n, reactant_mpi_comm **out);

/*
 * Longest wait, in milliseconds, of every call on host buffers of comm (0 = for ever). Collective over comm, blocking: all ranks
 * give the same value, since a call with a timeout does not match one without. A call that does not end in time gives code 31 on the ranks that wait;
 * the text says which ranks have arrived, which have not, and where they are; a rank whose process has ended gives code 32. After
 * that the communicator refuses further calls with the same code; other communicators go on. Under a timeout data go through buffers of
 * the library, which are given up if the call is. Errors: 1 (negative), 2, 8, 9, 20, 21, 22, 30 (values differ), 31, 44.
 */
int reactant_mpi_comm_set_timeout(reactant_mpi_comm *comm, int timeout_ms);

/*
 * After the failure of a process: the communicator of the ranks that live, in their old order. Collective over those; needs an MPI with
 * fault tolerance (ULFM: Open MPI started with --with-ft ulfm). Revokes comm first, so that ranks which still wait in it leave with code 32.
 * Errors: 1, 2, 9, 10 (this MPI cannot), 20, 21, 22, 31, 44.   MPI Forum, User-Level Failure Mitigation.
 */
int reactant_mpi_comm_shrink(reactant_mpi_comm *comm, reactant_mpi_comm **out);

/* reactant_mpi_finalize under the name that goes with the two above; NULL gives code 2. */
int reactant_mpi_comm_free(reactant_mpi_comm *comm);

/* ---- what it is: local, no communication ---------------------------------------------------------------------------------- */

/* This rank, number of ranks; rank and number among those on the same host. Negative code on error (-2, -20). */
int reactant_mpi_rank(const reactant_mpi_comm *comm);
int reactant_mpi_size(const reactant_mpi_comm *comm);
int reactant_mpi_local_rank(const reactant_mpi_comm *comm);
int reactant_mpi_local_size(const reactant_mpi_comm *comm);

/* CUDA or HIP ordinal of this rank's device; -1 = host communicator. Negative code below -1 on error. */
int reactant_mpi_device(const reactant_mpi_comm *comm);

/* The ncclComm_t, owned by the library; NULL on a host communicator (no error), after a failure of NCCL, and on error. Compiled code
 * may bake it. */
void *reactant_mpi_nccl_comm(const reactant_mpi_comm *comm);

/* The XLA client with exactly this rank's device: PjRtClient (reactant) or PJRT_Client (pjrt); NULL where the host makes it. */
void *reactant_mpi_client(const reactant_mpi_comm *comm);

/* Small positive integer, equal on every rank, usable wherever a handle is (compiled code bakes ids). Negative code on error. */
int64_t reactant_mpi_comm_id(const reactant_mpi_comm *comm);

/* The duplicate that this communicator works on, as the host MPI's handle; owned by the library. 0 on error. */
uintptr_t reactant_mpi_mpi_comm(const reactant_mpi_comm *comm);

/*
 * Everything known, as JSON: version, MPI library by path, version and ABI, how it was found, ranks, hosts, options, time of each
 * step of initialize, first error. NULL describes the process. Writes at most n bytes, always NUL-terminated when n > 0;
 * returns the length needed without the NUL, 0 on error. Takes a lock: not for the inner loop.
 */
size_t reactant_mpi_describe(const reactant_mpi_comm *comm, char *buf, size_t n);

/* ---- errors: local ---------------------------------------------------------------------------------------------------------- */

/* Text and code of the last failure on this thread; "" and 0 if none. Valid until the next failure on the same thread. */
const char *reactant_mpi_last_error(void);
int reactant_mpi_last_error_code(void);

/* Name of a code, as "ERR_COMM"; "unknown code" for others. Static. */
const char *reactant_mpi_error_name(int code);

/* First error latched on the communicator (or the one that ended it: 31, 32), 0 if none; for callers that cannot look at results. Negative code on error. */
int reactant_mpi_comm_error(const reactant_mpi_comm *comm);

/* ---- collectives over host buffers: blocking, collective ---------------------------------------------------------------------
 *
 * Arguments  send, recv, count of elements, type, op, root: as in MPI. For allgather, gather, scatter, reduce_scatter and
 *            alltoall count is the block of one rank: the larger buffer holds size * count elements, in rank order.
 * In place   REACTANT_MPI_IN_PLACE as `send` (allreduce, reduce_scatter, allgather, alltoall; reduce and gather at the root) or
 *            as `recv` (scatter at the root). Equal pointers mean the same for allreduce, reduce at the root, reduce_scatter, scan
 *            and exscan; so do send == recv + rank * count for allgather and gather at the root, and recv == send + rank * count
 *            for scatter at the root. alltoall with equal pointers gives code 1: say IN_PLACE, on every rank.
 * Errors     1 buffer, 2 comm, 3 type, 4 op, 5 count, 6 root, 9 thread, 20 forked, 43 MPI finalized, 44 MPI failed, 22 memory; with option
 *            check 30; with a timeout 31; 32 where a failed process is noticed (ULFM, or a timeout).
 * MPI-5.0    sections 6.3 to 6.11 (barrier 6.3, bcast 6.4, gather 6.5, scatter 6.6, allgather 6.7, alltoall 6.8, reductions
 *            6.9, reduce_scatter = MPI_Reduce_scatter_block 6.10.1, scan and exscan 6.11).
 */

/* recv on every rank = op over the ranks' send. */
int reactant_mpi_allreduce(const void *send, void *recv, size_t count, int type, int op, reactant_mpi_comm *comm);

/* The same at the root only; recv is ignored elsewhere. */
int reactant_mpi_reduce(const void *send, void *recv, size_t count, int type, int op, int root, reactant_mpi_comm *comm);

/* recv (count elements) = this rank's block of the op over the ranks' send (size * count elements). */
int reactant_mpi_reduce_scatter(const void *send, void *recv, size_t count, int type, int op, reactant_mpi_comm *comm);

/* buf of the root to every rank. */
int reactant_mpi_bcast(void *buf, size_t count, int type, int root, reactant_mpi_comm *comm);

/* recv on every rank = the ranks' send, one after the other. */
int reactant_mpi_allgather(const void *send, void *recv, size_t count, int type, reactant_mpi_comm *comm);

/* Block j of send goes to rank j; block i of recv comes from rank i. */
int reactant_mpi_alltoall(const void *send, void *recv, size_t count, int type, reactant_mpi_comm *comm);

/* recv at the root = the ranks' send, one after the other; recv is ignored elsewhere. */
int reactant_mpi_gather(const void *send, void *recv, size_t count, int type, int root, reactant_mpi_comm *comm);

/* Block i of the root's send to rank i; send is ignored elsewhere. */
int reactant_mpi_scatter(const void *send, void *recv, size_t count, int type, int root, reactant_mpi_comm *comm);

/* recv = op over the send of ranks 0 to this one. */
int reactant_mpi_scan(const void *send, void *recv, size_t count, int type, int op, reactant_mpi_comm *comm);

/* The same without this rank's own; recv of rank 0 is left as it is (in place: keeps its input). */
int reactant_mpi_exscan(const void *send, void *recv, size_t count, int type, int op, reactant_mpi_comm *comm);

/* Returns when every rank has called. */
int reactant_mpi_barrier(reactant_mpi_comm *comm);

/*
 * Blocks of different sizes: counts and displs (elements, from the start of the buffer) have one entry per rank, and are read during the
 * call only. Blocks of one buffer that is written must not overlap. allgatherv and reduce_scatterv: the same counts on every rank. count
 * is what the lists say for this rank (code 5 where that can be seen: allgatherv; gatherv and scatterv at the root). In place:
 * IN_PLACE as `send` (allgatherv, reduce_scatterv; alltoallv on every rank; gatherv at the root) or as `recv` (scatterv at the root), or
 * the own block where it belongs (allgatherv, gatherv and scatterv at the root); equal pointers for reduce_scatterv.
 */
int reactant_mpi_allgatherv(const void *send, size_t count, void *recv, const size_t *counts, const size_t *displs, int type,
                            reactant_mpi_comm *comm);
/* recv, counts and displs are ignored elsewhere than at the root. */
int reactant_mpi_gatherv(const void *send, size_t count, void *recv, const size_t *counts, const size_t *displs, int type, int root,
                         reactant_mpi_comm *comm);
/* send, counts and displs are ignored elsewhere than at the root. */
int reactant_mpi_scatterv(const void *send, const size_t *counts, const size_t *displs, void *recv, size_t count, int type, int root,
                          reactant_mpi_comm *comm);
/* send_counts[j] elements at send_displs[j] go to rank j. In place: what is at recv_displs[j] goes to j and is replaced. */
int reactant_mpi_alltoallv(const void *send, const size_t *send_counts, const size_t *send_displs, void *recv,
                           const size_t *recv_counts, const size_t *recv_displs, int type, reactant_mpi_comm *comm);
/* recv = this rank's block (counts[rank] elements) of the op over the ranks' send (all blocks, one after the other). */
int reactant_mpi_reduce_scatterv(const void *send, void *recv, const size_t *counts, int type, int op, reactant_mpi_comm *comm);

/* XLA's collective-permute: send goes to each of n_dests ranks, recv comes from source, and is zeros if source is PROC_NULL. Every pair of
 * ranks must agree: a rank that is somebody's destination names that rank as its source. Not in place. */
int reactant_mpi_permute(const void *send, void *recv, size_t count, int type, int source, int n_dests, const int *dests,
                         reactant_mpi_comm *comm);

/* ---- point to point: blocking, not collective --------------------------------------------------------------------------------
 *
 * dest, source  a rank, PROC_NULL (nothing happens), or ANY_SOURCE for source.
 * tag           0 to MPI's TAG_UB (at least 32767), or ANY_TAG for a receive.
 * count         of a receive is the room: a longer message gives code 44 (truncated), a shorter one is fine.
 * status        may be NULL.
 * Errors        1, 2, 3, 5, 6 (peer, tag), 9, 20, 43, 44; 31 and 32 as above.   MPI-5.0 sections 3.2 (send, recv), 3.8.1 (probe), 3.11
 *               (sendrecv).
 */
int reactant_mpi_send(const void *buf, size_t count, int type, int dest, int tag, reactant_mpi_comm *comm);
int reactant_mpi_recv(void *buf, size_t count, int type, int source, int tag, reactant_mpi_comm *comm,
                      reactant_mpi_status *status);

/* Both at once, without deadlock. send and recv must not overlap (equal pointers give code 1). */
int reactant_mpi_sendrecv(const void *send, size_t send_count, int dest, int send_tag, void *recv, size_t recv_count, int source,
                          int recv_tag, int type, reactant_mpi_comm *comm, reactant_mpi_status *status);

/* Returns when a message that source and tag allow is there, and says what a recv would get. */
int reactant_mpi_probe(int source, int tag, reactant_mpi_comm *comm, reactant_mpi_status *status);

/* ---- started calls: non-blocking ------------------------------------------------------------------------------------------------
 *
 * iX takes the arguments of X, starts it, and gives a request; X is done when wait, waitall, wait_for, test or testall say so, and the
 * request is then gone (using it again gives code 7). Collectives are collective: all ranks start them in the same order, and
 * a started one does not match a blocking one. Buffers belong to the call until it is done; counts, displs and dests only during iX.
 * Progress is made inside calls of MPI (wait and test among them), not by threads.
 * Errors: those of X, and 22 (no request left).   MPI-5.0 sections 3.7 (messages), 6.12 (collectives).
 */
int reactant_mpi_isend(const void *buf, size_t count, int type, int dest, int tag, reactant_mpi_comm *comm, reactant_mpi_request **out);
int reactant_mpi_irecv(void *buf, size_t count, int type, int source, int tag, reactant_mpi_comm *comm, reactant_mpi_request **out);
int reactant_mpi_iallreduce(const void *send, void *recv, size_t count, int type, int op, reactant_mpi_comm *comm,
                            reactant_mpi_request **out);
int reactant_mpi_ireduce(const void *send, void *recv, size_t count, int type, int op, int root, reactant_mpi_comm *comm,
                         reactant_mpi_request **out);
int reactant_mpi_ireduce_scatter(const void *send, void *recv, size_t count, int type, int op, reactant_mpi_comm *comm,
                                 reactant_mpi_request **out);
int reactant_mpi_ibcast(void *buf, size_t count, int type, int root, reactant_mpi_comm *comm, reactant_mpi_request **out);
int reactant_mpi_iallgather(const void *send, void *recv, size_t count, int type, reactant_mpi_comm *comm,
                            reactant_mpi_request **out);
int reactant_mpi_ialltoall(const void *send, void *recv, size_t count, int type, reactant_mpi_comm *comm,
                           reactant_mpi_request **out);
int reactant_mpi_igather(const void *send, void *recv, size_t count, int type, int root, reactant_mpi_comm *comm,
                         reactant_mpi_request **out);
int reactant_mpi_iscatter(const void *send, void *recv, size_t count, int type, int root, reactant_mpi_comm *comm,
                          reactant_mpi_request **out);
int reactant_mpi_iscan(const void *send, void *recv, size_t count, int type, int op, reactant_mpi_comm *comm,
                       reactant_mpi_request **out);
int reactant_mpi_iexscan(const void *send, void *recv, size_t count, int type, int op, reactant_mpi_comm *comm,
                         reactant_mpi_request **out);
int reactant_mpi_ibarrier(reactant_mpi_comm *comm, reactant_mpi_request **out);
int reactant_mpi_iallgatherv(const void *send, size_t count, void *recv, const size_t *counts, const size_t *displs, int type,
                             reactant_mpi_comm *comm, reactant_mpi_request **out);
int reactant_mpi_igatherv(const void *send, size_t count, void *recv, const size_t *counts, const size_t *displs, int type,
                          int root, reactant_mpi_comm *comm, reactant_mpi_request **out);
int reactant_mpi_iscatterv(const void *send, const size_t *counts, const size_t *displs, void *recv, size_t count, int type,
                           int root, reactant_mpi_comm *comm, reactant_mpi_request **out);
int reactant_mpi_ialltoallv(const void *send, const size_t *send_counts, const size_t *send_displs, void *recv,
                            const size_t *recv_counts, const size_t *recv_displs, int type, reactant_mpi_comm *comm,
                            reactant_mpi_request **out);
int reactant_mpi_ireduce_scatterv(const void *send, void *recv, const size_t *counts, int type, int op, reactant_mpi_comm *comm,
                                  reactant_mpi_request **out);
int reactant_mpi_ipermute(const void *send, void *recv, size_t count, int type, int source, int n_dests, const int *dests,
                          reactant_mpi_comm *comm, reactant_mpi_request **out);

/*
 * Wait until a started call is done. status may be NULL; it is filled by receives, and else PROC_NULL, ANY_TAG, 0 bytes.
 * Errors: 7 (not a live request, or a second wait), 8 (prepared and not started), 2, and those of the call.   MPI-5.0 section 3.7.3.
 */
int reactant_mpi_wait(reactant_mpi_request *request, reactant_mpi_status *status);

/* The same for at most timeout_ms milliseconds (0 = one look): then code 31, with a text as for comm_set_timeout where there is a
 * timeout, and the request stays as it was, to be waited for again; its buffers are still in use. */
int reactant_mpi_wait_for(reactant_mpi_request *request, int timeout_ms, reactant_mpi_status *status);

/* Wait for n requests; NULL ones count as done, and started ones become NULL in the list. statuses may be NULL. Code 7 for a dead one before anything is waited for; else all are
 * done, and the first failure is returned.   MPI-5.0 section 3.7.5. */
int reactant_mpi_waitall(int n, reactant_mpi_request **requests, reactant_mpi_status *statuses);

/* Whether a started call, or all of n, are done: *done is 1 (and they are gone) or 0 (and nothing has changed). Not blocking. With a
 * timeout the time of `test` counts from its first look; testall knows none. */
int reactant_mpi_test(reactant_mpi_request *request, int *done, reactant_mpi_status *status);
int reactant_mpi_testall(int n, reactant_mpi_request **requests, int *done, reactant_mpi_status *statuses);

/* ---- collectives and messages over device buffers -------------------------------------------------------------------------------
 *
 * The same operations on a stream (cudaStream_t, CUstream or hipStream_t as a pointer; NULL = the default stream), over NCCL or RCCL.
 * They enqueue and return; no function here waits for the device. Buffers are device memory of this rank's device and must live
 * until the stream has passed.
 * Types      moving: all. Reducing: INT8, UINT8, 32- and 64-bit integers, FLOAT16, BFLOAT16, FLOAT32, FLOAT64, and FLOAT8 (NCCL 2.24
 *            and later) with SUM MIN MAX PROD, AVG on floating-point; COMPLEX with SUM and AVG; BOOL with LAND and LOR. Others: code 4.
 * In place   equal pointers for allreduce and reduce; the own block of the large buffer for allgather, gather, scatter (IN_PLACE means
 *            the same) and reduce_scatter (recv == send + rank * count). Not for alltoall.
 * Messages   no tags and no status; send and receive counts must match; ANY_SOURCE gives code 6. Two ranks that send to each other need
 *            sendrecv or a group.
 * Errors     1, 2, 3, 4, 5, 6, 20, 43, 61 (host communicator), 69 (NCCL; also after an asynchronous error).   NCCL guide: Collective
 *            Communication Functions, Point To Point Communication Functions, In-place Operations.
 */
int reactant_mpi_allreduce_stream(const void *send, void *recv, size_t count, int type, int op, reactant_mpi_comm *comm,
                                  void *stream);
int reactant_mpi_reduce_stream(const void *send, void *recv, size_t count, int type, int op, int root, reactant_mpi_comm *comm,
                               void *stream);
int reactant_mpi_reduce_scatter_stream(const void *send, void *recv, size_t count, int type, int op, reactant_mpi_comm *comm,
                                       void *stream);
int reactant_mpi_bcast_stream(void *buf, size_t count, int type, int root, reactant_mpi_comm *comm, void *stream);
int reactant_mpi_allgather_stream(const void *send, void *recv, size_t count, int type, reactant_mpi_comm *comm, void *stream);
int reactant_mpi_alltoall_stream(const void *send, void *recv, size_t count, int type, reactant_mpi_comm *comm, void *stream);
int reactant_mpi_gather_stream(const void *send, void *recv, size_t count, int type, int root, reactant_mpi_comm *comm, void *stream);
int reactant_mpi_scatter_stream(const void *send, void *recv, size_t count, int type, int root, reactant_mpi_comm *comm,
                                void *stream);
int reactant_mpi_barrier_stream(reactant_mpi_comm *comm, void *stream);
int reactant_mpi_send_stream(const void *buf, size_t count, int type, int dest, reactant_mpi_comm *comm, void *stream);
int reactant_mpi_recv_stream(void *buf, size_t count, int type, int source, reactant_mpi_comm *comm, void *stream);
int reactant_mpi_sendrecv_stream(const void *send, size_t send_count, int dest, void *recv, size_t recv_count, int source, int type,
                                 reactant_mpi_comm *comm, void *stream);

/*
 * Blocks of different sizes: counts and displs (elements, from the start of the buffer) have one entry per rank. Built from NCCL's
 * messages and reduces in one group. In place: IN_PLACE, or the own block where it belongs (allgatherv, gatherv and scatterv at the root).
 */
int reactant_mpi_allgatherv_stream(const void *send, size_t count, void *recv, const size_t *counts, const size_t *displs, int type,
                                   reactant_mpi_comm *comm, void *stream);
int reactant_mpi_gatherv_stream(const void *send, size_t count, void *recv, const size_t *counts, const size_t *displs, int type,
                                int root, reactant_mpi_comm *comm, void *stream);
int reactant_mpi_scatterv_stream(const void *send, const size_t *counts, const size_t *displs, void *recv, size_t count, int type,
                                 int root, reactant_mpi_comm *comm, void *stream);
int reactant_mpi_alltoallv_stream(const void *send, const size_t *send_counts, const size_t *send_displs, void *recv,
                                  const size_t *recv_counts, const size_t *recv_displs, int type, reactant_mpi_comm *comm,
                                  void *stream);
/* recv = this rank's block (counts[rank] elements) of the op over the ranks' send (all blocks, one after the other). */
int reactant_mpi_reduce_scatterv_stream(const void *send, void *recv, const size_t *counts, int type, int op,
                                        reactant_mpi_comm *comm, void *stream);

/* XLA's collective-permute: send goes to each of n_dests ranks, recv comes from source, and is zeros if source is PROC_NULL. */
int reactant_mpi_permute_stream(const void *send, void *recv, size_t count, int type, int source, int n_dests, const int *dests,
                                reactant_mpi_comm *comm, void *stream);

/* Calls between start and end are handed to NCCL together, as one (NCCL guide: Group Calls). Per thread; nests. Errors: 20, 61, 69. */
int reactant_mpi_group_start(void);
int reactant_mpi_group_end(void);

/* ---- prepared calls: the same collective again and again, one pointer a call --------------------------------------------------
 *
 * prepare_X takes the arguments of X, checks them once, and gives a request; local, no communication. run does the collective
 * on the buffers given then (collective, blocking; same result as X). start begins it (as iX), and wait, wait_for or test end it; then
 * it can be started again. Buffers, counts, displs and dests must live until request_free. One thread at a time. A started
 * call matches iX and start on the other ranks, a run matches X and run. Requests of a communicator that has ended give code 2.
 * Errors of prepare: those of X, and 22. Errors of run and start: 2, 7, 8 (already started), and those of X that MPI reports.
 */
int reactant_mpi_prepare_allreduce(const void *send, void *recv, size_t count, int type, int op, reactant_mpi_comm *comm,
                                   reactant_mpi_request **out);
int reactant_mpi_prepare_reduce(const void *send, void *recv, size_t count, int type, int op, int root, reactant_mpi_comm *comm,
                                reactant_mpi_request **out);
int reactant_mpi_prepare_reduce_scatter(const void *send, void *recv, size_t count, int type, int op, reactant_mpi_comm *comm,
                                        reactant_mpi_request **out);
int reactant_mpi_prepare_bcast(void *buf, size_t count, int type, int root, reactant_mpi_comm *comm, reactant_mpi_request **out);
int reactant_mpi_prepare_allgather(const void *send, void *recv, size_t count, int type, reactant_mpi_comm *comm,
                                   reactant_mpi_request **out);
int reactant_mpi_prepare_alltoall(const void *send, void *recv, size_t count, int type, reactant_mpi_comm *comm,
                                  reactant_mpi_request **out);
int reactant_mpi_prepare_gather(const void *send, void *recv, size_t count, int type, int root, reactant_mpi_comm *comm,
                                reactant_mpi_request **out);
int reactant_mpi_prepare_scatter(const void *send, void *recv, size_t count, int type, int root, reactant_mpi_comm *comm,
                                 reactant_mpi_request **out);
int reactant_mpi_prepare_scan(const void *send, void *recv, size_t count, int type, int op, reactant_mpi_comm *comm,
                              reactant_mpi_request **out);
int reactant_mpi_prepare_exscan(const void *send, void *recv, size_t count, int type, int op, reactant_mpi_comm *comm,
                                reactant_mpi_request **out);
int reactant_mpi_prepare_barrier(reactant_mpi_comm *comm, reactant_mpi_request **out);
int reactant_mpi_prepare_allgatherv(const void *send, size_t count, void *recv, const size_t *counts, const size_t *displs,
                                    int type, reactant_mpi_comm *comm, reactant_mpi_request **out);
int reactant_mpi_prepare_gatherv(const void *send, size_t count, void *recv, const size_t *counts, const size_t *displs, int type,
                                 int root, reactant_mpi_comm *comm, reactant_mpi_request **out);
int reactant_mpi_prepare_scatterv(const void *send, const size_t *counts, const size_t *displs, void *recv, size_t count, int type,
                                  int root, reactant_mpi_comm *comm, reactant_mpi_request **out);
int reactant_mpi_prepare_alltoallv(const void *send, const size_t *send_counts, const size_t *send_displs, void *recv,
                                   const size_t *recv_counts, const size_t *recv_displs, int type, reactant_mpi_comm *comm,
                                   reactant_mpi_request **out);
int reactant_mpi_prepare_reduce_scatterv(const void *send, void *recv, const size_t *counts, int type, int op,
                                         reactant_mpi_comm *comm, reactant_mpi_request **out);
int reactant_mpi_prepare_permute(const void *send, void *recv, size_t count, int type, int source, int n_dests, const int *dests,
                                 reactant_mpi_comm *comm, reactant_mpi_request **out);

/* Do a prepared call. Collective, blocking. */
int reactant_mpi_run(reactant_mpi_request *request);

/* Begin a prepared call. Collective, not blocking. MPI-5.0 section 6.13 (the meaning; MPI's persistent collectives are not used). */
int reactant_mpi_start(reactant_mpi_request *request);

/* Give a request back. Local. A started call goes on to its end, which the library notices in later calls that start something, or in
 * finalize; its buffers are in use until then. Errors: 7 (also on a second free). */
int reactant_mpi_request_free(reactant_mpi_request *request);

/* ---- NCCL's functions, for compiled code -----------------------------------------------------------------------------------------
 *
 * The exact prototypes of nccl.h (ncclResult_t, ncclDataType_t and ncclRedOp_t are int; streams and communicators void *), so that code
 * that was compiled to call NCCL by name can be given these addresses instead. `comm` may be our handle, its id, or the ncclComm_t of
 * reactant_mpi_nccl_comm; any other word gives ncclInvalidArgument (4). Types and operations are NCCL's numbers. They return NCCL's own
 * codes, make sure of the thread's context, and latch the first failure on the communicator. After finalize they give 5
 * (ncclInvalidUsage) for our handle and 4 for the raw pointer; CommFinalize, CommDestroy and CommAbort leave our communicators to
 * reactant_mpi_finalize and return 0; only CommDestroy of one that ncclCommSplit made ends it (collective).
 */
int reactant_mpi_ncclAllReduce(const void *send, void *recv, size_t count, int type, int op, void *comm, void *stream);
int reactant_mpi_ncclReduce(const void *send, void *recv, size_t count, int type, int op, int root, void *comm, void *stream);
int reactant_mpi_ncclBroadcast(const void *send, void *recv, size_t count, int type, int root, void *comm, void *stream);
int reactant_mpi_ncclAllGather(const void *send, void *recv, size_t count, int type, void *comm, void *stream);
int reactant_mpi_ncclReduceScatter(const void *send, void *recv, size_t count, int type, int op, void *comm, void *stream);
int reactant_mpi_ncclAlltoAll(const void *send, void *recv, size_t count, int type, void *comm, void *stream);
int reactant_mpi_ncclSend(const void *send, size_t count, int type, int peer, void *comm, void *stream);
int reactant_mpi_ncclRecv(void *recv, size_t count, int type, int peer, void *comm, void *stream);
int reactant_mpi_ncclGroupStart(void);
int reactant_mpi_ncclGroupEnd(void);
int reactant_mpi_ncclCommCount(void *comm, int *count);
int reactant_mpi_ncclCommUserRank(void *comm, int *rank);
int reactant_mpi_ncclCommCuDevice(void *comm, int *device);
int reactant_mpi_ncclCommGetAsyncError(void *comm, int *error);
int reactant_mpi_ncclCommFinalize(void *comm);
int reactant_mpi_ncclCommDestroy(void *comm);
int reactant_mpi_ncclCommAbort(void *comm);
const char *reactant_mpi_ncclGetErrorString(int code);

/*
 * Communicator of the ranks of one colour, ranks ordered by key; a negative colour (NCCL_SPLIT_NOCOLOR) takes part and gets NULL. *out is a
 * communicator of this library, for all functions here; ncclCommDestroy ends it. config is ignored. Collective over comm, blocking.
 */
int reactant_mpi_ncclCommSplit(void *comm, int color, int key, void **out, void *config);

/* ---- MPI's functions, for compiled code ------------------------------------------------------------------------------------------
 *
 * The prototypes of mpi.h with every handle one word (uintptr_t), for code that was compiled to call MPI by name, before any MPI was
 * known: Enzyme-JAX. The same code is right under every MPI.
 * Communicators  0x101 MPI_COMM_WORLD (what reactant_mpi_initialize made of the world or of a congruent communicator; without one:
 *                MPI_ERR_COMM), 0x102 MPI_COMM_SELF (made at its first use), 0x100 MPI_COMM_NULL, our handle, its id (never one of these
 *                three numbers), or the host MPI's handle that initialize was given, as long as the host keeps it (MPICH's may be sign-extended;
 *                where MPI's handles are small numbers themselves, in Mukautuva and WI4MPI, ids win).
 * Types, ops     MPI-5.0's standard ABI, C types of LP64 included (0x209 MPI_INT); those of this header are among them.
 * Peers, tags, colours, buffers   the numbers of the host's MPI: its ANY_SOURCE, PROC_NULL, ANY_TAG, UNDEFINED, IN_PLACE mean what they mean there.
 * Requests       words of this library, valid in these functions only: 0x180 MPI_REQUEST_NULL when there is none. The forms ending in 4 keep
 *                them in 4 bytes, the others in 8; those of the other width are recognised where that can be (MPI_ERR_REQUEST). -1, which
 *                compiled code puts there first, is MPI_ERR_REQUEST too: the call that should have started it did not run.
 * Statuses       NULL and 1 mean none. Else source, tag and error in the layout of the host's MPI, and the size where that says how (MPICH's and
 *                Open MPI's own ABI), never more than 24 bytes; nothing where the fields lie beyond them (MPItrampoline). Waitall
 *                leaves statuses untouched: their width is not known.
 * Barrier        uses messages of its own: it may run beside another collective, in another order on each rank. Option check does not compare it.
 * Results        0 or an error class of the standard ABI: BUFFER and the like are ARG, what MPI itself reports (a truncated message) is OTHER. Compiled code
 *                ignores it, so a failure is also latched on the communicator and in reactant_mpi_compiled_error, and logged (the first of
 *                a communicator; ten without one), as register_symbols says.
 */
int reactant_mpi_MPI_Init(int *argc, void *argv);  /* WORLD on the host, unless it is there already */
int reactant_mpi_MPI_Finalize(void);               /* reactant_mpi_finalize(NULL) */
int reactant_mpi_MPI_Comm_rank(uintptr_t comm, int *rank);
int reactant_mpi_MPI_Comm_size(uintptr_t comm, int *size);
int reactant_mpi_MPI_Comm_split(uintptr_t comm, int color, int key, uintptr_t *out);
int reactant_mpi_MPI_Barrier(uintptr_t comm);
int reactant_mpi_MPI_Bcast(void *buf, int count, uintptr_t type, int root, uintptr_t comm);
int reactant_mpi_MPI_Allreduce(const void *send, void *recv, int count, uintptr_t type, uintptr_t op, uintptr_t comm);
int reactant_mpi_MPI_Reduce(const void *send, void *recv, int count, uintptr_t type, uintptr_t op, int root, uintptr_t comm);
int reactant_mpi_MPI_Reduce_scatter_block(const void *send, void *recv, int count, uintptr_t type, uintptr_t op, uintptr_t comm);
int reactant_mpi_MPI_Scan(const void *send, void *recv, int count, uintptr_t type, uintptr_t op, uintptr_t comm);
/* send and recv blocks must have the same bytes. */
int reactant_mpi_MPI_Allgather(const void *send, int send_count, uintptr_t send_type, void *recv, int recv_count, uintptr_t recv_type,
                               uintptr_t comm);
int reactant_mpi_MPI_Alltoall(const void *send, int send_count, uintptr_t send_type, void *recv, int recv_count, uintptr_t recv_type,
                              uintptr_t comm);
int reactant_mpi_MPI_Gather(const void *send, int send_count, uintptr_t send_type, void *recv, int recv_count, uintptr_t recv_type,
                            int root, uintptr_t comm);
int reactant_mpi_MPI_Scatter(const void *send, int send_count, uintptr_t send_type, void *recv, int recv_count, uintptr_t recv_type,
                             int root, uintptr_t comm);
int reactant_mpi_MPI_Send(const void *buf, int count, uintptr_t type, int dest, int tag, uintptr_t comm);
int reactant_mpi_MPI_Recv(void *buf, int count, uintptr_t type, int source, int tag, uintptr_t comm, void *status);
int reactant_mpi_MPI_Sendrecv(const void *send, int send_count, uintptr_t send_type, int dest, int send_tag, void *recv, int recv_count,
                              uintptr_t recv_type, int source, int recv_tag, uintptr_t comm, void *status);
int reactant_mpi_MPI_Isend(const void *buf, int count, uintptr_t type, int dest, int tag, uintptr_t comm, uintptr_t *request);
int reactant_mpi_MPI_Irecv(void *buf, int count, uintptr_t type, int source, int tag, uintptr_t comm, uintptr_t *request);
int reactant_mpi_MPI_Wait(uintptr_t *request, void *status);
int reactant_mpi_MPI_Waitall(int n, uintptr_t *requests, void *statuses);
int reactant_mpi_MPI_Request_free(uintptr_t *request);
int reactant_mpi_MPI_Isend4(const void *buf, int count, uintptr_t type, int dest, int tag, uintptr_t comm, int32_t *request);
int reactant_mpi_MPI_Irecv4(void *buf, int count, uintptr_t type, int source, int tag, uintptr_t comm, int32_t *request);
int reactant_mpi_MPI_Wait4(int32_t *request, void *status);
int reactant_mpi_MPI_Waitall4(int n, int32_t *requests, void *statuses);
int reactant_mpi_MPI_Request_free4(int32_t *request);
/* Text of an error class: that of this thread's last failure where it has this class, cut to 256 bytes with the NUL; else its name. */
int reactant_mpi_MPI_Error_string(int code, char *text, int *length);

/* Which code calls: one of these. */
#define REACTANT_MPI_SYMBOLS_G1 0x1 /* enzymexla.mpi operations: 4-byte requests */
#define REACTANT_MPI_SYMBOLS_G2 0x2 /* comm.mpi and comm.nccl operations, and the FFI handlers: 8-byte requests */
#define REACTANT_MPI_SYMBOLS_G3 0x4 /* constants of the FFI handlers, beside G2: map is enzymexla_set_mpi_constant(name, value, is_pointer), cast */
/* What a failure in compiled code does besides being latched: one of these, or by REACTANT_MPI_COMPILED_ERRORS=return|log|abort (log). */
#define REACTANT_MPI_ERRORS_RETURN 0x10 /* nothing: the caller asks reactant_mpi_compiled_error */
#define REACTANT_MPI_ERRORS_LOG    0x20 /* one line for each communicator */
#define REACTANT_MPI_ERRORS_ABORT  0x40 /* the line, and reactant_mpi_abort, which needs an initialised MPI */

/* Remembers what a name stands for. Called on the calling thread, during register_symbols only; must not throw or longjmp. */
typedef void (*reactant_mpi_map_fn)(const char *name, void *address);

/*
 * Give the names that compiled code calls ("MPI_Allreduce", "ncclAllReduce", "MPI_COMM_WORLD", "MPI_FLOAT", ...) and their addresses or
 * values to map, which is Enzyme-JAX's EnzymeJaXMapSymbol or one that behaves like it. Local; before MPI is known if you like. Once and early: code compiled before
 * keeps what it had. No value is 0, which would end the process there: MPI_STATUS_IGNORE is 1, and MPI_SUCCESS is given with G3 only.
 * flags is one generation and at most one of ERRORS_; the last one told counts. Errors: 1, 20.
 */
int reactant_mpi_register_symbols(reactant_mpi_map_fn map, unsigned flags);

/*
 * The first failure in these functions, or in those with NCCL's names, since the last call of this: its code (REACTANT_MPI_ERR_), and its text
 * in `text` (at most n bytes with the NUL; may be NULL). 0 and "" if none. For callers that look after compiled code has run. Local.
 */
int reactant_mpi_compiled_error(char *text, size_t n);

/* ---- XLA FFI handlers, for compiled code -----------------------------------------------------------------------------------------
 *
 * To be registered with XLA under any name (jax.ffi.register_ffi_target, XLA_FFI_Handler_Register), platform Host. They say that they are of
 * FFI version 0.1, so every runtime since then takes them. One call does the operation of the same name.
 * Operands    [data] [token]; results likewise. send, barrier: no data in the result; recv, barrier: no data as operand. The token is an
 *             F32[1] of the program's that is copied from operand to result: it orders calls. Buffers of XLA's own type TOKEN are skipped.
 * Attributes  comm S64 (id); size S32 (ranks that the program was compiled for); wait PRED; by operation op, root, dest, source, tag, sendtag, recvtag
 *             S32; permute: source S32, dests S32 list (this rank's); counts S64 list (every rank's), alltoallv: sendcounts, recvcounts S64 lists
 *             (this rank's). Values are those of this header.
 * wait        true: the call may block its thread. false: it is started (collectives then match started ones on the other ranks), and if it is
 *             not over soon a thread of the library ends it and completes XLA's future. Equal on every rank.
 * Shapes      by number of elements, with n ranks: allgather, gather n blocks in the result, scatter, reduce_scatter n blocks in the operand, on every rank;
 *             lists: the sum of counts where the ranks' blocks meet, counts[rank] on the other side; else equal. Results that MPI would
 *             leave alone are zeros (not the root; exscan on rank 0; no source).
 * In place    operand and result may be the same buffer; a copy is made where the operation cannot.
 * Types       those of this header; other 8-bit floats are moved, not reduced.
 * Errors      NULL, or an XLA_FFI_Error whose code is INVALID_ARGUMENT (1 to 7, 11), FAILED_PRECONDITION (8, 20, 21, 43; another size),
 *             UNIMPLEMENTED (10), DEADLINE_EXCEEDED (31), UNAVAILABLE (32), RESOURCE_EXHAUSTED (22), else INTERNAL; its text is that of the failure. NULL for a frame
 *             that is NULL or has no api: there is nobody to tell.
 */
struct XLA_FFI_Error;
struct XLA_FFI_CallFrame;
struct XLA_FFI_Error *reactant_mpi_ffi_allreduce(struct XLA_FFI_CallFrame *frame);
struct XLA_FFI_Error *reactant_mpi_ffi_reduce(struct XLA_FFI_CallFrame *frame);
struct XLA_FFI_Error *reactant_mpi_ffi_bcast(struct XLA_FFI_CallFrame *frame);
struct XLA_FFI_Error *reactant_mpi_ffi_allgather(struct XLA_FFI_CallFrame *frame);
struct XLA_FFI_Error *reactant_mpi_ffi_gather(struct XLA_FFI_CallFrame *frame);
struct XLA_FFI_Error *reactant_mpi_ffi_scatter(struct XLA_FFI_CallFrame *frame);
struct XLA_FFI_Error *reactant_mpi_ffi_reduce_scatter(struct XLA_FFI_CallFrame *frame);
struct XLA_FFI_Error *reactant_mpi_ffi_alltoall(struct XLA_FFI_CallFrame *frame);
struct XLA_FFI_Error *reactant_mpi_ffi_scan(struct XLA_FFI_CallFrame *frame);
struct XLA_FFI_Error *reactant_mpi_ffi_exscan(struct XLA_FFI_CallFrame *frame);
struct XLA_FFI_Error *reactant_mpi_ffi_barrier(struct XLA_FFI_CallFrame *frame);
struct XLA_FFI_Error *reactant_mpi_ffi_send(struct XLA_FFI_CallFrame *frame);
struct XLA_FFI_Error *reactant_mpi_ffi_recv(struct XLA_FFI_CallFrame *frame);
struct XLA_FFI_Error *reactant_mpi_ffi_sendrecv(struct XLA_FFI_CallFrame *frame);
struct XLA_FFI_Error *reactant_mpi_ffi_permute(struct XLA_FFI_CallFrame *frame);
struct XLA_FFI_Error *reactant_mpi_ffi_allgatherv(struct XLA_FFI_CallFrame *frame);
struct XLA_FFI_Error *reactant_mpi_ffi_gatherv(struct XLA_FFI_CallFrame *frame);
struct XLA_FFI_Error *reactant_mpi_ffi_scatterv(struct XLA_FFI_CallFrame *frame);
struct XLA_FFI_Error *reactant_mpi_ffi_reduce_scatterv(struct XLA_FFI_CallFrame *frame);
struct XLA_FFI_Error *reactant_mpi_ffi_alltoallv(struct XLA_FFI_CallFrame *frame);

/* The same over device buffers, platforms CUDA and ROCM: they enqueue on XLA's stream and return; wait and tags mean nothing, and source is
 * never ANY_SOURCE. Types and errors are those of the functions ending in _stream. */
struct XLA_FFI_Error *reactant_mpi_ffi_allreduce_stream(struct XLA_FFI_CallFrame *frame);
struct XLA_FFI_Error *reactant_mpi_ffi_reduce_stream(struct XLA_FFI_CallFrame *frame);
struct XLA_FFI_Error *reactant_mpi_ffi_bcast_stream(struct XLA_FFI_CallFrame *frame);
struct XLA_FFI_Error *reactant_mpi_ffi_allgather_stream(struct XLA_FFI_CallFrame *frame);
struct XLA_FFI_Error *reactant_mpi_ffi_gather_stream(struct XLA_FFI_CallFrame *frame);
struct XLA_FFI_Error *reactant_mpi_ffi_scatter_stream(struct XLA_FFI_CallFrame *frame);
struct XLA_FFI_Error *reactant_mpi_ffi_reduce_scatter_stream(struct XLA_FFI_CallFrame *frame);
struct XLA_FFI_Error *reactant_mpi_ffi_alltoall_stream(struct XLA_FFI_CallFrame *frame);
struct XLA_FFI_Error *reactant_mpi_ffi_barrier_stream(struct XLA_FFI_CallFrame *frame);
struct XLA_FFI_Error *reactant_mpi_ffi_send_stream(struct XLA_FFI_CallFrame *frame);
struct XLA_FFI_Error *reactant_mpi_ffi_recv_stream(struct XLA_FFI_CallFrame *frame);
struct XLA_FFI_Error *reactant_mpi_ffi_sendrecv_stream(struct XLA_FFI_CallFrame *frame);
struct XLA_FFI_Error *reactant_mpi_ffi_permute_stream(struct XLA_FFI_CallFrame *frame);
struct XLA_FFI_Error *reactant_mpi_ffi_allgatherv_stream(struct XLA_FFI_CallFrame *frame);
struct XLA_FFI_Error *reactant_mpi_ffi_gatherv_stream(struct XLA_FFI_CallFrame *frame);
struct XLA_FFI_Error *reactant_mpi_ffi_scatterv_stream(struct XLA_FFI_CallFrame *frame);
struct XLA_FFI_Error *reactant_mpi_ffi_reduce_scatterv_stream(struct XLA_FFI_CallFrame *frame);
struct XLA_FFI_Error *reactant_mpi_ffi_alltoallv_stream(struct XLA_FFI_CallFrame *frame);

#ifdef __cplusplus
}
#endif

#endif
