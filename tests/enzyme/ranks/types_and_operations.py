"""The types and operations of enzymexla.mpi, as MLIR and NumPy know them, and data for each."""

import numpy as np

MLIR = {
    "int8": "i8", "uint8": "ui8", "int16": "i16", "uint16": "ui16", "int32": "i32", "uint32": "ui32", "int64": "i64",
    "uint64": "ui64", "float32": "f32", "float64": "f64", "complex64": "complex<f32>", "complex128": "complex<f64>", "bool": "i1",
}  # fmt: skip

# The 13 types that Reactant's tests come down to on 64-bit machines.
TYPES = {
    "INT8_T": np.int8, "UINT8_T": np.uint8, "INT16_T": np.int16, "UINT16_T": np.uint16, "INT32_T": np.int32, "UINT32_T": np.uint32,
    "INT64_T": np.int64, "UINT64_T": np.uint64, "FLOAT": np.float32, "DOUBLE": np.float64, "C_FLOAT_COMPLEX": np.complex64,
    "C_DOUBLE_COMPLEX": np.complex128, "C_BOOL": np.bool_,
}  # fmt: skip

# What else the enumeration of enzymexla has: C's names of the same.
INTEGERS_OF_C = {
    "SHORT": np.int16, "UNSIGNED_SHORT": np.uint16, "INT": np.int32, "UNSIGNED": np.uint32, "LONG": np.int64,
    "UNSIGNED_LONG": np.uint64, "LONG_LONG_INT": np.int64, "UNSIGNED_LONG_LONG": np.uint64, "SIGNED_CHAR": np.int8,
    "UNSIGNED_CHAR": np.uint8,
}  # fmt: skip
CHARACTERS = {"CHAR": np.int8, "WCHAR": np.int32, "BYTE": np.uint8}

ARITHMETIC = {"SUM": np.add, "PROD": np.multiply}
ORDER = {"MAX": np.maximum, "MIN": np.minimum}
BITS = {"BAND": np.bitwise_and, "BOR": np.bitwise_or, "BXOR": np.bitwise_xor}
LOGICAL = {"LAND": np.logical_and, "LOR": np.logical_or, "LXOR": np.logical_xor}
OPERATIONS = ARITHMETIC | ORDER | BITS | LOGICAL
NO_REDUCTIONS = ("OP_NULL", "REPLACE", "NO_OP")


def legal(dtype):
    """The operations that this library has for a type; every other one is refused."""
    return {"i": OPERATIONS, "u": OPERATIONS, "f": ARITHMETIC | ORDER, "c": ARITHMETIC, "b": LOGICAL | ORDER}[np.dtype(dtype).kind]


def data(rank, dtype, count, op=None):
    """What a rank gives, known to all: for arithmetic small whole numbers, so that results are exact, else all of the range."""
    dtype, numbers = np.dtype(dtype), np.random.default_rng([rank, count, sum(map(ord, op or "-"))])
    if dtype.kind == "b":
        return numbers.integers(0, 2, count).astype(bool)
    if dtype.kind in "iu" and op in (*ORDER, *BITS, None):
        limits = np.iinfo(dtype)
        return numbers.integers(limits.min, limits.max, count, dtype, endpoint=True)
    if dtype.kind == "c":
        return (numbers.integers(-3, 4, count) + 1j * numbers.integers(-3, 4, count)).astype(dtype)
    return numbers.integers(0 if dtype.kind == "u" or op in LOGICAL else -3, 2 if op in LOGICAL else 4, count).astype(dtype)


def reduced(size, dtype, count, op):
    """What every rank must get."""
    total = OPERATIONS[op].reduce(np.array([data(rank, dtype, count, op) for rank in range(size)]), axis=0)
    return total.astype(dtype)
