"""lax.reduce_window: a reduction over windows that slide over an array, and the kinds that pooling needs.

The gradient of a sum spreads over each window (a sum over windows of the padded cotangent), that of a maximum
goes to the element that was chosen.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tinyjax.core import bind
from tinyjax.core.array import ShapedArray
from tinyjax.core.avals import get_aval
from tinyjax.core.bind import Primitive, abstract_eval_rules, impl_rules, no_rule_reasons
from tinyjax.core.inlining import eager_jaxpr_fun
from tinyjax.core.jaxpr import ClosedJaxpr, Jaxpr
from tinyjax.core.primitives import add
from tinyjax.core.tree_util import tree_unflatten
from tinyjax.lax import shape as shapes
from tinyjax.lax import slicing
from tinyjax.lax.arithmetic import max as max_
from tinyjax.lax.arithmetic import min as min_
from tinyjax.lax.comparison import ge_p, le_p
from tinyjax.lax.elementwise import in_float32
from tinyjax.lax.general_reduction import (
    check_operands,
    combining_jaxpr,
    operands_and_inits,
    vectorized,
)
from tinyjax.lax.reductions import max_identity, min_identity
from tinyjax.lax.select_and_scatter import select_and_gather_add_p
from tinyjax.lax.sliding_windows import (
    WINDOW_PARAMS,
    batched_windows,
    check_windows,
    dilated,
    padtype_to_pads,
    reduce_window_shape_tuple,
    window_elements,
    with_batch_axis,
)
from tinyjax.transform.batching import batch_rules, bdim_at_front
from tinyjax.transform.jvp import Zero, instantiate_zeros, jvp_rules
from tinyjax.transform.jvp_of_jaxpr import jvp_jaxpr
from tinyjax.transform.transposition import deflinear2

# ---- sums, maxima and minima over windows ----

reduce_window_sum_p = Primitive("reduce_window_sum", axes="first operand", makes_nan=True)
reduce_window_max_p = Primitive("reduce_window_max", axes="first operand", makes_nan=False)
reduce_window_min_p = Primitive("reduce_window_min", axes="first operand", makes_nan=False)


def _def_window_reduction(primitive: Primitive, combine: np.ufunc, identity: Callable) -> None:
    def aval(x: ShapedArray, **windows: Any) -> ShapedArray:
        check_windows(primitive.name, x.ndim, **windows)
        return x.update(shape=reduce_window_shape_tuple(x.shape, **windows))

    def impl(x: np.ndarray, **windows: Any) -> np.ndarray:
        elements = window_elements(x, identity(x.dtype), **windows)
        start = np.full(reduce_window_shape_tuple(x.shape, **windows), identity(x.dtype), x.dtype)
        return functools.reduce(combine, elements, start)

    def batch(vals: Any, dims: Any, **windows: Any) -> Any:
        (x,), (dim,) = vals, dims
        x = bdim_at_front(x, dim, shapes.batch_size(vals, dims))
        return primitive.bind(x, **with_batch_axis(windows)), 0

    abstract_eval_rules[primitive] = aval
    impl_rules[primitive] = in_float32(impl)
    batch_rules[primitive] = batch


_def_window_reduction(reduce_window_sum_p, np.add, lambda dtype: dtype.type(0))
_def_window_reduction(reduce_window_max_p, np.maximum, max_identity)
_def_window_reduction(reduce_window_min_p, np.minimum, min_identity)


def _reduce_window_sum_transpose(ct: Any, x: Any, **windows: Any) -> list[Any]:
    """The windows that contain an element form a window of cotangents: its cotangent is their sum."""
    dimensions, strides, padding, base_dilation, dilation = (windows[n] for n in WINDOW_PARAMS)
    config: list[tuple[Any, Any, int]] = []
    for axis, size in enumerate(x.aval.shape):
        reach = dilated(dimensions[axis], dilation[axis])
        low = reach - 1 - padding[axis][0]
        extent = dilated(ct.aval.shape[axis], strides[axis])
        high = dilated(size, base_dilation[axis]) + reach - 1 - extent - low
        # np.int64, as JAX prints them
        config.append((np.int64(low), np.int64(high), strides[axis] - 1))
    padded = slicing.pad(ct, np.zeros((), ct.aval.dtype), config)
    windows |= {"window_strides": base_dilation, "base_dilation": (1,) * x.aval.ndim}
    return [reduce_window_sum_p.bind(padded, **windows | {"padding": ((0, 0),) * x.aval.ndim})]


deflinear2(reduce_window_sum_p, _reduce_window_sum_transpose)


def _def_choosing_jvp(primitive: Primitive, select_prim: Primitive) -> None:
    def rule(primals: Any, tangents: Any, **windows: Any) -> Any:
        (x,), (x_dot,) = primals, tangents
        out = primitive.bind(x, **windows)
        return out, select_and_gather_add_p.bind(x_dot, x, select_prim=select_prim, **windows)

    jvp_rules[primitive] = rule
    no_rule_reasons[primitive, "transpose"] = "its jvp is select_and_gather_add"


_def_choosing_jvp(reduce_window_max_p, ge_p)
_def_choosing_jvp(reduce_window_min_p, le_p)

# ---- any other function over windows ----

# Parameters: jaxpr and consts of the function, and those of the windows. Operands: the arrays, then as
# many initial scalars.
reduce_window_p = Primitive(
    "reduce_window",
    multiple_results=True,
    impl_binds_primitives=True,
    axes="first operand",
    makes_nan=True,
)


def _reduce_window_aval(
    *avals: ShapedArray, jaxpr: Jaxpr, consts: tuple[Any, ...], **windows: Any
) -> list[ShapedArray]:
    operands, inits = avals[: len(avals) // 2], avals[len(avals) // 2 :]
    check_windows("reduce_window", operands[0].ndim, **windows)
    check_operands("reduce_window", operands, inits)
    for init in inits:
        if init.shape:
            raise TypeError(
                f"reduce_window: initial values must be scalars, got one of shape {init.shape}"
            )
    shape = reduce_window_shape_tuple(operands[0].shape, **windows)
    return [ShapedArray(shape, x.dtype) for x in operands]


def _reduce_window_impl(
    *args: Any, jaxpr: Jaxpr, consts: tuple[Any, ...], **windows: Any
) -> list[Any]:
    args = tuple(map(bind.as_array, args))
    avals = _reduce_window_aval(*(x.aval for x in args), jaxpr=jaxpr, consts=consts, **windows)
    operands, inits = args[: len(args) // 2], args[len(args) // 2 :]
    shape = avals[0].shape
    combine = eager_jaxpr_fun(vectorized(ClosedJaxpr(jaxpr, consts), shape))
    so_far = [bind.as_array(np.full(shape, init._value)) for init in inits]
    elements = zip(
        *(window_elements(x._value, init._value, **windows) for x, init in zip(operands, inits))
    )
    present = window_elements(np.ones(operands[0].shape, bool), False, **windows)
    for element, is_there in zip(elements, present):  # padding and holes are left out
        combined = combine(*so_far, *map(bind.as_array, element))
        so_far = [
            bind.as_array(np.where(is_there, new._value, old._value))
            for new, old in zip(combined, so_far)
        ]
    return so_far


def _reduce_window_jvp(
    primals: Any, tangents: Any, *, jaxpr: Jaxpr, consts: tuple[Any, ...], **windows: Any
) -> Any:
    count = len(primals) // 2
    if any(type(t) is not Zero for t in tangents[count:]):
        raise TypeError("reduce_window can't be differentiated by its initial values")
    tangents = [instantiate_zeros(t) for t in tangents]
    both = (True,) * (2 * count)
    derivative, _ = jvp_jaxpr(ClosedJaxpr(jaxpr, consts), both, (True,) * count)
    inputs = derivative.jaxpr.invars
    # Reorders (a, b, their tangents) to (a, a's tangents, b, b's tangents): pairs are combined.
    a, b, a_dot, b_dot = (inputs[i * count : (i + 1) * count] for i in range(4))
    pairs = derivative.jaxpr.replace(invars=[*a, *a_dot, *b, *b_dot])
    outs = reduce_window_p.bind(
        *primals[:count],
        *tangents[:count],
        *primals[count:],
        *tangents[count:],
        jaxpr=pairs,
        consts=tuple(derivative.consts),
        **windows,
    )
    return outs[:count], outs[count:]


def _reduce_window_batch(vals: Any, dims: Any, **params: Any) -> Any:
    count = len(vals) // 2
    if any(d is not None for d in dims[count:]):
        raise NotImplementedError("reduce_window: vmap over its initial values")
    size = shapes.batch_size(vals, dims)
    operands = [bdim_at_front(x, d, size) for x, d in zip(vals[:count], dims[:count])]
    return reduce_window_p.bind(*operands, *vals[count:], **batched_windows(params)), [0] * count


abstract_eval_rules[reduce_window_p] = _reduce_window_aval
impl_rules[reduce_window_p] = _reduce_window_impl
jvp_rules[reduce_window_p] = _reduce_window_jvp
batch_rules[reduce_window_p] = _reduce_window_batch
no_rule_reasons[reduce_window_p, "transpose"] = (
    "it is not linear in general. lax.add, lax.max and lax.min, with their neutral initial values, can be "
    "differentiated in reverse"
)


_MONOIDS: dict[Callable, tuple[Primitive, Callable[[np.dtype], Any]]] = {
    add: (reduce_window_sum_p, lambda dtype: 0),
    max_: (reduce_window_max_p, max_identity),
    min_: (reduce_window_min_p, min_identity),
}


def reduce_window(
    operand: Any, init_value: Any, computation: Callable, window_dimensions: Sequence[int],
    window_strides: Sequence[int] | None = None, padding: str | Sequence[tuple[int, int]] = "VALID",
    base_dilation: Sequence[int] | None = None, window_dilation: Sequence[int] | None = None,
) -> Any:  # fmt: skip
    """Combines the elements of each window of `operand` by `computation`, from `init_value` on.

    `operand` is a pytree of arrays of one shape, `init_value` one of scalars with the same tree and
    dtypes; computation(a, b) takes and gives two such trees of scalars. Windows of
    `window_dimensions` begin every `window_strides` elements (default 1) of the array, padded by
    (low, high) an axis or as 'VALID', 'SAME' and 'SAME_LOWER' say (see padtype_to_pads).
    Raises ValueError where trees differ, TypeError for parameters that do not fit the operand."""
    leaves, inits, tree = operands_and_inits("reduce_window", operand, init_value)
    avals = [get_aval(x) for x in leaves]
    ones = (1,) * len(window_dimensions)
    strides, spread = window_strides or ones, window_dilation or ones
    if isinstance(padding, str):
        extents = [dilated(size, d) for size, d in zip(window_dimensions, spread)]
        padding = padtype_to_pads(avals[0].shape, extents, strides, padding)
    windows = {
        "window_dimensions": tuple(window_dimensions),
        "window_strides": tuple(strides),
        "padding": tuple((low, high) for low, high in padding),
        "base_dilation": tuple(base_dilation or ones),
        "window_dilation": tuple(spread),
    }
    if computation in _MONOIDS and len(leaves) == 1:
        primitive, neutral = _MONOIDS[computation]
        is_known = not isinstance(inits[0], bind.Tracer)
        if is_known and np.equal(inits[0], neutral(avals[0].dtype)):
            return tree_unflatten(tree, [primitive.bind(leaves[0], **windows)])
    scalars = [get_aval(x).update(shape=(), weak_type=False) for x in inits]
    closed = combining_jaxpr("reduce_window", computation, scalars, tree)
    outs = reduce_window_p.bind(
        *leaves, *inits, jaxpr=closed.jaxpr, consts=tuple(closed.consts), **windows
    )
    return tree_unflatten(tree, outs)
