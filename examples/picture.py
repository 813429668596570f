"""A PNG file from an array of numbers, with the standard library alone."""

import struct
import zlib

import numpy as np

BLUE, WHITE, RED = np.array([33, 102, 172]), np.array([247, 247, 247]), np.array([178, 24, 43])


def colours(values, most):
    """Red for `most` and more, white for 0, blue for -`most` and less: uint8 of one more dimension."""
    part = np.clip(np.asarray(values, np.float64) / most, -1, 1)[..., None]
    return np.where(part < 0, WHITE - part * (BLUE - WHITE), WHITE + part * (RED - WHITE)).astype(np.uint8)


def write_png(path, pixels):
    """pixels: uint8 of shape (height, width, 3), the top row first."""
    height, width, _ = pixels.shape
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))
