/* The double's communicators, requests and rules, and the table that the library is given. */
#include "fake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct fake_counts fake_alive;

void fake_counted(long *counter, long by)
{
    __atomic_fetch_add(counter, by, __ATOMIC_RELAXED);
}

struct fake_counts fake_count(void)
{
    return (struct fake_counts){
        __atomic_load_n(&fake_alive.comms, __ATOMIC_RELAXED), __atomic_load_n(&fake_alive.requests, __ATOMIC_RELAXED),
        __atomic_load_n(&fake_alive.types, __ATOMIC_RELAXED), __atomic_load_n(&fake_alive.forbidden, __ATOMIC_RELAXED)};
}

/* ---- rules ---- */

static int level = FAKE_MULTIPLE, finalized, inside;
static pthread_t main_thread;
static int skip[RMPI_FUNCTIONS], times[RMPI_FUNCTIONS];
static pthread_mutex_t faults = PTHREAD_MUTEX_INITIALIZER;
static int any_fault;

void fake_set_level(enum fake_level l)
{
    main_thread = pthread_self();
    __atomic_store_n(&level, (int)l, __ATOMIC_RELEASE);
}

void fake_set_finalized(int flag)
{
    __atomic_store_n(&finalized, flag, __ATOMIC_RELEASE);
}

void fake_fail(enum rmpi_function function, int after, int n)
{
    pthread_mutex_lock(&faults);
    skip[function] = after;
    times[function] = n;
    pthread_mutex_unlock(&faults);
    __atomic_store_n(&any_fault, 1, __ATOMIC_RELEASE);
}

static int injected(enum rmpi_function function)
{
    int now = 0;
    if (!__atomic_load_n(&any_fault, __ATOMIC_ACQUIRE))
        return 0;
    pthread_mutex_lock(&faults);
    if (skip[function] > 0)
        skip[function]--;
    else if (times[function] > 0)
        times[function]--, now = 1;
    pthread_mutex_unlock(&faults);
    return now;
}

int fake_enter(enum rmpi_function function)
{
    const int l = __atomic_load_n(&level, __ATOMIC_ACQUIRE), others = __atomic_fetch_add(&inside, 1, __ATOMIC_RELAXED);
    if ((l == FAKE_SERIALIZED && others > 0) || (l == FAKE_FUNNELED && !pthread_equal(pthread_self(), main_thread)) ||
        __atomic_load_n(&finalized, __ATOMIC_ACQUIRE)) {
        fake_counted(&fake_alive.forbidden, 1);
        return FAKE_FORBIDDEN;
    }
    return injected(function) ? FAKE_INJECTED : 0;
}

void fake_leave(void)
{
    __atomic_fetch_sub(&inside, 1, __ATOMIC_RELAXED);
}

/* ---- requests ---- */

MPI_Request fake_request(struct fake_shared *shared)
{
    MPI_Request r = calloc(1, sizeof *r);
    r->shared = shared;
    fake_counted(&fake_alive.requests, 1);
    return r;
}

static int take(MPI_Request *request, struct fake_status *status)
{
    MPI_Request r = *request;
    const int rc = r->rc;
    if (status)
        *status = r->status;
    free(r);
    *request = NULL;
    fake_counted(&fake_alive.requests, -1);
    return rc;
}

int fake_finish(MPI_Request *request, struct fake_status *status)
{
    struct fake_shared *s = (*request)->shared;
    pthread_mutex_lock(&s->lock);
    while (!(*request)->done)
        pthread_cond_wait(&s->changed, &s->lock);
    pthread_mutex_unlock(&s->lock);
    return take(request, status);
}

int fake_Wait(MPI_Request *request, void *status);
int fake_Test(MPI_Request *request, int *done, void *status);

int fake_Wait(MPI_Request *request, void *status)
{
    const int rc = fake_enter(RMPI_F_Wait);
    int result = 0;
    if ((rc == 0 || rc == FAKE_INJECTED) && *request)
        result = fake_finish(request, status);
    fake_leave();
    return rc != 0 ? rc : result;
}

int fake_Test(MPI_Request *request, int *done, void *status)
{
    int rc = fake_enter(RMPI_F_Test);
    *done = 1;
    if (rc == FAKE_INJECTED && *request)
        fake_finish(request, status);
    if (rc == 0 && *request) {
        pthread_mutex_t *lock = &(*request)->shared->lock;
        pthread_mutex_lock(lock);
        *done = (*request)->done;
        pthread_mutex_unlock(lock);
        if (*done)
            rc = take(request, status);
    }
    fake_leave();
    return rc;
}

/* ---- communicators ---- */

void fake_comm_new(int n, MPI_Comm handles[])
{
    struct fake_shared *s = calloc(1, sizeof *s);
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->changed, NULL);
    s->size = s->handles = n;
    for (int r = 0; r < n; r++) {
        handles[r] = calloc(1, sizeof **handles);
        handles[r]->shared = s;
        handles[r]->rank = r;
    }
    fake_counted(&fake_alive.comms, n);
}

int fake_Comm_free(MPI_Comm *comm);
int fake_Finalized(int *flag);
int fake_Is_thread_main(int *flag);
int fake_Error_string(int code, char *text, int *length);
int fake_Error_class(int code, int *class);
int fake_Get_count_c(const void *status, MPI_Datatype type, int64_t *count);

int fake_Comm_free(MPI_Comm *comm)
{
    struct fake_shared *s = (*comm)->shared;
    int left;
    pthread_mutex_lock(&s->lock);
    left = --s->handles;
    pthread_mutex_unlock(&s->lock);
    if (left == 0) {
        if (s->first || s->receives || s->meetings)
            fprintf(stderr, "fake MPI: a communicator is freed with calls under way\n");
        pthread_mutex_destroy(&s->lock);
        pthread_cond_destroy(&s->changed);
        free(s);
    }
    free(*comm);
    *comm = NULL;
    fake_counted(&fake_alive.comms, -1);
    return 0;
}

int fake_Finalized(int *flag)
{
    *flag = __atomic_load_n(&finalized, __ATOMIC_ACQUIRE);
    return 0;
}

int fake_Is_thread_main(int *flag)
{
    *flag = pthread_equal(pthread_self(), main_thread) != 0;
    return 0;
}

int fake_Error_string(int code, char *text, int *length)
{
    *length = sprintf(text, "fake error %d", code);
    return 0;
}

int fake_Error_class(int code, int *class)
{
    *class = code;
    return 0;
}

int fake_Get_count_c(const void *status, MPI_Datatype type, int64_t *count)
{
    size_t bytes;
    memcpy(&bytes, ((const struct fake_status *)status)->reserved, sizeof bytes);
    *count = (int64_t)(bytes / fake_bytes(type));
    return 0;
}

/* ---- the table: what is not there stays NULL ---- */

#define NEEDED(name, result, parameters) extern result fake_##name parameters __attribute__((weak));
#define OPTIONAL NEEDED
#define EXTENSION NEEDED
#include "mpi/functions.inc"
#undef NEEDED
#undef OPTIONAL
#undef EXTENSION

static struct rmpi_mpi table;

static void fill(void)
{
    int repaired = 0;
    for (int i = 0; i < RMPI_TYPES; i++)
        table.type[i] = rmpi_type_rows[i].value[RMPI_MPI5_ABI];
    for (int t = 0; t < RMPI_TYPES; t++)
        for (int i = 0; i < RMPI_OPS; i++)
            table.op[t][i] = rmpi_op_rows[i].value[RMPI_MPI5_ABI];
    for (int i = 0; i < RMPI_CONSTANTS; i++)
        table.constant[i] = rmpi_constant_rows[i].value[RMPI_MPI5_ABI];
#define NEEDED(name, ...) table.function[RMPI_F_##name] = (void *)fake_##name;
#define OPTIONAL NEEDED
#define EXTENSION NEEDED
#include "mpi/functions.inc"
#undef NEEDED
#undef OPTIONAL
#undef EXTENSION
    table.run = rmpi_run_mpi5;
    table.start = rmpi_start_mpi5;
    table.control = &rmpi_control_mpi5;
    table.family = RMPI_MPI5_ABI;
    table.path = (char *)(uintptr_t)"fake";
    table.name = (char *)(uintptr_t)"fake MPI";
    if (table.control->repair(&table, &repaired) != 0 || repaired != 0)
        abort();
}

const struct rmpi_mpi *fake_mpi(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, fill);
    return &table;
}
