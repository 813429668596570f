/*
 * What badinput.c and its handles share: the good communicator, and a table of all calls and queries that take one, with which
 * arguments each has.
 */
#ifndef BADINPUT_H
#define BADINPUT_H

#include "check.h"
#include "hostmpi.h"
#include "rows.h"
#include "types.h"

static reactant_mpi_comm *comm; /* good, and stays so */
static hword spare;             /* the host's: to make more communicators from */
static int rank, size;
static int64_t a[64], b[64]; /* room for any small call; never really used by a refused one */
static reactant_mpi_request *req;

#define I64 REACTANT_MPI_INT64
#define SUM REACTANT_MPI_SUM

/* ---- every function that takes a communicator, with otherwise good arguments ---------------------------------------------- */

/* Collectives in their forms, then the messages. */
enum { N_COLLECTIVE = N_ROWS * N_FORMS, SEND = N_COLLECTIVE, RECV, SENDRECV, ISEND, IRECV, PROBE, N_CALLS, N_QUERIES = 9 };

static enum row row_of(int k) /* N_ROWS: a message */
{
    return k < N_COLLECTIVE ? (enum row)(k % N_ROWS) : N_ROWS;
}
static enum form form_of(int k)
{
    return k < N_COLLECTIVE ? (enum form)(k / N_ROWS) : k == ISEND || k == IRECV ? STARTED : BLOCKING;
}

/* What the text of a refused call must name. */
static const char *call_name(int k)
{
    static const char *const messages[] = {"send", "recv", "sendrecv", "send", "recv", "probe"};
    return k < N_COLLECTIVE ? row_names[k % N_ROWS] : messages[k - N_COLLECTIVE];
}

static const size_t ones[8] = {1, 1, 1, 1, 1, 1, 1, 1}, places[8] = {0, 1, 2, 3, 4, 5, 6, 7};

static struct args good(void)
{
    return (struct args){.send = a, .recv = b, .count = 1, .type = I64, .op = SUM, .send_counts = ones, .send_displs = places,
                         .recv_counts = ones, .recv_displs = places, .source = rank, .n_dests = 1, .dests = &rank, .comm = comm};
}

/* A refused call that makes a request must say that there is none. */
static int call(int k, struct args x)
{
    int rc;
    req = (reactant_mpi_request *)a;
    switch (k) {
    case SEND: return reactant_mpi_send(x.send, x.count, x.type, x.root, 0, x.comm);
    case RECV: return reactant_mpi_recv(x.recv, x.count, x.type, x.root, 0, x.comm, NULL);
    case SENDRECV: return reactant_mpi_sendrecv(x.send, x.count, x.root, 0, x.recv, x.count, x.root, 0, x.type, x.comm, NULL);
    case PROBE: return reactant_mpi_probe(x.root, 0, x.comm, NULL);
    case ISEND: rc = reactant_mpi_isend(x.send, x.count, x.type, x.root, 0, x.comm, &req); break;
    case IRECV: rc = reactant_mpi_irecv(x.recv, x.count, x.type, x.root, 0, x.comm, &req); break;
    default: rc = call_row(row_of(k), form_of(k), &x, &req);
    }
    if (form_of(k) != BLOCKING && rc != 0)
        CHECK(req == NULL, "a request from a refused %s%s", form_names[form_of(k)], call_name(k));
    return rc;
}

static bool has_type(int k)
{
    return row_of(k) != BARRIER && k != PROBE;
}
static bool has_op(int k)
{
    return k < N_COLLECTIVE && reduces(row_of(k));
}
static bool call_has_root(int k)
{
    return k < N_COLLECTIVE && has_root(row_of(k));
}
static bool has_send(int k)
{
    return row_of(k) != BCAST && row_of(k) != BARRIER && k != RECV && k != IRECV && k != PROBE;
}
static bool has_recv(int k)
{
    return row_of(k) != BARRIER && k != SEND && k != ISEND && k != PROBE;
}
/* Whether the rank with the root's number (or not) may leave a buffer away. */
static bool send_counts_here(int k, bool at_root)
{
    return has_send(k) && (at_root || (row_of(k) != SCATTER && row_of(k) != SCATTERV));
}
static bool recv_counts_here(int k, bool at_root)
{
    return has_recv(k) && (at_root || (row_of(k) != REDUCE && row_of(k) != GATHER && row_of(k) != GATHERV));
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
