"""Commands: python -m reactant_mpi COMMAND."""

import argparse
import sys

from . import _run, _trace


def main(arguments=None) -> int:
    parser = argparse.ArgumentParser(prog="python -m reactant_mpi", description="Tools of Reactant MPI.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for module in (_run, _trace):
        module.add_command(commands)
    options = parser.parse_args(arguments)
    return options.command(options)


if __name__ == "__main__":
    sys.exit(main())
