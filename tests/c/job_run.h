/* The buffers and arguments of a job (jobs.h), and a look at every byte when it is done. */
#ifndef JOB_RUN_H
#define JOB_RUN_H

#include "jobs.h"

enum way { BLOCKED, WAITED, TESTED, RUN, RESTARTED, N_WAYS };
static const char *const way_names[N_WAYS] = {"blocking", "started and waited for", "started and tested", "prepared and run",
                                              "prepared and started"};

static void bad(const struct job *j, enum way way, const char *what, size_t i)
{
    check_fail(__FILE__, __LINE__, what, " %s, %s, of %zu %s, %s, op 0x%x, root %d, variant %d, %d ranks, element %zu",
               row_names[j->row], way_names[way], j->count, j->t->name, place_names[j->place], j->op, j->root, j->variant, size, i);
}

struct running {
    struct args a;
    struct layout in, out;
    struct lists lists;
    struct buffer sent, got;
    char *input, *output; /* where the pieces are counted from */
};

/* Buffers and arguments as the place says. */
static void arrange(const struct job *j, struct running *x)
{
    const size_t bytes = j->t->size;
    const bool ignored = is_rooted(j->row) && rank != j->root, scatters = j->row == SCATTER || j->row == SCATTERV;
    struct lists *l = &x->lists;
    memset(l, 0x7f, sizeof *l);
    describe(j, &x->in, &x->out, l);
    x->a = (struct args){.count = j->row == ALLGATHERV || j->row == GATHERV ? block(j, rank, 0)
                                  : j->row == SCATTERV                      ? block(j, 0, rank)
                                                                            : j->count,
                         .send_counts = l->send_counts, .send_displs = l->send_displs, .recv_counts = l->recv_counts,
                         .recv_displs = l->recv_displs, .type = j->t->value, .op = j->op, .root = j->root, .dests = l->dests,
                         .comm = comm};
    if (ignored && j->count % 2) /* lists that nobody may read: NULL, or nonsense */
        x->a.send_counts = x->a.send_displs = x->a.recv_counts = x->a.recv_displs = NULL;
    if (j->row == PERMUTE) {
        x->a.source = source_of(j, rank) < 0 ? REACTANT_MPI_PROC_NULL : source_of(j, rank);
        for (int r = size - 1; r >= 0; r--)
            if (source_of(j, r) == rank)
                l->dests[x->a.n_dests++] = r;
    }
    if (j->place == NOTHING)
        return;
    if (j->row == BCAST) {
        x->a.recv = x->input = x->output = buffer_new(&x->got, j->count * bytes);
    } else if (!in_place_here(j)) {
        if (!(ignored && scatters))
            x->a.send = x->input = buffer_new(&x->sent, x->in.room * bytes);
        if (j->row == PERMUTE && x->a.n_dests == 0 && j->count % 2) /* nobody wants it */
            x->a.send = NULL;
        if (!ignored || scatters)
            x->a.recv = x->output = buffer_new(&x->got, x->out.room * bytes);
        else if (j->count % 2) /* ignored: NULL, or a buffer that nobody may touch */
            x->a.recv = buffer_new(&x->got, j->count * bytes);
    } else if (scatters) { /* the own block stays where it is */
        x->a.send = x->input = buffer_new(&x->sent, x->in.room * bytes);
        x->a.recv = j->place == SAME ? x->input + x->in.piece[rank].at * bytes : REACTANT_MPI_IN_PLACE;
        x->out.n = 0;
    } else {
        const size_t room = x->in.room > x->out.room ? x->in.room : x->out.room;
        char *own = x->a.recv = x->input = x->output = buffer_new(&x->got, room * bytes);
        if (!reduces(j->row) && j->row != ALLTOALL && j->row != ALLTOALLV) {
            x->in.piece[0].at = x->out.piece[rank].at;
            own += x->in.piece[0].at * bytes;
        }
        for (int r = 0; (j->row == ALLTOALL || j->row == ALLTOALLV) && r < size; r++)
            x->in.piece[r].at = x->out.piece[r].at;
        x->a.send = j->place == SAME ? own : REACTANT_MPI_IN_PLACE;
    }
}

static void fill(const struct job *j, struct running *x, unsigned seed)
{
    const int op = reduces(j->row) ? j->op : 0;
    for (int k = 0; x->input && k < x->in.n; k++)
        for (size_t i = 0; i < x->in.piece[k].n; i++)
            put(j->t, x->input, x->in.piece[k].at + i, sent(j->t, op, seed, rank, x->in.piece[k].first + i));
}

/* The elements of a layout are what they must be; then they become guard bytes like the rest. */
static void look(const struct job *j, enum way way, unsigned seed, char *base, const struct layout *l, bool results,
                 const char *what)
{
    const int op = reduces(j->row) ? j->op : 0;
    check_count++;
    for (int k = 0; k < l->n; k++)
        for (size_t i = 0; i < l->piece[k].n; i++) {
            const struct piece *p = &l->piece[k];
            if (!same(j->t, base, p->at + i, results ? expected(j, seed, p, i) : sent(j->t, op, seed, rank, p->first + i))) {
                bad(j, way, what, i);
                k = l->n - 1;
                break;
            }
        }
    for (int k = 0; k < l->n; k++)
        memset(base + l->piece[k].at * j->t->size, 0xa5, l->piece[k].n * j->t->size);
}

/* Looks at everything when the call is done; all is guard bytes again then. */
static void look_at_all(const struct job *j, enum way way, unsigned seed, struct running *x)
{
    if (x->output)
        look(j, way, seed, x->output, &x->out, true, "the right result");
    if (x->sent.block && x->input)
        look(j, way, seed, x->input, &x->in, false, "the sent data unchanged");
    else if (x->input)
        for (int k = 0; k < x->in.n; k++) /* what a reduction leaves beside its result is not defined */
            memset(x->input + x->in.piece[k].at * j->t->size, 0xa5, x->in.piece[k].n * j->t->size);
    if ((x->sent.block && !buffer_untouched(&x->sent)) || (x->got.block && !buffer_untouched(&x->got)))
        bad(j, way, "nothing written but the result", 0);
}

static void clear(struct running *x)
{
    free(x->sent.block);
    free(x->got.block);
}

#endif
