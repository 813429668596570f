"""Run at one rank: every function of the header that takes a communicator, called with its id, and with an id that was never given.

Arguments are ones and zeroed memory, so that most calls end in an error about something else; none may be about the communicator.
"""

import ctypes
import os
import re
import threading

from reactant_mpi import _abi
from reactant_mpi._library import library

ERR_COMM = 2
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# Ending the job, and ending the communicator: those are called last.
APART = ("abort", "finalize", "comm_free")


def functions():
    """(name, place of the communicator among the arguments) of all that take one."""
    with open(os.path.join(ROOT, "include", "reactant_mpi.h")) as f:
        text = re.sub(r"/\*.*?\*/", "", f.read(), flags=re.DOTALL)
    for name, parameters in re.findall(r"\breactant_mpi_(\w+)\(([^;{}()]*)\);", text):
        for place, parameter in enumerate(parameters.split(",")):
            if re.fullmatch(r"\s*(const )?reactant_mpi_comm \*comm\s*", parameter):
                yield name, place


def code_of(lib, name, place, word):
    """The error that the call leaves on a fresh thread, 0 if none, and what it returned."""
    _, types = _abi.FUNCTIONS[name]
    function = getattr(lib, name)
    memory = ctypes.create_string_buffer(1 << 16)
    given = []
    for i, kind in enumerate(types):
        if i == place:
            given.append(ctypes.c_void_p(word))
        elif kind in (ctypes.c_int, ctypes.c_size_t):
            given.append(0 if name == "comm_set_timeout" else 1)
        else:
            given.append(ctypes.cast(memory, kind))
    result = []

    def call():
        result.append(function(*given))
        result.append(lib.last_error_code())

    thread = threading.Thread(target=call)
    thread.start()
    thread.join()
    return result[1], result[0]


def main():
    lib = library()
    comm = lib.initialize(0)
    number = lib.comm_id(comm)
    assert number == 1, number
    checks = 0
    all_of_them = list(functions())
    assert len(all_of_them) > 80, all_of_them
    for name, place in all_of_them:
        if name == "abort":  # a live one would end the job
            assert code_of(lib, name, place, 60000)[0] == ERR_COMM
            continue
        if name not in APART:
            code, result = code_of(lib, name, place, number)
            assert code != ERR_COMM, (name, code)
            if name in ("rank", "size", "local_rank", "local_size", "device", "comm_id", "mpi_comm", "client", "nccl_comm"):
                assert result == code_of(lib, name, place, comm)[1], name
        code, _ = code_of(lib, name, place, 60000)
        assert code == ERR_COMM, (name, code)
        checks += 2
    for name in ("comm_free", "finalize"):
        child = ctypes.c_void_p()
        assert lib.comm_dup(comm, ctypes.byref(child)) == 0
        assert getattr(lib, name)(lib.comm_id(child)) == 0
        assert lib.barrier(child) == ERR_COMM
        checks += 2
    assert lib.finalize(None) == 0
    print(f"ok {checks} checks")


main()
