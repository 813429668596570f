/*
 * Of compiled.c: the names that upstream's code asks for, and their values in the MPI-5.0 standard ABI (A.1), written out again.
 */
#ifndef COMPILED_NAMES_H
#define COMPILED_NAMES_H

#include "compiled.h"

/* Called by upstream's lowerings and FFI handlers, or offered beside them. */
static const char *const function_names[] = {
    "MPI_Init", "MPI_Finalize", "MPI_Request_free", "MPI_Comm_rank", "MPI_Comm_size", "MPI_Comm_split", "MPI_Barrier", "MPI_Send",
    "MPI_Recv", "MPI_Isend", "MPI_Irecv", "MPI_Wait", "MPI_Waitall", "MPI_Allreduce", "MPI_Bcast", "MPI_Error_string", "MPI_Reduce",
    "MPI_Allgather", "MPI_Gather", "MPI_Scatter", "MPI_Reduce_scatter_block", "MPI_Alltoall", "MPI_Sendrecv", "MPI_Scan",
    "ncclAllReduce", "ncclBroadcast", "ncclReduce", "ncclAllGather", "ncclReduceScatter", "ncclSend", "ncclRecv", "ncclGroupStart",
    "ncclGroupEnd", "ncclCommSplit", "ncclCommCount", "ncclCommUserRank", "ncclCommCuDevice", "ncclCommFinalize", "ncclCommDestroy",
    "ncclCommAbort",
};

/* All that upstream registers but MPI_SUCCESS: 4 + 38 + 15 + 1 + 2 + 57. */
static const struct {
    const char *name;
    uintptr_t value;
} constant_names[] = {
    {"MPI_COMM_WORLD", 0x101}, {"MPI_COMM_SELF", 0x102}, {"MPI_COMM_NULL", 0x100}, {"MPI_COMM_TYPE_SHARED", 221},
    {"MPI_DATATYPE_NULL", 0x200}, {"MPI_BYTE", 0x247}, {"MPI_PACKED", 0x207}, {"MPI_CHAR", 0x243}, {"MPI_SHORT", 0x208},
    {"MPI_INT", 0x209},
    {"MPI_LONG", 0x20a}, {"MPI_FLOAT", 0x210}, {"MPI_DOUBLE", 0x214}, {"MPI_UNSIGNED_CHAR", 0x245}, {"MPI_SIGNED_CHAR", 0x244},
    {"MPI_UNSIGNED_SHORT", 0x20c}, {"MPI_UNSIGNED_LONG", 0x20e}, {"MPI_UNSIGNED", 0x20d}, {"MPI_FLOAT_INT", 0x228},
    {"MPI_DOUBLE_INT", 0x229}, {"MPI_LONG_DOUBLE_INT", 0x22d}, {"MPI_LONG_INT", 0x22a}, {"MPI_SHORT_INT", 0x22c},
    {"MPI_UB", 0x200}, {"MPI_LB", 0x200}, /* which MPI has no more */
    {"MPI_WCHAR", 0x23c}, {"MPI_LONG_LONG_INT", 0x20b}, {"MPI_UNSIGNED_LONG_LONG", 0x20f}, {"MPI_INT8_T", 0x240},
    {"MPI_UINT8_T", 0x241},
    {"MPI_INT16_T", 0x248}, {"MPI_UINT16_T", 0x249}, {"MPI_INT32_T", 0x250}, {"MPI_UINT32_T", 0x251}, {"MPI_INT64_T", 0x258},
    {"MPI_UINT64_T", 0x259}, {"MPI_AINT", 0x201}, {"MPI_OFFSET", 0x203}, {"MPI_C_BOOL", 0x238}, {"MPI_C_FLOAT_COMPLEX", 0x212},
    {"MPI_C_DOUBLE_COMPLEX", 0x216}, {"MPI_COUNT", 0x202},
    {"MPI_OP_NULL", 0x20}, {"MPI_MAX", 0x23}, {"MPI_MIN", 0x22}, {"MPI_SUM", 0x21}, {"MPI_PROD", 0x24}, {"MPI_LAND", 0x30},
    {"MPI_BAND", 0x28},
    {"MPI_LOR", 0x31}, {"MPI_BOR", 0x29}, {"MPI_LXOR", 0x32}, {"MPI_BXOR", 0x2a}, {"MPI_MINLOC", 0x38}, {"MPI_MAXLOC", 0x39},
    {"MPI_REPLACE", 0x3c}, {"MPI_NO_OP", 0x3d},
    {"MPI_REQUEST_NULL", 0x180}, {"MPI_STATUS_IGNORE", 1}, {"MPI_STATUSES_IGNORE", 1},
    {"MPI_ERR_BUFFER", 1}, {"MPI_ERR_COUNT", 2}, {"MPI_ERR_TYPE", 3}, {"MPI_ERR_TAG", 4}, {"MPI_ERR_COMM", 5}, {"MPI_ERR_RANK", 6},
    {"MPI_ERR_REQUEST", 7}, {"MPI_ERR_ROOT", 8}, {"MPI_ERR_GROUP", 9}, {"MPI_ERR_OP", 10}, {"MPI_ERR_TOPOLOGY", 11},
    {"MPI_ERR_DIMS", 12},
    {"MPI_ERR_ARG", 13}, {"MPI_ERR_UNKNOWN", 14}, {"MPI_ERR_TRUNCATE", 15}, {"MPI_ERR_OTHER", 16}, {"MPI_ERR_INTERN", 17},
    {"MPI_ERR_PENDING", 18}, {"MPI_ERR_IN_STATUS", 19}, {"MPI_ERR_ACCESS", 20}, {"MPI_ERR_AMODE", 21}, {"MPI_ERR_ASSERT", 22},
    {"MPI_ERR_BAD_FILE", 23}, {"MPI_ERR_BASE", 24}, {"MPI_ERR_CONVERSION", 25}, {"MPI_ERR_DISP", 26}, {"MPI_ERR_DUP_DATAREP", 27},
    {"MPI_ERR_FILE_EXISTS", 28}, {"MPI_ERR_FILE_IN_USE", 29}, {"MPI_ERR_FILE", 30}, {"MPI_ERR_INFO_KEY", 31},
    {"MPI_ERR_INFO_NOKEY", 32},
    {"MPI_ERR_INFO_VALUE", 33}, {"MPI_ERR_INFO", 34}, {"MPI_ERR_IO", 35}, {"MPI_ERR_KEYVAL", 36}, {"MPI_ERR_LOCKTYPE", 37},
    {"MPI_ERR_NAME", 38}, {"MPI_ERR_NO_MEM", 39}, {"MPI_ERR_NOT_SAME", 40}, {"MPI_ERR_NO_SPACE", 41}, {"MPI_ERR_NO_SUCH_FILE", 42},
    {"MPI_ERR_PORT", 43}, {"MPI_ERR_QUOTA", 44}, {"MPI_ERR_READ_ONLY", 45}, {"MPI_ERR_RMA_ATTACH", 46},
    {"MPI_ERR_RMA_CONFLICT", 47},
    {"MPI_ERR_RMA_RANGE", 48}, {"MPI_ERR_RMA_SHARED", 49}, {"MPI_ERR_RMA_SYNC", 50}, {"MPI_ERR_SERVICE", 51}, {"MPI_ERR_SIZE", 52},
    {"MPI_ERR_SPAWN", 53}, {"MPI_ERR_UNSUPPORTED_DATAREP", 54}, {"MPI_ERR_UNSUPPORTED_OPERATION", 55}, {"MPI_ERR_WIN", 56},
    {"MPI_ERR_RMA_FLAVOR", 57},
};
enum { N_FUNCTIONS = sizeof function_names / sizeof *function_names, N_CONSTANTS = sizeof constant_names / sizeof *constant_names };
_Static_assert(N_CONSTANTS == 4 + 38 + 15 + 1 + 2 + 57, "upstream's list");

static void check_constants(void)
{
    for (int i = 0; i < N_CONSTANTS; i++) {
        const struct symbol *s = symbol_named(constant_names[i].name);
        CHECK(s, "%s is not mapped", constant_names[i].name);
        CHECK(!s || (uintptr_t)s->address == constant_names[i].value, "%s is %p", constant_names[i].name, s ? s->address : NULL);
    }
}

static void check_generation(unsigned flag)
{
    n_symbols = 0;
    OK(reactant_mpi_register_symbols(map_symbol, flag));
    for (int i = 0; i < N_FUNCTIONS; i++) {
        const struct symbol *s = symbol_named(function_names[i]);
        CHECK(s, "%s is not mapped", function_names[i]);
    }
    for (int i = 0; i < n_symbols; i++) {
        CHECK(symbols[i].address, "%s is mapped to 0, which ends the process upstream", symbols[i].name);
        CHECK(symbols[i].times == 1, "%s is mapped %u times", symbols[i].name, symbols[i].times);
    }
    CHECK(!symbol_named("MPI_SUCCESS"), "it is 0");
    check_constants();
}

/* Needs no MPI, and is called before there is one, too. */
static void test_names(void)
{
    static const unsigned bad[] = {0, 0x3, 0x5, 0x7, 0x10, 0x31, 0x51, 0x71, 0x8, 0x80 | 1, ~0u};
    const void *isend;
    check_generation(REACTANT_MPI_SYMBOLS_G1);
    isend = look_up("MPI_Isend");
    check_generation(REACTANT_MPI_SYMBOLS_G2);
    CHECK(look_up("MPI_Isend") != isend, "the widths of a request differ");
    n_symbols = 0;
    OK(reactant_mpi_register_symbols((reactant_mpi_map_fn)(void (*)(void))set_constant, REACTANT_MPI_SYMBOLS_G3));
    check_constants();
    CHECK(!symbol_named("MPI_Send"), "constants only");
    CHECK(look_up("MPI_SUCCESS") == NULL && (uintptr_t)look_up("MPI_MAX_ERROR_STRING") == 256, "");
    CHECK((uintptr_t)look_up("MPI_STATUS_SIZE") >= 20 && (uintptr_t)look_up("MPI_STATUS_SIZE") <= 40, "%p",
          look_up("MPI_STATUS_SIZE"));
    for (int i = 0; i < n_symbols; i++)
        CHECK(symbols[i].times == 1 && symbols[i].pointers == 1, "%s", symbols[i].name);
    n_symbols = 0;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        FAILS(REACTANT_MPI_ERR_ARGUMENT, "register_symbols", reactant_mpi_register_symbols(map_symbol, bad[i]));
    FAILS(REACTANT_MPI_ERR_ARGUMENT, "register_symbols", reactant_mpi_register_symbols(NULL, REACTANT_MPI_SYMBOLS_G1));
    CHECK(n_symbols == 0, "a refused registration maps %d names", n_symbols);
}

#endif
