/*
 * What the doubles of the translating layers have in common: a program's calls in one ABI, passed on to a real MPI of another,
 * found at run time with dlsym. The including file says which ABI the program has (APP_*), how its functions are called (NAME),
 * and when the real MPI is opened. The MPI behind is of the MPICH or the Open MPI ABI.
 *
 * Not modelled: error codes (passed on as they are), arguments of callbacks but the datatype of user operations, functions that
 * mpi/functions.inc has not.
 */
#ifndef LAYER_H
#define LAYER_H

#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef uint64_t word;

/* The program's handles: ints, or words. */
#ifdef APP_MPICH
typedef int MPI_Comm, MPI_Datatype, MPI_Op, MPI_Request, MPI_Group, MPI_Errhandler;
#define WORD(handle) ((word)(uint32_t)(handle))
#else
typedef word MPI_Comm, MPI_Datatype, MPI_Op, MPI_Request, MPI_Group, MPI_Errhandler;
#define WORD(handle) (handle)
#endif

enum kind { KIND_Comm, KIND_Datatype, KIND_Op, KIND_Request, KIND_Group, KIND_Errhandler, KINDS };

enum handle {
#define HANDLE(kind, name, ...) H_##name,
#define NUMBER(...)
#include "constants.h"
#undef HANDLE
#undef NUMBER
    HANDLES
};

/* Open MPI's handles are the addresses of these: of the program's ABI its own objects. */
#ifdef APP_OMPI
#define HANDLE(kind, name, mpich, ompi, muk, wi4mpi) word ompi[16];
#define NUMBER(...)
#include "constants.h"
#undef HANDLE
#undef NUMBER
#endif

static const struct {
    enum kind kind;
    word mpich, muk, wi4mpi;
    const char *ompi;
    const void *own;
} handles[HANDLES] = {
#ifdef APP_OMPI
#define OWN(symbol) symbol
#else
#define OWN(symbol) NULL
#endif
#define HANDLE(kind, name, mpich, ompi, muk, wi4mpi) {KIND_##kind, mpich, muk, wi4mpi, #ompi, OWN(ompi)},
#define NUMBER(...)
#include "constants.h"
#undef HANDLE
#undef NUMBER
};

enum number {
#define HANDLE(...)
#define NUMBER(name, ...) N_##name,
#include "constants.h"
#undef HANDLE
#undef NUMBER
    NUMBERS
};

static const struct {
    int mpich, ompi, muk, wi4mpi;
} numbers[NUMBERS] = {
#define HANDLE(...)
#define NUMBER(name, ...) {__VA_ARGS__},
#include "constants.h"
#undef HANDLE
#undef NUMBER
};

/* The MPI behind. */
static struct {
    void *lib;
    int ints; /* MPICH's ABI */
    word constant[HANDLES];
} run;

static void run_open(const char *path)
{
    run.lib = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND | RTLD_NODELETE);
    if (!run.lib) {
        fprintf(stderr, "double of a layer: %s\n", dlerror());
        exit(1);
    }
    run.ints = !dlsym(run.lib, "ompi_mpi_comm_world");
    for (int i = 0; i < HANDLES; i++)
        run.constant[i] = run.ints ? handles[i].mpich : (word)dlsym(run.lib, handles[i].ompi);
}

static inline word run_symbol(const char *name)
{
    char symbol[64];
    snprintf(symbol, sizeof symbol, "MPI_%s", name);
    word address = run.lib ? (word)dlsym(run.lib, symbol) : 0;
    if (!address) {
        fprintf(stderr, "double of a layer: a null pointer is called: %s\n", symbol);
        abort();
    }
    return address;
}

#define RUN(name)                          \
    ({                                     \
        static word address;               \
        if (!address)                      \
            address = run_symbol(name);    \
        address;                           \
    })

/* An int argument is read from the low half of its register or stack slot. */
static inline int run_call(word function, const word w[13])
{
    int (*f)(word, word, word, word, word, word, word, word, word, word, word, word, word);
    memcpy(&f, &function, sizeof f);
    return f(w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8], w[9], w[10], w[11], w[12]);
}

static inline word run_handle(word stored)
{
    return run.ints ? (uint32_t)stored : stored;
}

static inline int run_number(enum number n)
{
    return run.ints ? numbers[n].mpich : numbers[n].ompi;
}

/* ---- the program's side ---- */

#if defined APP_MPIABI
#define APP_CONSTANT(i) run.constant[i]
#define APP_NUMBER(n) run_number(n)
#define APP_IN_PLACE RUN_IN_PLACE
#define APP_STATUS_IGNORE RUN_STATUS_IGNORE
#elif defined APP_MUKAUTUVA
#define APP_CONSTANT(i) handles[i].muk
#define APP_NUMBER(n) numbers[n].muk
#elif defined APP_WI4MPI
#define APP_CONSTANT(i) handles[i].wi4mpi
#define APP_NUMBER(n) numbers[n].wi4mpi
#elif defined APP_OMPI
#define APP_CONSTANT(i) (word)handles[i].own
#define APP_NUMBER(n) numbers[n].ompi
#elif defined APP_MPICH
#define APP_CONSTANT(i) handles[i].mpich
#define APP_NUMBER(n) numbers[n].mpich
#define APP_IN_PLACE (word)-1
#define APP_STATUS_IGNORE 1
#endif
#ifndef APP_IN_PLACE
#define APP_IN_PLACE 1
#define APP_STATUS_IGNORE 0
#endif
#define RUN_IN_PLACE (run.ints ? (word)-1 : 1)
#define RUN_STATUS_IGNORE (word)(run.ints ? 1 : 0)

/* WI4MPI gives its own numbers to what is not predefined; the others hand the MPI's handle out. */
#ifdef APP_NUMBERED
enum { FIRST = 100000, ROOM = 4096 };
static word numbered[KINDS][ROOM];
static pthread_mutex_t numbering = PTHREAD_MUTEX_INITIALIZER;

static word *number_of(enum kind kind, word app)
{
    return app >= FIRST && app < FIRST + ROOM ? &numbered[kind][app - FIRST] : NULL;
}

static word new_number(enum kind kind, word handle)
{
    word app = 0;
    pthread_mutex_lock(&numbering);
    for (int i = 0; i < ROOM && !app; i++)
        if (!numbered[kind][i]) {
            numbered[kind][i] = handle;
            app = FIRST + (word)i;
        }
    pthread_mutex_unlock(&numbering);
    if (!app)
        abort();
    return app;
}
#endif

static inline word to_run(enum kind kind, word app)
{
    for (int i = 0; i < HANDLES; i++)
        if (handles[i].kind == kind && APP_CONSTANT(i) == app)
            return run.constant[i];
#ifdef APP_NUMBERED
    word *place = number_of(kind, app);
    return place ? *place : 0;
#else
    return app;
#endif
}

/* `before` is what the program's variable held. */
static inline word to_app(enum kind kind, word handle, word before)
{
    word app = handle;
    int constant = 0;
    for (int i = 0; i < HANDLES && !constant; i++)
        if (handles[i].kind == kind && run.constant[i] == handle)
            app = APP_CONSTANT(i), constant = 1;
#ifdef APP_NUMBERED
    word *place = number_of(kind, before);
    if (place && constant)
        *place = 0;
    else if (!constant)
        app = place && *place == handle ? before : new_number(kind, handle);
#endif
#ifdef APP_MPIABI
    if (run.ints)
        app = (word)(int64_t)(int32_t)app; /* as MPIwrapper does */
#endif
    (void)before;
    return app;
}

static inline void to_run_array(enum kind kind, const void *app, int n, word out[])
{
    const char *from = app;
    for (int i = 0; i < n; i++) {
        word w = 0;
        memcpy(&w, from + (size_t)i * sizeof(MPI_Comm), sizeof(MPI_Comm));
        w = to_run(kind, w);
        memcpy((char *)out + (size_t)i * (run.ints ? 4 : 8), &w, run.ints ? 4 : 8);
    }
}

static inline word buffer(const void *address)
{
    return (word)address == APP_IN_PLACE ? RUN_IN_PLACE : (word)address;
}

static inline int peer(int rank)
{
    return rank == APP_NUMBER(N_ANY_SOURCE)  ? run_number(N_ANY_SOURCE)
           : rank == APP_NUMBER(N_PROC_NULL) ? run_number(N_PROC_NULL)
                                             : rank;
}

static inline int key(int keyval)
{
    return keyval == APP_NUMBER(N_TAG_UB) ? run_number(N_TAG_UB) : keyval;
}

/* ---- status ---- */

struct run_status {
    int words[16];
};

/* Where the program finds source, tag, error, and where two words of the MPI's own lie. */
#if defined APP_MPICH
enum { SOURCE = 2, TAG = 3, ERROR = 4, PRIVATE = 0 };
#elif defined APP_MPIABI
enum { SOURCE = 6, TAG = 7, ERROR = 8, PRIVATE = 0 };
#else
enum { SOURCE = 0, TAG = 1, ERROR = 2, PRIVATE = 4 };
#endif

static inline word status_in(const void *app, struct run_status *s)
{
    return (word)app == APP_STATUS_IGNORE ? RUN_STATUS_IGNORE : (word)memset(s, 0, sizeof *s);
}

static inline void status_out(const struct run_status *s, void *app)
{
    const int first = run.ints ? 2 : 0, own = run.ints ? 0 : 4;
    int *words = app, source = s->words[first];
    if ((word)app == APP_STATUS_IGNORE)
        return;
    memcpy(words + PRIVATE, s->words + own, 2 * sizeof(int));
    words[SOURCE] = source == run_number(N_PROC_NULL)    ? APP_NUMBER(N_PROC_NULL)
                    : source == run_number(N_ANY_SOURCE) ? APP_NUMBER(N_ANY_SOURCE)
                                                         : source;
    words[TAG] = s->words[first + 1];
    words[ERROR] = s->words[first + 2];
}

static inline void status_again(const void *app, struct run_status *s)
{
    const int own = run.ints ? 0 : 4;
    memset(s, 0, sizeof *s);
    memcpy(s->words + own, (const int *)app + PRIVATE, 2 * sizeof(int));
}

/* ---- user operations: the MPI calls a function of ours, which calls the program's with the program's datatype ---- */

typedef void (*user_function)(void *, void *, int *, MPI_Datatype *);
enum { THUNKS = 64 };
static user_function user[THUNKS];
static int users;

static inline void reduce(int i, void *in, void *inout, int *n, const void *type)
{
    word w = 0;
    memcpy(&w, type, run.ints ? 4 : 8);
    MPI_Datatype t = (MPI_Datatype)to_app(KIND_Datatype, w, 0);
    user[i](in, inout, n, &t);
}

#define THUNK(i) static void thunk_##i(void *a, void *b, int *n, void *t) { reduce(0##i, a, b, n, t); }
#define EIGHT(m, o) m(o##0) m(o##1) m(o##2) m(o##3) m(o##4) m(o##5) m(o##6) m(o##7)
#define ALL(m) EIGHT(m, 0) EIGHT(m, 1) EIGHT(m, 2) EIGHT(m, 3) EIGHT(m, 4) EIGHT(m, 5) EIGHT(m, 6) EIGHT(m, 7)
ALL(THUNK)
#define ENTRY(i) thunk_##i,
static void (*const thunks[THUNKS])(void *, void *, int *, void *) = {ALL(ENTRY)};

static inline word op_thunk(user_function f)
{
    int i = __atomic_fetch_add(&users, 1, __ATOMIC_RELAXED);
    if (i >= THUNKS) {
        fprintf(stderr, "double of a layer: too many user operations\n");
        exit(1); /* as MPIwrapper does */
    }
    user[i] = f;
    return (word)thunks[i];
}

/* ---- the functions ---- */

#define FUNCTION(name, parameters) int NAME(name) parameters
#include "functions.h"

int NAME(Finalize)(void)
{
    return run_call(RUN("Finalize"), (word[13]){0});
}

#endif
