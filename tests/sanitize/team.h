/*
 * Stands in for the Go side: communicators whose ranks are threads of this process, over the double of MPI (tests/fake/mpi), put into the
 * library's slots as lifecycle/ does.
 */
#ifndef TEAM_H
#define TEAM_H

#include "capi/call.h"
#include "tests/fake/mpi/fake.h"

/* n ranks: handle r is rank r's. `modes` and `max_count` as in struct rmpi_comm. */
void team_new(int n, uint32_t modes, uint64_t max_count, reactant_mpi_comm *handles[]);
void team_free(int n, reactant_mpi_comm *const handles[]);
/* A host communicator becomes a device communicator, before any other thread knows it. */
void team_device(reactant_mpi_comm *handle, const struct rmpi_device *device);

/* Run work(arg, i) in n threads at once, and wait for all. */
void in_threads(int n, void (*work)(void *arg, int i), void *arg);

#endif
