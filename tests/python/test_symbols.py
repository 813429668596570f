"""What compiled code needs, as far as one process without MPI can tell (tests/enzyme has the rest)."""

import ctypes

import pytest
import reactant_mpi


@pytest.fixture(autouse=True)
def nothing_kept():
    reactant_mpi.check_compiled()
    yield
    reactant_mpi.check_compiled()


def names(generation):
    found = {}
    reactant_mpi.register_symbols(lambda name, *rest: found.update({name: rest}), generation, on_error="return")
    return found


def test_names():
    narrow, wide = names("g1"), names("g2")
    assert narrow.keys() == wide.keys()
    assert {"MPI_Allreduce", "MPI_Waitall", "MPI_COMM_WORLD", "MPI_INT32_T", "MPI_STATUS_IGNORE", "ncclAllReduce"} <= narrow.keys()
    assert all(value for (value,) in narrow.values()), "the registry ends the process at a value of 0"
    assert {name for name in narrow if narrow[name] != wide[name]} == {
        "MPI_Isend",
        "MPI_Irecv",
        "MPI_Wait",
        "MPI_Waitall",
        "MPI_Request_free",
    }
    assert narrow["MPI_COMM_WORLD"] == (0x101,)


def test_constants_of_ffi_handlers():
    found = names("g3")
    assert found["MPI_SUCCESS"] == (0, 1)
    assert found["MPI_FLOAT"] == (0x210, 1)
    assert not [name for name in found if name.startswith("nccl") or name == "MPI_Allreduce"]


def test_a_function_of_a_library_goes_as_it_is():
    seen = []
    prototype = ctypes.CFUNCTYPE(None, ctypes.c_char_p, ctypes.c_void_p)
    there = prototype(lambda name, value: seen.append((name, value)))
    reactant_mpi.register_symbols(there, on_error="return")
    reactant_mpi.register_symbols(ctypes.cast(there, ctypes.c_void_p).value, on_error="return")
    assert seen[: len(seen) // 2] == seen[len(seen) // 2 :]
    assert dict(seen)[b"MPI_Allreduce"] == names("g1")["MPI_Allreduce"][0]


def test_failures_are_kept():
    barrier = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_size_t)(names("g1")["MPI_Barrier"][0])
    assert barrier(0xABCDEF) == 5
    with pytest.raises(reactant_mpi.ReactantMPIError, match="0xabcdef") as told:
        reactant_mpi.check_compiled()
    assert told.value.name == "ERR_COMM"


def test_bad_arguments():
    def raises(_name, _value):
        raise KeyError("mine")

    with pytest.raises(ValueError, match="generation"):
        reactant_mpi.register_symbols(raises, "g4")
    with pytest.raises(ValueError, match="on_error"):
        reactant_mpi.register_symbols(raises, on_error="ignore")
    with pytest.raises(KeyError, match="mine"):
        reactant_mpi.register_symbols(raises, on_error="return")
    with pytest.raises(reactant_mpi.ReactantMPIError, match="NULL"):
        reactant_mpi.register_symbols(0)
