"""lax.reduce_window: a reduction over windows that slide over an array, and what pooling needs.

After this file you can say how average and max pooling are computed, and where their gradients go:
that of a sum spreads over each window (again a sum over windows, of the padded cotangent), that of a
maximum goes to the element that was chosen. Builds on general_reduction and slicing.

In all files: *dilated* means with holes between the elements, `dilation - 1` of them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from tinyjax import core
from tinyjax.array import ShapedArray
from tinyjax.control_flow.bodies import eager_body
from tinyjax.core import Primitive, abstract_eval_rules, get_aval, impl_rules, no_rule_reasons
from tinyjax.interpreters.batching import batch_rules, bdim_at_front
from tinyjax.interpreters.jvp import Zero, instantiate_zeros, jvp_jaxpr, jvp_rules, zero_tangent
from tinyjax.interpreters.vjp import deflinear2, is_undefined_primal, transpose_rules
from tinyjax.jaxpr import ClosedJaxpr, Jaxpr
from tinyjax.lax import shape as shapes
from tinyjax.lax import slicing
from tinyjax.lax.arithmetic import max as max_
from tinyjax.lax.arithmetic import min as min_
from tinyjax.lax.comparison import ge_p, le_p
from tinyjax.lax.elementwise import in_float32
from tinyjax.lax.general_reduction import check_init_dtypes, combining_jaxpr, vectorized
from tinyjax.lax.reductions import max_identity, min_identity
from tinyjax.primitives import add
from tinyjax.tree_util import tree_flatten, tree_unflatten

# ---- where the windows are ----


def padtype_to_pads(
    in_shape: Sequence[int],
    window_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: str,
) -> list[tuple[int, int]]:
    """The (low, high) padding of each axis that 'VALID', 'SAME' or 'SAME_LOWER' stands for.

    'VALID' has none; with the others there are ceil(size / stride) windows, and an odd element of
    padding goes to the end, or to the start. Raises RuntimeError for another word.
    Source: https://docs.jax.dev/en/latest/_autosummary/jax.lax.padtype_to_pads.html
    """
    word = padding.upper()
    if word not in ("VALID", "SAME", "SAME_LOWER"):
        raise RuntimeError(f"padding must be 'VALID', 'SAME' or 'SAME_LOWER', got {padding!r}")
    if word == "VALID":
        return [(0, 0)] * len(in_shape)
    pads = []
    for size, window, stride in zip(in_shape, window_shape, window_strides):
        total = max((-(-size // stride) - 1) * stride + window - size, 0)
        low = total // 2 if word == "SAME" else total - total // 2
        pads.append((low, total - low))
    return pads


def dilated(size: int, dilation: int) -> int:
    """The extent of `size` elements with holes between them."""
    return 0 if size == 0 else (size - 1) * dilation + 1


def reduce_window_shape_tuple(
    operand_shape: Sequence[int],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> tuple[int, ...]:
    """How many windows there are along each axis."""
    ones = (1,) * len(operand_shape)
    sizes = []
    for size, window, stride, (low, high), base, spread in zip(
        operand_shape,
        window_dimensions,
        window_strides,
        padding,
        base_dilation or ones,
        window_dilation or ones,
    ):
        room = dilated(size, base) + low + high - dilated(window, spread)
        sizes.append(max(room // stride + 1, 0) if window else 0)
    return tuple(sizes)


def _window_elements(
    x: np.ndarray,
    fill: Any,
    *,
    window_dimensions: Sequence[int],
    window_strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> Iterator[np.ndarray]:
    """For each place in a window: the element there of all windows, `fill` where there is none."""
    ones = (1,) * x.ndim
    base_dilation, window_dilation = base_dilation or ones, window_dilation or ones
    config = [(low, high, base - 1) for (low, high), base in zip(padding, base_dilation)]
    padded = impl_rules[slicing.pad_p](x, np.asarray(fill, x.dtype), padding_config=config)
    counts = reduce_window_shape_tuple(
        x.shape, window_dimensions, window_strides, padding, base_dilation, window_dilation
    )
    for place in np.ndindex(*window_dimensions):
        starts = [i * spread for i, spread in zip(place, window_dilation)]
        yield padded[
            tuple(
                slice(start, start + (count - 1) * stride + 1 if count else start, stride)
                for start, count, stride in zip(starts, counts, window_strides)
            )
        ]


def _check_windows(
    name: str,
    ndim: int,
    *,
    window_dimensions: Sequence[int],
    window_strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    base_dilation: Sequence[int] = (),
    window_dilation: Sequence[int] = (),
) -> None:
    given = {
        "window_dimensions": window_dimensions,
        "window_strides": window_strides,
        "padding": padding,
        "base_dilation": base_dilation or (1,) * ndim,
        "window_dilation": window_dilation or (1,) * ndim,
    }
    for what, value in given.items():
        if len(value) != ndim:
            raise TypeError(
                f"{name}: {what} {tuple(value)} has {len(value)} entries, the operand has {ndim} axes. "
                "Give one for each"
            )
        least = 0 if what == "window_dimensions" else 1
        if what != "padding" and any(int(size) < least for size in value):  # type: ignore[call-overload]
            raise TypeError(
                f"{name}: {what} {tuple(value)} must be at least {least} along each axis"
            )


def _with_batch_axis(params: dict[str, Any]) -> dict[str, Any]:
    """The windows' parameters with a first axis that they do not extend along."""
    new = {name: (1, *value) for name, value in params.items() if name != "padding"}
    return new | {"padding": ((0, 0), *params["padding"])}


_WINDOW_PARAMS = (
    "window_dimensions", "window_strides", "padding", "base_dilation", "window_dilation"
)  # fmt: skip


def _batched_windows(params: dict[str, Any]) -> dict[str, Any]:
    return params | _with_batch_axis({n: params[n] for n in _WINDOW_PARAMS if n in params})


# ---- sums, maxima and minima over windows ----

reduce_window_sum_p = Primitive("reduce_window_sum")
reduce_window_max_p = Primitive("reduce_window_max")
reduce_window_min_p = Primitive("reduce_window_min")


def _def_window_reduction(primitive: Primitive, combine: np.ufunc, identity: Callable) -> None:
    def aval(x: ShapedArray, **windows: Any) -> ShapedArray:
        _check_windows(primitive.name, x.ndim, **windows)
        return ShapedArray(reduce_window_shape_tuple(x.shape, **windows), x.dtype)

    def impl(x: np.ndarray, **windows: Any) -> np.ndarray:
        elements = _window_elements(x, identity(x.dtype), **windows)
        start = np.full(reduce_window_shape_tuple(x.shape, **windows), identity(x.dtype), x.dtype)
        return functools.reduce(combine, elements, start)

    def batch(vals: Any, dims: Any, **windows: Any) -> Any:
        (x,), (dim,) = vals, dims
        x = bdim_at_front(x, dim, shapes.batch_size(vals, dims))
        return primitive.bind(x, **_with_batch_axis(windows)), 0

    abstract_eval_rules[primitive] = aval
    impl_rules[primitive] = in_float32(impl)
    batch_rules[primitive] = batch


_def_window_reduction(reduce_window_sum_p, np.add, lambda dtype: dtype.type(0))
_def_window_reduction(reduce_window_max_p, np.maximum, max_identity)
_def_window_reduction(reduce_window_min_p, np.minimum, min_identity)


def _reduce_window_sum_transpose(
    ct: Any,
    x: Any,
    *,
    window_dimensions: tuple[int, ...],
    window_strides: tuple[int, ...],
    padding: tuple[tuple[int, int], ...],
    base_dilation: tuple[int, ...],
    window_dilation: tuple[int, ...],
) -> list[Any]:
    """An element is in the windows that reach back from it: they too make a window, of cotangents."""
    config: list[tuple[Any, Any, int]] = []
    for axis, size in enumerate(x.aval.shape):
        reach = dilated(window_dimensions[axis], window_dilation[axis])
        low = reach - 1 - padding[axis][0]
        extent = dilated(ct.aval.shape[axis], window_strides[axis])
        high = dilated(size, base_dilation[axis]) + reach - 1 - extent - low
        # np.int64, as JAX prints them
        config.append((np.int64(low), np.int64(high), window_strides[axis] - 1))
    padded = slicing.pad(ct, np.zeros((), ct.aval.dtype), config)
    ones = (1,) * x.aval.ndim
    return [
        reduce_window_sum_p.bind(
            padded,
            window_dimensions=window_dimensions,
            window_strides=base_dilation,
            padding=((0, 0),) * x.aval.ndim,
            base_dilation=ones,
            window_dilation=window_dilation,
        )
    ]


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

# ---- what the chosen elements carry ----

# source, operand -> of each window of `operand`, the element of `source` at the place chosen
select_and_gather_add_p = Primitive("select_and_gather_add")
# source, operand -> each element of `source` at the place that its window of `operand` chooses
select_and_scatter_add_p = Primitive("select_and_scatter_add")


def _neutral(select_prim: Primitive, dtype: np.dtype) -> np.ndarray:
    return (max_identity if select_prim is ge_p else min_identity)(dtype)


def _gather_impl(
    source: np.ndarray, operand: np.ndarray, *, select_prim: Primitive, **windows: Any
) -> np.ndarray:
    fill = _neutral(select_prim, operand.dtype)
    places = zip(_window_elements(operand, fill, **windows), _window_elements(source, 0, **windows))
    shape = reduce_window_shape_tuple(operand.shape, **windows)
    best, carried = np.full(shape, fill), np.zeros(shape, source.dtype)
    for element, along in places:
        keep = impl_rules[select_prim](best, element)
        best, carried = np.where(keep, best, element), np.where(keep, carried, along)
    return carried


def _gather_aval(
    source: ShapedArray, operand: ShapedArray, *, select_prim: Primitive, **windows: Any
) -> ShapedArray:
    _check_windows("select_and_gather_add", operand.ndim, **windows)
    return ShapedArray(reduce_window_shape_tuple(operand.shape, **windows), source.dtype)


def _gather_jvp(primals: Any, tangents: Any, **params: Any) -> Any:
    source, operand = primals
    out = select_and_gather_add_p.bind(source, operand, **params)
    if type(tangents[0]) is Zero:
        return out, zero_tangent(out)
    return out, select_and_gather_add_p.bind(tangents[0], operand, **params)


def _gather_transpose(
    ct: Any,
    source: Any,
    operand: Any,
    *,
    select_prim: Primitive,
    base_dilation: tuple[int, ...],
    window_dilation: tuple[int, ...],
    **windows: Any,
) -> list[Any]:
    if not is_undefined_primal(source) or is_undefined_primal(operand):
        raise NotImplementedError("select_and_gather_add is linear in its first operand alone")
    if any(spread != 1 for spread in window_dilation):
        raise NotImplementedError(
            "reverse-mode differentiation of a maximum over windows with window_dilation: it is not "
            "defined in JAX either. Use strided slices and jnp.maximum"
        )
    has_holes = any(base != 1 for base in base_dilation)
    if has_holes:
        config = [(0, 0, base - 1) for base in base_dilation]
        operand = slicing.pad(operand, _neutral(select_prim, operand.aval.dtype), config)
    spread_ct = select_and_scatter_add_p.bind(ct, operand, select_prim=select_prim, **windows)
    if has_holes:
        shape = spread_ct.aval.shape
        spread_ct = slicing.slice(spread_ct, (0,) * len(shape), shape, base_dilation)
    return [spread_ct, None]


def _scatter_impl(
    source: np.ndarray, operand: np.ndarray, *, select_prim: Primitive, **windows: Any
) -> np.ndarray:
    numbers = np.arange(operand.size).reshape(operand.shape)  # each element's, -1 for padding
    fill = _neutral(select_prim, operand.dtype)
    best, chosen = np.full(source.shape, fill), np.full(source.shape, -1)
    places = zip(
        _window_elements(operand, fill, **windows), _window_elements(numbers, -1, **windows)
    )
    for element, number in places:
        keep = (number < 0) | ((chosen >= 0) & impl_rules[select_prim](best, element))
        best, chosen = np.where(keep, best, element), np.where(keep, chosen, number)
    out = np.zeros(operand.size, source.dtype)
    np.add.at(out, chosen[chosen >= 0], source[chosen >= 0])
    return out.reshape(operand.shape)


def _scatter_aval(
    source: ShapedArray, operand: ShapedArray, *, select_prim: Primitive, **windows: Any
) -> ShapedArray:
    _check_windows("select_and_scatter_add", operand.ndim, **windows)
    expected = reduce_window_shape_tuple(operand.shape, **windows)
    if source.shape != expected:
        raise TypeError(
            f"select_and_scatter_add: the source has shape {source.shape}, the operand has {expected} "
            "windows"
        )
    return ShapedArray(operand.shape, source.dtype)


def _scatter_jvp(primals: Any, tangents: Any, **params: Any) -> Any:
    source, operand = primals
    out = select_and_scatter_add_p.bind(source, operand, **params)
    if type(tangents[0]) is Zero:
        return out, zero_tangent(out)
    return out, select_and_scatter_add_p.bind(tangents[0], operand, **params)


def _scatter_transpose(
    ct: Any, source: Any, operand: Any, *, padding: tuple[tuple[int, int], ...], **params: Any
) -> list[Any]:
    if not is_undefined_primal(source) or is_undefined_primal(operand):
        raise NotImplementedError("select_and_scatter_add is linear in its first operand alone")
    ones = (1,) * operand.aval.ndim
    gathered = select_and_gather_add_p.bind(
        ct, operand, padding=padding, base_dilation=ones, window_dilation=ones, **params
    )
    return [gathered, None]


def _select_batch(primitive: Primitive, vals: Any, dims: Any, **params: Any) -> Any:
    size = shapes.batch_size(vals, dims)
    vals = [bdim_at_front(x, d, size) for x, d in zip(vals, dims)]
    return primitive.bind(*vals, **_batched_windows(params)), 0


impl_rules[select_and_gather_add_p] = _gather_impl
abstract_eval_rules[select_and_gather_add_p] = _gather_aval
jvp_rules[select_and_gather_add_p] = _gather_jvp
transpose_rules[select_and_gather_add_p] = _gather_transpose
impl_rules[select_and_scatter_add_p] = _scatter_impl
abstract_eval_rules[select_and_scatter_add_p] = _scatter_aval
jvp_rules[select_and_scatter_add_p] = _scatter_jvp
transpose_rules[select_and_scatter_add_p] = _scatter_transpose
for _primitive in (select_and_gather_add_p, select_and_scatter_add_p):
    batch_rules[_primitive] = functools.partial(_select_batch, _primitive)

# ---- any other function over windows ----

# Parameters: jaxpr and consts of the function, and those of the windows. Operands: the arrays, then as
# many initial scalars.
reduce_window_p = Primitive("reduce_window", multiple_results=True, takes_arrays=True)


def _reduce_window_aval(
    *avals: ShapedArray, jaxpr: Jaxpr, consts: tuple[Any, ...], **windows: Any
) -> list[ShapedArray]:
    operands, inits = avals[: len(avals) // 2], avals[len(avals) // 2 :]
    _check_windows("reduce_window", operands[0].ndim, **windows)
    check_init_dtypes("reduce_window", operands, inits)
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
    args = tuple(map(core.as_array, args))
    avals = _reduce_window_aval(*(x.aval for x in args), jaxpr=jaxpr, consts=consts, **windows)
    operands, inits = args[: len(args) // 2], args[len(args) // 2 :]
    shape = avals[0].shape
    combine = eager_body(vectorized(ClosedJaxpr(jaxpr, consts), shape))
    so_far = [core.as_array(np.full(shape, init._value)) for init in inits]
    elements = zip(
        *(_window_elements(x._value, init._value, **windows) for x, init in zip(operands, inits))
    )
    for element in elements:
        so_far = combine(*so_far, *map(core.as_array, element))
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
    # From (a, b, their tangents) to (a, a's tangents, b, b's tangents): pairs are what is combined.
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
    return reduce_window_p.bind(*operands, *vals[count:], **_batched_windows(params)), [0] * count


abstract_eval_rules[reduce_window_p] = _reduce_window_aval
impl_rules[reduce_window_p] = _reduce_window_impl
jvp_rules[reduce_window_p] = _reduce_window_jvp
batch_rules[reduce_window_p] = _reduce_window_batch
no_rule_reasons[reduce_window_p, "transpose"] = (
    "it is not linear in general. lax.add, lax.max and lax.min, with their neutral initial values, can be "
    "differentiated in reverse"
)

# ---- the front door ----

_MONOIDS: dict[Callable, tuple[Primitive, Callable[[np.dtype], Any]]] = {
    add: (reduce_window_sum_p, lambda dtype: 0),
    max_: (reduce_window_max_p, max_identity),
    min_: (reduce_window_min_p, min_identity),
}


def reduce_window(
    operand: Any,
    init_value: Any,
    computation: Callable,
    window_dimensions: Sequence[int],
    window_strides: Sequence[int] | None = None,
    padding: str | Sequence[tuple[int, int]] = "VALID",
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> Any:
    """Combines the elements of each window of `operand` by `computation`, from `init_value` on.

    `operand` is a pytree of arrays of one shape, `init_value` one of scalars with the same tree and
    dtypes; computation(a, b) takes and gives two such trees of scalars. Windows of
    `window_dimensions` begin every `window_strides` elements (default 1) of the array, padded by
    (low, high) an axis or as 'VALID', 'SAME' and 'SAME_LOWER' say (see padtype_to_pads).
    Raises ValueError where trees differ, TypeError for parameters that do not fit the operand.
    Source: https://docs.jax.dev/en/latest/_autosummary/jax.lax.reduce_window.html
    """
    (leaves, tree), (inits, init_tree) = tree_flatten(operand), tree_flatten(init_value)
    if tree != init_tree:
        raise ValueError(
            f"Operands must have the same tree structure as init_values: {tree} vs. {init_tree}"
        )
    if not leaves:
        raise ValueError("reduce_window must have at least one operand.")
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
        is_known = not isinstance(inits[0], core.Tracer)
        if is_known and np.equal(inits[0], neutral(avals[0].dtype)):
            return tree_unflatten(tree, [primitive.bind(leaves[0], **windows)])
    scalars = [get_aval(x).update(shape=(), weak_type=False) for x in inits]
    closed = combining_jaxpr("reduce_window", computation, scalars, tree)
    outs = reduce_window_p.bind(
        *leaves, *inits, jaxpr=closed.jaxpr, consts=tuple(closed.consts), **windows
    )
    return tree_unflatten(tree, outs)
