"""Derivatives checked against finite differences: `check_grads`.

A derivative is compared along one random direction: forward mode with (f(x + e t) - f(x - e t)) / 2e, and
reverse mode by the number that both modes must agree on, the product of a cotangent with the tangent that f
returns. Must be imported explicitly, as in JAX.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from tinyjax.core.avals import get_aval
from tinyjax.core.tree_util.pytrees import tree_leaves, tree_map
from tinyjax.transform.jvp import jvp
from tinyjax.transform.vjp import vjp

EPS = 1e-4

Tolerance = float | dict[Any, float] | None  # for all dtypes, or by dtype
_TOLERANCES = {
    "bfloat16": 1e-1,
    "float16": 1e-2,
    "float32": 2e-3,
    "float64": 1e-5,
    "complex64": 1e-3,
    "complex128": 1e-5,
}

# ---- the checks ----


def check_grads(
    f: Callable, args: Sequence[Any], order: int, modes: Sequence[str] = ("fwd", "rev"),
    atol: Tolerance = None, rtol: Tolerance = None, eps: float | None = None,
) -> None:  # fmt: skip
    """Checks the forward-mode and reverse-mode derivatives of `f(*args)`, up to an order.

    `args` and results are pytrees of floating or complex arrays. A tolerance is a number, or a dict by
    dtype; by default 2e-3 for float32. Raises AssertionError where a derivative differs."""
    args, eps = tuple(args), eps or EPS

    def check(f: Callable, args: tuple, order: int, name: str) -> None:
        if "fwd" in modes:
            message = f"JVP of {name}" if name else "JVP"
            check_jvp(f, partial(jvp, f), args, atol, rtol, eps, message)
            if order > 1:
                check(partial(jvp, f), (args, args), order - 1, message)
        if "rev" in modes:
            message = f"VJP of {name}" if name else "VJP"
            check_vjp(f, partial(vjp, f), args, atol, rtol, eps, message)
            if order > 1:
                check(partial(_pulled_back_value, f), args, order - 1, message)

    check(f, args, order, "")


def _pulled_back_value(f: Callable, *args: Any) -> Any:
    """A function that includes the reverse-mode derivative: the vjp of f with f's value as the cotangent."""
    out, f_vjp = vjp(f, *args)
    return f_vjp(out)


def check_jvp(
    f: Callable, f_jvp: Callable, args: Sequence[Any], atol: Tolerance = None, rtol: Tolerance = None,
    eps: float = EPS, err_msg: str = ""
) -> None:  # fmt: skip
    """Checks `f_jvp(primals, tangents)`, which should be functools.partial(jax.jvp, f).

    Raises AssertionError where value, dtype or tangent differ."""
    args = tuple(args)
    tangents = _random_like(args, np.random.RandomState(0))
    out, tangent_out = f_jvp(args, tangents)
    expected = f(*args)
    tree_map(_assert_same_dtype, out, tangent_out)
    tree_map(_assert_same_dtype, out, expected)
    _assert_close(out, expected, atol, rtol, f"{err_msg} primal")
    difference = _difference(f, args, tangents, eps)
    _assert_close(tangent_out, difference, atol, rtol, f"{err_msg} tangent")


def check_vjp(
    f: Callable, f_vjp: Callable, args: Sequence[Any], atol: Tolerance = None, rtol: Tolerance = None,
    eps: float = EPS, err_msg: str = ""
) -> None:  # fmt: skip
    """Checks `f_vjp(*args)`, which should be functools.partial(jax.vjp, f).

    Raises AssertionError where value or cotangents differ."""
    args, random = tuple(args), np.random.RandomState(0)
    out, pull_back = f_vjp(*args)
    _assert_close(out, f(*args), atol, rtol, f"{err_msg} primal")
    tangents, cotangents = _random_like(args, random), _random_like(out, random)
    # This product conjugates; JAX's pairing of cotangents with tangents does not.
    pulled = _conjugate(pull_back(_conjugate(cotangents)))
    expected = _product(_difference(f, args, tangents, eps), cotangents)
    _assert_close(
        _product(tangents, pulled), expected, atol, rtol, f"{err_msg} cotangent projection"
    )


# ---- trees of numbers, in NumPy ----


def _random_like(tree: Any, random: np.random.RandomState) -> Any:
    def leaf(x: Any) -> np.ndarray:
        aval = get_aval(x)
        numbers = random.randn(*aval.shape)
        if aval.dtype.kind == "c":
            numbers = numbers + 1j * random.randn(*aval.shape)
        return np.asarray(numbers, aval.dtype)

    return tree_map(leaf, tree)


def _difference(f: Callable, args: tuple, tangents: Any, eps: float) -> Any:
    """The derivative along `tangents`, from two values of `f`."""

    def moved(by: float) -> Any:
        return tree_map(lambda x, t: np.asarray(np.asarray(x) + by * t, t.dtype), args, tangents)

    def slope(above: Any, below: Any) -> np.ndarray:
        above, below = np.asarray(above), np.asarray(below)
        with np.errstate(invalid="ignore"):  # inf - inf, where the value does not change
            change = np.where(above == below, 0, above - below)
        return np.asarray(change * (0.5 / eps), above.dtype)

    return tree_map(slope, f(*moved(eps)), f(*moved(-eps)))


def _conjugate(tree: Any) -> Any:
    return tree_map(lambda x: np.conj(np.asarray(x)), tree)


def _product(xs: Any, ys: Any) -> np.ndarray:
    pairs = zip(tree_leaves(xs), tree_leaves(ys), strict=True)
    return sum(np.real(np.vdot(np.asarray(x), np.asarray(y))) for x, y in pairs)


def _assert_same_dtype(x: Any, y: Any) -> None:
    assert get_aval(x).dtype == get_aval(y).dtype, f"dtypes differ: {x!r} and {y!r}"


def _assert_close(xs: Any, ys: Any, atol: Tolerance, rtol: Tolerance, message: str) -> None:
    def leaf(x: Any, y: Any) -> None:
        x, y = np.asarray(x), np.asarray(y)
        assert x.shape == y.shape, f"{message.strip()}: shapes {x.shape} and {y.shape} differ"
        tolerances = {
            name: max(_tolerance(x.dtype, given), _tolerance(y.dtype, given)) * x.size
            for name, given in (("atol", atol), ("rtol", rtol))
        }
        if x.dtype.name == "bfloat16":
            x, y = x.astype(np.float32), y.astype(np.float32)
        np.testing.assert_allclose(x, y, **tolerances, err_msg=message.strip())

    tree_map(leaf, xs, ys)


def _tolerance(dtype: np.dtype, given: Tolerance) -> float:
    if isinstance(given, (int, float)):
        return given
    by_dtype = {np.dtype(key).name: value for key, value in (given or {}).items()}
    return by_dtype.get(dtype.name, _TOLERANCES.get(dtype.name, 0))
