/*
 * A device does not come, or its process dies: every other device, in every process, gets a code and a text in time. Afterwards the ranks
 * are out of step, so nobody calls MPI_Finalize with others.
 */
#ifndef WRAPPER_LATE_H
#define WRAPPER_LATE_H

#include "wrapper_call.h"

#include <signal.h>

enum { LIMIT_MS = 700 };

static word late_comm[MAX_DEVICES];

static bool is_last(const struct device *d)
{
    return d->id == device_total - 1;
}

static void must_fail(const struct device *d, int code, const char *want, double began)
{
    char text[1024] = "no failure";
    if (code)
        error_string(code, text);
    CHECK(code && strstr(text, want), "device %d: '%s' in: %s", d->id, want, text);
    CHECK(strstr(text, "ERR_TIMEOUT") || strstr(text, "ERR_PEER"), "%s", text);
    CHECK(now_ms() - began < HANG_MS, "%.0f ms", now_ms() - began);
}

static void limit(const char *ms)
{
    setenv("REACTANT_MPI_CALL_TIMEOUT_MS", ms, 1);
}

/* ---- a split that one does not join ------------------------------------------------------------------------------------------- */

static void split_but_last(struct device *d)
{
    word comm = 7;
    float x = 1, y;
    char want[64];
    if (is_last(d))
        return;
    const double began = now_ms();
    const int code = mpi.Comm_split(WORLD, 40 + d->id % 2, d->id, &comm);
    must_fail(d, code, "a mesh must take every device of every process", began);
    snprintf(want, sizeof want, "process %d:", processes - 1);
    must_fail(d, code, want, began);
    must_fail(d, code, "not called", began);
    snprintf(want, sizeof want, "colour %d key %d", 40 + d->id % 2, d->id);
    must_fail(d, code, want, began);
    must_fail(d, code, "colour 40 key 0", began);
    CHECK(comm == COMM_NULL, "");
    BAD("a mesh must take every device", mpi.Allreduce(&x, &y, 1, FLOAT, SUM, comm)); /* XLA has not looked at the code of the split */
    BAD("a mesh must take every device", mpi.Comm_split(WORLD, 0, d->id, &comm));     /* the processes are out of step */
}

static int partial(const char *list)
{
    limit("700");
    begin(list, false);
    on_devices(split_but_last);
    nap_ms(LIMIT_MS); /* MPICH ends those that still wait when one has gone */
    _exit(check_done(process));
}

/* ---- a device that does not call ---------------------------------------------------------------------------------------------- */

static void split_all(struct device *d)
{
    int clique[MAX_DEVICES];
    float x = 1, sum = 0;
    for (int i = 0; i < device_total; i++)
        clique[i] = i;
    late_comm[d->id] = split_as(d, device_total, clique);
    GOOD(mpi.Allreduce(&x, &sum, 1, FLOAT, SUM, late_comm[d->id]));
    CHECK(sum == (float)device_total, "%g", sum);
}

static void reduce_but_last(struct device *d)
{
    float x = 1, sum = 0;
    char want[64];
    if (is_last(d))
        return;
    double began = now_ms();
    int code = mpi.Allreduce(&x, &sum, 1, FLOAT, SUM, late_comm[d->id]);
    if (process == processes - 1)
        snprintf(want, sizeof want, "not rank %d", device_total - 1); /* its own process knows which device */
    else
        snprintf(want, sizeof want, "rank %d", processes - 1); /* the others which process */
    must_fail(d, code, want, began);
    began = now_ms();
    must_fail(d, mpi.Allreduce(&x, &sum, 1, FLOAT, SUM, late_comm[d->id]), "ERR_", began); /* no more calls */
    CHECK(now_ms() - began < LIMIT_MS / 2, "%.0f ms for a call of a clique that has failed", now_ms() - began);
}

/* Device 0 receives from the last one, all others from it too. */
static void receive_from_last(struct device *d)
{
    float x;
    char want[64];
    word request = REQUEST_NULL;
    if (is_last(d))
        return;
    const double began = now_ms();
    int code = mpi.Irecv(&x, 1, FLOAT, device_total - 1, 0, late_comm[d->id], &request);
    if (process == processes - 1)
        snprintf(want, sizeof want, "rank %d (device", device_total - 1);
    else
        snprintf(want, sizeof want, "rank %d", processes - 1);
    must_fail(d, code ? code : mpi.Wait(&request, NULL), code ? "ERR_" : want, began);
    CHECK(request == REQUEST_NULL, "");
}

static int missing(const char *list, bool message)
{
    limit("700");
    begin(list, false);
    on_devices(split_all);
    on_devices(message ? receive_from_last : reduce_but_last);
    nap_ms(LIMIT_MS);
    _exit(check_done(process));
}

/* ---- a process that dies ------------------------------------------------------------------------------------------------------ */

static void reduce_with_dead(struct device *d)
{
    float x = 1, sum = 0;
    char want[64];
    const double began = now_ms();
    snprintf(want, sizeof want, "rank %d", processes - 1);
    must_fail(d, mpi.Allreduce(&x, &sum, 1, FLOAT, SUM, late_comm[d->id]), want, began);
    must_fail(d, mpi.Comm_split(WORLD, 0, d->id, &late_comm[d->id]), "", began);
}

static int killed(const char *list)
{
    limit("3000");
    signal(SIGUSR1, SIG_IGN); /* MPICH's launcher tells the ranks of another's end by it */
    begin(list, false);
    on_devices(split_all);
    if (process == processes - 1) {
        nap_ms(200);
        raise(SIGKILL);
    }
    on_devices(reduce_with_dead);
    nap_ms(LIMIT_MS);
    _exit(check_done(process));
}

#endif
