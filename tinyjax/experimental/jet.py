"""Taylor mode: `jet` pushes a truncated Taylor series through a function, all orders at once.

The n-th derivative is found without n nested first derivatives. Most rules for a whole series follow from
what primitives declare and from their JVP rules (jet_trace.py); here are the others.

Sources: A. Griewank, A. Walther, "Evaluating Derivatives", 2008, chapter 13;
https://docs.jax.dev/en/latest/jax.experimental.jet.html
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

from tinyjax import lax
from tinyjax import numpy as jnp
from tinyjax.core import dtypes
from tinyjax.core.avals import get_aval
from tinyjax.core.bind import Primitive, as_array, context, set_current_trace
from tinyjax.core.tree_util.pytrees import tree_flatten, tree_unflatten
from tinyjax.experimental.jet_trace import (
    JetTrace,
    JetTracer,
    Series,
    chain,
    constant,
    jet_rules,
    linear,
    sum_of,
    taylor,
)

# ---- conversions, quotients and powers ----


def _convert(u: Series, *, new_dtype: Any, **params: Any) -> Series:
    """Integers do not move, whatever they are made of."""
    rule = linear if dtypes.is_inexact(new_dtype) else constant
    return rule(lax.convert_element_type_p, u, new_dtype=new_dtype, **params)


def _select_n(which: Series, *cases: Series) -> Series:
    return [lax.select_n(which[0], *terms) for terms in zip(*cases)]


jet_rules[lax.convert_element_type_p] = _convert
jet_rules[lax.select_n_p] = _select_n


def quotient(u: Series, w: Series) -> Series:
    """v with v * w = u, from the lowest coefficient up."""
    v: Series = []
    for k in range(len(u)):
        v.append((u[k] - sum_of([v[j] * w[k - j] for j in range(k)])) / w[0])
    return v


def _pow(x: Series, y: Series) -> Series:
    """exp(log(x) * y), as in JAX: for negative x all terms but the value are NaN."""
    exponent = taylor(lambda x, y: lax.log(x) * y, x, y)
    v = [lax.pow(x[0], y[0])]
    for k in range(1, len(x)):
        v.append(chain(k, v, exponent))
    return v


jet_rules[lax.div_p] = quotient
jet_rules[lax.pow_p] = _pow


# ---- choices ----


def _abs(u: Series) -> Series:
    sign = lax.select(u[0] < 0, lax.full_like(u[0], -1), lax.full_like(u[0], 1))
    return [lax.abs(u[0]), *(sign * term for term in u[1:])]


def _larger(primitive: Primitive, is_first: Callable, x: Series, y: Series) -> Series:
    """The series of the operand that was chosen; the mean of both where they are equal."""
    first, same = is_first(x[0], y[0]), x[0] == y[0]
    terms = (jnp.where(same, (a + b) / 2, jnp.where(first, a, b)) for a, b in zip(x[1:], y[1:]))
    return [primitive.bind(x[0], y[0]), *terms]


def _largest(primitive: Primitive, u: Series, *, axes: tuple[int, ...], **params: Any) -> Series:
    """Of the element that was chosen; of several, their mean."""
    chosen = primitive.bind(u[0], axes=axes, **params)
    kept = lax.expand_dims(chosen, axes)
    is_chosen = lax.convert_element_type(u[0] == kept, get_aval(u[0]).dtype)
    count = lax.reduce_sum(is_chosen, axes)
    return [chosen, *(lax.reduce_sum(term * is_chosen, axes) / count for term in u[1:])]


def _scanned(operation: Callable, u: Series, *, axis: int, reverse: bool) -> Series:
    scan = lambda x: lax.associative_scan(operation, x, axis=axis, reverse=reverse)  # noqa: E731
    return taylor(scan, u)


jet_rules[lax.abs_p] = _abs
jet_rules[lax.max_p] = functools.partial(_larger, lax.max_p, lax.gt)
jet_rules[lax.min_p] = functools.partial(_larger, lax.min_p, lax.lt)
jet_rules[lax.reduce_max_p] = functools.partial(_largest, lax.reduce_max_p)
jet_rules[lax.reduce_min_p] = functools.partial(_largest, lax.reduce_min_p)
jet_rules[lax.clamp_p] = lambda low, x, high: taylor(
    lambda low, x, high: lax.min(lax.max(low, x), high), low, x, high
)
jet_rules[lax.cumprod_p] = functools.partial(_scanned, lax.mul)
jet_rules[lax.cummax_p] = functools.partial(_scanned, lax.max)
jet_rules[lax.cummin_p] = functools.partial(_scanned, lax.min)


# ---- the front door ----


def jet(
    fun: Callable,
    primals: Sequence[Any],
    series: Sequence[Sequence[Any]],
    factorial_scaled: bool = True,
) -> tuple[Any, Any]:
    """The value of `fun` at `primals`, and the derivatives along `series`: (out, series_out).

    `primals` are arrays; `series` has for each the derivatives, first to K-th, of how it moves, and
    series_out has those of the result: a list in the place of each leaf. With
    factorial_scaled=False they are Taylor coefficients, without the factorials.
    Raises ValueError if primals or terms are no arrays, or the terms differ in number or shape."""
    order = _check_series(primals, series)
    scales = [math.factorial(k) if factorial_scaled else 1 for k in range(1, order + 1)]
    trace = JetTrace(context.trace, order)
    args = [
        JetTracer(trace, [as_array(x), *(as_array(t) / s for t, s in zip(terms, scales))])
        for x, terms in zip(primals, series)
    ]
    with set_current_trace(trace):
        outs, out_tree = tree_flatten(fun(*args))
    found = [trace.series(x) for x in outs]
    terms_out = [[t * s for t, s in zip(v[1:], scales)] for v in found]
    return tree_unflatten(out_tree, [v[0] for v in found]), tree_unflatten(out_tree, terms_out)


def _check_series(primals: Sequence[Any], series: Sequence[Sequence[Any]]) -> int:
    """How many terms there are. Raises ValueError where they do not fit."""
    orders = {len(terms) for terms in series}
    if len(orders) != 1 or len(primals) != len(series):
        raise ValueError(
            "jet terms have inconsistent lengths for different arguments: each of the "
            f"{len(primals)} primals needs as many, but got {[len(terms) for terms in series]}"
        )
    for i, (x, terms) in enumerate(zip(primals, series)):
        shape = _shape_of(x, f"primal value at position {i}")
        for j, term in enumerate(terms):
            what = f"term {j} for argument {i}"
            if _shape_of(term, what) != shape:
                raise ValueError(f"{what} has shape {_shape_of(term, what)}, its primal {shape}")
    return orders.pop()


def _shape_of(x: Any, what: str) -> tuple[int, ...]:
    try:
        return get_aval(x).shape
    except TypeError:
        raise ValueError(f"{what} is not an array: got {x!r}. jet takes no pytrees") from None
