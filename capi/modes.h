/* Option check: the ranks compare a collective before it moves anything (agreement.c), and what they have for each other (amounts.c). */
#ifndef RMPI_CAPI_MODES_H
#define RMPI_CAPI_MODES_H

#include "capi/call.h"

#pragma GCC visibility push(hidden)

/* 0, or the public code, the same on every rank: then nothing has been moved. c->sequence counts this call already. started: it is not
 * a blocking one. */
int rmpi_check_ranks(struct rmpi_comm *c, const struct rmpi_call *a, int started);

/* ---- between the two files ---- */

enum { RMPI_TELL_ALL = 64 }; /* ranks, up to which the amounts themselves are exchanged for the text */

struct rmpi_words {
    char words[RMPI_STRING_BYTES - 1024]; /* the failure adds who and where */
    size_t used;
};
void rmpi_say(struct rmpi_words *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Everybody's `bytes`, in rank order, over the control communicator; free *memory. NULL: it failed, and *code says how. */
const void *rmpi_everybodys(struct rmpi_comm *c, const struct rmpi_call *a, const void *own, size_t bytes, void **memory, int *code);

/* Whether a row has amounts that differ from rank to rank. */
int rmpi_has_amounts(uint32_t row);
/* Sums over what this rank gives to others, and what it awaits from others: over all ranks the two are equal if all pairs agree. */
void rmpi_sum_amounts(const struct rmpi_comm *c, const struct rmpi_call *a, uint64_t *given, uint64_t *awaited);
/* Which pairs do not agree. Called by every rank; 0, or a public code: the exchange failed. */
int rmpi_say_amounts(struct rmpi_comm *c, const struct rmpi_call *a, struct rmpi_words *t);

#pragma GCC visibility pop

#endif
