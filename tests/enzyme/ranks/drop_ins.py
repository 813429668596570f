"""Registering this library's functions and constants with Enzyme-JAX, and what became of them."""

import lowering
import reactant_mpi
from checks import check


def collect():
    """Name -> value of all that is registered."""
    found = {}
    reactant_mpi.register_symbols(found.__setitem__, on_error="return")
    return found


def register(how):
    """Through the wheel's EnzymeJaXMapSymbol ("registry"), or by its pass map-symbol ("pass")."""
    if how == "registry":
        reactant_mpi.register_symbols(lowering.map_symbol(), on_error="return")
    else:
        lowering.map_by_pass(collect())


def mended(what):
    """A fault of Enzyme-JAX that is documented and is not there any more; the test shows this line as a warning."""
    print(f"Enzyme-JAX has mended {what}: docs/known-issues.md need not tell of it any more")


def no_error(where):
    try:
        reactant_mpi.check_compiled()
    except reactant_mpi.ReactantMPIError as error:
        check(False, f"{where}: {error}")
