/*
 * The shapes of rows.inc: the parameters of the public function (each list ends in a comma, the communicator follows), how they go
 * into the call record, and what there is to check. PARAMS_, STORE_, AFTER_COMM_ and HAS_ of one shape stand together.
 * STREAM_PARAMS_ and STREAM_STORE_ are those of the device form, where messages have no tags and no status.
 */
#ifndef RMPI_SHAPES_H
#define RMPI_SHAPES_H

#define PARAMS_REDUCTION const void *send, void *recv, size_t count, int type, int op,
#define STORE_REDUCTION(a) (a).send = send, (a).recv = recv, (a).count = count, (a).type = type, (a).op = op
#define HAS_REDUCTION (HAS_SEND | HAS_RECV | HAS_OP)

#define PARAMS_REDUCTION_ROOT const void *send, void *recv, size_t count, int type, int op, int root,
#define STORE_REDUCTION_ROOT(a) STORE_REDUCTION(a), (a).root = root
#define HAS_REDUCTION_ROOT (HAS_REDUCTION | HAS_ROOT)

#define PARAMS_BUFFER_ROOT void *buf, size_t count, int type, int root,
#define STORE_BUFFER_ROOT(a) (a).recv = buf, (a).count = count, (a).type = type, (a).root = root
#define HAS_BUFFER_ROOT (HAS_RECV | HAS_ROOT)

#define PARAMS_BLOCKS const void *send, void *recv, size_t count, int type,
#define STORE_BLOCKS(a) (a).send = send, (a).recv = recv, (a).count = count, (a).type = type
#define HAS_BLOCKS (HAS_SEND | HAS_RECV)

#define PARAMS_BLOCKS_ROOT const void *send, void *recv, size_t count, int type, int root,
#define STORE_BLOCKS_ROOT(a) STORE_BLOCKS(a), (a).root = root
#define HAS_BLOCKS_ROOT (HAS_BLOCKS | HAS_ROOT)

#define PARAMS_NOTHING
#define STORE_NOTHING(a) (a).count = 0
#define HAS_NOTHING 0

#define PARAMS_GATHERED const void *send, size_t count, void *recv, const size_t *counts, const size_t *displs, int type,
#define STORE_GATHERED(a) \
    (a).send = send, (a).count = count, (a).recv = recv, (a).recv_counts = counts, (a).recv_displs = displs, (a).type = type
#define HAS_GATHERED (HAS_SEND | HAS_RECV | HAS_RECV_BLOCKS)

#define PARAMS_GATHERED_ROOT PARAMS_GATHERED int root,
#define STORE_GATHERED_ROOT(a) STORE_GATHERED(a), (a).root = root
#define HAS_GATHERED_ROOT (HAS_GATHERED | HAS_ROOT)

#define PARAMS_SCATTERED_ROOT \
    const void *send, const size_t *counts, const size_t *displs, void *recv, size_t count, int type, int root,
#define STORE_SCATTERED_ROOT(a)                                                                                            \
    (a).send = send, (a).send_counts = counts, (a).send_displs = displs, (a).recv = recv, (a).count = count, (a).type = type, \
    (a).root = root
#define HAS_SCATTERED_ROOT (HAS_SEND | HAS_RECV | HAS_SEND_BLOCKS | HAS_ROOT)

#define PARAMS_ALL_TO_ALL                                                                                           \
    const void *send, const size_t *send_counts, const size_t *send_displs, void *recv, const size_t *recv_counts, \
        const size_t *recv_displs, int type,
#define STORE_ALL_TO_ALL(a)                                                                           \
    (a).send = send, (a).send_counts = send_counts, (a).send_displs = send_displs, (a).recv = recv,  \
    (a).recv_counts = recv_counts, (a).recv_displs = recv_displs, (a).type = type, (a).count = 0
#define HAS_ALL_TO_ALL (HAS_SEND | HAS_RECV | HAS_SEND_BLOCKS | HAS_RECV_BLOCKS)

#define PARAMS_REDUCTION_BLOCKS const void *send, void *recv, const size_t *counts, int type, int op,
#define STORE_REDUCTION_BLOCKS(a) \
    (a).send = send, (a).recv = recv, (a).recv_counts = counts, (a).type = type, (a).op = op, (a).count = 0
#define HAS_REDUCTION_BLOCKS (HAS_SEND | HAS_RECV | HAS_OP | HAS_SUM_OF_BLOCKS)

#define PARAMS_PERMUTED const void *send, void *recv, size_t count, int type, int source, int n_dests, const int *dests,
#define STORE_PERMUTED(a)                                                                                         \
    (a).send = send, (a).recv = recv, (a).count = count, (a).type = type, (a).source = source, (a).n_dests = n_dests, \
    (a).dests = dests
#define HAS_PERMUTED (HAS_SEND | HAS_RECV | HAS_DESTS)

#define PARAMS_SEND_TO const void *buf, size_t count, int type, int dest, int tag,
#define AFTER_COMM_SEND_TO
#define STORE_SEND_TO(a) (a).send = buf, (a).count = count, (a).type = type, (a).root = dest, (a).tag = tag
#define STREAM_PARAMS_SEND_TO const void *buf, size_t count, int type, int dest,
#define STREAM_STORE_SEND_TO(a) (a).send = buf, (a).count = count, (a).type = type, (a).root = dest
#define HAS_SEND_TO (HAS_SEND | HAS_DEST)

#define PARAMS_RECV_FROM void *buf, size_t count, int type, int source, int tag,
#define AFTER_COMM_RECV_FROM , reactant_mpi_status *status
#define STORE_RECV_FROM(a) \
    (a).recv = buf, (a).recv_count = count, (a).type = type, (a).source = source, (a).recv_tag = tag, (a).status = status
#define STREAM_PARAMS_RECV_FROM void *buf, size_t count, int type, int source,
#define STREAM_STORE_RECV_FROM(a) (a).recv = buf, (a).recv_count = count, (a).type = type, (a).source = source
#define HAS_RECV_FROM (HAS_RECV | HAS_SOURCE)

#define PARAMS_SEND_AND_RECV                                                                                              \
    const void *send, size_t send_count, int dest, int send_tag, void *recv, size_t recv_count, int source, int recv_tag, \
        int type,
#define AFTER_COMM_SEND_AND_RECV , reactant_mpi_status *status
#define STORE_SEND_AND_RECV(a)                                                                                       \
    (a).send = send, (a).count = send_count, (a).root = dest, (a).tag = send_tag, (a).recv = recv,                   \
    (a).recv_count = recv_count, (a).source = source, (a).recv_tag = recv_tag, (a).type = type, (a).status = status
#define STREAM_PARAMS_SEND_AND_RECV \
    const void *send, size_t send_count, int dest, void *recv, size_t recv_count, int source, int type,
#define STREAM_STORE_SEND_AND_RECV(a)                                                                       \
    (a).send = send, (a).count = send_count, (a).root = dest, (a).recv = recv, (a).recv_count = recv_count, \
    (a).source = source, (a).type = type
#define HAS_SEND_AND_RECV (HAS_SEND | HAS_RECV | HAS_DEST | HAS_SOURCE)

#define PARAMS_PROBED int source, int tag,
#define AFTER_COMM_PROBED , reactant_mpi_status *status
#define STORE_PROBED(a) (a).source = source, (a).recv_tag = tag, (a).status = status
#define HAS_PROBED HAS_SOURCE

#endif
