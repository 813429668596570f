#include "team.h"

#include "_cgo_export.h"

#include <stdlib.h>
#include <string.h>

static void publish(int rank, int size, uint32_t modes, uint64_t max_count, MPI_Comm user, MPI_Comm control, reactant_mpi_comm **handle)
{
    struct rmpi_comm *c;
    int id;
    do
        id = rmpi_comm_next();
    while (!rmpi_comm_claim(id));
    c = &rmpi_comms[id];
    c->modes = modes;
    c->mpi = fake_mpi();
    c->run = c->mpi->run;
    c->word = (uintptr_t)user;
    c->control = (uintptr_t)control;
    c->max_count = max_count;
    c->max_block = max_count < (uint64_t)INT32_MAX / (uint64_t)size ? max_count : (uint64_t)INT32_MAX / (uint64_t)size;
    c->rank = c->local_rank = rank;
    c->size = c->local_size = size;
    c->tag_ub = 32767;
    strcpy(c->host, "here");
    rmpi_comm_publish(c);
    *handle = (reactant_mpi_comm *)c;
}

void team_new(int n, uint32_t modes, uint64_t max_count, reactant_mpi_comm *handles[])
{
    MPI_Comm user[FAKE_RANKS], control[FAKE_RANKS];
    fake_comm_new(n, user);
    fake_comm_new(n, control);
    for (int r = 0; r < n; r++)
        publish(r, n, modes, max_count, user[r], control[r], &handles[r]);
}

void team_free(int n, reactant_mpi_comm *const handles[])
{
    for (int r = 0; r < n; r++)
        reactant_mpi_finalize(handles[r]);
}

void team_device(reactant_mpi_comm *handle, const struct rmpi_device *device)
{
    ((struct rmpi_comm *)handle)->device = device;
}

int32_t rmpiGoFinalize(reactant_mpi_comm *handle)
{
    struct rmpi_comm *c = (struct rmpi_comm *)handle;
    if (rmpi_comm_state(c) == RMPI_DEAD)
        return 0;
    rmpi_comm_set_state(c, RMPI_DEAD);
    c->mpi->control->comm_free(c->mpi, c->word);
    c->mpi->control->comm_free(c->mpi, c->control);
    free(c->error_text);
    c->error_text = NULL;
    return 0;
}

struct job {
    void (*work)(void *, int);
    void *arg;
    int i;
};

static void *run(void *job)
{
    const struct job *j = job;
    j->work(j->arg, j->i);
    return NULL;
}

void in_threads(int n, void (*work)(void *arg, int i), void *arg)
{
    pthread_t thread[64];
    struct job job[64];
    for (int i = 0; i < n; i++) {
        job[i] = (struct job){work, arg, i};
        if (pthread_create(&thread[i], NULL, run, &job[i]) != 0)
            abort();
    }
    for (int i = 0; i < n; i++)
        pthread_join(thread[i], NULL);
}
