/*
 * The host program's MPI, as a test sees it: resolved with dlsym from the library in $REACTANT_MPI_LIBMPI, without any mpi.h, so
 * that one test binary can be the host of every MPI. Handles are 64-bit words: an int under the MPICH ABI, a pointer under the
 * others. The family is found out here again, by other code than the library's.
 */
#ifndef HOSTMPI_H
#define HOSTMPI_H

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint64_t hword; /* a handle of the host's MPI */

enum host_family { HOST_MPICH, HOST_OPENMPI, HOST_ABI };
enum host_level { HOST_SINGLE, HOST_FUNNELED, HOST_SERIALIZED, HOST_MULTIPLE };

static struct {
    void *lib;
    enum host_family family;
    hword world, self, comm_null, errors_return, errors_fatal, byte;
} host;

static void *host_sym(const char *name)
{
    void *p = dlsym(host.lib, name);
    if (!p) {
        fprintf(stderr, "hostmpi: %s is not in the host's MPI\n", name);
        exit(1);
    }
    return p;
}

/* Load, or find again, the library named by $REACTANT_MPI_LIBMPI. */
static void host_open(int flags)
{
    const char *path = getenv("REACTANT_MPI_LIBMPI");
    if (!path || !path[0]) {
        fprintf(stderr, "hostmpi: REACTANT_MPI_LIBMPI must name the MPI library (run under tests/launch)\n");
        exit(1);
    }
    host.lib = dlopen(path, flags | RTLD_NOW);
    if (!host.lib) {
        fprintf(stderr, "hostmpi: %s\n", dlerror());
        exit(1);
    }
    int major = -1, minor = -1;
    int (*abi_version)(int *, int *);
    *(void **)&abi_version = dlsym(host.lib, "MPI_Abi_get_version");
    if (abi_version)
        abi_version(&major, &minor);
    if (major >= 1) {
        host.family = HOST_ABI;
        host.comm_null = 0x100, host.world = 0x101, host.self = 0x102;
        host.errors_fatal = 0x141, host.errors_return = 0x143, host.byte = 0x247;
    } else if (dlsym(host.lib, "ompi_mpi_comm_world")) {
        host.family = HOST_OPENMPI;
        host.comm_null = (hword)(uintptr_t)host_sym("ompi_mpi_comm_null");
        host.world = (hword)(uintptr_t)host_sym("ompi_mpi_comm_world");
        host.self = (hword)(uintptr_t)host_sym("ompi_mpi_comm_self");
        host.errors_fatal = (hword)(uintptr_t)host_sym("ompi_mpi_errors_are_fatal");
        host.errors_return = (hword)(uintptr_t)host_sym("ompi_mpi_errors_return");
        host.byte = (hword)(uintptr_t)host_sym("ompi_mpi_byte");
    } else {
        host.family = HOST_MPICH;
        host.comm_null = 0x04000000, host.world = 0x44000000, host.self = 0x44000001;
        host.errors_fatal = 0x54000000, host.errors_return = 0x54000001, host.byte = 0x4c00010d;
    }
}

/* Every function is declared with the widest registers: an int parameter is read from the low half (x86-64, AArch64). */
#define HOST_CALL(name, types, args)                                                                                               \
    ({                                                                                                                             \
        int(*host_f) types;                                                                                                        \
        *(void **)&host_f = host_sym(name);                                                                                        \
        int host_rc = host_f args;                                                                                                 \
        if (host_rc != 0) {                                                                                                        \
            fprintf(stderr, "hostmpi: %s gave %d\n", name, host_rc);                                                               \
            exit(1);                                                                                                               \
        }                                                                                                                          \
    })

static const int host_levels[2][4] = {{0, 1, 2, 3}, {0, 1024, 2048, 4096}}; /* [standard ABI or not][level] */

#define HOST_FN __attribute__((unused)) static

/* Numbers of mpi.h, by family. */
struct host_numbers {
    int any_source, any_tag, proc_null, undefined;
    intptr_t in_place;
};
HOST_FN struct host_numbers host_numbers(void)
{
    static const struct host_numbers all[] = {
        [HOST_MPICH] = {-2, -1, -1, -32766, -1}, [HOST_OPENMPI] = {-1, -1, -2, -32766, 1}, [HOST_ABI] = {-1, -2, -3, -32766, 1}};
    return all[host.family];
}

/* Fields of MPI_Status. */
HOST_FN int host_status_source(const void *status)
{
    return ((const int *)status)[host.family == HOST_MPICH ? 2 : 0];
}

HOST_FN int host_status_tag(const void *status)
{
    return ((const int *)status)[host.family == HOST_MPICH ? 3 : 1];
}

HOST_FN const char *host_family_name(void)
{
    return host.family == HOST_MPICH ? "mpich" : host.family == HOST_OPENMPI ? "openmpi" : "abi";
}

/* MPI_Init_thread; the level provided. */
HOST_FN enum host_level host_init(enum host_level want)
{
    const int *levels = host_levels[host.family == HOST_ABI];
    int provided = -1;
    HOST_CALL("MPI_Init_thread", (void *, void *, int, int *), (NULL, NULL, levels[want], &provided));
    for (int i = 3; i > 0; i--)
        if (provided >= levels[i])
            return (enum host_level)i;
    return HOST_SINGLE;
}

HOST_FN enum host_level host_query_thread(void)
{
    const int *levels = host_levels[host.family == HOST_ABI];
    int provided = -1;
    HOST_CALL("MPI_Query_thread", (int *), (&provided));
    for (int i = 3; i > 0; i--)
        if (provided >= levels[i])
            return (enum host_level)i;
    return HOST_SINGLE;
}

HOST_FN int host_initialized(void)
{
    int flag = -1;
    HOST_CALL("MPI_Initialized", (int *), (&flag));
    return flag;
}

HOST_FN int host_finalized(void)
{
    int flag = -1;
    HOST_CALL("MPI_Finalized", (int *), (&flag));
    return flag;
}

HOST_FN void host_finalize(void)
{
    HOST_CALL("MPI_Finalize", (void), ());
}

HOST_FN int host_rank(hword comm)
{
    int r = -1;
    HOST_CALL("MPI_Comm_rank", (hword, int *), (comm, &r));
    return r;
}

HOST_FN int host_size(hword comm)
{
    int n = -1;
    HOST_CALL("MPI_Comm_size", (hword, int *), (comm, &n));
    return n;
}

HOST_FN hword host_dup(hword comm)
{
    hword out = 0;
    HOST_CALL("MPI_Comm_dup", (hword, hword *), (comm, &out));
    return out;
}

HOST_FN hword host_split(hword comm, int color, int key)
{
    hword out = 0;
    HOST_CALL("MPI_Comm_split", (hword, int, int, hword *), (comm, color, key, &out));
    return out;
}

HOST_FN void host_free(hword *comm)
{
    HOST_CALL("MPI_Comm_free", (hword *), (comm));
}

HOST_FN hword host_get_errhandler(hword comm)
{
    hword out = 0;
    HOST_CALL("MPI_Comm_get_errhandler", (hword, hword *), (comm, &out));
    return out;
}

HOST_FN void host_set_errhandler(hword comm, hword handler)
{
    HOST_CALL("MPI_Comm_set_errhandler", (hword, hword), (comm, handler));
}

/* CONGRUENT? (202 in the standard ABI, 1 elsewhere) */
HOST_FN int host_congruent(hword a, hword b)
{
    int result = -1;
    HOST_CALL("MPI_Comm_compare", (hword, hword, int *), (a, b, &result));
    return result == (host.family == HOST_ABI ? 202 : 1);
}

HOST_FN void host_barrier(hword comm)
{
    HOST_CALL("MPI_Barrier", (hword), (comm));
}

HOST_FN void host_bcast(void *buf, int bytes, int root, hword comm)
{
    HOST_CALL("MPI_Bcast", (void *, int, hword, int, hword), (buf, bytes, host.byte, root, comm));
}

/* recv: size * bytes */
HOST_FN void host_allgather(const void *send, int bytes, void *recv, hword comm)
{
    HOST_CALL("MPI_Allgather", (const void *, int, hword, void *, int, hword, hword),
              (send, bytes, host.byte, recv, bytes, host.byte, comm));
}

/* MPI_Get_count in bytes, of a status of 24 bytes; only where they are the whole of it. */
HOST_FN int host_status_bytes(const void *status)
{
    int n = -1;
    HOST_CALL("MPI_Get_count", (const void *, hword, int *), (status, host.byte, &n));
    return n;
}

/* The integer handle. MPICH before 4.2 has c2f as a macro only: there it is the handle itself. */
HOST_FN int host_c2f(hword comm)
{
    const char *name = host.family == HOST_ABI ? "MPI_Comm_toint" : "MPI_Comm_c2f";
    int (*f)(hword);
    *(void **)&f = dlsym(host.lib, name);
    return f ? f(comm) : (int)(uint32_t)comm;
}

/* Does the integer lead back to the handle? */
HOST_FN int host_int_works(hword comm)
{
    hword (*f)(int);
    *(void **)&f = dlsym(host.lib, host.family == HOST_ABI ? "MPI_Comm_fromint" : "MPI_Comm_f2c");
    return !f || host.family == HOST_MPICH || f(host_c2f(comm)) == comm;
}

/* As mpi4py's _handleof gives it: a negative int handle of the MPICH ABI sign-extended. */
HOST_FN uintptr_t host_sign_extended(hword comm)
{
    return host.family == HOST_MPICH ? (uintptr_t)(intptr_t)(int32_t)(uint32_t)comm : (uintptr_t)comm;
}

#endif
