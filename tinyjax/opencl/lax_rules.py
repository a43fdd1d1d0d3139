"""The lowering rules of all other primitives: rules.py's table, filled in.

After this file you can look up what any primitive of lax becomes: an operation, an index map, a
reduction, or a host step with its reason. Builds on rules and on the families of lax.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tinyjax import dtypes
from tinyjax.interpreters.jvp import add_any_p
from tinyjax.jaxpr import JaxprEqn
from tinyjax.lax import (
    arithmetic,
    bitwise,
    comparison,
    complex_numbers,
    conversion,
    cumulative,
    dot,
    exponential,
    reductions,
    rounding,
    selection,
    shape,
    special,
    trigonometric,
)
from tinyjax.opencl.codegen import HALVES, Target
from tinyjax.opencl.kernel_ir import Atom, Index, index
from tinyjax.opencl.rules import (
    Elementwise,
    HostStep,
    IndexMap,
    Lowering,
    Reduction,
    elementwise,
    greatest,
    least,
    lowering_rules,
    one_of,
    zero_of,
)
from tinyjax.opencl.rules import (
    comparison as compare,
)
from tinyjax.opencl.scalar_ops import CHEAP, DIVISION, FUNCTION

BOOL = np.dtype("bool")

# ---- one operation each ----

for _family in (arithmetic, bitwise, exponential, trigonometric, special):
    for _name in """sub div rem max min sign abs sqrt rsqrt cbrt not and or xor shift_left
        shift_right_arithmetic shift_right_logical population_count clz exp exp2 log expm1 log1p tanh
        logistic sinh cosh asinh acosh atanh tan asin acos atan atan2 erf erfc""".split():
        if hasattr(_family, f"{_name}_p"):
            lowering_rules[getattr(_family, f"{_name}_p")] = elementwise(_name)
for _name in ("eq", "ne", "lt", "le", "ge"):
    lowering_rules[getattr(comparison, f"{_name}_p")] = compare(_name)

lowering_rules[add_any_p] = elementwise("add")
lowering_rules[rounding.floor_p] = elementwise("floor")
lowering_rules[rounding.ceil_p] = elementwise("ceil")
lowering_rules[rounding.nextafter_p] = lambda eqn, target: (
    HostStep("kernels compute 16-bit floats in 32 bits, whose neighbours are others")
    if eqn.outvars[0].aval.dtype in HALVES
    else elementwise("nextafter")
)
lowering_rules[rounding.is_finite_p] = compare("is_finite")
lowering_rules[conversion.copy_p] = Elementwise(lambda ctx, x: x, cost=0)
lowering_rules[conversion.stop_gradient_p] = Elementwise(lambda ctx, x: x, cost=0)

# ---- a few operations each ----


def _round(ctx: Any, x: Atom, *, rounding_method: Any) -> Atom:
    to_even = rounding_method is rounding.RoundingMethod.TO_NEAREST_EVEN
    return ctx.op("round_to_even" if to_even else "round_away", x)


def _convert(ctx: Any, x: Atom, *, new_dtype: np.dtype, **_: Any) -> Atom:
    return x if x.dtype == new_dtype else ctx.op("convert", x, dtype=new_dtype)


def _pow(ctx: Any, x: Atom, y: Atom) -> Atom:
    return ctx.op("pow", x, _convert(ctx, y, new_dtype=x.dtype))


def _integer_pow(ctx: Any, x: Atom, *, y: int) -> Atom:
    """By repeated squaring, in the order of the impl rule."""
    one = ctx.constant(1, x.dtype)
    if y == 0:
        return one
    exponent, power, out = abs(y), x, None
    while exponent:
        if exponent & 1:
            out = power if out is None else ctx.op("mul", out, power)
        exponent >>= 1
        if exponent:
            power = ctx.op("mul", power, power)
    return ctx.op("div", one, out) if y < 0 else out


def _select_n(ctx: Any, which: Atom, *cases: Atom) -> Atom:
    """An index out of range takes the nearest case."""
    chosen = cases[0]
    for number, case in enumerate(cases[1:], start=1):
        condition = which
        if which.dtype != BOOL:
            condition = ctx.op("ge", which, ctx.constant(number, which.dtype), dtype=BOOL)
        chosen = ctx.op("select", condition, case, chosen, dtype=case.dtype)
    return chosen


def _clamp(ctx: Any, low: Atom, x: Atom, high: Atom) -> Atom:
    return ctx.op("min", ctx.op("max", low, x), high)


def _bitcast(eqn: JaxprEqn, target: Target) -> Lowering:
    old, new = eqn.invars[0].aval.dtype, eqn.params["new_dtype"]
    if old == new:
        return Elementwise(lambda ctx, x, new_dtype: x, cost=0)
    if old.itemsize != new.itemsize:
        return HostStep("the parts of an element become elements")
    if old in HALVES or new in HALVES or BOOL in (old, new):
        return HostStep("kernels hold no bits of 16-bit floats and bools")
    return Elementwise(lambda ctx, x, new_dtype: ctx.op("bitcast", x, dtype=new_dtype))


lowering_rules[rounding.round_p] = Elementwise(_round)
lowering_rules[conversion.convert_element_type_p] = Elementwise(_convert)
lowering_rules[arithmetic.pow_p] = Elementwise(_pow, FUNCTION)
lowering_rules[arithmetic.integer_pow_p] = Elementwise(_integer_pow, DIVISION)
lowering_rules[arithmetic.square_p] = Elementwise(lambda ctx, x: ctx.op("mul", x, x), CHEAP)
lowering_rules[selection.select_n_p] = Elementwise(_select_n)
lowering_rules[selection.clamp_p] = Elementwise(_clamp)
lowering_rules[conversion.bitcast_convert_type_p] = _bitcast

# ---- index maps: an element of the result is an element of an operand ----


def _iota(ctx: Any, *, dtype: np.dtype, dimension: int, **_: Any) -> Atom:
    return ctx.op("convert", ctx.position.coords[dimension], dtype=dtype)


def _squeeze(ctx: Any, x: Any, **_: Any) -> Atom:
    return x.at_position(ctx.position.reshaped(x.aval.shape))


def _rev(ctx: Any, x: Any, *, dimensions: Sequence[int]) -> Atom:
    return x.at(
        index(size - 1) - coord if axis in dimensions else coord
        for axis, (coord, size) in enumerate(zip(ctx.position.coords, x.aval.shape))
    )


def _tile(ctx: Any, x: Any, **_: Any) -> Atom:
    return x.at(coord % size for coord, size in zip(ctx.position.coords, x.aval.shape))


def _slice(ctx: Any, x: Any, *, start_indices: Any, strides: Any, **_: Any) -> Atom:
    strides = strides or (1,) * len(start_indices)
    triples = zip(ctx.position.coords, start_indices, strides)
    return x.at(coord * int(stride) + int(start) for coord, start, stride in triples)


def _all(ctx: Any, conditions: Sequence[Atom]) -> Atom:
    return functools.reduce(lambda a, b: ctx.op("and", a, b), conditions)


def _clip(at: Index, size: int) -> Index:
    return at.max(0).min(size - 1)


def _pad(ctx: Any, x: Any, value: Any, *, padding_config: Any) -> Atom:
    """The operand's element where there is one. It is read at the nearest place elsewhere, so that
    no read leaves the operand."""
    if not x.aval.size:
        return value.at(())
    coords, conditions = [], []
    for coord, size, config in zip(ctx.position.coords, x.aval.shape, padding_config):
        low, _, interior = map(int, config)
        at, last = coord - low, (size - 1) * (interior + 1)
        if at.lo < 0:
            conditions.append(ctx.op("ge", at, index(0), dtype=BOOL))
        if at.hi > last:
            conditions.append(ctx.op("le", at, index(last), dtype=BOOL))
        at = _clip(at, last + 1)
        if interior:
            conditions.append(ctx.op("eq", at % (interior + 1), index(0), dtype=BOOL))
        coords.append(at // (interior + 1))
    if not conditions:
        return x.at(coords)
    inside = _all(ctx, conditions)
    return ctx.op("select", inside, x.at(coords), value.at(()), dtype=x.aval.dtype)


def _concatenate(ctx: Any, *operands: Any, dimension: int) -> Atom:
    """Reads each operand at the nearest place it has, and selects."""
    coords, start, chosen = list(ctx.position.coords), 0, None
    along = coords[dimension]
    for operand in operands:
        size = operand.aval.shape[dimension]
        if not operand.aval.size:
            continue
        coords[dimension] = _clip(along - start, size)
        element = operand.at(coords)
        if chosen is None:
            chosen = element
        else:
            is_here = ctx.op("ge", along, index(start), dtype=BOOL)
            chosen = ctx.op("select", is_here, element, chosen, dtype=element.dtype)
        start += size
    return chosen


def _stack(ctx: Any, *operands: Any, axis: int) -> Atom:
    coords = list(ctx.position.coords)
    along = coords.pop(axis)
    chosen = operands[0].at(coords)
    for number, operand in enumerate(operands[1:], start=1):
        is_here = ctx.op("ge", along, index(number), dtype=BOOL)
        chosen = ctx.op("select", is_here, operand.at(coords), chosen, dtype=chosen.dtype)
    return chosen


def _split(ctx: Any, x: Any, *, sizes: Sequence[int], axis: int) -> Atom:
    coords = list(ctx.position.coords)
    coords[axis] = coords[axis] + sum(sizes[: ctx.out_number])
    return x.at(coords)


def _unstack(ctx: Any, x: Any, *, axis: int) -> Atom:
    coords = list(ctx.position.coords)
    coords.insert(axis, index(ctx.out_number))
    return x.at(coords)


for _primitive, _rule in {
    conversion.iota_p: _iota,
    shape.squeeze_p: _squeeze,
    shape.rev_p: _rev,
    shape.tile_p: _tile,
    shape.slice_p: _slice,
    shape.pad_p: _pad,
    shape.concatenate_p: _concatenate,
    shape.stack_p: _stack,
    shape.split_p: _split,
    shape.unstack_p: _unstack,
}.items():
    lowering_rules[_primitive] = IndexMap(_rule)

# ---- reductions ----


def _all_ones(dtype: np.dtype) -> Any:
    return ~dtype.type(0)


lowering_rules[reductions.reduce_prod_p] = Reduction("mul", one_of)
lowering_rules[reductions.reduce_max_p] = Reduction("max", least)
lowering_rules[reductions.reduce_min_p] = Reduction("min", greatest)
lowering_rules[reductions.reduce_and_p] = Reduction("and", _all_ones)
lowering_rules[reductions.reduce_or_p] = Reduction("or", zero_of)
lowering_rules[reductions.reduce_xor_p] = Reduction("xor", zero_of)

# ---- products ----

SMALL_PRODUCT = (
    2**14
)  # multiplications; below, a kernel takes less time than waiting for the device


def _dot_general(eqn: JaxprEqn, target: Target) -> Lowering:
    """Floating point products are NumPy's on a CPU, unless they are small: its BLAS is hard to beat."""
    out = eqn.outvars[0].aval
    is_large = out.size * math.prod(_contracted_sizes(eqn)) > SMALL_PRODUCT
    if target.name == "cpu" and is_large and dtypes.kind(out.dtype) == "f":
        return HostStep("large products go to NumPy's BLAS")
    return Reduction("add", zero_of, _contracted_sizes, _product_term)


def _contracted_sizes(eqn: JaxprEqn) -> tuple[int, ...]:
    (contracted, _), _ = eqn.params["dimension_numbers"]
    return tuple(eqn.invars[0].aval.shape[axis] for axis in contracted)


def _product_term(
    ctx: Any, reduced: Any, lhs: Any, rhs: Any, *, dimension_numbers: Any, **_: Any
) -> Atom:
    """The result's axes are: batch axes, what is left of lhs, what is left of rhs."""
    contracted, batch = dimension_numbers
    batch_coords = ctx.position.coords[: len(batch[0])]
    kept = iter(ctx.position.coords[len(batch[0]) :])
    dtype = ctx.avals_out[0].dtype
    dtype = np.dtype("float32") if dtype in HALVES else dtype
    factors = []
    for operand, contracted_axes, batch_axes in zip((lhs, rhs), contracted, batch):
        given = dict(zip(contracted_axes, reduced.coords)) | dict(zip(batch_axes, batch_coords))
        axes = range(operand.aval.ndim)
        element = operand.at([given[axis] if axis in given else next(kept) for axis in axes])
        factors.append(_convert(ctx, element, new_dtype=dtype))
    return ctx.op("mul", *factors)


lowering_rules[dot.dot_general_p] = _dot_general

# ---- host steps ----

for _reason, _primitives in {
    "two results at once, the element and its place": [reductions.argmax_p, reductions.argmin_p],
    "each element needs those before it": [
        cumulative.cumsum_p,
        cumulative.cumprod_p,
        cumulative.cummax_p,
        cumulative.cummin_p,
        cumulative.cumlogsumexp_p,
    ],
    "OpenCL has no such function of full accuracy": [
        special.erf_inv_p,
        special.lgamma_p,
        special.digamma_p,
        special.polygamma_p,
    ],
    "works on the bits of floats": [
        conversion.reduce_precision_p,
        comparison.eq_to_p,
        comparison.le_to_p,
        comparison.lt_to_p,
    ],
    "kernels do not compute with complex numbers": [
        complex_numbers.real_p,
        complex_numbers.imag_p,
        complex_numbers.complex_p,
    ],
}.items():
    for _primitive in _primitives:
        lowering_rules[_primitive] = HostStep(_reason)
lowering_rules[complex_numbers.conj_p] = HostStep("kernels do not compute with complex numbers")
