/*
 * Of compiled.c: failures that are kept for who asks, by threads at once, and in a copy of the process.
 */
#ifndef COMPILED_KEPT_H
#define COMPILED_KEPT_H

#include "compiled_messages.h"
#include "compiled_wrong.h"

#include <pthread.h>
#include <sys/wait.h>

static void check_error_string(int32_t code, int want, const char *begins)
{
    struct {
        char text[256], behind[64];
    } out;
    int32_t length[2] = {-1, CANARY};
    memset(&out, 0x5a, sizeof out);
    CHECK(Error_string(code, out.text, length) == want, "of %d", code);
    CHECK(memchr(out.text, 0, sizeof out.text) && (size_t)length[0] == strlen(out.text) && length[0] > 0 && length[1] == CANARY,
          "of %d: length %d", code, length[0]);
    CHECK(strncmp(out.text, begins, strlen(begins)) == 0, "of %d: '%s'", code, out.text);
    for (size_t i = 0; i < sizeof out.behind; i++)
        CHECK(out.behind[i] == 0x5a, "written behind 256 bytes");
}

static void error_strings(void)
{
    char text[32];
    int32_t length = 0;
    check_error_string(0, 0, "MPI_SUCCESS");
    check_error_string(15, 0, "MPI_ERR_TRUNCATE");
    check_error_string(62, 0, "MPI_ERR_ABI");
    for (int32_t code = 63; code < 300; code++)
        check_error_string(code, CLASS_ARG, "unknown");
    check_error_string(-1, CLASS_ARG, "unknown");
    check_error_string(INT32_MIN, CLASS_ARG, "unknown");
    check_error_string(INT32_MAX, CLASS_ARG, "unknown");
    REFUSED(CLASS_OP, REACTANT_MPI_ERR_OP, Allreduce, "", Allreduce(wrong_send, wrong_recv, 1, WORD(INT), WORD(NO_OP), WORLD));
    char whole[4096];
    snprintf(whole, sizeof whole, "%s", reactant_mpi_last_error());
    whole[255] = 0;
    check_error_string(CLASS_OP, 0, whole); /* the text of the failure, as far as there is room */
    check_error_string(CLASS_COMM, 0, "MPI_ERR_COMM");
    CHECK(Error_string(5, NULL, &length) == CLASS_ARG && Error_string(5, text, NULL) == CLASS_ARG, "");
}

/* The first failure is kept; each communicator keeps its own, too. */
static void first_failures(void)
{
    char text[4096], cut[16];
    reactant_mpi_comm *a = NULL, *b = NULL;
    OK(reactant_mpi_comm_dup(comm, &a));
    OK(reactant_mpi_comm_dup(comm, &b));
    reactant_mpi_compiled_error(NULL, 0);
    CHECK(Allreduce(wrong_send, wrong_recv, 1, WORD(INT), WORD(REPLACE), (word)a) == CLASS_OP, "");
    CHECK(Bcast(wrong_recv, 1, WORD(INT), size, (word)a) == CLASS_ROOT, "");
    CHECK(Bcast(wrong_recv, -1, WORD(INT), 0, (word)b) == CLASS_COUNT, "");
    CHECK(Barrier(WORD(COMM_NULL)) == CLASS_COMM, "");
    CHECK(reactant_mpi_comm_error(a) == REACTANT_MPI_ERR_OP && reactant_mpi_comm_error(b) == REACTANT_MPI_ERR_COUNT, "%d %d",
          reactant_mpi_comm_error(a), reactant_mpi_comm_error(b));
    CHECK(reactant_mpi_compiled_error(text, sizeof text) == REACTANT_MPI_ERR_OP && strstr(text, "MPI_Allreduce"), "%s", text);
    CHECK(reactant_mpi_compiled_error(text, sizeof text) == 0 && !text[0], "%s", text);
    CHECK(Comm_split((word)a, -5, 0, text) == CLASS_ARG, "");
    memset(cut, 0x5a, sizeof cut);
    CHECK(reactant_mpi_compiled_error(cut, 8) == REACTANT_MPI_ERR_ARGUMENT && strcmp(cut, "in comp") == 0 && cut[8] == 0x5a,
          "%.16s", cut);
    CHECK(Wait(NULL, NULL) == CLASS_ARG && reactant_mpi_compiled_error(cut, 0) == REACTANT_MPI_ERR_ARGUMENT && cut[0] == 'i', "");
    CHECK(Wait(NULL, NULL) == CLASS_ARG && reactant_mpi_compiled_error(NULL, 100) == REACTANT_MPI_ERR_ARGUMENT, "");
    check_word(__LINE__, (word)a, rank, size); /* a failure ends nothing */
    CHECK(reactant_mpi_comm_error(a) == REACTANT_MPI_ERR_OP, "");
    OK(reactant_mpi_comm_free(a));
    OK(reactant_mpi_comm_free(b));
}

static void *fail_often(void *kept)
{
    char text[4096];
    for (int i = 0; i < 2000; i++) {
        CHECK(Bcast(wrong_recv, -1, WORD(INT), 0, WORLD) == CLASS_COUNT, "");
        const int code = reactant_mpi_compiled_error(text, sizeof text);
        CHECK(code == 0 ? !text[0] : code == REACTANT_MPI_ERR_COUNT && strstr(text, "MPI_Bcast"), "%d %s", code, text);
        *(int *)kept += code != 0;
    }
    return NULL;
}

static void failures_of_threads(void)
{
    pthread_t thread[4];
    int kept[4] = {0, 0, 0, 0};
    for (int i = 0; i < 4; i++)
        NEED(pthread_create(&thread[i], NULL, fail_often, &kept[i]) == 0, "a thread");
    for (int i = 0; i < 4; i++)
        pthread_join(thread[i], NULL);
    CHECK(kept[0] + kept[1] + kept[2] + kept[3] > 0, "nothing was kept");
    reactant_mpi_compiled_error(NULL, 0);
    world_works(__LINE__);
}

/* ---- a copy of the process ---- */

static int in_child(struct requests *r, uintptr_t id)
{
    const unsigned before = check_failures;
    alarm(20);
    reactant_mpi_compiled_error(NULL, 0);
    refused_by_all(__LINE__, WORLD, CLASS_OTHER, REACTANT_MPI_ERR_FORKED, "fork");
    refused_by_all(__LINE__, WORD(COMM_SELF), CLASS_OTHER, REACTANT_MPI_ERR_FORKED, "fork");
    refused_by_all(__LINE__, (word)comm, CLASS_OTHER, REACTANT_MPI_ERR_FORKED, "fork");
    refused_by_all(__LINE__, (word)id, CLASS_OTHER, REACTANT_MPI_ERR_FORKED, "fork");
    REFUSED(CLASS_OTHER, REACTANT_MPI_ERR_FORKED, Wait, "fork", Wait(request(r, 0), NULL));
    REFUSED(CLASS_OTHER, REACTANT_MPI_ERR_FORKED, Waitall, "fork", Waitall(1, request(r, 0), NULL));
    REFUSED(CLASS_OTHER, REACTANT_MPI_ERR_FORKED, Request_free, "fork", Request_free(request(r, 0)));
    REFUSED(CLASS_OTHER, REACTANT_MPI_ERR_FORKED, Init, "fork", Init());
    REFUSED(CLASS_OTHER, REACTANT_MPI_ERR_FORKED, Finalize, "fork", Finalize());
    FAILS(REACTANT_MPI_ERR_FORKED, "register_symbols", reactant_mpi_register_symbols(map_symbol, REACTANT_MPI_SYMBOLS_G1));
    return check_failures == before ? 0 : 1;
}

static void test_fork(void)
{
    int32_t x = 5, y = -1;
    int status = -1;
    struct requests r;
    requests_new(&r, 1);
    RIGHT(Irecv(&y, 1, WORD(INT), rank, 1, WORLD, request(&r, 0)));
    fflush(NULL);
    const int64_t id = reactant_mpi_comm_id(comm);
    const pid_t pid = fork();
    NEED(pid >= 0, "fork");
    if (pid == 0)
        _exit(in_child(&r, (uintptr_t)id));
    NEED(waitpid(pid, &status, 0) == pid, "waitpid");
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child ended with %#x", (unsigned)status);
    RIGHT(Send(&x, 1, WORD(INT), rank, 1, WORLD));
    RIGHT(Wait(request(&r, 0), NULL));
    CHECK(y == 5, "%d", y);
    world_works(__LINE__);
}

#endif
