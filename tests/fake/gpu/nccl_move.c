/*
 * What a stream's thread does for the doubles of libnccl and librccl: data through the segment, piece by piece. All ranks take part in
 * every step of a collective; a send ends when its receive has everything.
 * Not modelled: algorithms and their order of additions, a broadcast's root that is done before the others, speed.
 * Ranks that disagree on an operation hang, as with the real one; with FAKE_NCCL_MISMATCH=error each gets asynchronous error 5.
 */
#include <stdlib.h>
#include <string.h>

#include "nccl.h"

static bool disagree(void)
{
    const char *mode = fake_env("FAKE_NCCL_MISMATCH");
    return mode && strcmp(mode, "error") == 0;
}

static void until_aborted(ncclComm_t comm)
{
    bool aborted = false;
    WAIT_UNTIL(comm, false, aborted);
    (void)aborted;
}

static bool step(ncclComm_t comm)
{
    return meet(comm, &comm->segment->barrier, &comm->barriers);
}

/* ---- collectives ---- */

static const char *const kinds[] = {
    "AllReduce", "Reduce", "Broadcast", "AllGather", "ReduceScatter", "AlltoAll", "Gather", "Scatter", "Send", "Recv"};

/* The first rank that does something else than rank 0, or -1. */
static int odd_one(ncclComm_t comm)
{
    for (int i = 1; i < comm->nranks; i++)
        if (memcmp(&comm->segment->peers[i].work, &comm->segment->peers[0].work, sizeof(struct work)) != 0)
            return i;
    return -1;
}

static bool mismatch(ncclComm_t comm)
{
    int odd = odd_one(comm);
    if (odd < 0)
        return false;
    if (!disagree()) {
        until_aborted(comm);
        return true;
    }
    const struct work a = comm->segment->peers[0].work, b = comm->segment->peers[odd].work;
    set_result(comm, INVALID_USAGE,
               "ranks disagree: rank 0 %s count %llu type %d op %d root %d, rank %d %s count %llu type %d op %d root %d", kinds[a.kind],
               (unsigned long long)a.count, a.type, a.op, a.root, odd, kinds[b.kind], (unsigned long long)b.count, b.type, b.op, b.root);
    step(comm); /* all have read */
    return true;
}

/* Own elements as they go to the others: multiplied where the operation says so. */
static void give(const struct task *task, char *to, const char *from, size_t n)
{
    const void *scalar = task->scalar.on_device ? task->scalar.where : &task->scalar.value;
    bool reduces = task->kind == ALL_REDUCE || task->kind == REDUCE || task->kind == REDUCE_SCATTER;
    if (reduces && task->op == PREMUL)
        reduce_scale(to, from, n, task->type, scalar);
    else if (reduces && task->op == AVG && type_floating(task->type))
        reduce_average_scale(to, from, n, task->type, task->comm->nranks);
    else
        memcpy(to, from, n * type_size(task->type));
}

/* Of all ranks' slots, the elements at offset, into to. */
static void reduce(const struct task *task, char *to, size_t offset, size_t n)
{
    ncclComm_t comm = task->comm;
    memcpy(to, segment_slot(comm, 0) + offset, n * type_size(task->type));
    for (int i = 1; i < comm->nranks; i++)
        reduce_into(to, segment_slot(comm, i) + offset, n, task->type, task->op == AVG || task->op == PREMUL ? SUM : task->op);
    if (task->op == AVG && !type_floating(task->type))
        reduce_divide(to, n, task->type, comm->nranks);
}

static void put(const struct task *task, uint64_t at, size_t n, size_t block)
{
    ncclComm_t comm = task->comm;
    size_t size = type_size(task->type);
    char *slot = segment_slot(comm, comm->rank);
    bool root = task->root == comm->rank;
    switch (task->kind) {
    case REDUCE_SCATTER: case ALL_TO_ALL: case SCATTER: /* a part for each */
        for (int i = 0; i < comm->nranks && (task->kind != SCATTER || root); i++)
            give(task, slot + (size_t)i * block, task->send + (task->count * (uint64_t)i + at) * size, n);
        break;
    case BROADCAST:
        if (!root)
            break; /* fall through */
    default:
        give(task, slot, task->send + at * size, n);
    }
}

static void take(const struct task *task, uint64_t at, size_t n, size_t block)
{
    ncclComm_t comm = task->comm;
    size_t size = type_size(task->type), mine = (size_t)comm->rank * block;
    char *recv = task->recv + at * size;
    bool root = task->root == comm->rank;
    switch (task->kind) {
    case ALL_REDUCE:
        reduce(task, recv, 0, n);
        break;
    case REDUCE:
        if (root)
            reduce(task, recv, 0, n);
        break;
    case REDUCE_SCATTER:
        reduce(task, recv, mine, n);
        break;
    case BROADCAST:
        memcpy(recv, segment_slot(comm, task->root), n * size);
        break;
    case SCATTER:
        memcpy(recv, segment_slot(comm, task->root) + mine, n * size);
        break;
    default: /* from each a part */
        for (int i = 0; i < comm->nranks && (task->kind != GATHER || root); i++)
            memcpy(recv + task->count * (uint64_t)i * size, segment_slot(comm, i) + (task->kind == ALL_TO_ALL ? mine : 0), n * size);
    }
}

static void run_collective(const struct task *task)
{
    ncclComm_t comm = task->comm;
    bool parts = task->kind == REDUCE_SCATTER || task->kind == ALL_TO_ALL || task->kind == SCATTER;
    size_t size = type_size(task->type), block = (parts ? CHUNK / (size_t)comm->nranks : CHUNK) / 8 * 8;
    comm->segment->peers[comm->rank].work = (struct work){task->kind, task->type, task->op, task->root, task->count};
    for (uint64_t at = 0; at < task->count; at += block / size) {
        size_t n = task->count - at < block / size ? task->count - at : block / size;
        put(task, at, n, block);
        if (!step(comm) || (at == 0 && mismatch(comm)))
            return;
        take(task, at, n, block);
        if (!step(comm))
            return;
    }
}

/* ---- sends and receives: all of a group at once, those between two ranks one after the other ---- */

enum progress { WAITING, BEGUN, DONE };

struct message {
    const struct task *task;
    enum progress progress;
    uint64_t number, bytes, moved;
};

/* Whether something has moved. */
static bool send_on(struct message *m)
{
    ncclComm_t comm = m->task->comm;
    struct box *box = segment_box(comm, comm->rank, m->task->root);
    if (m->progress == WAITING) {
        m->number = comm->sent[m->task->root];
        box->sent[m->number % 2] = m->bytes;
        box->announced = m->number + 1;
        m->progress = BEGUN;
        ring(comm);
    }
    if (box->posted < m->number + 1)
        return false;
    uint64_t wanted = box->wanted[m->number % 2];
    if (wanted != m->bytes) {
        if (!disagree()) {
            until_aborted(comm);
            return false;
        }
        set_result(comm, INVALID_USAGE, "rank %d sends %llu bytes, rank %d wants %llu", comm->rank, (unsigned long long)m->bytes,
                   m->task->root, (unsigned long long)wanted);
        m->moved = m->bytes;
    } else if (box->written != box->consumed) {
        return false;
    } else if (m->moved < m->bytes) {
        size_t n = m->bytes - m->moved < BOX ? m->bytes - m->moved : BOX;
        memcpy(box->data, m->task->send + m->moved, n);
        m->moved += n;
        box->written += n;
        ring(comm);
        return true;
    }
    m->progress = DONE;
    comm->sent[m->task->root]++;
    return true;
}

static bool receive_on(struct message *m)
{
    ncclComm_t comm = m->task->comm;
    struct box *box = segment_box(comm, m->task->root, comm->rank);
    if (m->progress == WAITING) {
        m->number = comm->received[m->task->root];
        box->wanted[m->number % 2] = m->bytes;
        box->posted = m->number + 1;
        m->progress = BEGUN;
        ring(comm);
    }
    if (box->announced < m->number + 1)
        return false;
    if (box->sent[m->number % 2] != m->bytes) {
        if (!disagree()) {
            until_aborted(comm);
            return false;
        }
        set_result(comm, INVALID_USAGE, "rank %d wants %llu bytes, rank %d sends %llu", comm->rank, (unsigned long long)m->bytes,
                   m->task->root, (unsigned long long)box->sent[m->number % 2]);
        m->moved = m->bytes;
    } else if (m->moved < m->bytes) {
        size_t n = box->written - box->consumed;
        if (!n)
            return false;
        memcpy(m->task->recv + m->moved, box->data, n);
        m->moved += n;
        box->consumed += n;
        ring(comm);
        if (m->moved < m->bytes)
            return true;
    }
    m->progress = DONE;
    comm->received[m->task->root]++;
    return true;
}

/* An earlier one of the same kind with the same peer is not done. */
static bool behind(const struct message *messages, int i)
{
    for (int j = 0; j < i; j++)
        if (messages[j].progress != DONE && messages[j].task->root == messages[i].task->root &&
            messages[j].task->kind == messages[i].task->kind)
            return true;
    return false;
}

static void run_messages(ncclComm_t comm, struct message *messages, int n)
{
    for (int done = 0; done < n && !comm->aborting;) {
        uint32_t seen = comm->segment->bell;
        bool moved = false;
        done = 0;
        for (int i = 0; i < n && !comm->aborting; i++) {
            if (messages[i].progress != DONE && !behind(messages, i))
                moved |= messages[i].task->kind == SEND ? send_on(&messages[i]) : receive_on(&messages[i]);
            done += messages[i].progress == DONE;
        }
        if (!moved && done < n)
            doze(comm, seen);
    }
}

/* ---- */

/* An injected asynchronous error leaves the work where it is until the communicator is aborted, as a kernel whose peer is lost. */
static void run_tasks(const struct batch *batch)
{
    ncclComm_t comm = batch->comm;
    struct message *messages = calloc((size_t)batch->n, sizeof *messages);
    int n = 0;
    for (int i = 0; i < batch->n && !comm->aborting; i++) {
        const struct task *task = &batch->tasks[i];
        if (task->fault) {
            if (task->fault > 0)
                set_result(comm, task->fault, "%s: an injected asynchronous error", kinds[task->kind]);
            until_aborted(comm);
        } else if (task->kind < SEND) {
            run_collective(task);
        } else {
            messages[n++] = (struct message){.task = task, .bytes = task->count * type_size(task->type)};
        }
    }
    run_messages(comm, messages, n);
    free(messages);
}

void run_batch(void *what)
{
    struct batch *batch = what;
    ncclComm_t comm = batch->comm;
    pthread_mutex_lock(&comm->lock);
    while (comm->served != batch->ticket)
        pthread_cond_wait(&comm->changed, &comm->lock);
    pthread_mutex_unlock(&comm->lock);
    run_tasks(batch);
    free(batch);
    pthread_mutex_lock(&comm->lock);
    comm->served++;
    comm->pending--;
    pthread_cond_broadcast(&comm->changed);
    pthread_mutex_unlock(&comm->lock);
}
