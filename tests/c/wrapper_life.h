/* What is no collective: order of Init and Finalize, words that are no handles, functions that are not served. */
#ifndef WRAPPER_LIFE_H
#define WRAPPER_LIFE_H

#include "hostmpi.h"
#include "wrapper_call.h"

static void before_init(void)
{
    int n = -1;
    char text[8192];
    word comm = 1;
    CHECK(wrapper_version() == REACTANT_MPI_VERSION, "");
    CHECK(*(int *)name_of("mpiabi_version_major") == 2 && *(int *)name_of("mpiabi_version_minor") >= 9, "");
    GOOD(mpi.Get_library_version(text, &n));
    CHECK(n == (int)strlen(text) && strstr(text, "libreactant_mpi_wrapper.so"), "%s", text);
    GOOD(mpi.Initialized(&n));
    CHECK(n == 0, "");
    CHECK(wrapper_error(text, sizeof text) == 0 && !text[0], "%s", text);
    BAD("MPI_Init has not been called", mpi.Comm_rank(WORLD, &n));
    BAD("MPI_Init has not been called", mpi.Comm_split(WORLD, 0, 0, &comm));
    CHECK(comm == COMM_NULL, "");
    CHECK(wrapper_error(text, sizeof text) == REACTANT_MPI_ERR_STATE && strstr(text, "MPI_Init"), "%s", text);
}

static void not_served(void)
{
    int (*send_init)(const void *, int, word, int, int, word, word *);
    int class = -1, code;
    *(void **)&send_init = name_of("MPIABI_Send_init");
    BAD("MPIABI_Send_init is not served", code = send_init(NULL, 0, BYTE, 0, 0, WORLD, NULL));
    GOOD(mpi.Error_class(code, &class));
    CHECK(class == number("ERR_UNSUPPORTED_OPERATION"), "%d", class);
    int (*cuda)(void);
    *(void **)&cuda = name_of("MPIXABI_Query_cuda_support");
    CHECK(cuda() == 0, "");
}

static void wrong_words(word comm)
{
    const word words[] = {0, 1, 0x104, 0xfff, 0x1000 + 999, 0x1000 + 20000, (word)-1, (word)0x7fff12345678, (word)&words};
    float x = 1, y = 0;
    int n, class = -1, code = 0;
    word request = REQUEST_NULL;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        BAD("communicator", mpi.Comm_size(words[i], &n));
        BAD("communicator", mpi.Allreduce(&x, &y, 1, FLOAT, SUM, words[i]));
        BAD("communicator", mpi.Allgather(&x, 1, FLOAT, &y, 1, FLOAT, words[i]));
        BAD("communicator", code = mpi.Isend(&x, 1, FLOAT, 0, 0, words[i], &request));
        CHECK(request == REQUEST_NULL, "");
    }
    GOOD(mpi.Error_class(code, &class));
    CHECK(class == number("ERR_COMM"), "%d", class);
    BAD("but MPI_COMM_NULL", mpi.Allreduce(&x, &y, 1, FLOAT, SUM, COMM_NULL)); /* the split that failed before MPI_Init is forgotten */
    BAD("0x200", mpi.Allreduce(&x, &y, 1, constant("REAL"), SUM, comm));
    BAD("MPI_Allreduce", mpi.Allreduce(&x, &y, 1, FLOAT, constant("MAXLOC"), comm));
    BAD("MPI_Allreduce", mpi.Allreduce(&x, &y, 1, FLOAT, constant("BAND"), comm));
    request = 12345;
    BAD("MPI_Wait", mpi.Wait(&request, NULL));
    GOOD(mpi.Wait(&request, NULL)); /* it became MPI_REQUEST_NULL */
    BAD("MPI_Isend", mpi.Isend(&x, 1, FLOAT, processes, 0, comm, &request));
}

/* Texts stay with their numbers, until many others have come. */
static void texts_are_kept(void)
{
    int n, first = mpi.Comm_size(2, &n), second = mpi.Comm_size(3, &n);
    char text[1024];
    CHECK(first != second, "");
    error_string(first, text);
    CHECK(strstr(text, "0x2 "), "%s", text);
    error_string(second, text);
    CHECK(strstr(text, "0x3 "), "%s", text);
    for (int i = 0; i < 1000; i++)
        mpi.Comm_size(4, &n);
    error_string(first, text);
    CHECK(strstr(text, "no longer kept"), "%s", text);
    error_string(0, text);
    error_string(-7, text);
    error_string(5, text);
}

static int life(void)
{
    int n = -1;
    word comm = COMM_NULL, none = 1, world_again = WORLD;
    open_wrapper();
    before_init();
    GOOD(mpi.Init(NULL, NULL));
    GOOD(mpi.Init_thread(NULL, NULL, 0, &n)); /* XLA does so in some set-ups */
    GOOD(mpi.Initialized(&n));
    CHECK(n == 1, "");
    GOOD(mpi.Query_thread(&n));
    CHECK(n == number("THREAD_MULTIPLE"), "%d", n);
    GOOD(mpi.Comm_rank(WORLD, &process));
    GOOD(mpi.Comm_size(WORLD, &processes));
    check_rank = process;
    GOOD(mpi.Comm_split(WORLD, 0, processes - 1 - process, &comm)); /* backwards */
    GOOD(mpi.Comm_rank(comm, &n));
    CHECK(n == processes - 1 - process, "%d", n);
    GOOD(mpi.Comm_split(WORLD, number("UNDEFINED"), 0, &none));
    CHECK(none == COMM_NULL, "%zx", (size_t)none);
    float x = (float)process, sum = -1;
    GOOD(mpi.Allreduce(&x, &sum, 1, FLOAT, SUM, comm));
    CHECK(sum == (float)(processes * (processes - 1) / 2), "%g", sum);
    not_served();
    wrong_words(comm);
    texts_are_kept();
    GOOD(mpi.Type_size(constant("C_DOUBLE_COMPLEX"), &n));
    CHECK(n == 16, "%d", n);
    CHECK(wrapper_use(0x7fffff, 1) == REACTANT_MPI_ERR_COMM, "");
    CHECK(wrapper_use(1, 0) == REACTANT_MPI_ERR_ARGUMENT, "");
    if (processes > 1) /* as where a process has two devices, and one is known */
        BAD("processes have more devices than is known here", mpi.Comm_split(WORLD, 0, 2 * process, &none));
    GOOD(mpi.Finalized(&n));
    CHECK(n == 0, "");
    GOOD(mpi.Finalize());
    GOOD(mpi.Finalize());
    GOOD(mpi.Finalized(&n));
    CHECK(n == 1, "");
    BAD("MPI_Allreduce", mpi.Allreduce(&x, &sum, 1, FLOAT, SUM, comm));
    GOOD(mpi.Comm_free(&comm));
    CHECK(comm == COMM_NULL, "");
    GOOD(mpi.Comm_free(&world_again));
    return check_done(process);
}

/* mpi4py, or another, is there first and last. */
static int host_has_mpi(void)
{
    word comm = COMM_NULL;
    float x = 3, sum = 0;
    host_open(RTLD_GLOBAL);
    host_init(HOST_MULTIPLE);
    begin("1", false);
    GOOD(mpi.Comm_split(WORLD, 0, process, &comm));
    GOOD(mpi.Allreduce(&x, &sum, 1, FLOAT, SUM, comm));
    CHECK(sum == 3 * (float)processes, "%g", sum);
    GOOD(mpi.Finalize());
    CHECK(!host_finalized(), "the wrapper ended the program's MPI");
    host_finalize();
    GOOD(mpi.Comm_free(&comm));
    return check_done(process);
}

/* Below MPI_THREAD_MULTIPLE the devices of a process would keep one another out for ever. */
static int level(void)
{
    int n;
    open_wrapper();
    setenv("JAX_NUM_CPU_DEVICES", "2", 1);
    BAD("MPI_THREAD_MULTIPLE", mpi.Init(NULL, NULL));
    BAD("MPI_THREAD_MULTIPLE", mpi.Comm_rank(WORLD, &n));
    setenv("JAX_NUM_CPU_DEVICES", "1", 1);
    GOOD(mpi.Init(NULL, NULL));
    GOOD(mpi.Comm_rank(WORLD, &process));
    return end(false);
}

/* Two threads split at once where the process has one device. */
static int crowd_failed;
static void one_too_many(struct device *d)
{
    word comm;
    char text[1024];
    const int code = mpi.Comm_split(WORLD, 0, d->id, &comm);
    if (code) {
        error_string(code, text);
        CHECK(strstr(text, "than the 2 that it has") || strstr(text, "not all devices have called") || strstr(text, "make a clique"), "%s",
              text);
        __atomic_add_fetch(&crowd_failed, 1, __ATOMIC_SEQ_CST);
    }
}

static int crowd(void)
{
    setenv("REACTANT_MPI_TIMEOUT_MS", "1000", 1);
    begin("2", false);
    if (process == 0)
        devices[0] = 3;
    else
        nap_ms(300);
    device_total = 2 * processes;
    on_devices(one_too_many);
    /* The one that comes last; all, if it is not the one that is too many. */
    CHECK(crowd_failed == (process == 0 ? 1 : 0) || crowd_failed == devices[process], "%d", crowd_failed);
    return check_done(process);
}

#endif
