"""The examples that users copy from: right against NumPy by their own word, and the pictures that they draw."""

import struct
import zlib

import numpy as np
import pytest
from launching import BOTH, FULL, NEWEST, ROOT, launch

EXAMPLES = ROOT / "examples"


def picture(path):
    """The pixels of a PNG file without filters, (height, width, 3)."""
    data, at, chunks = path.read_bytes(), 8, {}
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    while at < len(data):
        (length,), kind = struct.unpack(">I", data[at : at + 4]), data[at + 4 : at + 8]
        chunks[kind] = data[at + 8 : at + 8 + length]
        assert struct.unpack(">I", data[at + 8 + length : at + 12 + length])[0] == zlib.crc32(kind + chunks[kind])
        at += 12 + length
    width, height = struct.unpack(">II", chunks[b"IHDR"][:8])
    rows = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8).reshape(height, 1 + 3 * width)
    assert not rows[:, 0].any() and b"IEND" in chunks
    return rows[:, 1:].reshape(height, width, 3)


def runs(jax, mpi, n, name, *arguments, **variables):
    done = launch(jax, mpi, n, [EXAMPLES / f"{name}.py", *arguments], **variables)
    assert done.returncode == 0 and "Traceback" not in done.stdout, done.stdout
    return done.stdout


@pytest.mark.parametrize(("jax", "mpi"), BOTH)
def test_network(jax, mpi, tmp_path):
    said = runs(jax, mpi, 2, "jax_mlp", tmp_path / "network.png")
    assert said.count("of 2, 1 of 2 devices: loss 1.819 -> 0.000") == 2, said
    pixels = picture(tmp_path / "network.png").astype(int)
    redder = pixels[..., 0] - pixels[..., 2]
    assert pixels.shape == (240, 240, 3) and redder[120, 40] > 50 and redder[120, 200] < -50  # an arm on each side


def test_network_with_more_devices():
    said = runs(NEWEST, "mpich", 2, "jax_mlp", XLA_FLAGS="--xla_force_host_platform_device_count=2")
    assert said.count("2 of 4 devices: loss 1.819 -> 0.000") == 2, said


@pytest.mark.parametrize(("jax", "mpi"), BOTH)
@pytest.mark.parametrize("n", [2, 4] if FULL else [2])
def test_shallow_water(jax, mpi, n, tmp_path):
    said = runs(jax, mpi, n, "jax_shallow_water", tmp_path / "water.png")
    assert said.count(f"{n} ranks, 600 steps") == 1, said
    pixels = picture(tmp_path / "water.png").astype(int)
    assert pixels.shape == (192, 4 * 192, 3)
    assert abs(pixels[:10, 150:190] - 247).max() < 5  # no wave has come to that corner at the time of the first picture
    assert np.ptp(pixels[..., 1]) > 60
