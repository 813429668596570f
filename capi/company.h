/*
 * Waiting in company: what a call does besides waiting while its communicator has a timeout (internal/company/company.h). Pure C. Nothing
 * here blocks: what MPI does not do at once is looked at again next time, or given up.
 */
#ifndef RMPI_CAPI_COMPANY_H
#define RMPI_CAPI_COMPANY_H

#include "capi/call.h"
#include "internal/company/company.h"

#pragma GCC visibility push(hidden)

/* This rank begins, or ends, a call: published for the ranks of this node. A few stores. For a collective c->sequence counts it already. */
void rmpi_company_enter(struct rmpi_comm *c, const struct rmpi_call *a);
void rmpi_company_leave(struct rmpi_comm *c);

/* A wait: of a call, the communicator's `number`th collective (a message: whatever), that began at since_ms (CLOCK_MONOTONIC) and may
 * take timeout_ms. */
struct rmpi_vigil {
    const struct rmpi_call *call;
    uint64_t number;
    int64_t since_ms, timeout_ms;
};

/*
 * One look around, about once a millisecond, where this thread may call MPI. It answers ranks elsewhere that ask where this one is, sees every 50 ms whether the
 * processes of this node live, asks the ranks elsewhere a little before the limit, and reports at the limit.
 * 0 = go on waiting, else 31 or 32, after rmpi_call_failed() has written and latched the text: the communicator is out of step then.
 */
int rmpi_company_look(struct rmpi_comm *c, const struct rmpi_vigil *v);

/* The same for a wait that may be repeated: its 31 is written and not latched. */
int rmpi_company_look_for(struct rmpi_comm *c, const struct rmpi_vigil *v);

/* After MPI has failed in `a` for any reason: 32 as above if a process of this node that it concerns has ended, else 0. */
int rmpi_company_post_mortem(struct rmpi_comm *c, const struct rmpi_call *a);

/* ---- between the files of it ---- */

struct rmpi_text {
    char *at, *end;
};
void rmpi_add(struct rmpi_text *, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* What is known of a rank. */
struct rmpi_seen {
    struct rmpi_whereabouts at;
    int64_t pid;
    int known;
};
struct rmpi_seen rmpi_company_see(const struct rmpi_company *, int rank, int64_t since_ms);
/* Whether call `a` waits for that rank. */
int rmpi_company_concerns(const struct rmpi_comm *c, const struct rmpi_call *a, int rank);

/* Whether the process of a rank on the board has ended, other than by giving up; not closely: a zombie is missed. */
int rmpi_company_lost(const struct rmpi_company *, int rank, int closely);

/* Texts of 31 and 32. */
void rmpi_company_late(const struct rmpi_comm *c, const struct rmpi_vigil *v, struct rmpi_text *t);
void rmpi_company_dead(const struct rmpi_comm *c, const struct rmpi_call *a, struct rmpi_text *t);

/* Messages between ranks that share no board, on the control communicator: read what has come and answer; ask everybody elsewhere. */
void rmpi_company_hear(struct rmpi_comm *c, int64_t now_ms);
void rmpi_company_ask(struct rmpi_comm *c, const struct rmpi_call *a);

static inline uint64_t rmpi_number_of(uint64_t word)
{
    return word >> RMPI_NUMBER_SHIFT;
}

static inline uint32_t rmpi_row_of(uint64_t word)
{
    return (uint32_t)(word >> RMPI_NOW_BITS) & ((1u << RMPI_ROW_BITS) - 1);
}

static inline uint64_t rmpi_word_of(uint64_t number, uint32_t row, unsigned bits)
{
    return number << RMPI_NUMBER_SHIFT | (uint64_t)row << RMPI_NOW_BITS | bits;
}

#pragma GCC visibility pop

#endif
