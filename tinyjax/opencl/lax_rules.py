"""The lowering rules of all other primitives: rules.py's table, filled in.

After this file you can look up what any primitive of lax becomes: an operation, an index map, a
reduction, or a host step with its reason. Builds on rules and on the families of lax.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tinyjax import dtypes, lax
from tinyjax.interpreters.jvp import add_any_p
from tinyjax.jaxpr import JaxprEqn
from tinyjax.lax import special
from tinyjax.opencl.codegen import HALVES, Target
from tinyjax.opencl.kernel_ir import Index, Scalar, index
from tinyjax.opencl.rules import (
    ArgReduction,
    Elementwise,
    HostStep,
    IndexMap,
    Lowering,
    Reduction,
    comparison,
    elementwise,
    greatest,
    least,
    lowering_rules,
    one_of,
    zero_of,
)
from tinyjax.opencl.scalar_ops import CHEAP, DIVISION, FUNCTION

BOOL, FLOAT32 = np.dtype("bool"), np.dtype("float32")

# ---- one operation each ----

for _name in """sub div rem max min sign abs sqrt rsqrt cbrt not and or xor shift_left
    shift_right_arithmetic shift_right_logical population_count clz exp exp2 log expm1 log1p tanh
    logistic sinh cosh asinh acosh atanh tan asin acos atan atan2 erf erfc floor ceil""".split():
    lowering_rules[getattr(lax, f"{_name}_p")] = elementwise(_name)
for _name in ("eq", "ne", "lt", "le", "ge", "is_finite"):
    lowering_rules[getattr(lax, f"{_name}_p")] = comparison(_name)

lowering_rules[add_any_p] = elementwise("add")
lowering_rules[lax.nextafter_p] = lambda eqn, target: (
    HostStep("kernels compute 16-bit floats in 32 bits, whose neighbours are others")
    if eqn.outvars[0].aval.dtype in HALVES
    else elementwise("nextafter")
)
lowering_rules[lax.copy_p] = Elementwise(lambda ctx, x: x, cost=0)
lowering_rules[lax.stop_gradient_p] = Elementwise(lambda ctx, x: x, cost=0)

# ---- a few operations each ----


def _reduce_precision(eqn: JaxprEqn, target: Target) -> Elementwise | HostStep:
    """Nothing to do where all bits are kept, as jax.checkpoint has it."""
    info, kept = dtypes.finfo(eqn.outvars[0].aval.dtype), eqn.params
    if kept["exponent_bits"] >= info.nexp and kept["mantissa_bits"] >= info.nmant:
        return Elementwise(lambda ctx, x, **_: x, cost=0)
    return HostStep("works on the bits of floats")


def _round(ctx: Any, x: Scalar, *, rounding_method: Any) -> Scalar:
    to_even = rounding_method is lax.RoundingMethod.TO_NEAREST_EVEN
    return ctx.op("round_to_even" if to_even else "round_away", x)


def _convert(ctx: Any, x: Scalar, *, new_dtype: np.dtype, **_: Any) -> Scalar:
    return x if x.dtype == new_dtype else ctx.op("convert", x, dtype=new_dtype)


def _pow(ctx: Any, x: Scalar, y: Scalar) -> Scalar:
    return ctx.op("pow", x, _convert(ctx, y, new_dtype=x.dtype))


def _integer_pow(ctx: Any, x: Scalar, *, y: int) -> Scalar:
    """By repeated squaring, in the order of the impl rule."""
    exponent, power = abs(y), x
    factors: list[Scalar] = []
    while exponent:
        if exponent & 1:
            factors.append(power)
        exponent >>= 1
        if exponent:
            power = ctx.op("mul", power, power)
    one = ctx.constant(1, x.dtype)
    out = functools.reduce(lambda a, b: ctx.op("mul", a, b), factors) if factors else one
    return ctx.op("div", one, out) if y < 0 else out


def _select_n(ctx: Any, which: Scalar, *cases: Scalar) -> Scalar:
    """An index out of range takes the nearest case."""
    chosen = cases[0]
    for number, case in enumerate(cases[1:], start=1):
        condition = which
        if which.dtype != BOOL:
            condition = ctx.op("ge", which, ctx.constant(number, which.dtype), dtype=BOOL)
        chosen = ctx.op("select", condition, case, chosen, dtype=case.dtype)
    return chosen


def _clamp(ctx: Any, low: Scalar, x: Scalar, high: Scalar) -> Scalar:
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


def _erf_inv(eqn: JaxprEqn, target: Target) -> Elementwise | HostStep:
    if eqn.outvars[0].aval.dtype == np.float64:
        return HostStep("OpenCL has no such function of full accuracy")
    return Elementwise(_erf_inv_polynomial, 3 * FUNCTION)


def _erf_inv_polynomial(ctx: Any, x: Scalar) -> Scalar:
    """The impl rule's formula, in lax/special.py, line by line; of 16-bit floats in float32."""

    def polynomial(coefficients: Sequence[float], at: Scalar) -> Scalar:
        value: Scalar = constant(coefficients[0])
        for coefficient in coefficients[1:]:
            value = ctx.op("add", ctx.op("mul", value, at), constant(coefficient))
        return value

    def constant(value: float) -> Scalar:
        return ctx.constant(value, FLOAT32)

    y = _convert(ctx, x, new_dtype=FLOAT32)
    w = ctx.op("neg", ctx.op("log1p", ctx.op("mul", ctx.op("neg", y), y)))
    middle = polynomial(special.ERF_INV_MIDDLE, ctx.op("sub", w, constant(2.5)))
    tails = polynomial(special.ERF_INV_TAILS, ctx.op("sub", ctx.op("sqrt", w), constant(3)))
    in_middle = ctx.op("lt", w, constant(5), dtype=BOOL)
    inside = ctx.op("mul", y, ctx.op("select", in_middle, middle, tails, dtype=FLOAT32))
    is_end = ctx.op("eq", ctx.op("abs", y), constant(1), dtype=BOOL)
    at_end = ctx.op("mul", y, constant(np.inf))
    out = ctx.op("select", is_end, at_end, inside, dtype=FLOAT32)
    return _convert(ctx, out, new_dtype=ctx.avals_out[0].dtype)


lowering_rules[lax.erf_inv_p] = _erf_inv
lowering_rules[lax.reduce_precision_p] = _reduce_precision
lowering_rules[lax.round_p] = Elementwise(_round)
lowering_rules[lax.convert_element_type_p] = Elementwise(_convert)
lowering_rules[lax.pow_p] = Elementwise(_pow, FUNCTION)
lowering_rules[lax.integer_pow_p] = Elementwise(_integer_pow, DIVISION)
lowering_rules[lax.square_p] = Elementwise(lambda ctx, x: ctx.op("mul", x, x), CHEAP)
lowering_rules[lax.select_n_p] = Elementwise(_select_n)
lowering_rules[lax.clamp_p] = Elementwise(_clamp)
lowering_rules[lax.bitcast_convert_type_p] = _bitcast

# ---- index maps: an element of the result is an element of an operand ----


def _iota(ctx: Any, *, dtype: np.dtype, dimension: int, **_: Any) -> Scalar:
    return ctx.op("convert", ctx.position.coords[dimension], dtype=dtype)


def _squeeze(ctx: Any, x: Any, **_: Any) -> Scalar:
    return x.at_position(ctx.position.reshaped(x.aval.shape))


def _rev(ctx: Any, x: Any, *, dimensions: Sequence[int]) -> Scalar:
    return x.at(
        index(size - 1) - coord if axis in dimensions else coord
        for axis, (coord, size) in enumerate(zip(ctx.position.coords, x.aval.shape))
    )


def _tile(ctx: Any, x: Any, **_: Any) -> Scalar:
    return x.at(coord % size for coord, size in zip(ctx.position.coords, x.aval.shape))


def _slice(ctx: Any, x: Any, *, start_indices: Any, strides: Any, **_: Any) -> Scalar:
    strides = strides or (1,) * len(start_indices)
    triples = zip(ctx.position.coords, start_indices, strides)
    return x.at(coord * int(stride) + int(start) for coord, start, stride in triples)


def _all(ctx: Any, conditions: Sequence[Scalar]) -> Scalar:
    return functools.reduce(lambda a, b: ctx.op("and", a, b), conditions)


def _clip(at: Index, size: int) -> Index:
    return at.max(0).min(size - 1)


def element_or(
    ctx: Any, x: Any, places: Sequence[Index], dilations: Sequence[int], other: Callable[[], Scalar]
) -> Scalar:
    """The operand's element at `places`, counted with holes of `dilation - 1` between the elements;
    `other()` in a hole or outside. It is read at the nearest place there is, so that no read leaves
    the operand."""
    if not x.aval.size:
        return other()
    coords, conditions = [], []
    for at, size, dilation in zip(places, x.aval.shape, dilations):
        last = (size - 1) * dilation
        if at.lo < 0:
            conditions.append(ctx.op("ge", at, index(0), dtype=BOOL))
        if at.hi > last:
            conditions.append(ctx.op("le", at, index(last), dtype=BOOL))
        at = _clip(at, last + 1)
        if dilation > 1:
            conditions.append(ctx.op("eq", at % dilation, index(0), dtype=BOOL))
        coords.append(at // dilation)
    if not conditions:
        return x.at(coords)
    inside = _all(ctx, conditions)
    return ctx.op("select", inside, x.at(coords), other(), dtype=x.aval.dtype)


def _pad(ctx: Any, x: Any, value: Any, *, padding_config: Any) -> Scalar:
    places = [coord - int(low) for coord, (low, _, _) in zip(ctx.position.coords, padding_config)]
    dilations = [int(interior) + 1 for _, _, interior in padding_config]
    return element_or(ctx, x, places, dilations, lambda: value.at(()))


def _concatenate(ctx: Any, *operands: Any, dimension: int) -> Scalar:
    """Reads each operand at the nearest place it has, and selects."""
    coords, start = list(ctx.position.coords), 0
    along = coords[dimension]
    elements = []
    for operand in operands:
        size = operand.aval.shape[dimension]
        if size:
            coords[dimension] = _clip(along - start, size)
            elements.append((start, operand.at(coords)))
        start += size
    (_, chosen), *others = elements
    for start, element in others:
        is_here = ctx.op("ge", along, index(start), dtype=BOOL)
        chosen = ctx.op("select", is_here, element, chosen, dtype=element.dtype)
    return chosen


def _stack(ctx: Any, *operands: Any, axis: int) -> Scalar:
    coords = list(ctx.position.coords)
    along = coords.pop(axis)
    chosen = operands[0].at(coords)
    for number, operand in enumerate(operands[1:], start=1):
        is_here = ctx.op("ge", along, index(number), dtype=BOOL)
        chosen = ctx.op("select", is_here, operand.at(coords), chosen, dtype=chosen.dtype)
    return chosen


def _split(ctx: Any, x: Any, *, sizes: Sequence[int], axis: int) -> Scalar:
    coords = list(ctx.position.coords)
    coords[axis] = coords[axis] + sum(sizes[: ctx.out_number])
    return x.at(coords)


def _unstack(ctx: Any, x: Any, *, axis: int) -> Scalar:
    coords = list(ctx.position.coords)
    coords.insert(axis, index(ctx.out_number))
    return x.at(coords)


def _dynamic_slice(ctx: Any, x: Any, *starts: Any, slice_sizes: Sequence[int]) -> Scalar:
    """The window is moved to be inside."""
    return x.at(
        ctx.index(start.at(()), size - slice_size + 1) + coord
        for coord, start, size, slice_size in zip(
            ctx.position.coords, starts, x.aval.shape, slice_sizes
        )
    )


def _dynamic_update_slice(ctx: Any, x: Any, update: Any, *starts: Any) -> Scalar:
    """The update's element within its window, the operand's elsewhere."""
    if not update.aval.size:
        return x.at_position(ctx.position)
    coords, conditions = [], []
    sizes = zip(x.aval.shape, update.aval.shape)
    for coord, start, (size, window) in zip(ctx.position.coords, starts, sizes):
        at = coord - ctx.index(start.at(()), size - window + 1)
        if window < size:
            conditions.append(ctx.op("ge", at, index(0), dtype=BOOL))
            conditions.append(ctx.op("lt", at, index(window), dtype=BOOL))
        coords.append(_clip(at, window))
    new = update.at(coords)
    if not conditions:
        return new
    inside = _all(ctx, conditions)
    return ctx.op("select", inside, new, x.at_position(ctx.position), dtype=x.aval.dtype)


def _gather(
    ctx: Any, x: Any, indices: Any, *, dimension_numbers: Any, slice_sizes: Any, mode: Any,
    fill_value: Any, **_: Any,
) -> Scalar:  # fmt: skip
    """An element of the window whose place the index vector tells; the window is moved to be inside.

    The result's axes are the window's (offset_dims) and those of the indices but the last."""
    numbers, coords = dimension_numbers, ctx.position.coords
    batch = [coord for axis, coord in enumerate(coords) if axis not in numbers.offset_dims]
    window = iter([coords[axis] for axis in numbers.offset_dims])
    places, conditions = [], []
    for axis, (size, slice_size) in enumerate(zip(x.aval.shape, slice_sizes)):
        if axis in numbers.operand_batching_dims:
            paired = numbers.operand_batching_dims.index(axis)
            places.append(batch[numbers.start_indices_batching_dims[paired]])
            continue
        place = index(0)
        if axis in numbers.start_index_map:
            start = indices.at([*batch, index(numbers.start_index_map.index(axis))])
            place = ctx.index(start, size - slice_size + 1)
            conditions += _is_inside(ctx, start, size - slice_size)
        if axis not in numbers.collapsed_slice_dims:
            place = place + next(window)
        places.append(place)
    element = x.at(places)
    if mode is not lax.GatherScatterMode.FILL_OR_DROP or not conditions:
        return element
    fill = ctx.constant(fill_value, x.aval.dtype)
    return ctx.op("select", _all(ctx, conditions), element, fill, dtype=x.aval.dtype)


def _is_inside(ctx: Any, start: Scalar, last: int) -> list[Scalar]:
    """0 <= start, and start <= last."""
    last = min(last, np.iinfo(start.dtype).max)
    bounds = [("ge", 0), ("le", last)]
    return [ctx.op(op, start, ctx.constant(n, start.dtype), dtype=BOOL) for op, n in bounds]


lowering_rules[lax.iota_p] = IndexMap(_iota)
lowering_rules[lax.dynamic_slice_p] = IndexMap(_dynamic_slice)
lowering_rules[lax.dynamic_update_slice_p] = IndexMap(_dynamic_update_slice)
lowering_rules[lax.gather_p] = IndexMap(_gather)
lowering_rules[lax.squeeze_p] = IndexMap(_squeeze)
lowering_rules[lax.rev_p] = IndexMap(_rev)
lowering_rules[lax.tile_p] = IndexMap(_tile)
lowering_rules[lax.slice_p] = IndexMap(_slice)
lowering_rules[lax.pad_p] = IndexMap(_pad)
lowering_rules[lax.concatenate_p] = IndexMap(_concatenate)
lowering_rules[lax.stack_p] = IndexMap(_stack)
lowering_rules[lax.split_p] = IndexMap(_split)
lowering_rules[lax.unstack_p] = IndexMap(_unstack)

# ---- reductions ----


def _all_ones(dtype: np.dtype) -> Any:
    return ~dtype.type(0)


lowering_rules[lax.reduce_prod_p] = Reduction("mul", one_of)
lowering_rules[lax.reduce_max_p] = Reduction("max", least)
lowering_rules[lax.reduce_min_p] = Reduction("min", greatest)
lowering_rules[lax.psum_p] = Reduction("add", zero_of)  # over positions: vmap took the names away
lowering_rules[lax.pmax_p] = Reduction("max", least)
lowering_rules[lax.pmin_p] = Reduction("min", greatest)
lowering_rules[lax.reduce_and_p] = Reduction("and", _all_ones)
lowering_rules[lax.reduce_or_p] = Reduction("or", zero_of)
lowering_rules[lax.reduce_xor_p] = Reduction("xor", zero_of)
lowering_rules[lax.argmax_p] = ArgReduction("gt", least)
lowering_rules[lax.argmin_p] = ArgReduction("lt", greatest)

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
) -> Scalar:
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


lowering_rules[lax.dot_general_p] = _dot_general

# ---- host steps ----

_HOST_STEPS = {
    "each element needs those before it": """
        cumsum cumprod cummax cummin cumlogsumexp""",
    "several updates may go to one place": """
        scatter scatter_add scatter_sub scatter_mul scatter_min scatter_max""",
    "all elements of a row are needed to place one": "sort top_k",
    "OpenCL has no such function of full accuracy": "lgamma digamma polygamma",
    "works on the bits of floats": "eq_to le_to lt_to",
    "kernels do not compute with complex numbers": "real imag complex conj",
}
for _reason, _names in _HOST_STEPS.items():
    for _name in _names.split():
        lowering_rules[getattr(lax, f"{_name}_p")] = HostStep(_reason)
