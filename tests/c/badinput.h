/*
 * What badinput.c and its handles share: the good communicator, and a table of all calls and queries that take one, with which
 * arguments each has.
 */
#ifndef BADINPUT_H
#define BADINPUT_H

#include "check.h"
#include "hostmpi.h"
#include "types.h"

static reactant_mpi_comm *comm; /* good, and stays so */
static hword spare;             /* the host's: to make more communicators from */
static int rank, size;
static int64_t a[64], b[64]; /* room for any small call; never really used by a refused one */
static reactant_mpi_request *req;

#define I64 REACTANT_MPI_INT64
#define SUM REACTANT_MPI_SUM

/* ---- every function that takes a communicator, with otherwise good arguments ---------------------------------------------- */

enum { N_CALLS = 21, N_QUERIES = 9 };
/* What the text of a refused call must name; a prepare call names the collective that it prepares. */
static const char *const call_names[N_CALLS] = {
    "allreduce",      "reduce",  "reduce_scatter", "bcast",    "allgather", "alltoall",  "gather",
    "scatter",        "barrier", "send",           "recv",     "sendrecv",  "allreduce", "reduce",
    "reduce_scatter", "bcast",   "allgather",      "alltoall", "gather",    "scatter",   "barrier",
};

struct args {
    const void *send;
    void *recv;
    size_t count;
    int type, op, root;
    reactant_mpi_comm *c;
};

static struct args good(void)
{
    return (struct args){a, b, 1, I64, SUM, 0, comm};
}

static int call(int k, struct args x)
{
    switch (k) {
    case 0: return reactant_mpi_allreduce(x.send, x.recv, x.count, x.type, x.op, x.c);
    case 1: return reactant_mpi_reduce(x.send, x.recv, x.count, x.type, x.op, x.root, x.c);
    case 2: return reactant_mpi_reduce_scatter(x.send, x.recv, x.count, x.type, x.op, x.c);
    case 3: return reactant_mpi_bcast(x.recv, x.count, x.type, x.root, x.c);
    case 4: return reactant_mpi_allgather(x.send, x.recv, x.count, x.type, x.c);
    case 5: return reactant_mpi_alltoall(x.send, x.recv, x.count, x.type, x.c);
    case 6: return reactant_mpi_gather(x.send, x.recv, x.count, x.type, x.root, x.c);
    case 7: return reactant_mpi_scatter(x.send, x.recv, x.count, x.type, x.root, x.c);
    case 8: return reactant_mpi_barrier(x.c);
    case 9: return reactant_mpi_send(x.send, x.count, x.type, x.root, 0, x.c);
    case 10: return reactant_mpi_recv(x.recv, x.count, x.type, x.root, 0, x.c, NULL);
    case 11: return reactant_mpi_sendrecv(x.send, x.count, x.root, 0, x.recv, x.count, x.root, 0, x.type, x.c, NULL);
    case 12: return reactant_mpi_prepare_allreduce(x.send, x.recv, x.count, x.type, x.op, x.c, &req);
    case 13: return reactant_mpi_prepare_reduce(x.send, x.recv, x.count, x.type, x.op, x.root, x.c, &req);
    case 14: return reactant_mpi_prepare_reduce_scatter(x.send, x.recv, x.count, x.type, x.op, x.c, &req);
    case 15: return reactant_mpi_prepare_bcast(x.recv, x.count, x.type, x.root, x.c, &req);
    case 16: return reactant_mpi_prepare_allgather(x.send, x.recv, x.count, x.type, x.c, &req);
    case 17: return reactant_mpi_prepare_alltoall(x.send, x.recv, x.count, x.type, x.c, &req);
    case 18: return reactant_mpi_prepare_gather(x.send, x.recv, x.count, x.type, x.root, x.c, &req);
    case 19: return reactant_mpi_prepare_scatter(x.send, x.recv, x.count, x.type, x.root, x.c, &req);
    case 20: return reactant_mpi_prepare_barrier(x.c, &req);
    }
    return -1;
}

static int base_of(int k) /* the collective that a prepare call prepares */
{
    return k >= 12 ? k - 12 : k;
}
static bool has_type(int k)
{
    return base_of(k) != 8;
}
static bool has_op(int k)
{
    return base_of(k) <= 2;
}
static bool has_root(int k)
{
    int f = base_of(k);
    return f == 1 || f == 3 || f == 6 || f == 7;
}
static bool has_send(int k)
{
    int f = base_of(k);
    return f != 3 && f != 8 && f != 10;
}
static bool has_recv(int k)
{
    int f = base_of(k);
    return f != 8 && f != 9;
}
static bool is_rooted(int k)
{
    int f = base_of(k);
    return f == 1 || f == 6 || f == 7;
}

static const char *const query_names[N_QUERIES] = {"rank",    "size",     "local_rank", "local_size", "device",
                                                   "comm_id", "mpi_comm", "describe",   "comm_error"};

/* The code that a query gives for a handle: 0 = it took it. */
static int query(int k, const reactant_mpi_comm *c)
{
    char text[64];
    int code = 0;
    switch (k) {
    case 0: code = reactant_mpi_rank(c); break;
    case 1: code = reactant_mpi_size(c); break;
    case 2: code = reactant_mpi_local_rank(c); break;
    case 3: code = reactant_mpi_local_size(c); break;
    case 4: code = reactant_mpi_device(c); break; /* -1 is a host communicator */
    case 5: code = (int)reactant_mpi_comm_id(c); break;
    case 6: return reactant_mpi_mpi_comm(c) ? 0 : reactant_mpi_last_error_code();
    case 7: return reactant_mpi_describe(c, text, sizeof text) ? 0 : reactant_mpi_last_error_code();
    case 8: code = reactant_mpi_comm_error(c); break;
    }
    return code < (k == 4 ? -1 : 0) ? -code : 0;
}

#endif
