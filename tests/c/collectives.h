/*
 * What the tests of collectives, messages and requests share: the communicator, guarded buffers, messages' contents.
 */
#ifndef COLLECTIVES_H
#define COLLECTIVES_H

#include "check.h"
#include "types.h"

static reactant_mpi_comm *comm;
static int rank, size;

enum { GUARD = 64 };

struct buffer {
    unsigned char *block;
    size_t bytes;
};

__attribute__((unused)) static void *buffer_new(struct buffer *b, size_t bytes)
{
    b->block = malloc(bytes + 2 * GUARD);
    b->bytes = bytes;
    NEED(b->block, "no memory");
    memset(b->block, 0xa5, bytes + 2 * GUARD);
    return b->block + GUARD;
}

__attribute__((unused)) static bool buffer_whole(const struct buffer *b)
{
    for (int i = 0; i < GUARD; i++)
        if (b->block[i] != 0xa5 || b->block[GUARD + b->bytes + (size_t)i] != 0xa5)
            return false;
    return true;
}

__attribute__((unused)) static bool buffer_untouched(const struct buffer *b)
{
    for (size_t i = 0; i < b->bytes; i++)
        if (b->block[GUARD + i] != 0xa5)
            return false;
    return buffer_whole(b);
}

__attribute__((unused)) static void check_message(const struct type *t, const void *p, size_t n, unsigned seed, int from)
{
    check_count++;
    for (size_t i = 0; i < n; i++)
        if (!same(t, p, i, sent(t, 0, seed, from, i))) {
            check_fail(__FILE__, __LINE__, "the message that was sent", " %zu %s from rank %d, element %zu", n, t->name, from, i);
            return;
        }
}

__attribute__((unused)) static void fill_message(const struct type *t, void *p, size_t n, unsigned seed)
{
    for (size_t i = 0; i < n; i++)
        put(t, p, i, sent(t, 0, seed, rank, i));
}

#endif
