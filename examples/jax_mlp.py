"""Data-parallel training of a small network: every process has its part of the points, and JAX's psum adds their gradients.

    mpiexec -n 2 python examples/jax_mlp.py [PICTURE.png]

Only the first two lines of code know of MPI. The result is compared with the same training written in NumPy on all the points.
"""

import reactant_mpi.jax  # before jax

reactant_mpi.jax.initialize()

import sys  # noqa: E402

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax.sharding import Mesh, NamedSharding, PartitionSpec  # noqa: E402
from picture import colours, write_png  # noqa: E402

POINTS, WIDTH, STEPS, RATE, MOMENTUM = 240, 24, 600, 0.02, 0.9
EVERYWHERE, BY_POINT = PartitionSpec(), PartitionSpec("points")


def data():
    """Two arms of a spiral: places (POINTS, 2) and which arm (POINTS,), 1 or -1."""
    arm = np.where(np.arange(POINTS) % 2, 1.0, -1.0)
    turn = np.linspace(0.3, 1, POINTS)
    angle = 1.5 * np.pi * turn
    return np.stack([arm * turn * np.cos(angle), arm * turn * np.sin(angle)], axis=1), arm


def first_weights():
    random = np.random.default_rng(1)
    sizes = (2, WIDTH, WIDTH, 1)
    return [
        (random.normal(size=(a, b)) * (2 if a == 2 else 1.5 / np.sqrt(a)), random.normal(size=b) * 0.5)
        for a, b in zip(sizes, sizes[1:], strict=False)
    ]


def network(weights, x):
    for matrix, bias in weights[:-1]:
        x = jnp.tanh(x @ matrix + bias)
    matrix, bias = weights[-1]
    return (x @ matrix + bias)[:, 0]


def train(weights, x, arm):
    """On one device: its points, and all the weights. Returns the weights and the loss of every step."""

    def loss_here(weights):
        return jnp.sum((network(weights, x) - arm) ** 2) / POINTS

    def step(state, _):
        weights, speed = state
        # This device's part of the loss and of the gradient; psum adds the parts of all devices of all processes.
        loss, gradient = jax.lax.psum(jax.value_and_grad(loss_here)(weights), "points")
        speed = jax.tree.map(lambda v, g: MOMENTUM * v - RATE * g, speed, gradient)
        return (jax.tree.map(jnp.add, weights, speed), speed), loss

    (weights, _), losses = jax.lax.scan(step, (weights, jax.tree.map(jnp.zeros_like, weights)), length=STEPS)
    return weights, losses


def train_in_numpy(weights, x, arm):
    """The same on all the points, in double precision and with the derivatives written out."""
    (a, p), (b, q), (c, r) = weights
    speed = [np.zeros_like(w) for w in (a, p, b, q, c, r)]
    losses = []
    for _ in range(STEPS):
        first = np.tanh(x @ a + p)
        second = np.tanh(first @ b + q)
        error = second @ c[:, 0] + r - arm
        losses.append((error**2).mean())
        out = 2 / POINTS * error[:, None]
        back = (out @ c.T) * (1 - second**2)
        front = (back @ b.T) * (1 - first**2)
        gradient = x.T @ front, front.sum(0), first.T @ back, back.sum(0), second.T @ out, out.sum(0)
        speed = [MOMENTUM * v - RATE * g for v, g in zip(speed, gradient, strict=True)]
        a, p, b, q, c, r = (w + v for w, v in zip((a, p, b, q, c, r), speed, strict=True))
    return [(a, p), (b, q), (c, r)], np.array(losses)


def draw(path, weights, x, arm):
    """What the network says over the square, and the points."""
    line = np.linspace(-1.2, 1.2, 240)
    square = np.stack(np.meshgrid(line, -line), axis=-1).reshape(-1, 2)
    pixels = colours(np.asarray(network(weights, square)).reshape(240, 240) * 0.6, 1)
    for (right, up), side in zip(x, arm, strict=True):
        row, column = int((1.2 - up) * 100), int((1.2 + right) * 100)
        pixels[row - 1 : row + 2, column - 1 : column + 2] = colours(side, 1)
    write_png(path, pixels)


def main():
    mesh = Mesh(np.array(jax.devices()), ("points",))  # the devices of all processes
    if POINTS % mesh.size:
        sys.exit(f"{POINTS} points cannot be shared among {mesh.size} devices")
    x, arm = data()
    here = slice(POINTS * jax.process_index() // jax.process_count(), POINTS * (jax.process_index() + 1) // jax.process_count())
    shared = [
        jax.make_array_from_process_local_data(NamedSharding(mesh, BY_POINT), whole[here].astype(np.float32)) for whole in (x, arm)
    ]
    weights = jax.tree.map(np.float32, first_weights())

    everywhere = jax.shard_map(
        train, mesh=mesh, in_specs=(EVERYWHERE, BY_POINT, BY_POINT), out_specs=EVERYWHERE, check_vma=False
    )
    trained, losses = jax.device_get(jax.jit(everywhere)(weights, *shared))

    expected, expected_losses = train_in_numpy(first_weights(), x, arm)
    worst = max(np.abs(got - want).max() for got, want in zip(jax.tree.leaves(trained), jax.tree.leaves(expected), strict=True))
    right = worst < 2e-3 and np.allclose(losses, expected_losses, rtol=2e-3) and losses[-1] < 0.1 < losses[0]
    print(
        f"process {jax.process_index()} of {jax.process_count()}, {len(jax.local_devices())} of {mesh.size} devices: loss "
        f"{losses[0]:.3f} -> {losses[-1]:.4f}; weights differ from those of NumPy on all the points by {worst:.1e}\n",
        end="",
        flush=True,
    )
    if jax.process_index() == 0 and len(sys.argv) > 1:
        draw(sys.argv[1], trained, x, arm)
    return 0 if right else "the result is wrong"


if __name__ == "__main__":
    sys.exit(main())
