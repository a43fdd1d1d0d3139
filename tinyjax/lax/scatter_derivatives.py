"""The derivatives of scatter and its kinds: how writing at computed places is differentiated.

An overwritten place gets no cotangent; where updates are added, operand and updates get it whole. Where
updates may overlap, the winners are found by scattering the updates' numbers.

Source: https://docs.jax.dev/en/latest/notebooks/autodiff_cookbook.html (a jvp and its transpose)
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from tinyjax.core import primitives
from tinyjax.core.bind import Primitive
from tinyjax.core.primitives import shape_of
from tinyjax.lax.arithmetic import div
from tinyjax.lax.comparison import eq
from tinyjax.lax.creation import full, iota, ones_like_array, zeros_like_array
from tinyjax.lax.elementwise import constant
from tinyjax.lax.gathering import gather
from tinyjax.lax.scattering import (
    scatter,
    scatter_add,
    scatter_add_p,
    scatter_max_p,
    scatter_min_p,
    scatter_mul,
    scatter_mul_p,
    scatter_p,
    scatter_sub_p,
    window_sizes,
)
from tinyjax.lax.selection import select
from tinyjax.lax.shape import reshape
from tinyjax.lax.windows import GatherDimensionNumbers, GatherScatterMode, ScatterDimensionNumbers
from tinyjax.transform.jvp import Zero, defjvp, instantiate_zeros, jvp_rules, zero_tangent
from tinyjax.transform.transposition import (
    UndefinedPrimal,
    is_undefined_primal,
    require_known,
    transpose_rules,
)

# ---- a gather of what was scattered ----


def _gather_updates(
    ct: Any, indices: Any, updates_shape: Any, numbers: ScatterDimensionNumbers, **params: Any
) -> Any:
    """Gathers the scatter's windows from an array like its result."""
    sizes = window_sizes(shape_of(ct), updates_shape, numbers)
    return gather(ct, indices, GatherDimensionNumbers(*numbers), sizes, **params)


def _updates_cotangent(ct: Any, indices: Any, updates: UndefinedPrimal, params: Any) -> Any:
    """The result's cotangent in the updates' windows; zeros for updates that were left out."""
    numbers, shape = params["dimension_numbers"], updates.aval.shape
    return _gather_updates(ct, indices, shape, numbers, mode=params["mode"], fill_value=0)


def _options(params: dict[str, Any]) -> dict[str, Any]:
    """The parameters of a scatter that scatter_add and other scatters have too."""
    names = ("dimension_numbers", "indices_are_sorted", "unique_indices", "mode")
    return {name: params[name] for name in names}


# ---- scatter-add and scatter-sub: linear in operand and updates ----


def _scatter_linear_jvp(primitive: Primitive, primals: Any, tangents: Any, **params: Any) -> Any:
    out, dots = _result_and_tangents(primitive, primals, tangents, params)
    if dots is None:
        return out, zero_tangent(out)
    x_dot, updates_dot = dots
    return out, primitive.bind(x_dot, primals[1], updates_dot, **params)


def _result_and_tangents(
    primitive: Primitive, primals: Any, tangents: Any, params: dict[str, Any]
) -> tuple[Any, tuple[Any, Any] | None]:
    """The result of a scatter, and the tangents of operand and updates: None if there are none."""
    out = primitive.bind(*primals, **params)
    x_dot, _, updates_dot = tangents
    if type(x_dot) is Zero and type(updates_dot) is Zero:
        return out, None
    return out, (instantiate_zeros(x_dot), instantiate_zeros(updates_dot))


def _scatter_linear_transpose(
    primitive: Primitive, ct: Any, x: Any, indices: Any, updates: Any, **params: Any
) -> list[Any]:
    require_known(primitive, indices)
    updates_ct = None
    if is_undefined_primal(updates):
        updates_ct = _updates_cotangent(ct, indices, updates, params)
        if primitive is scatter_sub_p:
            updates_ct = primitives.neg(updates_ct)
    return [ct if is_undefined_primal(x) else None, None, updates_ct]


for _primitive in (scatter_add_p, scatter_sub_p):
    jvp_rules[_primitive] = functools.partial(_scatter_linear_jvp, _primitive)
    transpose_rules[_primitive] = functools.partial(_scatter_linear_transpose, _primitive)


# ---- scatter-mul ----


def _require_unique(unique_indices: bool) -> None:
    if not unique_indices:
        raise NotImplementedError(
            "scatter_mul gradients are only implemented if `unique_indices=True`: pass it if no place "
            "is written twice"
        )


def _scatter_mul_updates_jvp(g: Any, x: Any, indices: Any, updates: Any, **params: Any) -> Any:
    _require_unique(params["unique_indices"])
    return primitives.mul(x, scatter_add(zeros_like_array(x), indices, g, **_options(params)))


def _scatter_mul_transpose(ct: Any, x: Any, indices: Any, updates: Any, **params: Any) -> list[Any]:
    x_ct = updates_ct = None
    if is_undefined_primal(x):
        x_ct = scatter_mul(ct, indices, updates, **_options(params))
    if is_undefined_primal(updates):
        _require_unique(params["unique_indices"])
        updates_ct = _updates_cotangent(primitives.mul(ct, x), indices, updates, params)
    return [x_ct, None, updates_ct]


defjvp(
    scatter_mul_p,
    lambda g, x, indices, updates, **params: scatter_mul_p.bind(g, indices, updates, **params),
    None,
    _scatter_mul_updates_jvp,
)
transpose_rules[scatter_mul_p] = _scatter_mul_transpose


# ---- scatter-min and scatter-max ----


def _scatter_extreme_jvp(primitive: Primitive, primals: Any, tangents: Any, **params: Any) -> Any:
    """A place takes the mean of the tangents of all that hold its extreme value: operand, updates."""
    x, indices, updates = primals
    out, dots = _result_and_tangents(primitive, primals, tangents, params)
    if dots is None:
        return out, zero_tangent(out)
    x_dot, updates_dot = dots
    numbers = params["dimension_numbers"]

    # Updates beyond the operand are dropped, unless they are clipped.
    clip = {"mode": params["mode"]} if params["mode"] == GatherScatterMode.CLIP else {}

    def seen(v: Any) -> Any:
        return _gather_updates(v, indices, shape_of(updates), numbers, **clip)

    before, after = seen(x), seen(out)
    wins, stays = eq(updates, after), eq(before, after)
    ones, zeros = lambda: ones_like_array(updates), lambda: zeros_like_array(updates)  # noqa: E731
    counted = scatter_add(
        zeros_like_array(x), indices, select(wins, ones(), zeros()), numbers, **clip
    )
    num_winners = seen(counted)
    num_updates = seen(scatter_add(zeros_like_array(x), indices, ones(), numbers, **clip))
    one = constant(updates, 1)

    shared = lambda: div(one, primitives.add(num_winners, one))  # noqa: E731  (with the operand)
    updates_part = select(wins, select(stays, shared(), div(one, num_winners)), zeros())
    operand_part = select(stays, shared(), zeros_like_array(num_winners))
    # The operand's tangent is included already, so each update contributes its share of the difference.
    correction = div(primitives.add(constant(updates, -1), operand_part), num_updates)
    change = primitives.add(
        primitives.mul(seen(x_dot), correction), primitives.mul(updates_dot, updates_part)
    )
    return out, scatter_add(x_dot, indices, change, **_options(params))


for _primitive in (scatter_min_p, scatter_max_p):
    jvp_rules[_primitive] = functools.partial(_scatter_extreme_jvp, _primitive)


# ---- scatter ----


def _scatter_jvp(primals: Any, tangents: Any, **params: Any) -> Any:
    """Scatters the updates' numbers to find the one that wins where updates may overlap.

    Then a scatter-add of the winners computes both the result and its tangent, and needs no extra
    transpose rule."""
    if params["update_jaxpr"] is not None:
        raise NotImplementedError(
            "scatter_apply JVP not implemented: x.at[i].apply can't be differentiated, x.at[i].set(f(x[i])) "
            "can"
        )
    x, indices, updates = primals
    x_dot, _, updates_dot = tangents
    if type(x_dot) is Zero and type(updates_dot) is Zero:
        out = scatter_p.bind(x, indices, updates, **params)
        return out, zero_tangent(out)
    x_dot, updates_dot = instantiate_zeros(x_dot), instantiate_zeros(updates_dot)
    if params["unique_indices"]:
        out = scatter_p.bind(x, indices, updates, **params)
        return out, scatter_p.bind(x_dot, indices, updates_dot, **params)

    numbers = params["dimension_numbers"]
    options = _options(params)
    ids_shape = [
        1 if axis in numbers.update_window_dims else n for axis, n in enumerate(shape_of(updates))
    ]
    ids = reshape(iota(np.uint32, math.prod(ids_shape)), ids_shape)
    ids = primitives.add(ids, full(shape_of(updates), 1, np.uint32))
    no_ids = full(shape_of(x), 0, np.uint32)
    scattered_ids = scatter(no_ids, indices, ids, **options)
    winner_ids = _gather_updates(scattered_ids, indices, shape_of(updates), numbers)

    def kept(v: Any) -> Any:
        return select(eq(scattered_ids, zeros_like_array(scattered_ids)), v, zeros_like_array(v))

    def winners(v: Any) -> Any:
        return select(eq(ids, winner_ids), v, zeros_like_array(v))

    x, updates, x_dot, updates_dot = kept(x), winners(updates), kept(x_dot), winners(updates_dot)
    out = scatter_add(x, indices, updates, **options)
    return out, scatter_add(x_dot, indices, updates_dot, **options)


def _scatter_transpose(ct: Any, x: Any, indices: Any, updates: Any, **params: Any) -> list[Any]:
    if not params["unique_indices"]:
        raise NotImplementedError("scatter transpose is only implemented where unique_indices=True")
    x_ct = updates_ct = None
    if is_undefined_primal(x):  # overwritten elements don't affect the result
        shape = updates.aval.shape if is_undefined_primal(updates) else shape_of(updates)
        x_ct = scatter(ct, indices, full(shape, 0, ct.dtype), **_options(params))
    if is_undefined_primal(updates):
        updates_ct = _updates_cotangent(ct, indices, updates, params)
    return [x_ct, None, updates_ct]


jvp_rules[scatter_p] = _scatter_jvp
transpose_rules[scatter_p] = _scatter_transpose
