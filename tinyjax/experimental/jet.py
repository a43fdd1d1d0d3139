"""Taylor mode: `jet` pushes a truncated Taylor series through a function, all orders at once.

After this file you can say how the n-th derivative is found without n nested first derivatives, and
write a rule for a whole series: most follow from one equation, the chain rule v' = slope * u', read
coefficient by coefficient. Builds on jet_trace.

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
from tinyjax.experimental.jet_trace import JetTrace, JetTracer, Series, jet_rules, taylor
from tinyjax.lax.transfer import device_put_p
from tinyjax.transform.jvp import add_any_p
from tinyjax.transform.remat.named_policies import name_p

# ---- linear operations, and those that do not move ----


def _linear(primitive: Primitive, *series: Series, **params: Any) -> Any:
    outs = [primitive.bind(*terms, **params) for terms in zip(*series)]
    return [list(v) for v in zip(*outs)] if primitive.multiple_results else outs


def _linear_in(primitive: Primitive, linear: Sequence[int], *series: Series, **params: Any) -> Any:
    """For a primitive that is linear in some operands together; the others are indices."""

    def terms(k: int) -> list[Any]:
        return [u[k] if i in linear else u[0] for i, u in enumerate(series)]

    return [primitive.bind(*terms(k), **params) for k in range(len(series[0]))]


def _constant(primitive: Primitive, *series: Series, **params: Any) -> Series:
    return [primitive.bind(*[u[0] for u in series], **params)]


def _convert(u: Series, *, new_dtype: Any, **params: Any) -> Series:
    """Integers do not move, whatever they are made of."""
    rule = _linear if dtypes.is_inexact(new_dtype) else _constant
    return rule(lax.convert_element_type_p, u, new_dtype=new_dtype, **params)


def _select_n(which: Series, *cases: Series) -> Series:
    return [lax.select_n(which[0], *terms) for terms in zip(*cases)]


# fmt: off
for _p in (
    lax.add_p, lax.sub_p, lax.neg_p, add_any_p, lax.real_p, lax.imag_p, lax.complex_p, lax.conj_p,
    lax.broadcast_in_dim_p, lax.reshape_p, lax.squeeze_p, lax.transpose_p,
    lax.rev_p, lax.slice_p, lax.pad_p, lax.concatenate_p, lax.split_p, lax.stack_p, lax.unstack_p,
    lax.tile_p, lax.copy_p, device_put_p, name_p, lax.reduce_sum_p, lax.cumsum_p,
    lax.reduce_window_sum_p,
):
    jet_rules[_p] = functools.partial(_linear, _p)
for _p in (
    lax.eq_p, lax.ne_p, lax.lt_p, lax.le_p, lax.gt_p, lax.ge_p, lax.not_p, lax.and_p, lax.or_p,
    lax.xor_p, lax.floor_p, lax.ceil_p, lax.round_p, lax.sign_p, lax.is_finite_p, lax.stop_gradient_p,
    lax.argmax_p, lax.argmin_p, lax.shift_left_p, lax.shift_right_logical_p, lax.shift_right_arithmetic_p,
):
    jet_rules[_p] = functools.partial(_constant, _p)
# fmt: on
for _p, _operands in (
    (lax.gather_p, (0,)),
    (lax.dynamic_slice_p, (0,)),
    (lax.dynamic_update_slice_p, (0, 1)),
    (lax.scatter_add_p, (0, 2)),
):
    jet_rules[_p] = functools.partial(_linear_in, _p, _operands)
jet_rules[lax.convert_element_type_p] = _convert
jet_rules[lax.select_n_p] = _select_n


# ---- products and quotients ----


def product(u: Series, w: Series, times: Callable = lax.mul) -> Series:
    """The coefficients of u * w, for any bilinear operation."""
    return [sum_of([times(u[j], w[k - j]) for j in range(k + 1)]) for k in range(len(u))]


def quotient(u: Series, w: Series) -> Series:
    """v with v * w = u, from the lowest coefficient up."""
    v: Series = []
    for k in range(len(u)):
        v.append((u[k] - sum_of([v[j] * w[k - j] for j in range(k)])) / w[0])
    return v


def sum_of(terms: list[Any]) -> Any:
    return functools.reduce(lambda x, y: x + y, terms, 0) if terms else 0


def _bilinear(primitive: Primitive, u: Series, w: Series, **params: Any) -> Series:
    return product(u, w, functools.partial(primitive.bind, **params))


def power(u: Series, n: int) -> Series:
    if n < 0:
        return quotient(power(u, 0), power(u, -n))
    if n == 0:
        return [lax.full_like(u[0], 1)] + [lax.full_like(u[0], 0)] * (len(u) - 1)
    half = power(u, n // 2)
    squared = product(half, half) if n > 1 else half
    return product(squared, u) if n % 2 else squared


jet_rules[lax.mul_p] = functools.partial(_bilinear, lax.mul_p)
jet_rules[lax.dot_general_p] = functools.partial(_bilinear, lax.dot_general_p)
jet_rules[lax.div_p] = quotient
jet_rules[lax.square_p] = lambda u: product(u, u)
jet_rules[lax.integer_pow_p] = lambda u, y: power(u, y)


# ---- functions by their slopes ----


def chain(k: int, slope: Series, u: Series) -> Any:
    """The k-th coefficient of v where v' = slope * u': k v_k = sum of j u_j slope_(k - j)."""
    return sum_of([j * slope[k - j] * u[j] for j in range(1, k + 1)]) / k


def _by_slope(primitive: Primitive, slope: Callable, u: Series, **params: Any) -> Series:
    """For a function whose derivative is slope(x)."""
    slopes = taylor(slope, u)
    return [primitive.bind(u[0], **params), *(chain(k, slopes, u) for k in range(1, len(u)))]


def _by_slope_of_result(primitive: Primitive, slope: Callable, u: Series, **params: Any) -> Series:
    """For y whose derivative is slope(y): each coefficient gives the slopes for the next."""
    v = [primitive.bind(u[0], **params)]
    for k in range(1, len(u)):
        v.append(chain(k, taylor(slope, v), u))
    return v


def _circular(primitives: tuple[Primitive, Primitive], sign: int, which: int) -> Callable:
    """Sine and cosine (sign -1), or the hyperbolic ones: each is the other's slope."""

    def rule(u: Series, **params: Any) -> Series:
        s, c = ([p.bind(u[0], **params)] for p in primitives)
        for k in range(1, len(u)):
            s_k, c_k = chain(k, c, u), sign * chain(k, s, u)
            s.append(s_k)
            c.append(c_k)
        return (s, c)[which]

    return rule


for _p, _slope in {
    lax.log_p: lambda x: 1 / x,
    lax.log1p_p: lambda x: 1 / (1 + x),
    lax.asin_p: lambda x: lax.rsqrt(1 - x * x),
    lax.acos_p: lambda x: -lax.rsqrt(1 - x * x),
    lax.atan_p: lambda x: 1 / (1 + x * x),
    lax.asinh_p: lambda x: lax.rsqrt(x * x + 1),
    lax.acosh_p: lambda x: lax.rsqrt(x * x - 1),
    lax.atanh_p: lambda x: 1 / (1 - x * x),
    lax.erf_p: lambda x: 2 / math.sqrt(math.pi) * lax.exp(-x * x),
    lax.erfc_p: lambda x: -2 / math.sqrt(math.pi) * lax.exp(-x * x),
}.items():
    jet_rules[_p] = functools.partial(_by_slope, _p, _slope)
for _p, _slope in {
    lax.exp_p: lambda y: y,
    lax.exp2_p: lambda y: math.log(2) * y,
    lax.expm1_p: lambda y: y + 1,
    lax.logistic_p: lambda y: y * (1 - y),
    lax.tanh_p: lambda y: 1 - y * y,
    lax.tan_p: lambda y: 1 + y * y,
    lax.sqrt_p: lambda y: 0.5 / y,
    lax.rsqrt_p: lambda y: -0.5 * y * y * y,
    lax.cbrt_p: lambda y: 1 / (3 * y * y),
    lax.erf_inv_p: lambda y: math.sqrt(math.pi) / 2 * lax.exp(y * y),
}.items():
    jet_rules[_p] = functools.partial(_by_slope_of_result, _p, _slope)
jet_rules[lax.sin_p] = _circular((lax.sin_p, lax.cos_p), -1, 0)
jet_rules[lax.cos_p] = _circular((lax.sin_p, lax.cos_p), -1, 1)
jet_rules[lax.sinh_p] = _circular((lax.sinh_p, lax.cosh_p), 1, 0)
jet_rules[lax.cosh_p] = _circular((lax.sinh_p, lax.cosh_p), 1, 1)


def _pow(x: Series, y: Series) -> Series:
    """exp(log(x) * y), as in JAX: for negative x all terms but the value are NaN."""
    exponent = taylor(lambda x, y: lax.log(x) * y, x, y)
    v = [lax.pow(x[0], y[0])]
    for k in range(1, len(x)):
        v.append(chain(k, v, exponent))
    return v


def _atan2(y: Series, x: Series) -> Series:
    by_y, by_x = (taylor(lambda a, y, x: a / (x * x + y * y), a, y, x) for a in (x, y))
    terms = (chain(k, by_y, y) - chain(k, by_x, x) for k in range(1, len(x)))
    return [lax.atan2(y[0], x[0]), *terms]


def _rem(x: Series, y: Series) -> Series:
    whole = (x[0] - lax.rem(x[0], y[0])) / y[0]
    return [lax.rem(x[0], y[0]), *(a - whole * b for a, b in zip(x[1:], y[1:]))]


jet_rules[lax.pow_p] = _pow
jet_rules[lax.atan2_p] = _atan2
jet_rules[lax.rem_p] = _rem


# ---- choices ----


def _abs(u: Series) -> Series:
    sign = lax.select(u[0] < 0, lax.full_like(u[0], -1), lax.full_like(u[0], 1))
    return [lax.abs(u[0]), *(sign * term for term in u[1:])]


def _larger(primitive: Primitive, is_first: Callable, x: Series, y: Series) -> Series:
    """Of the operand that was chosen; where they are equal, the mean of both."""
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
    Raises ValueError if primals or terms are no arrays, or the terms differ in number or shape.
    Source: https://docs.jax.dev/en/latest/jax.experimental.jet.html
    """
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
