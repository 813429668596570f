"""Run a program of JAX that cannot be changed over all ranks of the launcher: mpiexec -n 2 python -m reactant_mpi run script.py

It sees the devices of all ranks, and its collectives run on MPI; a call of jax.distributed.initialize in it does nothing.
"""

import argparse
import os
import runpy
import sys


def add_command(commands) -> None:
    parser = commands.add_parser("run", help="run an unchanged JAX program over MPI", description=__doc__)
    parser.add_argument("--devices", metavar="N", type=int, help="CPU devices of each rank")
    parser.add_argument("--call-timeout-ms", metavar="MS", type=int, help="longest wait of a collective for other ranks; 0 = for ever")
    parser.add_argument("--gpu", choices=["auto", "off", "required"], help="default: auto where JAX has a GPU")
    parser.add_argument("--cpu-collectives", choices=["mpi", "gloo"], help="default: mpi")
    parser.add_argument("-m", dest="module", action="store_true", help="SCRIPT is the name of a module")
    parser.add_argument("script", metavar="SCRIPT")
    parser.add_argument("arguments", metavar="...", nargs=argparse.REMAINDER, help="arguments of the script")
    parser.set_defaults(command=_command)


def _command(options) -> int:
    from . import jax
    from .jax import _launcher

    names = ("devices", "call_timeout_ms", "gpu", "cpu_collectives")
    if _launcher.started():
        jax.initialize(**{name: getattr(options, name) for name in names if getattr(options, name) is not None})
    sys.argv = [options.script, *options.arguments]
    try:
        if options.module:
            sys.path[0] = os.getcwd()
            runpy.run_module(options.script, run_name="__main__", alter_sys=True)
        else:
            sys.path[0] = os.path.dirname(os.path.abspath(options.script))
            runpy.run_path(options.script, run_name="__main__")
    except SystemExit as error:
        # This rank gives up, so the others may never come to their end: leave as after an exception.
        if error.code not in (None, 0):
            sys.last_value = error
        raise
    return 0
