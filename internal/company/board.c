/* The company of a communicator and the board of its node, as they are made and freed. */
#define _GNU_SOURCE
#include "company.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const char unknown[] = "an unknown host";

struct rmpi_company *rmpi_company_new(int rank, int size)
{
    size_t bytes = sizeof(struct rmpi_company) + (size_t)size * sizeof(struct rmpi_member);
    struct rmpi_company *c = aligned_alloc(_Alignof(struct rmpi_company), (bytes + 127) / 128 * 128);
    if (!c)
        return NULL;
    memset(c, 0, bytes);
    c->own = &c->alone;
    c->rank = rank;
    c->size = size;
    c->elsewhere = size - 1;
    for (int r = 0; r < size; r++)
        c->member[r].host = unknown;
    c->member[rank].slot = c->own;
    rmpi_sign(c->own);
    return c;
}

/* Ranks come in the order of their nodes, mostly: equal names next to each other are kept once. */
void rmpi_company_host(struct rmpi_company *c, int rank, const char *host)
{
    const char *before = rank > 0 ? c->member[rank - 1].host : "", *copy;
    if (strcmp(before, host) == 0)
        c->member[rank].host = before;
    else if ((copy = strdup(host)))
        c->member[rank].host = copy;
}

static void name_of(uint64_t nonce, char name[64])
{
    snprintf(name, 64, "/reactant_mpi.%016" PRIx64, nonce);
}

static size_t board_bytes(int slots)
{
    return (size_t)slots * sizeof(struct rmpi_slot);
}

int rmpi_board_make(uint64_t nonce, int slots)
{
    char name[64];
    int fd, ok;
    name_of(nonce, name);
    if ((fd = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600)) < 0)
        return 0;
    ok = posix_fallocate(fd, 0, (off_t)board_bytes(slots)) == 0; /* no room is an error now, not a signal later */
    close(fd);
    if (!ok)
        shm_unlink(name);
    return ok;
}

int rmpi_company_open(struct rmpi_company *c, uint64_t nonce, int slots, int own)
{
    char name[64];
    struct stat about;
    void *at = MAP_FAILED;
    int fd;
    name_of(nonce, name);
    if ((fd = shm_open(name, O_RDWR, 0)) < 0)
        return 0;
    if (fstat(fd, &about) == 0 && about.st_uid == geteuid() && (size_t)about.st_size == board_bytes(slots))
        at = mmap(NULL, board_bytes(slots), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (at == MAP_FAILED)
        return 0;
    c->board = at;
    c->slots = slots;
    c->own = &c->board[own];
    c->member[c->rank].slot = c->own;
    rmpi_sign(c->own);
    return 1;
}

void rmpi_board_remove(uint64_t nonce)
{
    char name[64];
    name_of(nonce, name);
    shm_unlink(name);
}

void rmpi_company_on_board(struct rmpi_company *c, int rank, int slot)
{
    if (rank == c->rank || !c->board)
        return;
    c->member[rank].slot = &c->board[slot];
    c->elsewhere--;
}

void rmpi_company_free(struct rmpi_company *c)
{
    if (!c)
        return;
    for (int r = c->size - 1; r >= 0; r--)
        if (c->member[r].host != unknown && (r == 0 || c->member[r].host != c->member[r - 1].host))
            free((char *)(uintptr_t)c->member[r].host);
    if (c->board)
        munmap(c->board, board_bytes(c->slots));
    free(c);
}
