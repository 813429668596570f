/*
 * MPI's messages and requests under our names, for compiled code. Its requests are small numbers (handle.h), so that 4 bytes hold them on
 * every MPI; the functions differ in how many bytes they write and how far apart those of a list are.
 */
#include "capi/mpi_words.h"

#include <string.h>

/* ---- statuses ---- */

enum { MOST_STATUS_BYTES = 24 }; /* what compiled code has room for */

/* MPI_STATUS_IGNORE, of ours and of every MPI. */
static int ignored(const void *status)
{
    return (uintptr_t)status <= 1;
}

/* In the layout of the host's MPI. */
static void put_status(const struct rmpi_comm *c, const reactant_mpi_status *got, void *place)
{
    int words[MOST_STATUS_BYTES / sizeof(int)] = {0}, *at = words;
    size_t bytes = sizeof words;
    const int low = (int)(got->bytes & UINT32_MAX), high = (int)(got->bytes >> 32);
    switch (c->mpi->family) {
    case RMPI_MPIABI: /* begins with 24 bytes of the MPI behind it */
        return;
    case RMPI_MPICH_ABI: /* count, and above it a bit that says whether it was cancelled; then as the others */
        words[0] = low;
        words[1] = high * 2;
        at = words + 2;
        bytes = 5 * sizeof(int);
        break;
    case RMPI_OPEN_MPI_ABI:
        memcpy(&words[4], &got->bytes, sizeof got->bytes);
        break;
    default: /* where the count stands is not said */
        break;
    }
    at[0] = got->source == REACTANT_MPI_PROC_NULL    ? constant(c, RMPI_K_PROC_NULL)
            : got->source == REACTANT_MPI_ANY_SOURCE ? constant(c, RMPI_K_ANY_SOURCE)
                                                     : got->source;
    at[1] = got->tag == REACTANT_MPI_ANY_TAG ? constant(c, RMPI_K_ANY_TAG) : got->tag;
    memcpy(place, words, bytes);
}

/* The class of a message's failure: code 6 is a rank's or a tag's. */
static int message_class(const char *function, struct rmpi_comm *c, int code, int tag_sent, int tag_received)
{
    const int class = as_class(function, c, code);
    const int any = constant(c, RMPI_K_ANY_TAG);
    if (likely(class != RMPI_CLASS_RANK))
        return class;
    return tag_sent < 0 || tag_sent > c->tag_ub || ((tag_received < 0 || tag_received > c->tag_ub) && tag_received != any)
               ? RMPI_CLASS_TAG
               : RMPI_CLASS_RANK;
}

/* ---- blocking ---- */

int reactant_mpi_MPI_Send(const void *buf, int count, uintptr_t type, int dest, int tag, uintptr_t comm)
{
    WITH_COMM("MPI_Send");
    return message_class("MPI_Send", c, reactant_mpi_send(buf, (size_t)count, element_type(type), dest_of(c, dest), tag, (void *)c), tag, 0);
}

int reactant_mpi_MPI_Recv(void *buf, int count, uintptr_t type, int source, int tag, uintptr_t comm, void *status)
{
    reactant_mpi_status got = {0, 0, 0};
    int rc;
    WITH_COMM("MPI_Recv");
    rc = reactant_mpi_recv(buf, (size_t)count, element_type(type), source_of(c, source), recv_tag_of(c, tag), (void *)c,
                           ignored(status) ? NULL : &got);
    if (likely(rc == 0) && !ignored(status))
        put_status(c, &got, status);
    return message_class("MPI_Recv", c, rc, 0, tag);
}

int reactant_mpi_MPI_Sendrecv(const void *send, int send_count, uintptr_t send_type, int dest, int send_tag, void *recv, int recv_count,
                              uintptr_t recv_type, int source, int recv_tag, uintptr_t comm, void *status)
{
    reactant_mpi_status got = {0, 0, 0};
    size_t s = (size_t)send_count, r = (size_t)recv_count;
    int type = element_type(send_type), rc;
    WITH_COMM("MPI_Sendrecv");
    if (type != element_type(recv_type) && element_bytes(type) && send_count >= 0 && recv_count >= 0) {
        if (!element_bytes(element_type(recv_type)))
            return as_class("MPI_Sendrecv", c, rmpi_fail(REACTANT_MPI_ERR_TYPE, "%#zx is no element type", (size_t)recv_type));
        s *= element_bytes(type);
        r *= element_bytes(element_type(recv_type));
        type = REACTANT_MPI_BYTE;
    }
    rc = reactant_mpi_sendrecv(send, s, dest_of(c, dest), send_tag, recv, r, source_of(c, source), recv_tag_of(c, recv_tag), type,
                               (void *)c, ignored(status) ? NULL : &got);
    if (likely(rc == 0) && !ignored(status))
        put_status(c, &got, status);
    return message_class("MPI_Sendrecv", c, rc, send_tag, recv_tag);
}

/* ---- requests ---- */

/* Whatever the width, one request is in the low 4 bytes: this machine is little-endian, as all that the library runs on. */
static uint32_t get(const void *place)
{
    uint32_t token;
    memcpy(&token, place, sizeof token);
    return token;
}

static void put(void *place, size_t width, uint32_t token)
{
    const uint64_t word = token;
    memcpy(place, &word, width);
}

static int no_place(const char *function, struct rmpi_comm *c)
{
    return as_class(function, c, rmpi_fail(REACTANT_MPI_ERR_ARGUMENT, "the place for the request is NULL"));
}

static int isend(const void *buf, int count, uintptr_t type, int dest, int tag, uintptr_t comm, void *request, size_t width)
{
    reactant_mpi_request *made = NULL;
    int rc;
    if (request)
        put(request, width, RMPI_WORD_REQUEST_NULL); /* what wait finds if this fails */
    WITH_COMM("MPI_Isend");
    if (!request)
        return no_place("MPI_Isend", c);
    rc = reactant_mpi_isend(buf, (size_t)count, element_type(type), dest_of(c, dest), tag, (void *)c, &made);
    if (likely(rc == 0))
        put(request, width, rmpi_request_token(made));
    return message_class("MPI_Isend", c, rc, tag, 0);
}

static int irecv(void *buf, int count, uintptr_t type, int source, int tag, uintptr_t comm, void *request, size_t width)
{
    reactant_mpi_request *made = NULL;
    int rc;
    if (request)
        put(request, width, RMPI_WORD_REQUEST_NULL);
    WITH_COMM("MPI_Irecv");
    if (!request)
        return no_place("MPI_Irecv", c);
    rc = reactant_mpi_irecv(buf, (size_t)count, element_type(type), source_of(c, source), recv_tag_of(c, tag), (void *)c, &made);
    if (likely(rc == 0))
        put(request, width, rmpi_request_token(made));
    return message_class("MPI_Irecv", c, rc, 0, tag);
}

/* Whether 4-byte requests were given where 8 bytes are read, or the other way round: 0, or the failure, before anything is written. An 8-byte
 * request has nothing in its upper half, or is -1 as a whole. */
static int check_width(int n, const char *list, size_t width)
{
    for (int i = 0; i < n; i++) {
        const char *at = list + (size_t)i * width;
        const uint32_t low = get(at), high = width == 8 ? get(at + 4) : 0;
        if (high != 0 && !(high == UINT32_MAX && low == UINT32_MAX))
            return rmpi_fail(REACTANT_MPI_ERR_REQUEST, "%#x and %#x are no request of 8 bytes; code with 4-byte ones needs the symbols "
                                                       "of REACTANT_MPI_SYMBOLS_G1",
                             low, high);
        if (width == 4 && i + 1 < n && rmpi_request_of_token(low) && get(at + 4) == 0)
            return rmpi_fail(REACTANT_MPI_ERR_REQUEST, "the requests of this list are 8 bytes wide: such code needs the symbols of "
                                                       "REACTANT_MPI_SYMBOLS_G2");
    }
    return 0;
}

/* The request that a token means; NULL: none, with the failure recorded. */
static reactant_mpi_request *request_of(uint32_t token, struct rmpi_comm **c)
{
    struct rmpi_request *r;
    void *word = rmpi_request_of_token(token);
    *c = NULL;
    if (word && rmpi_request_look(word, &r) != RMPI_REQUEST_GONE) {
        *c = rmpi_request_comm(r);
        return word;
    }
    if (rmpi_forked())
        rmpi_control_refused("a request");
    else if (token == UINT32_MAX)
        rmpi_fail(REACTANT_MPI_ERR_REQUEST, "the request is -1: the call that should have started it has not run, or ran later");
    else
        rmpi_fail(REACTANT_MPI_ERR_REQUEST, "%#x is not a live request of compiled code: it was waited for already, was freed, or is none",
                  token);
    return NULL;
}

static int wait_one(const char *function, void *place, size_t width, void *status)
{
    reactant_mpi_status got = {REACTANT_MPI_ANY_SOURCE, REACTANT_MPI_ANY_TAG, 0}; /* of no request */
    struct rmpi_comm *c;
    struct rmpi_request *r;
    reactant_mpi_request *request;
    const uint32_t token = get(place);
    int rc;
    if (token == RMPI_WORD_REQUEST_NULL) {
        if (!ignored(status) && (c = rmpi_comm_any()))
            put_status(c, &got, status);
        return 0;
    }
    request = request_of(token, &c);
    rc = request ? reactant_mpi_wait(request, ignored(status) ? NULL : &got) : rmpi_error_code();
    if (likely(rc == 0) && !ignored(status))
        put_status(c, &got, status);
    if (request && rmpi_request_look(request, &r) == RMPI_REQUEST_GONE) /* failed or not */
        put(place, width, RMPI_WORD_REQUEST_NULL);
    return as_class(function, c, rc);
}

static int wait(void *place, size_t width, void *status)
{
    static const char *const name = "MPI_Wait";
    if (!place)
        return no_place(name, NULL);
    return check_width(1, place, width) == 0 ? wait_one(name, place, width, status) : as_class(name, NULL, REACTANT_MPI_ERR_REQUEST);
}

static int waitall(int n, void *list, size_t width)
{
    static const char *const name = "MPI_Waitall";
    int first = 0;
    if (n < 0 || (n > 0 && !list))
        return as_class(name, NULL, rmpi_fail(REACTANT_MPI_ERR_ARGUMENT, "the list of %d requests is not there", n));
    if (check_width(n, list, width) != 0)
        return as_class(name, NULL, REACTANT_MPI_ERR_REQUEST);
    for (int i = 0; i < n; i++) {
        const int rc = wait_one(name, (char *)list + (size_t)i * width, width, NULL);
        first = first ? first : rc;
    }
    return first;
}

static int request_free(void *place, size_t width)
{
    static const char *const name = "MPI_Request_free";
    struct rmpi_comm *c;
    reactant_mpi_request *request;
    if (!place)
        return no_place(name, NULL);
    if (check_width(1, place, width) != 0)
        return as_class(name, NULL, REACTANT_MPI_ERR_REQUEST);
    request = request_of(get(place), &c);
    put(place, width, RMPI_WORD_REQUEST_NULL);
    return as_class(name, c, request ? reactant_mpi_request_free(request) : rmpi_error_code());
}

#define BOTH_WIDTHS(suffix, place)                                                                                            \
    int reactant_mpi_MPI_Isend##suffix(const void *buf, int count, uintptr_t type, int dest, int tag, uintptr_t comm,          \
                                       place *request)                                                                        \
    {                                                                                                                         \
        return isend(buf, count, type, dest, tag, comm, request, sizeof *request);                                            \
    }                                                                                                                         \
    int reactant_mpi_MPI_Irecv##suffix(void *buf, int count, uintptr_t type, int source, int tag, uintptr_t comm,              \
                                       place *request)                                                                        \
    {                                                                                                                         \
        return irecv(buf, count, type, source, tag, comm, request, sizeof *request);                                          \
    }                                                                                                                         \
    int reactant_mpi_MPI_Wait##suffix(place *request, void *status)                                                           \
    {                                                                                                                         \
        return wait(request, sizeof *request, status);                                                                        \
    }                                                                                                                         \
    int reactant_mpi_MPI_Waitall##suffix(int n, place *requests, void *statuses)                                              \
    {                                                                                                                         \
        (void)statuses;                                                                                                       \
        return waitall(n, requests, sizeof *requests);                                                                        \
    }                                                                                                                         \
    int reactant_mpi_MPI_Request_free##suffix(place *request)                                                                 \
    {                                                                                                                         \
        return request_free(request, sizeof *request);                                                                        \
    }

BOTH_WIDTHS(, uintptr_t)
BOTH_WIDTHS(4, int32_t)
