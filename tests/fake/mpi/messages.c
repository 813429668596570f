/* Messages. A small one is copied when it is sent, a large one is read by its receiver, and its sender waits for that. */
#include "fake.h"

#include <stdlib.h>
#include <string.h>

enum { EAGER = 64, ANY_SOURCE = -1, ANY_TAG = -2, PROC_NULL = -3 }; /* MPI-5 ABI */

struct message {
    struct message *next;
    int from, to, tag;
    size_t bytes;
    const void *data;
    MPI_Request sender; /* NULL: eager, `data` is ours */
};

struct fake_receive {
    struct fake_receive *next;
    int to, from, tag;
    size_t room;
    void *buffer;
    MPI_Request request;
};

static int fits(int source, int tag, int to, const struct message *m)
{
    return m->to == to && (source == ANY_SOURCE || source == m->from) && (tag == ANY_TAG || tag == m->tag);
}

static void set_bytes(struct fake_status *s, int source, int tag, size_t bytes)
{
    s->source = source;
    s->tag = tag;
    memcpy(s->reserved, &bytes, sizeof bytes);
}

/* The message to the receiver; both are done. */
static void deliver(struct message *m, MPI_Request receiver, void *buffer, size_t room)
{
    const size_t n = m->bytes < room ? m->bytes : room;
    if (n)
        memcpy(buffer, m->data, n);
    set_bytes(&receiver->status, m->from, m->tag, n);
    receiver->rc = m->bytes > room ? FAKE_TRUNCATED : 0;
    receiver->done = 1;
    if (m->sender)
        m->sender->done = 1;
    else
        free((void *)(uintptr_t)m->data);
    free(m);
}

static MPI_Request post_send(const void *data, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm)
{
    struct fake_shared *s = comm->shared;
    MPI_Request request = fake_request(s);
    struct message *m;
    struct fake_receive **p, *r;
    if (dest == PROC_NULL) {
        request->done = 1;
        return request;
    }
    m = calloc(1, sizeof *m);
    *m = (struct message){.from = comm->rank, .to = dest, .tag = tag, .bytes = (size_t)count * fake_bytes(type), .data = data};
    pthread_mutex_lock(&s->lock);
    if (m->bytes <= EAGER) {
        m->data = malloc(m->bytes + 1);
        if (m->bytes)
            memcpy((void *)(uintptr_t)m->data, data, m->bytes);
        request->done = 1;
    } else {
        m->sender = request;
    }
    for (p = &s->receives; (r = *p) != NULL; p = &r->next)
        if (fits(r->from, r->tag, r->to, m)) {
            *p = r->next;
            deliver(m, r->request, r->buffer, r->room);
            free(r);
            pthread_cond_broadcast(&s->changed);
            pthread_mutex_unlock(&s->lock);
            return request;
        }
    *(s->first ? &s->last->next : &s->first) = m;
    s->last = m;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
    return request;
}

static struct message *look(struct fake_shared *s, int source, int tag, int to, int take)
{
    struct message *m, *before = NULL;
    for (m = s->first; m && !fits(source, tag, to, m); m = m->next)
        before = m;
    if (m && take) {
        *(before ? &before->next : &s->first) = m->next;
        if (s->last == m)
            s->last = before;
    }
    return m;
}

static MPI_Request post_recv(void *buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm)
{
    struct fake_shared *s = comm->shared;
    MPI_Request request = fake_request(s);
    const size_t room = (size_t)count * fake_bytes(type);
    struct fake_receive **p, *r;
    struct message *m;
    if (source == PROC_NULL) {
        set_bytes(&request->status, PROC_NULL, ANY_TAG, 0);
        request->done = 1;
        return request;
    }
    pthread_mutex_lock(&s->lock);
    if ((m = look(s, source, tag, comm->rank, 1)) != NULL) {
        deliver(m, request, buffer, room);
        pthread_cond_broadcast(&s->changed);
    } else {
        r = calloc(1, sizeof *r);
        *r = (struct fake_receive){NULL, comm->rank, source, tag, room, buffer, request};
        for (p = &s->receives; *p; p = &(*p)->next)
            ;
        *p = r;
    }
    pthread_mutex_unlock(&s->lock);
    return request;
}

#define SENT const void *data, int count, MPI_Datatype type, int dest, int tag
#define RECEIVED void *buffer, int room, MPI_Datatype recv_type, int source, int recv_tag
#define ENTER(name)                     \
    int rc = fake_enter(RMPI_F_##name); \
    if (rc != 0) {                      \
        fake_leave();                   \
        return rc;                      \
    }
#define LEAVE(result)  \
    rc = (result);     \
    fake_leave();      \
    return rc

int fake_Send(SENT, MPI_Comm comm);
int fake_Isend(SENT, MPI_Comm comm, MPI_Request *request);
int fake_Recv(RECEIVED, MPI_Comm comm, void *status);
int fake_Irecv(RECEIVED, MPI_Comm comm, MPI_Request *request);
int fake_Sendrecv(SENT, RECEIVED, MPI_Comm comm, void *status);
int fake_Probe(int source, int tag, MPI_Comm comm, void *status);
int fake_Iprobe(int source, int tag, MPI_Comm comm, int *there, void *status);

int fake_Send(SENT, MPI_Comm comm)
{
    MPI_Request r;
    ENTER(Send)
    r = post_send(data, count, type, dest, tag, comm);
    LEAVE(fake_finish(&r, NULL));
}

int fake_Isend(SENT, MPI_Comm comm, MPI_Request *request)
{
    ENTER(Isend)
    *request = post_send(data, count, type, dest, tag, comm);
    LEAVE(0);
}

int fake_Recv(RECEIVED, MPI_Comm comm, void *status)
{
    MPI_Request r;
    ENTER(Recv)
    r = post_recv(buffer, room, recv_type, source, recv_tag, comm);
    LEAVE(fake_finish(&r, status));
}

int fake_Irecv(RECEIVED, MPI_Comm comm, MPI_Request *request)
{
    ENTER(Irecv)
    *request = post_recv(buffer, room, recv_type, source, recv_tag, comm);
    LEAVE(0);
}

int fake_Sendrecv(SENT, RECEIVED, MPI_Comm comm, void *status)
{
    MPI_Request r, s;
    ENTER(Sendrecv)
    r = post_recv(buffer, room, recv_type, source, recv_tag, comm);
    s = post_send(data, count, type, dest, tag, comm);
    fake_finish(&s, NULL);
    LEAVE(fake_finish(&r, status));
}

static void tell(struct fake_status *status, const struct message *m)
{
    if (status)
        set_bytes(status, m->from, m->tag, m->bytes);
}

int fake_Probe(int source, int tag, MPI_Comm comm, void *status)
{
    struct fake_shared *s = comm->shared;
    struct message *m;
    ENTER(Probe)
    if (source == PROC_NULL) {
        if (status)
            set_bytes(status, PROC_NULL, ANY_TAG, 0);
        LEAVE(0);
    }
    pthread_mutex_lock(&s->lock);
    while ((m = look(s, source, tag, comm->rank, 0)) == NULL)
        pthread_cond_wait(&s->changed, &s->lock);
    tell(status, m);
    pthread_mutex_unlock(&s->lock);
    LEAVE(0);
}

int fake_Iprobe(int source, int tag, MPI_Comm comm, int *there, void *status)
{
    struct fake_shared *s = comm->shared;
    struct message *m;
    ENTER(Iprobe)
    if ((*there = source == PROC_NULL) != 0) {
        if (status)
            set_bytes(status, PROC_NULL, ANY_TAG, 0);
        LEAVE(0);
    }
    pthread_mutex_lock(&s->lock);
    if ((m = look(s, source, tag, comm->rank, 0)) != NULL)
        tell(status, m);
    *there = m != NULL;
    pthread_mutex_unlock(&s->lock);
    LEAVE(0);
}
