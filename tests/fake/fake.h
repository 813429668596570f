/*
 * What every double of an MPI library here has: the names by which a loader knows an MPI, and a version string. None moves a byte
 * between processes; whoever gets as far as MPI_Init has gone too far, and ends with a message and exit code 99.
 */
#ifndef FAKE_H
#define FAKE_H

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static inline int fake_touched(const char *what)
{
    fprintf(stderr, "a test double was used as an MPI: %s\n", what);
    _exit(99);
}

#define FAKE_MPI(version_text)                                                                                                     \
    int MPI_Initialized(int *flag)                                                                                                 \
    {                                                                                                                              \
        return *flag = 0;                                                                                                          \
    }                                                                                                                              \
    int MPI_Finalized(int *flag)                                                                                                   \
    {                                                                                                                              \
        return *flag = 0;                                                                                                          \
    }                                                                                                                              \
    int MPI_Get_library_version(char *text, int *length)                                                                           \
    {                                                                                                                              \
        strcpy(text, version_text);                                                                                                \
        *length = (int)strlen(text);                                                                                               \
        return 0;                                                                                                                  \
    }                                                                                                                              \
    int MPI_Init(int *argc, char ***argv)                                                                                          \
    {                                                                                                                              \
        (void)argc, (void)argv;                                                                                                    \
        return fake_touched("MPI_Init");                                                                                           \
    }                                                                                                                              \
    int PMPI_Init(int *argc, char ***argv)                                                                                         \
    {                                                                                                                              \
        return MPI_Init(argc, argv);                                                                                               \
    }                                                                                                                              \
    int MPI_Init_thread(int *argc, char ***argv, int want, int *got)                                                               \
    {                                                                                                                              \
        (void)argc, (void)argv, (void)want, (void)got;                                                                             \
        return fake_touched("MPI_Init_thread");                                                                                    \
    }

#endif
