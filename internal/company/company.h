/*
 * Where the other ranks of a communicator are: who they are, and what each was last seen doing. Ranks of one node publish it on a board in
 * shared memory; of ranks elsewhere it is known what they have told (capi/company.h). Made with a timeout, kept until the communicator
 * ends.
 */
#ifndef RMPI_INTERNAL_COMPANY_H
#define RMPI_INTERNAL_COMPANY_H

#include <stdint.h>

#pragma GCC visibility push(hidden)

/*
 * What a rank is doing, in words that are stored and read whole. `begun` is its last collective, `now` the call that it is in or was in
 * last; in both the number of collectives begun stands above the row of the table.
 */
struct rmpi_whereabouts {
    uint64_t begun;
    uint64_t now;
};

enum { RMPI_NOW_INSIDE = 1, RMPI_NOW_GAVE_UP = 2, RMPI_NOW_BITS = 2, RMPI_ROW_BITS = 14, RMPI_NUMBER_SHIFT = 16 };

/* A rank's place on the board of its node: written by that rank alone. */
struct rmpi_slot {
    struct rmpi_whereabouts at;
    /* who it is, once; pid comes last */
    uint64_t started; /* field 22 of /proc/<pid>/stat: a later process with the same pid has another one */
    uint64_t pids;    /* inode of its namespace of pids: only within one does a pid mean anything */
    int64_t pid;
} __attribute__((aligned(128)));

struct rmpi_member {
    const struct rmpi_slot *slot; /* NULL: not on our board */
    const char *host;
    /* of a member without a slot: what it told last, and when (0: never) */
    struct rmpi_whereabouts told;
    int64_t told_pid;
    int64_t told_ms;
};

struct rmpi_parcel;

struct rmpi_company {
    struct rmpi_slot *own;
    struct rmpi_slot *board; /* NULL: no other rank is on one with us */
    int slots;
    int rank, size;
    int elsewhere; /* members without a slot */
    /* a waiting thread that looks around takes this first; the rest is its */
    int busy;
    int64_t looked_ms; /* for processes that have ended */
    int64_t dead_ms;   /* when the first was seen; 0 = none */
    int next_looked;
    int64_t asked_ms;
    uint64_t asked_number;
    struct rmpi_parcel *sent; /* messages that MPI has not let go of */
    struct rmpi_slot alone;   /* own slot where there is no board */
    struct rmpi_member member[];
};

/* A company of `size` ranks that knows nothing yet; NULL without memory. Hosts are copied. */
struct rmpi_company *rmpi_company_new(int rank, int size);
void rmpi_company_host(struct rmpi_company *, int rank, const char *host);
/* The board, under a name that `nonce` makes: made by one rank of a node, opened by all, taken away by the first. 0 = it cannot be. */
int rmpi_board_make(uint64_t nonce, int slots);
int rmpi_company_open(struct rmpi_company *, uint64_t nonce, int slots, int own);
void rmpi_board_remove(uint64_t nonce);
/* `rank` has the board open too, in that slot. */
void rmpi_company_on_board(struct rmpi_company *, int rank, int slot);
/* Not while a call may still look. */
void rmpi_company_free(struct rmpi_company *);

/* Write into a slot which process this is. */
void rmpi_sign(struct rmpi_slot *);

/* The process behind a slot. */
enum rmpi_process { RMPI_RUNNING, RMPI_STOPPED, RMPI_GONE, RMPI_OUT_OF_SIGHT };
enum rmpi_process rmpi_process_of(const struct rmpi_company *, const struct rmpi_slot *);
/* The cheap half of it: whether there is no process of that number at all. */
int rmpi_process_vanished(const struct rmpi_company *, const struct rmpi_slot *);

/* Whether another rank on the board has given up a call, or its process has ended: what is left to do together will not be done. */
int rmpi_company_broken(const struct rmpi_company *);

#pragma GCC visibility pop

#endif
