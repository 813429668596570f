/*
 * What the collectives and the messages of collectives.c share: the communicator, guarded buffers.
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

static void *buffer_new(struct buffer *b, size_t bytes)
{
    b->block = malloc(bytes + 2 * GUARD);
    b->bytes = bytes;
    NEED(b->block, "no memory");
    memset(b->block, 0xa5, bytes + 2 * GUARD);
    return b->block + GUARD;
}

static bool buffer_whole(const struct buffer *b)
{
    for (int i = 0; i < GUARD; i++)
        if (b->block[i] != 0xa5 || b->block[GUARD + b->bytes + (size_t)i] != 0xa5)
            return false;
    return true;
}

static bool buffer_untouched(const struct buffer *b)
{
    for (size_t i = 0; i < b->bytes; i++)
        if (b->block[GUARD + i] != 0xa5)
            return false;
    return buffer_whole(b);
}

#endif
