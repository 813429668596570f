/*
 * Groups in the doubles of libnccl and librccl, and how operations get into streams: of a group all of one communicator are one piece
 * of work, sends and receives in it proceed together. On a blocking communicator it is in the stream when the call returns; on a
 * non-blocking one a thread puts it there later (of 2.18 to 2.22 only the first).
 * Not modelled: the order in which a group's communicators are launched (here: of first use), aggregation, graphs.
 */
#include <stdlib.h>
#include <string.h>

#include "nccl.h"

__thread int group_depth;
static __thread ncclResult_t group_error;
static __thread struct { struct task *at; int n, room; } tasks;
static __thread struct { ncclComm_t *at; int n, room; } inits;
static atomic_long operations;

#define APPEND(list, item)                                                                                                         \
    do {                                                                                                                           \
        if (list.n == list.room) {                                                                                                 \
            list.room = list.room ? 2 * list.room : 8;                                                                             \
            list.at = realloc(list.at, (size_t)list.room * sizeof *list.at);                                                       \
            if (!list.at)                                                                                                          \
                abort();                                                                                                           \
        }                                                                                                                          \
        list.at[list.n++] = item;                                                                                                  \
    } while (0)

void group_start(void)
{
    group_depth++;
}

ncclResult_t group_failed(ncclResult_t code)
{
    if (group_depth > 0 && group_error == SUCCESS)
        group_error = code;
    return code;
}

ncclResult_t group_add(const struct task *task)
{
    APPEND(tasks, *task);
    operations++;
    return SUCCESS;
}

void group_add_init(ncclComm_t comm)
{
    APPEND(inits, comm);
}

/* ---- several streams in one group: the first does the work, the others wait for it and it for them ---- */

struct gate {
    pthread_mutex_t lock;
    pthread_cond_t opened;
    bool open;
};

static void open_gate(void *what)
{
    struct gate *gate = what;
    pthread_mutex_lock(&gate->lock);
    gate->open = true;
    pthread_cond_broadcast(&gate->opened);
    pthread_mutex_unlock(&gate->lock);
}

static void pass_gate(void *what)
{
    struct gate *gate = what;
    pthread_mutex_lock(&gate->lock);
    while (!gate->open)
        pthread_cond_wait(&gate->opened, &gate->lock);
    pthread_mutex_unlock(&gate->lock);
    pthread_mutex_destroy(&gate->lock);
    pthread_cond_destroy(&gate->opened);
    free(gate);
}

static void nothing(void *what)
{
    (void)what;
}

/* What is put into after comes behind what is in before now. */
static int order(int device, void *before, void *after)
{
    struct gate *gate = calloc(1, sizeof *gate);
    pthread_mutex_init(&gate->lock, NULL);
    pthread_cond_init(&gate->opened, NULL);
    int code = gpu()->enqueue(device, before, open_gate, gate);
    return code ? code : gpu()->enqueue(device, after, pass_gate, gate);
}

/* The other streams of a batch, each once; returns how many. */
static int others(const struct batch *batch, void **streams)
{
    int n = 0;
    for (int i = 1; i < batch->n; i++) {
        bool known = batch->tasks[i].stream == batch->tasks[0].stream;
        for (int j = 0; j < n; j++)
            known |= streams[j] == batch->tasks[i].stream;
        if (!known)
            streams[n++] = batch->tasks[i].stream;
    }
    return n;
}

static ncclResult_t enqueue(struct batch *batch)
{
    ncclComm_t comm = batch->comm;
    int device = comm->device, code = 0, n = 0;
    void *first = batch->tasks[0].stream, **streams = NULL;
    if (batch->n > 1) {
        streams = calloc((size_t)batch->n, sizeof *streams);
        n = others(batch, streams);
        for (int i = 0; i < n && !code; i++) /* are they all streams of this device? */
            code = gpu()->enqueue(device, streams[i], nothing, NULL);
        if (n && !code)
            code = gpu()->enqueue(device, first, nothing, NULL);
        for (int i = 0; i < n && !code; i++)
            code = order(device, streams[i], first);
    }
    comm->pending++;
    batch->ticket = comm->tickets;
    if (!code)
        code = gpu()->enqueue(device, first, run_batch, batch);
    comm->tickets += !code;
    if (code) {
        comm->pending--;
        free(batch);
        batch = NULL;
    }
    for (int i = 0; i < n && batch; i++)
        order(device, first, streams[i]);
    free(streams);
    return code ? gpu_failed(code, "launch") : SUCCESS;
}

static void *enqueue_apart(void *argument)
{
    struct batch *batch = argument;
    ncclComm_t comm = batch->comm;
    fake_sleep_us(fake_env_number("FAKE_NCCL_LAUNCH_DELAY_US", 200));
    gpu()->set_device(comm->device);
    ncclResult_t code = enqueue(batch);
    int busy = IN_PROGRESS;
    atomic_compare_exchange_strong(&comm->result, &busy, code);
    return NULL;
}

/* ---- the end of a group ---- */

static bool moves_nothing(const struct task *task)
{
    return task->comm->nranks == 1 && task->kind < SEND && task->send == task->recv && task->op != PREMUL && !task->fault;
}

static ncclResult_t launch(ncclComm_t comm, const struct task *all, int n)
{
    int mine = 0;
    for (int i = 0; i < n; i++)
        mine += all[i].comm == comm && !moves_nothing(&all[i]);
    if (!mine)
        return SUCCESS;
    struct batch *batch = malloc(sizeof *batch + sizeof *all * (size_t)mine);
    if (!batch)
        return fail(SYSTEM_ERROR, "out of memory");
    batch->comm = comm;
    batch->n = 0;
    for (int i = 0; i < n; i++)
        if (all[i].comm == comm && !moves_nothing(&all[i]))
            batch->tasks[batch->n++] = all[i];
    bool first = !atomic_fetch_add(&comm->started, 1);
    if (comm->blocking || (NCCL_CODE < 22300 && !first))
        return enqueue(batch);
    comm->result = IN_PROGRESS;
    comm_help(comm, enqueue_apart, batch);
    return IN_PROGRESS;
}

static ncclResult_t launch_all(const struct task *all, int n)
{
    const struct fake_gpu_hooks *driver = gpu();
    int before = driver->get_device();
    ncclResult_t code = SUCCESS;
    for (int i = 1; i < n; i++)
        if (all[i].comm->blocking != all[0].comm->blocking)
            return fail(INVALID_ARGUMENT, "Blocking and nonblocking communicators are not allowed in the same group.");
    for (int i = 0; i < n && (code == SUCCESS || code == IN_PROGRESS); i++) {
        bool had = false;
        for (int j = 0; j < i; j++)
            had |= all[j].comm == all[i].comm;
        if (had)
            continue;
        if (all[i].comm->blocking)
            driver->set_device(all[i].comm->device);
        ncclResult_t one = launch(all[i].comm, all, n);
        if (one != SUCCESS)
            code = one;
    }
    driver->set_device(before); /* from a thread without a context: a context on GPU 0 */
    return code;
}

struct start {
    ncclComm_t comm;
    ncclResult_t code;
    pthread_t thread;
};

static void *init_one(void *argument)
{
    struct start *start = argument;
    start->code = init_run(start->comm);
    start->comm->result = start->code;
    return NULL;
}

static ncclResult_t init_all(ncclComm_t *comms, int n)
{
    struct start *starts = calloc((size_t)n, sizeof *starts);
    ncclResult_t code = SUCCESS;
    for (int i = 0; i < n; i++) {
        starts[i].comm = comms[i];
        if (comms[i]->blocking)
            quiet_thread(&starts[i].thread, init_one, &starts[i]);
        else
            comm_help(comms[i], init_one, &starts[i]), code = IN_PROGRESS;
    }
    if (code == IN_PROGRESS)
        return code; /* the few bytes of starts are the threads' */
    for (int i = 0; i < n; i++) {
        pthread_join(starts[i].thread, NULL);
        if (starts[i].code != SUCCESS)
            code = starts[i].code;
    }
    free(starts);
    return code;
}

ncclResult_t group_end(void)
{
    if (group_depth == 0)
        return fail(INVALID_USAGE, "ncclGroupEnd: not in a group call.");
    if (--group_depth > 0)
        return SUCCESS;
    ncclResult_t code = group_error;
    int n = tasks.n, n_inits = inits.n;
    group_error = SUCCESS;
    tasks.n = inits.n = 0;
    if (code != SUCCESS) {
        for (int i = 0; i < n_inits; i++)
            comm_close(inits.at[i], FAILED);
        return code;
    }
    if (n_inits)
        code = init_all(inits.at, n_inits);
    if (n && code == SUCCESS)
        code = launch_all(tasks.at, n);
    return code;
}

API(ncclGroupStart, void)
{
    ENTER_PLAIN();
    group_start();
    return SUCCESS;
}

API(ncclGroupEnd, void)
{
    ENTER_PLAIN();
    return group_end();
}

FAKE_EXPORT int fake_nccl_group_depth(void)
{
    return group_depth;
}

/* How many data operations this process has begun, those that move nothing included, those of count 0 not. */
FAKE_EXPORT long fake_nccl_operations(void)
{
    return operations;
}
