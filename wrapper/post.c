/*
 * Messages between devices. A failure ends the group, since XLA gives up a permute at the first one: what it leaves behind points to its
 * buffers. In one process the side that comes second copies; between processes they go through the library, with a tag
 * that says which device of the one sends to which of the other.
 */
#include <stdio.h>
#include <string.h>

#include "group.h"

#define DONE 2

/* Takes the oldest post of the list that is the other side of this one. */
static struct post *take_match(struct post **list, const struct post *post)
{
    for (; *list; list = &(*list)->next)
        if ((*list)->source == post->source && (*list)->dest == post->dest) {
            struct post *found = *list;
            *list = found->next;
            return found;
        }
    return NULL;
}

static void append(struct post **list, struct post *post)
{
    while (*list)
        list = &(*list)->next;
    *list = post;
}

static bool take(struct post **list, const struct post *post)
{
    while (*list && *list != post)
        list = &(*list)->next;
    return *list ? *list = post->next, true : false;
}

static int name_both(const struct post *post, char source[64], char dest[64])
{
    group_name(post->group, post->source, source, 64);
    group_name(post->group, post->dest, dest, 64);
    return 0;
}

static int copy(const struct post *send, const struct post *recv)
{
    char source[64], dest[64];
    if (send->bytes > recv->bytes) {
        name_both(send, source, dest);
        return fail(REACTANT_MPI_ERR_MPI, "message truncated: %s sends %zu bytes to %s, which has room for %zu", source, send->bytes, dest,
                    recv->bytes);
    }
    if (send->bytes)
        memcpy(recv->to, send->from, send->bytes);
    return 0;
}

static int post_here(struct post *post)
{
    struct group *g = post->group;
    pthread_mutex_lock(&g->lock);
    const int error = atomic_load(&g->error);
    struct post *other = error ? NULL : take_match(post->sends ? &g->recvs : &g->sends, post);
    if (!error && !other)
        append(post->sends ? &g->sends : &g->recvs, post);
    pthread_mutex_unlock(&g->lock);
    if (error)
        return error;
    if (other) {
        const int result = post->sends ? copy(post, other) : copy(other, post);
        post->result = other->result = result;
        atomic_store(&post->done, DONE);
        word_change(&other->done);
        if (result)
            group_end(g, result);
    }
    return 0;
}

static int post_there(struct post *post, int peer)
{
    struct group *g = post->group;
    const struct member *source = &g->members[post->source], *dest = &g->members[post->dest];
    const int tag = source->place * g->most + dest->place, process = g->members[peer].process;
    if (post->sends ? core.isend(post->from, post->bytes, REACTANT_MPI_BYTE, process, tag, g->core, &post->core)
                    : core.irecv(post->to, post->bytes, REACTANT_MPI_BYTE, process, tag, g->core, &post->core))
        return group_end(g, fail_core(post->sends ? "MPI_Isend" : "MPI_Irecv"));
    return 0;
}

int post_check(const struct comm *comm, bool sends, int peer, int tag)
{
    const char *name = sends ? "MPI_Isend" : "MPI_Irecv";
    if (peer < 0 || peer >= comm->size)
        return fail(REACTANT_MPI_ERR_RANK, "%s: rank %d of %d", name, peer, comm->size);
    if (tag)
        return fail(REACTANT_MPI_ERR_UNSUPPORTED, "%s: tag %d: between several devices of a process there is tag 0 only, which XLA uses",
                    name, tag);
    return 0;
}

int post_start(struct post *post, const struct comm *comm, bool sends, const void *from, void *to, size_t bytes, int peer, int tag)
{
    struct group *g = comm->group;
    const int error = post_check(comm, sends, peer, tag);
    if (error)
        return error;
    *post = (struct post){.group = g, .sends = sends, .source = sends ? comm->rank : peer, .dest = sends ? peer : comm->rank, .from = from,
                          .to = to, .bytes = bytes};
    return g->members[peer].process == g->me ? post_here(post) : post_there(post, peer);
}

static int too_late(struct post *post)
{
    struct group *g = post->group;
    char source[64], dest[64];
    name_both(post, source, dest);
    if (post->sends)
        return group_end(g, fail(REACTANT_MPI_ERR_TIMEOUT, "after %d ms %s has not received what %s sends", g->timeout_ms, dest, source));
    return group_end(g, fail(REACTANT_MPI_ERR_TIMEOUT, "after %d ms %s has not sent what %s receives", g->timeout_ms, source, dest));
}

int post_wait(struct post *post)
{
    struct group *g = post->group;
    if (post->core)
        return core.wait(post->core, NULL) ? group_end(g, fail_core("MPI_Wait")) : 0;
    int64_t deadline = deadline_after(g->timeout_ms);
    while (!word_wait(&post->done, 0, deadline)) {
        pthread_mutex_lock(&g->lock);
        const bool mine = take(post->sends ? &g->sends : &g->recvs, post);
        pthread_mutex_unlock(&g->lock);
        if (mine)
            return too_late(post);
        deadline = 0; /* the other side is copying */
    }
    return post->result;
}

void post_flush(struct group *group, int error)
{
    pthread_mutex_lock(&group->lock);
    struct post *lists[] = {group->sends, group->recvs};
    group->sends = group->recvs = NULL;
    pthread_mutex_unlock(&group->lock);
    for (int i = 0; i < 2; i++)
        for (struct post *post = lists[i], *next; post; post = next) {
            next = post->next;
            post->result = error;
            word_change(&post->done);
        }
}
