"""The steps of random programs for shard_map: each for one device in JAX, and for all devices in NumPy.

A maker takes the drawing, a value's number and its kind, and gives the kind of the result and the step, or
None where it does not fit."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import tinyjax as jax
import tinyjax.numpy as jnp
from random_shard_maps.program import Drawing, Kind, Step, collective, number
from tinyjax import lax

Made = tuple[Kind, Step] | None


def _np_axis(axis: int) -> int:
    return axis + 1  # axis 0 is that of the devices


# ---- what a device does alone ----

_UNARY = {
    "sin": (jnp.sin, np.sin),
    "tanh": (jnp.tanh, np.tanh),
    "minus": (lambda x: -x, lambda x: -x),
    "half": (lambda x: x * 0.5 + 1, lambda x: x * 0.5 + 1),
    "jit of sin": (jax.jit(lambda x: jnp.sin(x) * 2), lambda x: np.sin(x) * 2),
    "checkpoint": (
        jax.checkpoint(lambda x: jnp.sin(jnp.tanh(x))),
        lambda x: np.sin(np.tanh(x)),
    ),
    "vmap or not": (lambda x: jax.vmap(jnp.cos)(x) if x.ndim else jnp.cos(x), np.cos),
}


def unary(drawing: Drawing, value: int, kind: Kind) -> Made:
    name = drawing.rng.choice(list(_UNARY))
    return kind, Step(name, [value], *_UNARY[name])


_BINARY = {
    "plus": (lambda x, y: x + y,) * 2,
    "times": (lambda x, y: x * y,) * 2,
    "greatest": (jnp.maximum, np.maximum),
    "where": (
        lambda x, y: jnp.where(1.5 * x > y + 0.1, jnp.sin(x), y),  # which equal values are far from
        lambda x, y: np.where(1.5 * x > y + 0.1, np.sin(x), y),
    ),
}


def binary(drawing: Drawing, value: int, kind: Kind) -> Made:
    kinds = drawing.program.kinds
    others = [i for i, other in enumerate(kinds) if other.shape == kind.shape]
    other, name = drawing.rng.choice(others), drawing.rng.choice(list(_BINARY))
    made = Kind(kind.shape, kind.vma | kinds[other].vma)
    return made, Step(name, [value, other], *_BINARY[name])


def dot(drawing: Drawing, value: int, kind: Kind) -> Made:
    kinds = drawing.program.kinds
    if len(kind.shape) != 2:
        return None
    others = [i for i, k in enumerate(kinds) if len(k.shape) == 2 and k.shape[0] == kind.shape[1]]
    if not others:
        return None
    other = drawing.rng.choice(others)
    made = Kind((kind.shape[0], kinds[other].shape[1]), kind.vma | kinds[other].vma)
    return made, Step("dot", [value, other], lambda x, y: x @ y / 4, lambda x, y: x @ y / 4)


def total(drawing: Drawing, value: int, kind: Kind) -> Made:
    if not kind.shape:
        return None
    axis = drawing.rng.randrange(len(kind.shape))
    shape = kind.shape[:axis] + kind.shape[axis + 1 :]
    step = Step(
        f"mean along {axis} of ", [value], lambda x: x.mean(axis), lambda x: x.mean(_np_axis(axis))
    )
    return Kind(shape, kind.vma), step


def turned(drawing: Drawing, value: int, kind: Kind) -> Made:
    order = drawing.rng.sample(range(len(kind.shape)), len(kind.shape))
    in_numpy = [0, *map(_np_axis, order)]
    step = Step(
        f"transpose {order} of ",
        [value],
        lambda x: x.transpose(order),
        lambda x: x.transpose(in_numpy),
    )
    return Kind(tuple(kind.shape[i] for i in order), kind.vma), step


def scanned(drawing: Drawing, value: int, kind: Kind) -> Made:
    """A cumulative product of sines, along axis 0."""
    if not kind.shape:
        return None

    def of_part(x: Any) -> Any:
        first = jnp.zeros_like(x[0])
        return lax.scan(lambda c, y: (c * 0.5 + jnp.sin(y), c), first, x)[1]

    def of_all(xs: np.ndarray) -> np.ndarray:
        out, carry = np.empty_like(xs), np.zeros_like(xs[:, 0])
        for i in range(xs.shape[1]):
            out[:, i] = carry
            carry = carry * 0.5 + np.sin(xs[:, i])
        return out

    return kind, Step("scan", [value], of_part, of_all)


def branched(drawing: Drawing, value: int, kind: Kind) -> Made:
    """Each device its own branch."""

    def of_part(x: Any) -> Any:
        return lax.cond(jnp.sum(x) > 0.1, jnp.sin, lambda x: x * x - 1, x)

    def of_all(xs: np.ndarray) -> np.ndarray:
        return np.stack([np.sin(x) if x.sum() > 0.1 else x * x - 1 for x in xs])

    return kind, Step("cond", [value], of_part, of_all)


def place(drawing: Drawing, value: int, kind: Kind) -> Made:
    """Adds the device's number along some axes."""
    names, mesh = drawing.names(drawing.mesh), drawing.mesh

    def of_all(xs: np.ndarray) -> np.ndarray:
        numbers = [number(mesh, at, names) for at in drawing.places]
        return xs + 0.25 * np.array(numbers, xs.dtype).reshape(-1, *[1] * (xs.ndim - 1))

    def of_part(x: Any) -> Any:
        return x + 0.25 * lax.axis_index(names if len(names) > 1 else names[0])

    made = Kind(kind.shape, kind.vma.union(names))
    return made, Step(f"plus axis_index {names} of ", [value], of_part, of_all)


# ---- collectives ----


def to_varying(drawing: Drawing, value: int, kind: Kind) -> Made:
    equal = set(drawing.mesh) - kind.vma
    if not equal:
        return None
    names = drawing.names(equal)
    step = Step(
        f"pcast {names} of ", [value], lambda x: lax.pcast(x, names, to="varying"), lambda xs: xs
    )
    return Kind(kind.shape, kind.vma.union(names)), step


_REDUCTIONS = {
    "psum": (lax.psum, lambda xs: sum(xs)),
    "pmean": (lax.pmean, lambda xs: sum(xs) / len(xs)),
}


def reduced(drawing: Drawing, value: int, kind: Kind) -> Made:
    """Over axes of which all, or none, are those that the value varies over."""
    among = drawing.rng.choice([kind.vma, set(drawing.mesh) - kind.vma]) or kind.vma
    if not among:
        return None
    names, name = drawing.names(among), drawing.rng.choice(list(_REDUCTIONS))
    in_jax, of_peers = _REDUCTIONS[name]
    of_all = collective(drawing.mesh, names, lambda xs, i: of_peers(xs))
    made = Kind(kind.shape, kind.vma.difference(names))
    return made, Step(f"{name} {names} of ", [value], lambda x: in_jax(x, names), of_all)


def gathered(drawing: Drawing, value: int, kind: Kind) -> Made:
    names, tiled = drawing.names(drawing.mesh), drawing.rng.random() < 0.5
    if tiled and not kind.shape:
        return None
    axis = drawing.rng.randrange(len(kind.shape) + (not tiled))
    join = np.concatenate if tiled else np.stack
    shape = list(kind.shape)
    size = math.prod(drawing.mesh[name] for name in names)
    if tiled:
        shape[axis] *= size
    else:
        shape.insert(axis, size)
    step = Step(
        f"all_gather {names} axis={axis} tiled={tiled} of ",
        [value],
        lambda x: lax.all_gather(x, names, axis=axis, tiled=tiled),
        collective(drawing.mesh, names, lambda xs, i: join(xs, axis)),
    )
    return Kind(tuple(shape), kind.vma.union(names)), step


def divisible(drawing: Drawing, kind: Kind) -> tuple[tuple[str, ...], int, list[int]]:
    """Some axes of the mesh, how many devices are along them, and a value's axes that can be cut so."""
    names = drawing.names(drawing.mesh)
    size = math.prod(drawing.mesh[name] for name in names)
    return names, size, [i for i, length in enumerate(kind.shape) if length % size == 0]


def scattered(drawing: Drawing, value: int, kind: Kind) -> Made:
    names, size, fit = divisible(drawing, kind)
    if not fit:
        return None
    axis = drawing.rng.choice(fit)
    tiled = kind.shape[axis] != size or drawing.rng.random() < 0.5
    shape = list(kind.shape)
    shape[axis : axis + 1] = [shape[axis] // size] if tiled else []

    def share(xs: list[np.ndarray], i: int) -> np.ndarray:
        piece = np.split(sum(xs), size, axis)[i]
        return piece if tiled else piece.squeeze(axis)

    step = Step(
        f"psum_scatter {names} axis={axis} tiled={tiled} of ",
        [value],
        lambda x: lax.psum_scatter(x, names, scatter_dimension=axis, tiled=tiled),
        collective(drawing.mesh, names, share),
    )
    return Kind(tuple(shape), kind.vma.union(names)), step


def exchanged(drawing: Drawing, value: int, kind: Kind) -> Made:
    names, size, fit = divisible(drawing, kind)
    if not fit:
        return None
    cut, joined = drawing.rng.choice(fit), drawing.rng.randrange(len(kind.shape))
    shape = list(kind.shape)
    shape[cut] //= size
    shape[joined] *= size
    step = Step(
        f"all_to_all {names} {cut} {joined} of ",
        [value],
        lambda x: lax.all_to_all(x, names, cut, joined, tiled=True),
        collective(
            drawing.mesh,
            names,
            lambda xs, i: np.concatenate([np.split(x, size, cut)[i] for x in xs], joined),
        ),
    )
    return Kind(tuple(shape), kind.vma.union(names)), step


def sent(drawing: Drawing, value: int, kind: Kind) -> Made:
    """Some send to others; who gets nothing has zeros."""
    names = tuple(sorted(drawing.names(drawing.mesh)))  # JAX numbers devices in the mesh's order
    size = math.prod(drawing.mesh[name] for name in names)
    count = drawing.rng.randint(1, size)
    pairs = list(zip(*(drawing.rng.sample(range(size), count) for _ in range(2))))
    source = {to: sender for sender, to in pairs}
    step = Step(
        f"ppermute {names} {pairs} of ",
        [value],
        lambda x: lax.ppermute(x, names, pairs),
        collective(
            drawing.mesh,
            names,
            lambda xs, i: xs[source[i]] if i in source else np.zeros_like(xs[0]),
        ),
    )
    return Kind(kind.shape, kind.vma.union(names)), step


def mean_in_loop(drawing: Drawing, value: int, kind: Kind) -> Made:
    """A loop whose iterations meet at a collective."""
    if not kind.vma:
        return None
    names = drawing.names(kind.vma)
    mean = collective(drawing.mesh, names, lambda xs, i: sum(xs) / len(xs))

    def of_part(x: Any) -> Any:
        return lax.fori_loop(0, 3, lambda i, c: jnp.sin(c) + lax.pmean(c, names), x)

    def of_all(xs: np.ndarray) -> np.ndarray:
        for _ in range(3):
            xs = np.sin(xs) + mean(xs)
        return xs

    return kind, Step(f"loop with pmean {names} of ", [value], of_part, of_all)


def mean_in_vmap(drawing: Drawing, value: int, kind: Kind) -> Made:
    if not kind.shape or not kind.vma:
        return None
    names, axis = drawing.names(kind.vma), drawing.rng.randrange(len(kind.shape))
    mean = collective(drawing.mesh, names, lambda xs, i: sum(xs) / len(xs))

    def of_part(x: Any) -> Any:
        return jax.vmap(lambda r: r * lax.pmean(r, names), in_axes=axis, out_axes=axis)(x)

    step = Step(f"vmap of pmean {names} of ", [value], of_part, lambda xs: xs * mean(xs))
    return kind, step


def slope(drawing: Drawing, value: int, kind: Kind) -> Made:
    """A gradient within: of the sum of sines, times a mean over devices that is a constant of it."""
    if not kind.vma:
        return None
    names = drawing.names(kind.vma)
    mean = collective(drawing.mesh, names, lambda xs, i: sum(xs) / len(xs))

    def of_part(x: Any) -> Any:
        factor = lax.pmean(x, names)
        return jax.grad(lambda y: jnp.sum(jnp.sin(y) * factor))(x)

    step = Step(f"slope with {names} of ", [value], of_part, lambda xs: np.cos(xs) * mean(xs))
    return kind, step


STEPS = (
    *(unary, binary, binary, dot, total, turned, scanned, branched, place, to_varying),
    *(reduced, reduced, gathered, scattered, exchanged, sent, mean_in_loop, mean_in_vmap, slope),
)
