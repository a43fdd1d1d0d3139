"""Inputs drawn at random, the small ones first, for judges that compare with a second implementation.

for rng, size in draws(40):
    x = drawn_array(rng, drawn_shape(rng, size))
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

# What goes wrong first: zeros of both signs, what is no number, and what float32 or int32 can't hold.
SPECIAL = (0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e-40, 3e38, 2.0**31, -3e9, 16777217.0)


def draws(count: int, seed: int = 0) -> Iterator[tuple[np.random.Generator, int]]:
    """Generators of random numbers, equal ones in each run, with a size that grows from 0 to 4."""
    for k in range(count):
        yield np.random.default_rng([seed, k]), 5 * k // count


def one_of(rng: np.random.Generator, things: Sequence[Any]) -> Any:
    """One of the things, itself."""
    return things[int(rng.integers(len(things)))]


def drawn_number(rng: np.random.Generator) -> float:
    """A Python float: one in three is special, one a half of a small int, the others are small or large."""
    kind = rng.integers(3)
    if kind == 0:
        return one_of(rng, SPECIAL)
    if kind == 1:
        return float(rng.integers(-9, 10)) / 2
    return float(rng.normal() * 10.0 ** rng.integers(-3, 6))


def drawn_shape(
    rng: np.random.Generator, size: int, most: int = 6, least: int = 0
) -> tuple[int, ...]:
    """A shape of `least` to `most` axes, of few axes for a small size; axes of 1 and of 0 are among them."""
    ndim = int(rng.integers(least, min(most, least + 2 * size) + 1))
    return tuple(
        int(one_of(rng, (1, 2, 3, 2, 1, 0) if size > 1 else (2, 3, 1))) for _ in range(ndim)
    )


def drawn_array(
    rng: np.random.Generator, shape: Sequence[int], special: bool = False
) -> np.ndarray:
    """An array of float32 of moderate numbers, or with `special` ones among them."""
    x = rng.normal(size=shape).astype(np.float32)
    if special and x.size:
        with np.errstate(all="ignore"):
            x.flat[int(rng.integers(x.size))] = np.float32(one_of(rng, SPECIAL))
    return x


def is_exactly(got: Any, expected: Any) -> bool:
    """Whether two NumPy values have one shape, dtype and elements: nan is nan, and 0.0 is not -0.0."""
    x, y = np.asarray(got), np.asarray(expected)
    if x.shape != y.shape or x.dtype != y.dtype:
        return False
    if x.dtype.kind not in "fc":
        return bool((x == y).all())
    same = np.array_equal(x, y, equal_nan=True)
    signs = x.dtype.kind == "c" or (np.signbit(x) == np.signbit(y))[~np.isnan(y)].all()
    return bool(same and signs)


def is_about(got: Any, expected: Any, rtol: float = 1e-4) -> bool:
    """Whether two NumPy values have one shape, and elements that are equal up to rounding."""
    x, y = np.asarray(got), np.asarray(expected)
    with np.errstate(all="ignore"):
        return x.shape == y.shape and np.allclose(x, y, rtol=rtol, atol=rtol, equal_nan=True)
