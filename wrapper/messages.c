/* Messages between devices: XLA's collective permute is made of MPI_Irecv, MPI_Isend and MPI_Wait, its all-to-all of MPI_Sendrecv. */
#include "group.h"

/* MPI_Status as MPItrampoline has it: room for the status of an MPI, then what programs may read. */
struct status {
    char room[24];
    int source, tag, error, unused;
};

static void tell(struct status *out, int source, int tag)
{
    if (out)
        out->source = source, out->tag = tag, out->error = 0;
}

/* Messages of a group that are under way; other requests are words of the library, which lie elsewhere. */
#define MAX_POSTS 4096
#define FIRST_POST 0x10000

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct post posts[MAX_POSTS];
static int freed[MAX_POSTS], n_freed, n_used;

static struct post *post_new(void)
{
    pthread_mutex_lock(&lock);
    const int i = n_freed ? freed[--n_freed] : n_used < MAX_POSTS ? n_used++ : -1;
    pthread_mutex_unlock(&lock);
    return i < 0 ? NULL : &posts[i];
}

static void post_free(struct post *post)
{
    pthread_mutex_lock(&lock);
    post->group = NULL;
    freed[n_freed++] = (int)(post - posts);
    pthread_mutex_unlock(&lock);
}

static int start_in_group(const struct comm *comm, bool sends, const void *from, void *to, int count, uintptr_t type, int peer, int tag,
                          uintptr_t *request)
{
    struct post *post = post_new();
    if (!post)
        return group_end(comm->group, fail(REACTANT_MPI_ERR_MEMORY, "%d messages are under way, and more are not served", MAX_POSTS));
    const int error = post_start(post, comm, sends, from, to, elements(count) * type_size(type), peer, tag);
    if (error)
        post_free(post);
    else
        *request = FIRST_POST + (uintptr_t)(post - posts);
    return error;
}

static int wait_in_group(uintptr_t word, struct status *status)
{
    struct post *post = &posts[word - FIRST_POST];
    if (!post->group)
        return fail(REACTANT_MPI_ERR_REQUEST, "MPI_Wait: %#zx is not a request that is under way", (size_t)word);
    const int error = post_wait(post);
    tell(status, post->source, 0);
    post_free(post);
    return error;
}

EXPORT int MPIABI_Isend(const void *buf, int count, uintptr_t type, int dest, int tag, uintptr_t word, uintptr_t *request)
{
    struct comm *comm = comm_of(word);
    reactant_mpi_request *started;
    *request = WRAPPER_REQUEST_NULL;
    if (!comm)
        return comm_wrong(word, "MPI_Isend");
    if (comm->group)
        return start_in_group(comm, true, buf, NULL, count, type, dest, tag, request);
    if (core.isend(buf, elements(count), (int)type, dest, tag, comm->core, &started))
        return fail_core("MPI_Isend");
    return *request = (uintptr_t)started, 0;
}

EXPORT int MPIABI_Irecv(void *buf, int count, uintptr_t type, int source, int tag, uintptr_t word, uintptr_t *request)
{
    struct comm *comm = comm_of(word);
    reactant_mpi_request *started;
    *request = WRAPPER_REQUEST_NULL;
    if (!comm)
        return comm_wrong(word, "MPI_Irecv");
    if (comm->group)
        return start_in_group(comm, false, NULL, buf, count, type, source, tag, request);
    if (core.irecv(buf, elements(count), (int)type, source, tag, comm->core, &started))
        return fail_core("MPI_Irecv");
    return *request = (uintptr_t)started, 0;
}

EXPORT int MPIABI_Wait(uintptr_t *request, struct status *status)
{
    const uintptr_t word = *request;
    reactant_mpi_status got = {REACTANT_MPI_PROC_NULL, REACTANT_MPI_ANY_TAG, 0};
    *request = WRAPPER_REQUEST_NULL;
    if (word - FIRST_POST < MAX_POSTS)
        return wait_in_group(word, status);
    if (word != WRAPPER_REQUEST_NULL && core.wait && core.wait((reactant_mpi_request *)word, &got))
        return fail_core("MPI_Wait");
    return tell(status, got.source, got.tag), 0;
}

static int sendrecv_in_group(const struct comm *comm, const void *send, size_t send_bytes, int dest, int send_tag, void *recv,
                             size_t recv_bytes, int source, int recv_tag)
{
    struct post in, out;
    int error = post_check(comm, true, dest, send_tag);
    if (!error)
        error = post_start(&in, comm, false, NULL, recv, recv_bytes, source, recv_tag);
    if (error)
        return error;
    error = post_start(&out, comm, true, send, NULL, send_bytes, dest, send_tag);
    if (error) { /* it has ended the group: the receive is given up, or another thread is copying to it */
        if (!in.core)
            post_wait(&in);
        return error;
    }
    const int sent = post_wait(&out), received = post_wait(&in);
    return received ? received : sent;
}

EXPORT int MPIABI_Sendrecv(const void *send, int send_count, uintptr_t send_type, int dest, int send_tag, void *recv, int recv_count,
                           uintptr_t recv_type, int source, int recv_tag, uintptr_t word, struct status *status)
{
    struct comm *comm = comm_of(word);
    reactant_mpi_status got = {source, 0, 0};
    int error;
    if (!comm)
        return comm_wrong(word, "MPI_Sendrecv");
    if (send_type != recv_type)
        return fail(REACTANT_MPI_ERR_TYPE, "MPI_Sendrecv: elements of type %#zx are sent and of type %#zx received", (size_t)send_type,
                    (size_t)recv_type);
    if (comm->group)
        error = sendrecv_in_group(comm, send, elements(send_count) * type_size(send_type), dest, send_tag, recv,
                                  elements(recv_count) * type_size(recv_type), source, recv_tag);
    else if (core.sendrecv(send, elements(send_count), dest, send_tag, recv, elements(recv_count), source, recv_tag, (int)recv_type, comm->core,
                           &got))
        error = fail_core("MPI_Sendrecv");
    else
        error = 0;
    if (!error)
        tell(status, got.source, got.tag);
    return error;
}

EXPORT int MPIABI_Type_size(uintptr_t type, int *size)
{
    *size = (int)type_size(type);
    return *size ? 0 : fail(REACTANT_MPI_ERR_TYPE, "MPI_Type_size: %#zx is not a type that is served", (size_t)type);
}
