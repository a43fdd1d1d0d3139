"""lax.reduce: combining elements along axes by any function of two scalars.

The function is traced to a jaxpr of scalars, and halves of the array are combined element by element, log2(n)
times. That program is also what is differentiated. Functions with a primitive of their own (lax.add and
0, lax.max and -inf, ...) use that primitive.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tinyjax.core import bind, primitives
from tinyjax.core.array import ShapedArray
from tinyjax.core.avals import get_aval
from tinyjax.core.bind import Primitive, abstract_eval_rules, impl_rules, no_rule_reasons
from tinyjax.core.inlining import eager_jaxpr_fun
from tinyjax.core.jaxpr import ClosedJaxpr
from tinyjax.core.primitives import reduced_aval, shape_of
from tinyjax.core.tracing import trace_to_jaxpr
from tinyjax.core.tree_util import PyTreeDef, tree_flatten, tree_unflatten
from tinyjax.lax import reductions, slicing
from tinyjax.lax import shape as shapes
from tinyjax.lax.arithmetic import max as max_
from tinyjax.lax.arithmetic import min as min_
from tinyjax.lax.bitwise import bitwise_and, bitwise_or, bitwise_xor
from tinyjax.lax.creation import full
from tinyjax.lax.joining import concatenate
from tinyjax.transform.batching import AxisData, batch_rules, bdim_at_front
from tinyjax.transform.batching_of_jaxpr import batch_jaxpr
from tinyjax.transform.jvp import Zero, instantiate_zeros, jvp, jvp_rules

# ---- the function that combines ----


def combining_jaxpr(
    name: str, computation: Callable, avals: Sequence[ShapedArray], tree: Any
) -> Any:
    """The jaxpr of computation(a, b), where a and b are trees of scalars of `avals`.

    Raises ValueError if its result is another tree, TypeError if it has other dtypes."""
    count = len(avals)
    out_tree = None

    def flat_computation(*leaves: Any) -> list[Any]:
        nonlocal out_tree
        a, b = tree_unflatten(tree, leaves[:count]), tree_unflatten(tree, leaves[count:])
        out, out_tree = tree_flatten(computation(a, b))
        return out

    closed = trace_to_jaxpr(flat_computation, [*avals, *avals])
    if out_tree != tree:
        raise ValueError(
            f"{name} output must have the same tree structure as the operands {tree} vs. {out_tree}"
        )
    if any(isinstance(x, bind.Tracer) for x in closed.consts):
        raise NotImplementedError(
            f"{name}: the computation closes over a traced value. It may use its arguments and "
            "constants alone"
        )
    for out, aval in zip(closed.out_avals, avals):
        if (out.shape, out.dtype) != ((), aval.dtype):
            raise TypeError(
                f"{name}: the computation takes two scalars {aval.str_short()} and must give one, but "
                f"it gives {out.str_short()}"
            )
    return closed


def vectorized(closed: ClosedJaxpr, shape: Sequence[int]) -> ClosedJaxpr:
    """A jaxpr of scalars as one of arrays of `shape`."""
    for size in reversed(shape):
        count = len(closed.in_avals)
        everywhere = (True,) * len(closed.out_avals)
        closed, _ = batch_jaxpr(closed, AxisData(None, size), (0,) * count, everywhere)
    return closed


def operands_and_inits(
    name: str, operands: Any, init_values: Any
) -> tuple[list[Any], list[Any], PyTreeDef]:
    """The leaves of both, and their tree. Raises ValueError if their trees differ or have no leaves."""
    (leaves, tree), (inits, init_tree) = tree_flatten(operands), tree_flatten(init_values)
    if tree != init_tree:
        raise ValueError(
            f"Operands must have the same tree structure as init_values: {tree} vs. {init_tree}"
        )
    if not leaves:
        raise ValueError(f"{name} must have at least one operand.")
    return leaves, inits, tree


def check_operands(
    name: str, operands: Sequence[ShapedArray], inits: Sequence[ShapedArray]
) -> None:
    """Raises ValueError for operands of several shapes, TypeError for initial values of other dtypes."""
    if len({x.shape for x in operands}) > 1:
        found = [x.shape for x in operands]
        raise ValueError(f"{name}: all operands must have one shape, got {found}")
    for x, init in zip(operands, inits):
        if x.dtype != init.dtype:
            raise TypeError(
                f"{name}: an operand of dtype {x.dtype.name} has an initial value of dtype "
                f"{init.dtype.name}; convert one of them"
            )


# ---- the primitive ----

# Parameters: computation (kept to be shown), jaxpr, dimensions. Operands: the arrays, then as many
# initial scalars.
reduce_p = Primitive(
    "reduce", multiple_results=True, impl_binds_primitives=True, axes="reduction", makes_nan=True
)


def _reduce_aval(
    *avals: ShapedArray, jaxpr: ClosedJaxpr, dimensions: tuple[int, ...], **_: Any
) -> list[ShapedArray]:
    operands, inits = avals[: len(avals) // 2], avals[len(avals) // 2 :]
    if any(init.shape for init in inits):
        found = [init.shape for init in inits]
        raise ValueError(f"reduce found non-scalar initial value: {found}")
    check_operands("reduce", operands, inits)
    return [reduced_aval(x, dimensions, "reduce") for x in operands]


def _halving(
    *operands: Any, inits: Sequence[Any], jaxpr: ClosedJaxpr, dimensions: tuple[int, ...]
) -> list[Any]:
    """Combines the first half with the second until one element is left.

    An odd element out is combined with the initial value, which must therefore be neutral."""
    xs = [_flattened(x, dimensions) for x in operands]
    count, *kept = shape_of(xs[0])
    while count > 1:
        half = (count + 1) // 2
        first = [slicing.slice_in_dim(x, 0, half) for x in xs]
        second = [slicing.slice_in_dim(x, half, None) for x in xs]
        if count % 2:
            config = [(0, 1, 0), *[(0, 0, 0)] * len(kept)]
            second = [slicing.pad(x, init, config) for x, init in zip(second, inits)]
        combine = eager_jaxpr_fun(vectorized(jaxpr, (half, *kept)))
        xs, count = combine(*first, *second), half
    if count == 0:
        return [full(kept, init) for init in inits]
    return [shapes.squeeze(x, (0,)) for x in xs]


def _reduce_impl(*args: Any, jaxpr: ClosedJaxpr, dimensions: tuple[int, ...], **_: Any) -> Any:
    """Also by halves, with the initial value as one more element; an odd element out is kept."""
    _reduce_aval(*map(get_aval, args), jaxpr=jaxpr, dimensions=dimensions)
    operands, inits = args[: len(args) // 2], args[len(args) // 2 :]
    flat = [_flattened(x, dimensions) for x in operands]
    count, *kept = shape_of(flat[0])
    xs = [concatenate([full((1, *kept), init), x], 0) for x, init in zip(flat, inits)]
    count += 1
    while count > 1:
        half = count // 2
        halves = [slicing.slice_in_dim(x, half * i, half * (i + 1)) for i in (0, 1) for x in xs]
        rest = [slicing.slice_in_dim(x, half * 2, None) for x in xs]
        combined = eager_jaxpr_fun(vectorized(jaxpr, (half, *kept)))(*halves)
        xs = [concatenate(pair, 0) for pair in zip(combined, rest)]
        count -= half
    return [shapes.squeeze(x, (0,)) for x in xs]


def _flattened(x: Any, dimensions: tuple[int, ...]) -> Any:
    """`x` with `dimensions` as one axis, the first."""
    shape = shape_of(x)
    kept = [axis for axis in range(len(shape)) if axis not in dimensions]
    count = math.prod(shape[axis] for axis in dimensions)
    moved = primitives.transpose(x, (*dimensions, *kept))
    return primitives.reshape(moved, (count, *(shape[axis] for axis in kept)))


def _reduce_jvp(
    primals: Any, tangents: Any, *, jaxpr: ClosedJaxpr, dimensions: tuple[int, ...], **_: Any
) -> Any:
    count = len(primals) // 2
    if any(type(t) is not Zero for t in tangents[count:]):
        raise NotImplementedError(
            "reduce can't be differentiated by its initial values: combine those with the result"
        )
    inits = primals[count:]
    halving = functools.partial(_halving, inits=inits, jaxpr=jaxpr, dimensions=dimensions)
    return jvp(halving, primals[:count], tuple(instantiate_zeros(t) for t in tangents[:count]))


def _reduce_batch(vals: Any, dims: Any, *, dimensions: tuple[int, ...], **params: Any) -> Any:
    count = len(vals) // 2
    if any(d is not None for d in dims[count:]):
        raise NotImplementedError("reduce: vmap over its initial values; combine them afterwards")
    size = shapes.batch_size(vals, dims)
    operands = [bdim_at_front(x, d, size) for x, d in zip(vals[:count], dims[:count])]
    dimensions = tuple(axis + 1 for axis in dimensions)
    outs = reduce_p.bind(*operands, *vals[count:], dimensions=dimensions, **params)
    return outs, [0] * count


abstract_eval_rules[reduce_p] = _reduce_aval
impl_rules[reduce_p] = _reduce_impl
jvp_rules[reduce_p] = _reduce_jvp
batch_rules[reduce_p] = _reduce_batch
no_rule_reasons[reduce_p, "transpose"] = "its jvp is written with other primitives"

# ---- the front door ----


def _all_ones(dtype: np.dtype) -> Any:
    return True if dtype == np.bool_ else ~dtype.type(0)


# computation -> the equivalent reduction, and its neutral initial value
_MONOIDS: dict[Callable, tuple[Callable, Callable[[np.dtype], Any]]] = {
    primitives.add: (reductions.reduce_sum, lambda dtype: 0),
    primitives.mul: (reductions.reduce_prod, lambda dtype: 1),
    max_: (reductions.reduce_max, reductions.max_identity),
    min_: (reductions.reduce_min, reductions.min_identity),
    bitwise_and: (reductions.reduce_and, _all_ones),
    bitwise_or: (reductions.reduce_or, lambda dtype: 0),
    bitwise_xor: (reductions.reduce_xor, lambda dtype: 0),
}


def reduce(
    operands: Any, init_values: Any, computation: Callable, dimensions: Sequence[int]
) -> Any:
    """Combines the elements along `dimensions` by `computation`, starting from `init_values`.

    `operands` is a pytree of arrays of one shape, `init_values` one of scalars with the same tree
    and dtypes; computation(a, b) takes and gives two such trees of scalars. The order of combination
    is not fixed, so it should be associative, and the initial values neutral.
    Raises ValueError where trees or shapes differ and for dimensions that are no axes, TypeError where
    dtypes differ."""
    leaves, inits, tree = operands_and_inits("reduce", operands, init_values)
    if computation in _MONOIDS and len(leaves) == 1:
        reducer, neutral = _MONOIDS[computation]
        (x,), (init,) = leaves, inits
        if not isinstance(init, bind.Tracer) and np.equal(init, neutral(get_aval(x).dtype)):
            return tree_unflatten(tree, [reducer(x, tuple(dimensions))])
    avals = [get_aval(init).update(shape=()) for init in inits]
    jaxpr = combining_jaxpr("reduce", computation, avals, tree)
    outs = reduce_p.bind(
        *leaves, *inits, computation=computation, jaxpr=jaxpr, dimensions=tuple(dimensions)
    )
    return tree_unflatten(tree, outs)
