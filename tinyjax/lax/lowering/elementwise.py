"""The lowering rules of elementwise primitives, of reductions, and of primitives that run on the host.

An elementwise primitive with the name of a scalar operation lowers to that operation.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tinyjax import lax
from tinyjax.compile.kernel.rules import (
    Cumulative,
    Elementwise,
    Lowering,
    OnHost,
    Reduction,
    Sort,
    TopK,
    elementwise,
    greatest,
    least,
    lowering_rules,
    one_of,
    zero_of,
)
from tinyjax.compile.kernel.scalar_ops import CHEAP, DIVISION, FUNCTION, HALVES, scalar_ops
from tinyjax.compile.kernel.writer import BOOL, Number
from tinyjax.core import dtypes
from tinyjax.core.bind import impl_rules
from tinyjax.core.jaxpr import JaxprEqn, Literal
from tinyjax.lax.arithmetic import cbrt_p
from tinyjax.lax.conversion import convert_element_type_p
from tinyjax.lax.exponential import LOG2_E, log2_p
from tinyjax.lax.host_functions import kernel_function_rule
from tinyjax.lax.reductions import reduce_max_p, reduce_min_p
from tinyjax.transform.jvp import add_any_p

if TYPE_CHECKING:
    from tinyjax.compile.target import Target

FLOAT32 = np.dtype("float32")

# ---- one operation each ----

for _primitive in impl_rules:
    if _primitive.facts.axes == "elementwise" and _primitive.name in scalar_ops:
        lowering_rules[_primitive] = elementwise(_primitive.name)

lowering_rules[add_any_p] = elementwise("add")
lowering_rules[lax.nextafter_p] = lambda eqn, target: (
    OnHost("kernels compute 16-bit floats in 32 bits, whose neighbours are others")
    if eqn.outvars[0].aval.dtype in HALVES
    else elementwise("nextafter")
)
for _primitive in (lax.real_p, lax.imag_p, lax.complex_p):
    lowering_rules[_primitive] = Elementwise(None, 0, _primitive.name)
lowering_rules[lax.conj_p] = Elementwise(
    lambda ctx, z, **_: ctx.op("conj", z.astype(ctx.avals_out[0].dtype)), takes_pairs=True
)
lowering_rules[lax.copy_p] = Elementwise(lambda ctx, x: x, cost=0, takes_pairs=True)
lowering_rules[lax.stop_gradient_p] = Elementwise(lambda ctx, x: x, cost=0, takes_pairs=True)

# ---- a few operations each ----


def _reduce_precision(eqn: JaxprEqn, target: Target) -> Elementwise | OnHost:
    """The operand itself if all bits are kept, as in jax.checkpoint's roundings."""
    info, kept = dtypes.finfo(eqn.outvars[0].aval.dtype), eqn.params
    if kept["exponent_bits"] >= info.nexp and kept["mantissa_bits"] >= info.nmant:
        return Elementwise(lambda ctx, x, **_: x, cost=0)
    return OnHost("kernels round to no other formats")


def _round(ctx: Any, x: Number, *, rounding_method: Any) -> Number:
    to_even = rounding_method is lax.RoundingMethod.TO_NEAREST_EVEN
    return ctx.op("round_to_even" if to_even else "round_away", x)


def _polynomial(ctx: Any, x: Number, *coefficients: Number, **_: Any) -> Number:
    return functools.reduce(lambda total, coefficient: total * x + coefficient, coefficients[::-1])


def _pow(ctx: Any, x: Number, y: Number) -> Number:
    return ctx.op("pow", x, y.astype(x.dtype))


# Exponents whose powers are products of x and its square root, or quotients
HALF_POWERS = (-1.5, -0.5, 0.5, 1.5, 2.5)


def _half_power(ctx: Any, x: Number, y: Number) -> Number:
    """x to the power of one of HALF_POWERS. No result is negative, even for -0; the results for -infinity
    are infinity and 0."""
    exponent, root = float(y.value.value), ctx.op("sqrt", x)
    if exponent == -0.5:
        power = 1 / root
    elif exponent == -1.5:
        power = 1 / x / root
    else:
        power = functools.reduce(lambda a, _: x * a, range(int(exponent)), root)
    limit = np.inf if exponent > 0 else 0
    return ctx.op("select", x == -np.inf, limit, ctx.op("abs", power))


def _pow_rule(eqn: JaxprEqn, target: Target) -> Elementwise:
    x, y = eqn.invars
    is_float = x.aval.dtype in (FLOAT32, np.dtype("float64"))
    is_known = is_float and isinstance(y, Literal) and y.val in HALF_POWERS
    return Elementwise(_half_power, 2 * DIVISION) if is_known else Elementwise(_pow, FUNCTION)


def _integer_pow(ctx: Any, x: Number, *, y: int) -> Number:
    """Repeated squaring: the product of the powers x, x**2, x**4, ... that make up the exponent, from
    left to right as in the impl rule; for a negative exponent, 1 divided by it."""
    exponent, power = abs(y), x
    factors: list[Number] = []
    while exponent:
        if exponent & 1:
            factors.append(power)
        exponent >>= 1
        if exponent:
            power = ctx.op("mul", power, power)
    one = ctx.constant(1, x.dtype)
    out = functools.reduce(lambda a, b: ctx.op("mul", a, b), factors) if factors else one
    return ctx.op("div", one, out) if y < 0 else out


def _select_n(ctx: Any, which: Number, *cases: Number) -> Number:
    """An index out of range takes the nearest case."""
    chosen = cases[0]
    for number, case in enumerate(cases[1:], start=1):
        condition = which if which.dtype == BOOL else which >= number
        chosen = ctx.op("select", condition, case, chosen)
    return chosen


def _clamp(ctx: Any, low: Number, x: Number, high: Number) -> Number:
    return ctx.op("min", ctx.op("max", low, x), high)


def _bitcast(eqn: JaxprEqn, target: Target) -> Lowering:
    old, new = eqn.invars[0].aval.dtype, eqn.params["new_dtype"]
    if old == new:
        return Elementwise(lambda ctx, x, new_dtype: x, cost=0)
    if old.itemsize != new.itemsize:
        return OnHost("the parts of an element become elements")
    if old in HALVES or new in HALVES or BOOL in (old, new):
        return OnHost("kernels hold no bits of 16-bit floats and bools")
    return Elementwise(lambda ctx, x, new_dtype: ctx.op("bitcast", x, dtype=new_dtype))


def _in_total_order(op: str) -> Callable[[JaxprEqn, Target], Lowering]:
    """The rule of a comparison by lax.comparison.total_order_key, which is computed from a float's bits."""

    def key(ctx: Any, x: Number, signed: np.dtype) -> Number:
        bits = ctx.op("bitcast", x, dtype=signed)
        return ctx.op("select", bits < 0, bits ^ np.iinfo(signed).max, bits)

    def rule(eqn: JaxprEqn, target: Target) -> Lowering:
        dtype = eqn.invars[0].aval.dtype
        if not dtypes.is_float(dtype):
            return elementwise(op)
        if dtype in HALVES:
            return OnHost("kernels hold no bits of 16-bit floats and bools")
        signed = np.dtype(f"int{8 * dtype.itemsize}")
        return Elementwise(
            lambda ctx, x, y: ctx.op(op, key(ctx, x, signed), key(ctx, y, signed)), 7
        )

    return rule


for _primitive in (lax.asinh_p, lax.acosh_p, lax.atanh_p, cbrt_p, lax.erf_p, lax.erfc_p):
    lowering_rules[_primitive] = kernel_function_rule(_primitive, FUNCTION)
lowering_rules[lax.erf_inv_p] = kernel_function_rule(lax.erf_inv_p, 3 * FUNCTION)
lowering_rules[lax.lgamma_p] = kernel_function_rule(lax.lgamma_p)
lowering_rules[lax.digamma_p] = kernel_function_rule(lax.digamma_p)
lowering_rules[lax.polygamma_p] = kernel_function_rule(lax.polygamma_p, 10 * FUNCTION)
lowering_rules[lax.reduce_precision_p] = _reduce_precision
lowering_rules[lax.round_p] = Elementwise(_round)
lowering_rules[convert_element_type_p] = Elementwise(
    lambda ctx, x, *, new_dtype, **_: x.astype(new_dtype), takes_pairs=True
)
lowering_rules[lax.pow_p] = _pow_rule
lowering_rules[lax.integer_pow_p] = Elementwise(_integer_pow, DIVISION, takes_pairs=True)
lowering_rules[lax.one_minus_square_p] = Elementwise(lambda ctx, x: (1 + x) * (1 - x), 3)
lowering_rules[log2_p] = Elementwise(lambda ctx, x: ctx.op("log", x) * LOG2_E, FUNCTION)
lowering_rules[lax.polynomial_p] = Elementwise(_polynomial)
lowering_rules[lax.square_p] = Elementwise(lambda ctx, x: x * x, CHEAP, takes_pairs=True)
lowering_rules[lax.select_n_p] = Elementwise(_select_n, takes_pairs=True)
lowering_rules[lax.clamp_p] = Elementwise(_clamp)
lowering_rules[lax.bitcast_convert_type_p] = _bitcast
lowering_rules[lax.eq_to_p] = _in_total_order("eq")
lowering_rules[lax.le_to_p] = _in_total_order("le")
lowering_rules[lax.lt_to_p] = _in_total_order("lt")

# ---- reductions ----


def _all_ones(dtype: np.dtype) -> Any:
    return ~dtype.type(0)


lowering_rules[lax.reduce_prod_p] = Reduction("mul", one_of)
lowering_rules[reduce_max_p] = Reduction("max", least)
lowering_rules[reduce_min_p] = Reduction("min", greatest)
lowering_rules[lax.psum_p] = Reduction("add", zero_of)  # over positions: vmap removed the names
lowering_rules[lax.pmax_p] = Reduction("max", least)
lowering_rules[lax.pmin_p] = Reduction("min", greatest)
lowering_rules[lax.reduce_and_p] = Reduction("and", _all_ones)
lowering_rules[lax.reduce_or_p] = Reduction("or", zero_of)
lowering_rules[lax.reduce_xor_p] = Reduction("xor", zero_of)

# ---- one element after the other ----

MAX_K = 64  # elements that are found one by one
MAX_COMPARED = 2**19  # pairs of elements of a sort in a loop: it takes about 0.07 ms


def top_k_lowering(eqn: JaxprEqn, target: Target) -> Lowering:
    k = eqn.params["k"]
    if not 0 < k <= MAX_K or target.name == "gpu":
        return OnHost("all elements of a row are needed to place one")
    if eqn.primitive is lax.top_k_p:
        return TopK(k, eqn.params["axis"])
    axis = eqn.params["reduction_dimension"] % eqn.invars[0].aval.ndim
    return TopK(k, axis, eqn.params["is_max_k"])


def _sort(eqn: JaxprEqn, target: Target) -> Lowering:
    """Sorts in a kernel only inside a loop: NumPy sorts faster, but then the host would run the loop."""
    x, on_host = eqn.invars[0].aval, not target.in_loop or target.name == "gpu"
    is_sorted_here = eqn.params["num_keys"] == 1 and dtypes.kind(x.dtype) in "biuf"
    if on_host or not is_sorted_here or Sort().pairs(eqn) > MAX_COMPARED:
        return OnHost("all elements of a row are needed to place one")
    return Sort()


def _cumulative(op: str, identity: Callable) -> Callable[[JaxprEqn, Target], Lowering]:
    def rule(eqn: JaxprEqn, target: Target) -> Lowering:
        (x,) = eqn.invars
        independent = x.aval.size // max(1, x.aval.shape[eqn.params["axis"]])
        if target.name == "gpu" and independent < MIN_ON_GPU:
            return OnHost("each element needs those before it")
        return Cumulative(op, identity)

    return rule


MIN_ON_GPU = 256  # rows, a work-item each
lowering_rules[lax.top_k_p] = top_k_lowering
lowering_rules[lax.sort_p] = _sort
lowering_rules[lax.cumsum_p] = _cumulative("add", zero_of)
lowering_rules[lax.cumprod_p] = _cumulative("mul", one_of)
lowering_rules[lax.cummax_p] = _cumulative("max", least)
lowering_rules[lax.cummin_p] = _cumulative("min", greatest)

lowering_rules[lax.cumlogsumexp_p] = OnHost("each element needs those before it")
