"""Random programs for shard_map: values and derivatives are compared with those of devices in NumPy.

`draw(seed)` gives a program; `disagreement(program)` runs it, eagerly and compiled, with and without
check_vma, and reports what is wrong, if anything is. Its derivative along a direction is compared with that
of the NumPy program, taken from differences in float64, forwards and backwards."""

from __future__ import annotations

import numpy as np

import tinyjax as jax
from random_shard_maps.program import Drawing, Program, mapped, reference
from random_shard_maps.steps import STEPS

TOLERANCE = 2e-4  # of the greatest number of a result
DERIVATIVE_TOLERANCE = 2e-3
STEP = 1e-6


def draw(seed: int) -> Program:
    drawing = Drawing(seed)
    for _ in range(drawing.rng.randint(1, 3)):
        drawing.argument()
    for _ in range(drawing.rng.randint(2, 9)):
        drawing.step(STEPS)
    values = range(len(drawing.program.specs), len(drawing.program.kinds))
    for value in sorted({values[-1], drawing.rng.choice(values)}):
        drawing.result(value)
    return drawing.program


def disagreement(program: Program) -> str | None:
    """What differs, or fails, as text; None if nothing does."""
    rng = np.random.default_rng(program.seed)
    args = [rng.uniform(-1, 1, shape) for shape in program.shapes]
    singles = [x.astype(np.float32) for x in args]
    try:
        want = reference(program, args)
        for check_vma in (True, False):
            fun = mapped(program, check_vma)
            for how, run in (("eager", fun), ("compiled", jax.jit(fun))):
                got = [np.asarray(x) for x in run(*singles)]
                if found := difference(got, want, TOLERANCE):
                    return f"{how}, check_vma={check_vma}: {found}"
            if found := wrong_derivative(program, fun, args, rng):
                return f"check_vma={check_vma}: {found}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


def difference(got: list, want: list, tolerance: float) -> str | None:
    for i, (x, y) in enumerate(zip(got, want, strict=True)):
        if x.shape != y.shape:
            return f"result {i} has shape {x.shape}, not {y.shape}"
        scale = max(1.0, np.abs(y).max(initial=0))
        off = np.abs(x - y).max(initial=0) / scale
        if not off <= tolerance:
            return f"result {i} is off by {off:.2g} of {scale:.3g}"
    return None


def wrong_derivative(program: Program, fun, args: list, rng) -> str | None:
    """The derivative along a random direction: forwards, and backwards from a random cotangent."""
    direction = [rng.uniform(-1, 1, x.shape) for x in args]
    ahead, behind = (
        reference(program, [x + sign * STEP * d for x, d in zip(args, direction)])
        for sign in (1, -1)
    )
    want = [(a - b) / (2 * STEP) for a, b in zip(ahead, behind)]
    singles, tangents = (tuple(x.astype(np.float32) for x in xs) for xs in (args, direction))
    primals, got = jax.jvp(fun, singles, tangents)
    if found := difference([np.asarray(x) for x in got], want, DERIVATIVE_TOLERANCE):
        return f"jvp: {found}"
    cts = [rng.uniform(-1, 1, x.shape).astype(np.float32) for x in want]
    _, pullback = jax.vjp(fun, *singles)
    back = pullback(tuple(jax.numpy.asarray(ct) for ct in cts))
    forwards = sum(np.vdot(ct, x) for ct, x in zip(cts, want))
    backwards = sum(np.vdot(np.asarray(x), d) for x, d in zip(back, direction))
    size = 1 + sum(np.abs(np.asarray(x)).sum() for x in back)
    if not abs(forwards - backwards) <= DERIVATIVE_TOLERANCE * size:
        return f"vjp: {backwards:.6g} along the direction, not {forwards:.6g}"
    return None
