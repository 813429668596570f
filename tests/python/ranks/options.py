"""Options from Python: a log function, and libraries of MPI that do not work, then one that does."""

import os
import sys
import tempfile

import numpy as np
import reactant_mpi
from checks import check, done, fails, same


def main(folder):
    lines = []

    def log(level, text):
        lines.append((level, text))

    if sys.argv[1:] == ["no-mpi"]:
        missing = os.path.join(folder, "libmpi.so.12")
        fails(40, missing, reactant_mpi.initialize, libmpi=missing)
        with open(missing, "w") as f:
            f.write("this is no library")
        fails(40, missing, reactant_mpi.initialize, libmpi=missing)
        done()
        return
    os.environ["REACTANT_MPI_LOG"] = "debug"
    comm = reactant_mpi.initialize(
        gpu="off",
        thread_level="multiple",
        launcher_check=True,
        timeout_ms=60_000,
        max_count=3,
        mpi_dirs=[sys.prefix],
        log=log,
        call_timeout_ms=60_000,
        check=True,
        half="f32",
        trace=folder,
    )
    same(comm.allreduce(np.full(3, 60_000, "float16"), "avg"), np.full(3, 60_000, "float16"), "the sum does not fit a float16")
    fails(30, ["sum", "max"], comm.allreduce, 1.0, "max" if comm.rank else "sum")
    same(comm.allreduce(np.arange(10)), np.arange(10) * comm.size, "ten elements, three at a time")
    check(lines, "the log function was called")
    check(all(isinstance(text, str) and 1 <= level <= 4 for level, text in lines), f"log lines: {lines[:3]}")
    fails(8, "thread_level", reactant_mpi.initialize, thread_level="single")
    again = reactant_mpi.initialize(thread_level="multiple", log=log, max_count=3)
    check(again.id == comm.id, "the same options again")
    about, process = comm.describe(), reactant_mpi.describe()
    check(isinstance(about, dict) and isinstance(process, dict), "describe")
    check(os.environ["REACTANT_MPI_LIBMPI"] in str(process), f"describe names the MPI library: {process}")
    check((comm.device, comm.nccl_comm, comm.client) == (None, None, None), "a host communicator has no device")
    on = comm.on_stream()
    fails(61, "", on.Barrier)
    fails(61, "", on.Allreduce, reactant_mpi.DeviceBuffer(0x1000, 3, "int32"), reactant_mpi.DeviceBuffer(0x2000, 3, "int32"))
    check(0 <= comm.local_rank < comm.local_size == comm.size, f"local rank {comm.local_rank} of {comm.local_size}")
    reactant_mpi.finalize()
    traces = os.listdir(folder)
    check(len(traces) == 1 and "allreduce" in open(os.path.join(folder, traces[0])).read(), f"a trace of this rank: {traces}")
    done()


with tempfile.TemporaryDirectory() as folder:
    main(folder)
