"""For the scripts in this folder: data, what was checked, and exact comparison."""

import numpy as np
import reactant_mpi

_count = 0


def data(rank, dtype, count):
    """What this rank gives: small whole numbers, so that every sum and product is exact; known to all ranks."""
    numbers = np.random.default_rng([rank, count]).integers(0, 4, count)
    if dtype == "V1":
        return numbers.astype("uint8").view("V1")
    if np.dtype(dtype).kind == "c":
        return (numbers + 1j * np.random.default_rng([rank, count, 1]).integers(0, 3, count)).astype(dtype)
    return numbers.astype(dtype)


def empty(count, dtype):
    """Memory that no right result looks like."""
    return np.frombuffer(bytearray(b"\x55" * (count * np.dtype(dtype).itemsize)), dtype)


def run_prepared(prepared):
    """Started, then called."""
    with prepared:
        prepared.Start()
        prepared.Wait()
        prepared()


def check(right, what) -> None:
    global _count
    _count += 1
    if not right:
        raise AssertionError(what)


def same(got, wanted, what) -> None:
    """Equal in value, shape and dtype."""
    got, wanted = np.asarray(got), np.asarray(wanted)
    check(
        got.dtype == wanted.dtype and got.shape == wanted.shape and bool(np.all(got == wanted)),
        f"{what}: got {got!r}, wanted {wanted!r}",
    )


def fails(code, texts, call, *arguments, **keywords) -> None:
    """The call must raise this code, with these words in its text."""
    what = getattr(call, "__name__", repr(call))
    try:
        call(*arguments, **keywords)
    except reactant_mpi.ReactantMPIError as error:
        check(error.code == code, f"{what}{arguments}: code {error.code} instead of {code}: {error}")
        for text in [texts] if isinstance(texts, str) else texts:
            check(text.lower() in str(error).lower(), f"{what}{arguments}: {text!r} is not in: {error}")
    else:
        check(False, f"{what}{arguments}: no error instead of code {code}")


def done() -> None:
    # One write: the ranks share the terminal.
    print(f"ok {_count} checks\n", end="", flush=True)
