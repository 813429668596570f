"""What loading the library does to a bare process: prints lines of `name value`. Run by run.py, without a launcher.

Arguments: the library, and "initialize" to go on to initialize and report its time, too.
"""

import ctypes
import os
import sys
import time


def pages():
    with open("/proc/self/statm") as f:
        virtual, resident = (int(x) for x in f.read().split()[:2])
    return virtual * os.sysconf("SC_PAGE_SIZE"), resident * os.sysconf("SC_PAGE_SIZE")


def main():
    virtual, resident = pages()
    begin = time.perf_counter()
    lib = ctypes.CDLL(sys.argv[1], mode=os.RTLD_NOW)
    loaded = time.perf_counter()
    time.sleep(0.05)  # threads that start with the library have started
    virtual_after, resident_after = pages()
    print("dlopen", (loaded - begin) * 1e3)
    print("rss", (resident_after - resident) / 2**20)
    print("virtual", (virtual_after - virtual) / 2**20)
    if "initialize" in sys.argv:
        lib.reactant_mpi_initialize.restype = ctypes.c_void_p
        lib.reactant_mpi_initialize.argtypes = [ctypes.c_size_t]
        lib.reactant_mpi_last_error.restype = ctypes.c_char_p
        begin = time.perf_counter()
        comm = lib.reactant_mpi_initialize(0)
        print("initialize", (time.perf_counter() - begin) * 1e3)
        if not comm:
            sys.exit(lib.reactant_mpi_last_error().decode())
        print("rss_initialized", (pages()[1] - resident) / 2**20)
        lib.reactant_mpi_finalize.argtypes = [ctypes.c_void_p]
        lib.reactant_mpi_finalize(None)


main()
