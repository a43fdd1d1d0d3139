"""How pooling lowers: a reduction over the places of a window, which may lie in the padding.

Each element of a maximum reads its window. Each element of the gradient reads all windows that contain
it, to find those that choose it. So nothing is scattered, and no two work-items write to one place.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tinyjax import lax
from tinyjax.compile.kernel import rules
from tinyjax.compile.kernel.indices import Index, index
from tinyjax.compile.kernel.writer import Number
from tinyjax.compile.passes.expand import expansions
from tinyjax.core.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, jaxpr_as_fun
from tinyjax.lax.general_reduction import vectorized
from tinyjax.lax.lowering.indexing import clip, element_or, every, is_inside

if TYPE_CHECKING:
    from tinyjax.compile.target import Target


def _window_sizes(eqn: JaxprEqn) -> tuple[int, ...]:
    return eqn.params["window_dimensions"]


def _window_reduction(op: str, identity: Callable[[np.dtype], Any]) -> rules.Reduction:
    def term(
        ctx: Any, place: rules.Position, x: Any, *, window_strides: Any, padding: Any, base_dilation: Any,
        window_dilation: Any, **_: Any,
    ) -> Number:  # fmt: skip
        """The operand's element at `place` in the window for this position of the result."""
        at = [
            window * stride + i * spread - int(low)
            for window, stride, i, spread, (low, _) in zip(
                ctx.position.coords, window_strides, place.coords, window_dilation, padding
            )
        ]
        dtype = x.aval.dtype
        return element_or(ctx, x, at, base_dilation, lambda: ctx.constant(identity(dtype), dtype))

    return rules.Reduction(op, identity, _window_sizes, term)


def _padded(identity: Callable[[np.dtype], Any], eqn: JaxprEqn, _: Jaxpr) -> Callable | None:
    """The reduction of an array that is padded before: no window then tests where each element is."""
    params, (x,) = eqn.params, eqn.invars
    pairs = zip(params["padding"], params["base_dilation"])
    config = [(int(low), int(high), int(dilation) - 1) for (low, high), dilation in pairs]
    if not any(map(any, config)) or not eqn.outvars[0].aval.size:
        return None
    ones = (1,) * len(config)
    plain = params | {"padding": ((0, 0),) * len(config), "base_dilation": ones}
    fill = lax.full((), identity(x.aval.dtype), x.aval.dtype)
    return lambda x: [eqn.primitive.bind(lax.pad(x, fill, config), **plain)]


def _folded(eqn: JaxprEqn, _: Jaxpr) -> Callable | None:
    """A reduction by a user-defined function: a call of it, on whole arrays, for each place of a window."""
    params, result = eqn.params, eqn.outvars[0].aval
    places = math.prod(params["window_dimensions"])
    if places * max(1, len(params["jaxpr"].eqns)) > MAX_COMPARED or not result.size:
        return None
    plain = params["window_strides"], result.shape
    config = [
        (int(low), int(high), int(dilation) - 1)
        for (low, high), dilation in zip(params["padding"], params["base_dilation"])
    ]

    def folded(*args: Any) -> list[Any]:
        xs, inits = args[: len(args) // 2], args[len(args) // 2 :]
        scalars = ClosedJaxpr(params["jaxpr"], params["consts"])
        combine = jaxpr_as_fun(vectorized(scalars, result.shape))
        padded = [lax.pad(x, init, config) for x, init in zip(xs, inits)]
        # Padding and holes are left out: the function may not be neutral to the initial values.
        there = (
            lax.pad(lax.full(xs[0].shape, True), False, config) if any(map(any, config)) else None
        )
        so_far = [lax.broadcast(init, result.shape) for init in inits]
        for place in np.ndindex(*params["window_dimensions"]):
            start = [i * int(spread) for i, spread in zip(place, params["window_dilation"])]
            made = combine(*so_far, *(_every(x, start, *plain) for x in padded))
            if there is not None:
                is_there = _every(there, start, *plain)
                made = [lax.select(is_there, new, old) for new, old in zip(made, so_far)]
            so_far = made
        return so_far

    return folded


def _every(x: Any, start: Sequence[int], strides: Sequence[int], counts: Sequence[int]) -> Any:
    """`counts` elements along each axis, from `start` on."""
    ends = [at + stride * (n - 1) + 1 for at, stride, n in zip(start, strides, counts)]
    return lax.slice(x, start, ends, strides)


# ---- values at the chosen elements of windows ----

# Most elements that a kernel may compare for one result: its text has code for each.
MAX_COMPARED = 64


def _select_and_gather_add(eqn: JaxprEqn, target: Target) -> rules.Lowering:
    compared = math.prod(eqn.params["window_dimensions"])
    if compared > MAX_COMPARED:
        return rules.OnHost(f"a window's choice compares {compared} elements")
    return rules.IndexMap(_gathered, compared)


def _gathered(
    ctx: Any, source: Any, operand: Any, *, select_prim: Any, window_dimensions: Any,
    window_strides: Any, padding: Any, base_dilation: Any, window_dilation: Any,
) -> Number:  # fmt: skip
    """The source's element at the chosen place of a window, by the impl rule's search over both arrays."""
    dtype = operand.aval.dtype
    best = fill = ctx.constant(_IDENTITIES[select_prim](dtype), dtype)
    carried = zero = ctx.constant(0, source.aval.dtype)
    corner = [w * int(stride) for w, stride in zip(ctx.position.coords, window_strides)]
    for place in np.ndindex(*window_dimensions):
        steps = zip(corner, place, window_dilation, padding)
        at = [start + i * int(spread) - int(low) for start, i, spread, (low, _) in steps]
        element = element_or(ctx, operand, at, base_dilation, lambda: fill)
        along = element_or(ctx, source, at, base_dilation, lambda: zero)
        keep = ctx.op(select_prim.name, best, element)
        best = ctx.op("select", keep, best, element)
        carried = ctx.op("select", keep, carried, along)
    return carried


def _windows_of_an_element(eqn: JaxprEqn) -> list[int]:
    """How many windows an element is in at most, along each axis."""
    sizes, strides = eqn.params["window_dimensions"], eqn.params["window_strides"]
    return [-(-size // stride) for size, stride in zip(sizes, strides)]


def _select_and_scatter_add(eqn: JaxprEqn, target: Target) -> rules.Lowering:
    sizes, padding = eqn.params["window_dimensions"], eqn.params["padding"]
    compared = math.prod(sizes) * math.prod(_windows_of_an_element(eqn))
    if compared > MAX_COMPARED:
        return rules.OnHost(f"the windows that an element is in have {compared} elements")
    if any(low < 0 or high < 0 for low, high in padding):
        return rules.OnHost("windows in an array of which elements are cut off")
    counts = _windows_of_an_element(eqn)

    def scattered(ctx: Any, source: Any, operand: Any, **params: Any) -> Number:
        """The sum over the windows that choose this element, in the order of the impl rule."""
        total: Any = ctx.constant(0, source.aval.dtype)
        if source.aval.size:
            for back in np.ndindex(*counts):
                total = total + _from_window(ctx, back, source, operand, **params)
        return total

    return rules.IndexMap(scattered, compared)


def _from_window(
    ctx: Any, back: Sequence[int], source: Any, operand: Any, *, select_prim: Any,
    window_dimensions: Any, window_strides: Any, padding: Any,
) -> Number:  # fmt: skip
    """This element's share of one of its windows: the one `back` windows before the last that begins at
    or before it."""
    window, number, conditions = [], index(0), list[Number]()
    axes = zip(
        ctx.position.coords, back, window_dimensions, window_strides, padding, source.aval.shape
    )
    for coord, steps, size, stride, (low, _), count in axes:
        at = coord + int(low)
        place, w = at % stride + steps * stride, at // stride - steps
        conditions += is_inside(ctx, place, size - 1) + is_inside(ctx, w, count - 1)
        window.append(clip(w, count))
        number = number * size + place
    corner = [w * int(s) - int(low) for w, s, (low, _) in zip(window, window_strides, padding)]
    chosen = _chosen(ctx, operand, corner, window_dimensions, select_prim)
    conditions.append(chosen == ctx.op("convert", number, dtype=chosen.dtype))
    return ctx.op("select", every(ctx, conditions), source.at(window), 0)


def _chosen(
    ctx: Any, operand: Any, corner: Sequence[Index], sizes: Sequence[int], select_prim: Any
) -> Number:
    """The number of the element that the window at `corner` chooses: the walk of the impl rule."""
    dtype = operand.aval.dtype
    best: Any = ctx.constant(_IDENTITIES[select_prim](dtype), dtype)
    chosen: Any = ctx.constant(-1, INT32)
    for number, place in enumerate(np.ndindex(*sizes)):
        at = [start + i for start, i in zip(corner, place)]
        coords = [clip(index, size) for index, size in zip(at, operand.aval.shape)]
        element = operand.at(coords)
        better = ~ctx.op(select_prim.name, best, element) | (chosen == -1)
        bounds = (is_inside(ctx, i, size - 1) for i, size in zip(at, operand.aval.shape))
        takes = every(ctx, [better, *(bound for each in bounds for bound in each)])
        best = ctx.op("select", takes, element, best)
        chosen = ctx.op("select", takes, number, chosen)
    return chosen


INT32 = np.dtype("int32")
_IDENTITIES = {lax.ge_p: rules.least, lax.le_p: rules.greatest}
for _primitive, _op, _identity in (
    (lax.reduce_window_sum_p, "add", rules.zero_of),
    (lax.reduce_window_max_p, "max", rules.least),
    (lax.reduce_window_min_p, "min", rules.greatest),
):
    rules.lowering_rules[_primitive] = _window_reduction(_op, _identity)
    expansions[_primitive] = functools.partial(_padded, _identity)
expansions[lax.reduce_window_p] = _folded
rules.lowering_rules[lax.select_and_gather_add_p] = _select_and_gather_add
rules.lowering_rules[lax.select_and_scatter_add_p] = _select_and_scatter_add
for _primitive in (lax.reduce_p, lax.reduce_window_p):
    rules.lowering_rules[_primitive] = rules.OnHost("a user-defined function combines the elements")
