/*
 * Bad input from C: every case gives its code and a text that names the function, the first failure stays latched on the
 * communicator, and afterwards a good allreduce still works. Whatever word is offered as a handle, nothing may crash
 * (badinput_handles.h). Here: options, foreign handles.
 */
#include "badinput_arguments.h"
#include "badinput_handles.h"

#include <limits.h>
#include <sys/mman.h>

/* The first failure of a communicator stays; those of others, and later ones, do not show. */
static void test_latch(void)
{
    hword h1 = host_dup(host.world), h2 = host_dup(host.world);
    reactant_mpi_comm *one = reactant_mpi_initialize((uintptr_t)h1), *two = reactant_mpi_initialize((uintptr_t)h2);
    NEED(one && two, "%s", reactant_mpi_last_error());
    CHECK(reactant_mpi_comm_error(one) == 0 && reactant_mpi_comm_error(two) == 0, "%d %d", reactant_mpi_comm_error(one),
          reactant_mpi_comm_error(two));
    FAILS(REACTANT_MPI_ERR_TYPE, "allreduce", reactant_mpi_allreduce(a, b, 1, 7, SUM, one));
    FAILS(REACTANT_MPI_ERR_RANK, "bcast", reactant_mpi_bcast(a, 1, I64, size, one));
    OK(reactant_mpi_barrier(one));
    CHECK(reactant_mpi_comm_error(one) == REACTANT_MPI_ERR_TYPE, "%d", reactant_mpi_comm_error(one));
    CHECK(reactant_mpi_comm_error(two) == 0, "%d", reactant_mpi_comm_error(two));
    FAILS(REACTANT_MPI_ERR_RANK, "bcast", reactant_mpi_prepare_bcast(a, 1, I64, -9, two, &req));
    FAILS(REACTANT_MPI_ERR_OP, "allreduce", reactant_mpi_allreduce(a, b, 1, I64, 7, two));
    CHECK(reactant_mpi_comm_error(two) == REACTANT_MPI_ERR_RANK, "%d", reactant_mpi_comm_error(two));
    CHECK(reactant_mpi_comm_error((reactant_mpi_comm *)(intptr_t)reactant_mpi_comm_id(two)) == REACTANT_MPI_ERR_RANK, "by its id");
    char text[16384];
    size_t n = reactant_mpi_describe(one, text, sizeof text);
    CHECK(n > 0 && n < sizeof text && strlen(text) == n, "describe gave %zu", n);
    ALIVE(one);
    ALIVE(two);
    OK(reactant_mpi_finalize(one));
    OK(reactant_mpi_finalize(two));
    host_free(&h1);
    host_free(&h2);
}

/* ---- initialize ----------------------------------------------------------------------------------------------------------- */

static void refuse_option(const char *name, reactant_mpi_options o, int code)
{
    reactant_mpi_comm *out = comm;
    FAILS(code, name, reactant_mpi_initialize_with((uintptr_t)spare, &o, &out));
    CHECK(out == NULL, "*out must be NULL after option %s was refused", name);
}

static void refuse_variable(const char *name, const char *value, int code)
{
    const char *was = getenv(name);
    char *keep = was ? strdup(was) : NULL;
    reactant_mpi_comm *out = comm;
    setenv(name, value, 1);
    int rc = reactant_mpi_initialize_with((uintptr_t)spare, NULL, &out);
    CHECK(rc == code, "%s=%s: code %d wanted, got %d: %s", name, value, code, rc, rc ? reactant_mpi_last_error() : "");
    if (rc == code)
        CHECK(strstr(reactant_mpi_last_error(), name), "a text that names %s, got: %s", name, reactant_mpi_last_error());
    CHECK(out == NULL, "*out must be NULL after %s=%s", name, value);
    if (keep)
        setenv(name, keep, 1);
    else
        unsetenv(name);
    free(keep);
}

static void test_options(void)
{
    const reactant_mpi_options init = REACTANT_MPI_OPTIONS_INIT;
    reactant_mpi_options o;
    reactant_mpi_comm *out = NULL;

    FAILS(REACTANT_MPI_ERR_ARGUMENT, "initialize", reactant_mpi_initialize_with((uintptr_t)spare, NULL, NULL));
    FAILS(REACTANT_MPI_ERR_ARGUMENT, "initialize", reactant_mpi_initialize_fint(0, NULL, NULL));
    size_t sizes[] = {0, 1, 7};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        o = init, o.size = sizes[i];
        out = comm;
        int rc = reactant_mpi_initialize_with((uintptr_t)spare, &o, &out);
        CHECK(rc == REACTANT_MPI_ERR_OPTION || rc == REACTANT_MPI_ERR_ARGUMENT, "options of size %zu gave %d", sizes[i], rc);
        CHECK(out == NULL && reactant_mpi_last_error()[0], "options of size %zu", sizes[i]);
    }
    int bad_gpu[] = {-2, 3, 77}, bad_level[] = {-2, 4, 1024}, bad_check[] = {-2, 2}, bad_time[] = {-2, INT_MIN};
    for (size_t i = 0; i < sizeof bad_gpu / sizeof(int); i++)
        o = init, o.gpu = bad_gpu[i], refuse_option("gpu", o, REACTANT_MPI_ERR_OPTION);
    for (size_t i = 0; i < sizeof bad_level / sizeof(int); i++)
        o = init, o.thread_level = bad_level[i], refuse_option("thread_level", o, REACTANT_MPI_ERR_OPTION);
    for (size_t i = 0; i < sizeof bad_check / sizeof(int); i++)
        o = init, o.launcher_check = bad_check[i], refuse_option("launcher_check", o, REACTANT_MPI_ERR_OPTION);
    for (size_t i = 0; i < sizeof bad_time / sizeof(int); i++)
        o = init, o.timeout_ms = bad_time[i], refuse_option("timeout_ms", o, REACTANT_MPI_ERR_OPTION);
    o = init, o.max_count = ((uint64_t)1 << 30) + 1, refuse_option("max_count", o, REACTANT_MPI_ERR_OPTION);
    o = init, o.max_count = UINT64_MAX, refuse_option("max_count", o, REACTANT_MPI_ERR_OPTION);

    const char *numbers[] = {"abc", "7x", "-5", "1e9", "0x", " ", "99999999999999999999999"};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        refuse_variable("REACTANT_MPI_MAX_COUNT", numbers[i], REACTANT_MPI_ERR_OPTION);
        refuse_variable("REACTANT_MPI_TIMEOUT_MS", numbers[i], REACTANT_MPI_ERR_OPTION);
    }
    refuse_variable("REACTANT_MPI_MAX_COUNT", "1073741825", REACTANT_MPI_ERR_OPTION);
    refuse_variable("REACTANT_MPI_MAX_COUNT", "0", REACTANT_MPI_ERR_OPTION);
    refuse_variable("REACTANT_MPI_GPU", "maybe", REACTANT_MPI_ERR_OPTION);
    refuse_variable("REACTANT_MPI_LAUNCHER_CHECK", "perhaps", REACTANT_MPI_ERR_OPTION);
    refuse_variable("REACTANT_MPI_THREAD_LEVEL", "many", REACTANT_MPI_ERR_OPTION);

    /* (process) options count once: a later different value is a call at the wrong time. */
    o = init, o.libmpi = "/nonexistent/libmpi.so.12", refuse_option("libmpi", o, REACTANT_MPI_ERR_STATE);
    o = init, o.thread_level = REACTANT_MPI_THREAD_SINGLE, refuse_option("thread_level", o, REACTANT_MPI_ERR_STATE);

    /* Good values afterwards, and an argument beats the environment. */
    setenv("REACTANT_MPI_MAX_COUNT", "abc", 1);
    o = init, o.max_count = 5, o.gpu = REACTANT_MPI_GPU_OFF, o.launcher_check = 1, o.timeout_ms = 60000;
    hword h = host_dup(host.world);
    OK(reactant_mpi_initialize_with((uintptr_t)h, &o, &out));
    unsetenv("REACTANT_MPI_MAX_COUNT");
    NEED(out, "%s", reactant_mpi_last_error());
    ALIVE(out);
    OK(reactant_mpi_finalize(out));

    if (size > 1) { /* ranks must agree on max_count: everybody hears of it */
        o = init, o.max_count = 1000 + (uint64_t)rank;
        out = comm;
        FAILS(REACTANT_MPI_ERR_MISMATCH, "max_count", reactant_mpi_initialize_with((uintptr_t)h, &o, &out));
        CHECK(out == NULL, "*out after a mismatch");
    }
    host_free(&h);
    ALIVE(comm);
}

/* A GPU was asked for and there is none: an error with words. */
static void test_gpu_required(void)
{
    const reactant_mpi_options init = REACTANT_MPI_OPTIONS_INIT;
    reactant_mpi_options o = init;
    reactant_mpi_comm *out = comm;
    o.gpu = REACTANT_MPI_GPU_REQUIRED;
    FAILS(REACTANT_MPI_ERR_NO_DEVICE, "initialize", reactant_mpi_initialize_with((uintptr_t)spare, &o, &out));
    CHECK(out == NULL, "*out");
    ALIVE(comm);
}

/* Words that are no handle of this MPI, among them those of other MPIs. Refused before MPI can crash or abort over them. */
static void test_foreign_handles(void)
{
    void *page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    static char zeros[4096] __attribute__((aligned(64)));
    struct {
        uintptr_t word;
        unsigned in; /* families (1 << host_family) that must refuse it; a bit left out: it is a good or an unknowable one there */
    } words[] = {
        {0x44000000, 6}, /* MPICH's world */
        {0x44000001, 6},
        {0x44000002, 7}, /* predefined communicators that are none */
        {0x44ffffff, 7},
        {0x840007ff, 7}, /* one of its duplicates, and none that lives */
        {0xffffffff840007ffu, 7},
        {0xc4000123, 7},
        {0x04000000, 7}, /* MPICH's MPI_COMM_NULL */
        {0x4c000439, 7}, /* its datatype INT32_T */
        {0x58000003, 7}, /* its op SUM */
        {0x2c000000, 7},
        {0x101, 3}, /* the standard ABI's world */
        {0x102, 3},
        {0x100, 7}, /* its MPI_COMM_NULL */
        {0x250, 7}, /* its datatype INT32_T */
        {0x21, 7},
        {(uintptr_t)page, 7},
        {(uintptr_t)host.comm_null, 7},
        {1, 7},
        {2, 7},
        {3, 7},
        {(uintptr_t)-1, 7},
        {(uintptr_t)-2, 7},
        {0x800000000000, 7},
        {0xdeadbeef, 7},
        {0xdeadbeefdeadbeef, 7},
        {(uintptr_t)zeros, 1}, /* a readable pointer: MPICH's and Intel's handles are none */
        {(uintptr_t)malloc(64), 1},
        {(uintptr_t)comm, 1},
        {(uintptr_t)&random_word, 1},
        {(uintptr_t)&rank, 1},
    };
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (!(words[i].in >> host.family & 1))
            continue;
        int rc = 0;
        reactant_mpi_comm *c = reactant_mpi_initialize(words[i].word);
        rc = c ? 0 : reactant_mpi_last_error_code();
        CHECK(c == NULL && (rc == REACTANT_MPI_ERR_ARGUMENT || rc == REACTANT_MPI_ERR_MPI), "initialize(0x%llx) under %s: %d: %s",
              (unsigned long long)words[i].word, host_family_name(), rc, c ? "" : reactant_mpi_last_error());
        if (!c)
            CHECK(strstr(reactant_mpi_last_error(), "initialize"), "a text that names initialize: %s", reactant_mpi_last_error());
    }
    int fints[] = {-1, INT_MIN, INT_MAX, 12345678, 0x44000002, 0x44000007, 0x04000000};
    for (size_t i = 0; i < sizeof fints / sizeof fints[0]; i++) {
        reactant_mpi_comm *out = comm;
        int rc = reactant_mpi_initialize_fint(fints[i], NULL, &out);
        CHECK((rc == REACTANT_MPI_ERR_ARGUMENT || rc == REACTANT_MPI_ERR_MPI) && !out, "initialize_fint(0x%x) under %s: %d: %s",
              (unsigned)fints[i], host_family_name(), rc, rc ? reactant_mpi_last_error() : "");
    }
    munmap(page, 4096);
    ALIVE(comm);
}

/* Not the fault of any argument: what the query functions do with small rooms. */
static void test_describe(void)
{
    char text[16384], small[16];
    for (int process = 0; process < 2; process++) {
        const reactant_mpi_comm *c = process ? NULL : comm;
        size_t n = reactant_mpi_describe(c, NULL, 0), m;
        CHECK(n > 2, "length %zu", n);
        memset(text, 'x', sizeof text);
        m = reactant_mpi_describe(c, text, sizeof text);
        CHECK(m < sizeof text && strlen(text) == m && text[0] == '{' && text[m - 1] == '}', "%zu: %.80s", m, text);
        memset(small, 'x', sizeof small);
        m = reactant_mpi_describe(c, small, 8);
        CHECK(m > 8 && small[7] == 0 && small[8] == 'x' && strncmp(small, text, 7) == 0, "%zu %.16s", m, small);
        memset(small, 'x', sizeof small);
        reactant_mpi_describe(c, small, 1);
        CHECK(small[0] == 0 && small[1] == 'x', "one byte of room");
    }
    reactant_mpi_describe(comm, NULL, 10); /* whatever it says: no crash */
    CHECK(strcmp(reactant_mpi_error_name(REACTANT_MPI_ERR_COMM), "ERR_COMM") == 0, "%s", reactant_mpi_error_name(2));
    int none[] = {-1, 12, 19, 33, 45, 70, 1000, INT_MAX, INT_MIN};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
        CHECK(strcmp(reactant_mpi_error_name(none[i]), "unknown code") == 0, "%d: %s", none[i], reactant_mpi_error_name(none[i]));
}

int main(void)
{
    host_open(0);
    comm = reactant_mpi_initialize(REACTANT_MPI_COMM_WORLD);
    NEED(comm, "%s", reactant_mpi_last_error());
    check_rank = rank = reactant_mpi_rank(comm);
    size = reactant_mpi_size(comm);
    NEED(size >= 1 && size <= 8, "size %d", size);
    spare = host_dup(host.world);

    test_handles();
    test_requests();
    test_types_and_ops();
    test_ranks_and_tags();
    test_counts();
    test_buffers();
    test_lists();
    test_destinations();
    test_places();
    CHECK(reactant_mpi_comm_error(comm) != 0, "the first failure must be latched");
    test_latch();
    test_options();
    test_gpu_required();
    test_foreign_handles();
    test_describe();
    ALIVE(comm);
    host_free(&spare);
    OK(reactant_mpi_finalize(comm));
    OK(reactant_mpi_finalize(comm));
    refuse_comm((uintptr_t)comm);
    OK(reactant_mpi_finalize(NULL));
    OK(reactant_mpi_finalize(NULL));
    refuse_comm((uintptr_t)comm);
    return check_done(rank);
}
