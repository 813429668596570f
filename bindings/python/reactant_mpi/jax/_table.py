"""One row for each operation: what it takes, what it gives, its attributes, its axis of ranks and its transpose."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .. import _abi

SUM, AVG = _abi.SUM, _abi.AVG


@dataclass(frozen=True)
class Row:
    """An operation as a primitive.

    Its operands are [x] [like] token [after], its results [y] token: `like` gives the shape of a received y and is never read;
    `after` is a token that comes from elsewhere than the chain of this one, and after which it runs too.
    """

    name: str
    # (shape of x, or of like, place, parameters) -> shape of y
    shape: Callable
    # (shape of x, place, parameters) -> attributes of the handler beside comm, size and wait
    attributes: Callable
    # (place, parameters) -> (name of a row, its place, its parameters, factor); None where there is nothing to differentiate
    transpose: Callable | None
    takes: bool = True
    like: bool = False
    gives: bool = True
    # Where a new axis goes in: x, and where it is then in y
    batch: tuple[int, int] = (0, 0)

    @property
    def arrays(self) -> int:
        """How many operands are arrays."""
        return self.takes + self.like

    @property
    def operands(self) -> int:
        """How many there are before `after`."""
        return self.arrays + 1


def _same(shape, place, p):
    return shape


def _stacked(shape, place, p):
    return (place.size, *shape)


def _block(shape, place, p):
    return shape[1:]


def _rows(count):
    """The shape with so many rows."""
    return lambda shape, place, p: (int(count(place, p)), *shape[1:])


def _own(place, p):
    return p["counts"][place.rank]


def _all(place, p):
    return sum(p["counts"])


def _elements(counts, shape):
    return np.array(counts, np.int64) * int(np.prod(shape[1:], dtype=np.int64))


def _int(name):
    return lambda shape, place, p: {name: np.int32(p[name])}


def _ints(*names):
    return lambda shape, place, p: {name: np.int32(p[name]) for name in names}


def _counts(*rest):
    return lambda shape, place, p: {"counts": _elements(p["counts"], shape)} | {name: np.int32(p[name]) for name in rest}


def _both_counts(shape, place, p):
    return {name: _elements(p[name], shape) for name in ("sendcounts", "recvcounts")}


def neighbours(place, perm):
    """(source, destinations) of this rank among the pairs of all."""
    source = next((s for s, d in perm if d == place.rank), _abi.PROC_NULL)
    return source, [d for s, d in perm if s == place.rank]


def _permute(shape, place, p):
    source, dests = neighbours(place, p["perm"])
    return {"source": np.int32(source), "dests": np.array(dests, np.int32)}


def _mean(place, p):
    return 1 / place.size if p["op"] == AVG else 1


ROWS = {
    row.name: row
    for row in (
        Row("allreduce", _same, _int("op"), lambda at, p: ("allreduce", at, p, 1)),
        Row("reduce", _same, _ints("op", "root"), lambda at, p: ("bcast", at, {"root": p["root"], "donate": False}, _mean(at, p))),
        Row("bcast", _same, _int("root"), lambda at, p: ("reduce", at, {"op": SUM, "root": p["root"], "donate": False}, 1)),
        Row("allgather", _stacked, _ints(), lambda at, p: ("reduce_scatter", at, {"op": SUM}, 1), batch=(0, 1)),
        Row("gather", _stacked, _int("root"), lambda at, p: ("scatter", at, p, 1), batch=(0, 1)),
        Row("scatter", _block, _int("root"), lambda at, p: ("gather", at, p, 1), batch=(1, 0)),
        Row("reduce_scatter", _block, _int("op"), lambda at, p: ("allgather", at, {}, _mean(at, p)), batch=(1, 0)),
        Row("alltoall", _same, _ints(), lambda at, p: ("alltoall", at, p, 1), batch=(1, 1)),
        Row("scan", _same, _int("op"), lambda at, p: ("scan", at.reversed(), p, 1)),
        Row("exscan", _same, _int("op"), lambda at, p: ("exscan", at.reversed(), p, 1)),
        Row("barrier", None, _ints(), None, takes=False, gives=False),
        Row("send", None, _ints("dest", "tag"), lambda at, p: ("recv", at, {"source": p["dest"], "tag": p["tag"]}, 1), gives=False),
        Row(
            "recv",
            _same,
            _ints("source", "tag"),
            lambda at, p: ("send", at, {"dest": p["source"], "tag": p["tag"]}, 1),
            takes=False,
            like=True,
        ),
        Row(
            "sendrecv",
            _same,
            _ints("dest", "sendtag", "source", "recvtag"),
            lambda at, p: (
                "sendrecv",
                at,
                {"dest": p["source"], "sendtag": p["recvtag"], "source": p["dest"], "recvtag": p["sendtag"]},
                1,
            ),
            like=True,
        ),
        Row("permute", _same, _permute, lambda at, p: ("permute", at, {"perm": tuple((d, s) for s, d in p["perm"])}, 1)),
        Row(
            "allgatherv",
            _rows(_all),
            _counts(),
            lambda at, p: ("reduce_scatterv", at, {"counts": p["counts"], "op": SUM}, 1),
            batch=(1, 1),
        ),
        Row("gatherv", _rows(_all), _counts("root"), lambda at, p: ("scatterv", at, p, 1), batch=(1, 1)),
        Row("scatterv", _rows(_own), _counts("root"), lambda at, p: ("gatherv", at, p, 1), batch=(1, 1)),
        Row(
            "reduce_scatterv",
            _rows(_own),
            _counts("op"),
            lambda at, p: ("allgatherv", at, {"counts": p["counts"]}, _mean(at, p)),
            batch=(1, 1),
        ),
        Row(
            "alltoallv",
            _rows(lambda place, p: sum(p["recvcounts"])),
            _both_counts,
            lambda at, p: ("alltoallv", at, {"sendcounts": p["recvcounts"], "recvcounts": p["sendcounts"]}, 1),
            batch=(1, 1),
        ),
    )
}

# The reductions that are linear.
LINEAR = {SUM, AVG}

OPERATION_NAMES = {
    getattr(_abi, name): name for name in ("SUM", "MIN", "MAX", "PROD", "BAND", "BOR", "BXOR", "LAND", "LOR", "LXOR", "AVG")
}
