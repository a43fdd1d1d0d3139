"""Random cases for judges, small ones first; and random bodies of loops and branches.

@drawn(20, most=6)
def test_bodies_that_are_drawn(rng, most):
    body = draw_body(rng, takes=most, gives=2)
    with shown(body=body):
        ...

A judge compares what an answer gives with a second way to the same: a loop in Python, NumPy, one example at
a time.
"""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import tinyjax.numpy as jnp


def drawn(count: int, most: int = 6) -> Callable[[Callable[..., None]], Callable[[], None]]:
    """Makes a test of a function of (rng, most), which is called `count` times: with a generator of random
    numbers, always the same ones, and with how large its case may be, from 1 to `most`."""

    def test_of(check: Callable[..., None]) -> Callable[[], None]:
        def test() -> None:
            for n in range(count):
                check(np.random.default_rng([n, len(check.__name__)]), 1 + n * most // count)

        test.__name__, test.__doc__ = check.__name__, check.__doc__
        return test

    return test_of


@contextlib.contextmanager
def shown(**case: Any) -> Iterator[None]:
    """Whatever fails within names the case. What exercises say that are not written yet stays."""
    try:
        yield
    except NotImplementedError:
        raise
    except Exception as error:
        kind = "" if isinstance(error, AssertionError) else f"{type(error).__name__}: "
        given = "\n".join(f"    {name} = {value}" for name, value in case.items())
        raise AssertionError(f"{kind}{error}\nfor\n{given}") from error


def same(got: Any, want: Any, what: str, rtol: float = 1e-5) -> None:
    """Expects an array of this shape, of this dtype and with these elements."""
    got, want = np.asarray(got), np.asarray(want)
    kinds = [f"{x.dtype}{list(x.shape)}" for x in (got, want)]
    assert kinds[0] == kinds[1], f"{what} should be a {kinds[1]}, and is a {kinds[0]}"
    rtol = 0 if want.dtype.kind in "biu" else rtol
    with np.errstate(all="ignore"):
        is_right = np.allclose(got, want, rtol, rtol, equal_nan=True)
        assert is_right, f"{what} should be\n{want}\nand is\n{got}"


def floats(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.uniform(-1, 1, shape).astype(np.float32)


def shape_of_rank(rng: np.random.Generator, rank: int, most: int = 3) -> tuple[int, ...]:
    return tuple(map(int, rng.integers(1, most + 1, rank)))


# ---- bodies ----

OPERATIONS = {
    "sin": lambda a, b: jnp.sin(a),
    "mean": lambda a, b: (a + b) / 2,
    "product": lambda a, b: a * jnp.cos(b),
    "half": lambda a, b: jnp.full_like(a, 0.5),  # of nothing
}
NAMES = [*OPERATIONS, "mean", "product"]
OPERANDS = {"sin": 1, "half": 0}  # the others have two


@dataclass(frozen=True)
class Body:
    """A function of arrays of one shape: each line adds a value (operation, number of a value, of another);
    the results are some of the values."""

    takes: int
    lines: tuple[tuple[str, int, int], ...]
    gives: tuple[int, ...]

    def __call__(self, *values: Any) -> list[Any]:
        found = list(values)
        for name, i, j in self.lines:
            found.append(OPERATIONS[name](found[i], found[j]))
        return [found[i] for i in self.gives]

    def reached(self, flags: Sequence[bool]) -> list[bool]:
        """Which results are made of operands that are flagged."""
        found = list(flags)
        for name, *operands in self.lines:
            found.append(any(found[i] for i in operands[: OPERANDS.get(name, 2)]))
        return [found[i] for i in self.gives]


def draw_body(rng: np.random.Generator, takes: int, gives: int, lines: int = 6) -> Body:
    made = tuple(
        (NAMES[rng.integers(len(NAMES))], *map(int, rng.integers(takes + n, size=2)))
        for n in range(rng.integers(1, lines + 1))
    )
    return Body(takes, made, tuple(map(int, rng.integers(takes + len(made), size=gives))))


def reached_in_loop(
    body: Body, consts: Sequence[bool], carry: Sequence[bool], xs: Sequence[bool]
) -> list[bool]:
    """Which results of a loop of this body (its carry, then its ys) are ever made of what is flagged."""
    flags = list(carry)
    for _ in range(len(flags) + 1):
        after = body.reached([*consts, *flags, *xs])
        flags = [a or b for a, b in zip(flags, after)]
    return [*flags, *body.reached([*consts, *flags, *xs])[len(flags) :]]


def looped(
    body: Body,
    consts: Sequence[Any],
    carry: Sequence[Any],
    xs: Sequence[Any],
    length: int,
    reverse: bool,
) -> list[Any]:
    """The loop, written out in Python: the last carry, and the ys of each step."""
    carry, ys = list(carry), [[] for _ in body.gives[len(carry) :]]
    for i in reversed(range(length)) if reverse else range(length):
        outs = body(*consts, *carry, *[x[i] for x in xs])
        carry = outs[: len(carry)]
        for kept, y in zip(ys, outs[len(carry) :]):
            kept.append(y)
    return [*carry, *[jnp.stack(y[::-1] if reverse else y) for y in ys]]
