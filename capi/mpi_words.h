/* From the words of compiled code, and the numbers of the host's MPI, to our arguments. */
#ifndef RMPI_CAPI_MPI_WORDS_H
#define RMPI_CAPI_MPI_WORDS_H

#include "capi/compiled.h"
#include "capi/types.h"

/* Our types by their value in the standard ABI; 0: the value itself, which is one of ours or none. */
static const uint16_t type_of_word[0x100] = {
#define DATATYPE(name, value, type) [value - 0x200] = type,
#define OPERATION(...)
#define HANDLE(...)
#define ERROR(...)
#include "capi/mpi_constants.inc"
};

/* Words that do not fit an int are no types and operations of ours. */
static inline int small(uintptr_t word)
{
    return word <= INT32_MAX ? (int)word : -1;
}

static inline int element_type(uintptr_t word)
{
    const uintptr_t at = word - 0x200;
    const int type = likely(at < sizeof type_of_word / sizeof *type_of_word) ? type_of_word[at] : 0;
    return likely(type) ? type : small(word);
}

/* Bytes of an element; 0 = no type. */
static inline size_t element_bytes(int type)
{
    const int t = rmpi_type_of(type);
    return t < 0 ? 0 : types[t].bytes;
}

/* The live communicator that a word means, or NULL: then rmpi_no_comm_of_word tells. */
static inline struct rmpi_comm *comm_of(uintptr_t word)
{
    struct rmpi_comm *c;
    if (unlikely(word - RMPI_WORD_COMM_WORLD >= 2))
        return rmpi_comm_live((const void *)word);
    c = rmpi_predefined((int)(word - RMPI_WORD_COMM_WORLD));
    return likely(c && rmpi_comm_state(c) == RMPI_LIVE) ? c : NULL;
}

static inline int constant(const struct rmpi_comm *c, enum rmpi_constant k)
{
    return (int)c->mpi->constant[k];
}

static inline int source_of(const struct rmpi_comm *c, int source)
{
    if (likely(source >= 0))
        return source;
    return source == constant(c, RMPI_K_ANY_SOURCE) ? REACTANT_MPI_ANY_SOURCE
           : source == constant(c, RMPI_K_PROC_NULL) ? REACTANT_MPI_PROC_NULL
                                                     : source;
}

static inline int dest_of(const struct rmpi_comm *c, int dest)
{
    return dest < 0 && dest == constant(c, RMPI_K_PROC_NULL) ? REACTANT_MPI_PROC_NULL : dest;
}

static inline int recv_tag_of(const struct rmpi_comm *c, int tag)
{
    return tag < 0 && tag == constant(c, RMPI_K_ANY_TAG) ? REACTANT_MPI_ANY_TAG : tag;
}

/* MPICH's IN_PLACE is an address that nothing has; the others' is ours. */
static inline void *buffer_of(const struct rmpi_comm *c, const void *buffer)
{
    return (uintptr_t)buffer == (uintptr_t)c->mpi->constant[RMPI_K_IN_PLACE] ? REACTANT_MPI_IN_PLACE : (void *)(uintptr_t)buffer;
}

/* The communicator of a call, or its end. */
#define WITH_COMM(function)                                                                                     \
    struct rmpi_comm *c = comm_of(comm);                                                                        \
    if (unlikely(!c) && !(c = rmpi_comm_of_word(function, comm)))                                               \
    return rmpi_no_comm_of_word(function, comm)

/* Our code of a call as MPI's, after everybody has been told. */
static inline int as_class(const char *function, struct rmpi_comm *c, int code)
{
    if (likely(code == 0))
        return 0;
    rmpi_compiled_failed(function, c, code);
    return rmpi_class_of(code);
}

#endif
