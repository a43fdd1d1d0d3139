"""Choosing elements: select_n and clamp.

Each case of `jnp.where` gets the cotangent where it was chosen and zero elsewhere. Both branches are always
computed.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from tinyjax.core import dtypes
from tinyjax.core.array import ShapedArray
from tinyjax.core.avals import get_aval
from tinyjax.core.bind import Primitive, abstract_eval_rules, impl_rules
from tinyjax.core.primitives import broadcast_in_dim, elementwise_aval, gt, shape_of
from tinyjax.core.shortcuts import with_shortcut
from tinyjax.lax.bitwise import bitwise_and
from tinyjax.lax.comparison import eq, lt
from tinyjax.lax.creation import full_like
from tinyjax.lax.elementwise import ANY, constant
from tinyjax.transform.batching import batch_rules, bdim_at_front, moveaxis, not_mapped
from tinyjax.transform.jvp import Zero, broadcast_to_result, defjvp, jvp_rules
from tinyjax.transform.transposition import is_undefined_primal, require_known, transpose_rules

# ---- select_n ----

select_n_p = Primitive("select_n", cost=1, makes_nan=False)


@with_shortcut
def choose(which: np.ndarray, on_true: np.ndarray, on_false: np.ndarray) -> np.ndarray:
    """The elements of `on_true` where `which`, a bool or an array of bools, is True, and of `on_false`
    elsewhere."""
    return np.where(which, on_true, on_false)


def _select_n_impl(which: np.ndarray, *cases: np.ndarray) -> np.ndarray:
    out = cases[0]
    for i, case in enumerate(cases[1:], start=1):  # an index out of range takes the nearest case
        out = choose(which if which.dtype == bool else which >= i, case, out)
    return out


@functools.lru_cache(4096)
def _select_n_aval(which: ShapedArray, *cases: ShapedArray) -> ShapedArray:
    if not cases:
        raise TypeError("select must have at least one case")
    if any(case.shape != cases[0].shape for case in cases):
        shapes = ", ".join(str(case.shape) for case in cases)
        raise TypeError(
            f"select cases must have the same shapes, got [{shapes}]: broadcast them, or use jnp.where"
        )
    if which.shape and which.shape != cases[0].shape:
        raise TypeError(
            "select `which` must be scalar or have the same shape as cases, got `which` shape "
            f"{which.shape} but case shape {cases[0].shape}"
        )
    if any(case.dtype != cases[0].dtype for case in cases):
        listed = ", ".join(dtypes.long_name(case.dtype) for case in cases)
        raise TypeError(
            f"lax.select requires arguments to have the same dtypes, got {listed}. jnp.where promotes"
        )
    if dtypes.kind(which.dtype) not in "biu":
        raise TypeError(f"select `which` must be boolean or integer type, got {which.dtype.name}.")
    if which.dtype == bool and len(cases) > 2:
        raise TypeError("select with boolean `which` cannot have > 2 cases.")
    return ShapedArray(cases[0].shape, cases[0].dtype, all(case.weak_type for case in cases))


def _select_n_jvp(primals: Any, tangents: Any) -> Any:
    which, *cases = primals
    out = select_n(which, *cases)
    nonzero = [t for t in tangents[1:] if type(t) is not Zero]
    if not nonzero:
        return out, tangents[1]
    zeros = full_like(nonzero[0], 0)
    return out, select_n(which, *[zeros if type(t) is Zero else t for t in tangents[1:]])


def _select_n_transpose(ct: Any, which: Any, *cases: Any) -> list[Any]:
    require_known(select_n_p, which)
    zeros = full_like(ct, 0)
    wanted = [is_undefined_primal(case) for case in cases]
    if get_aval(which).dtype == bool:
        chosen = [(zeros, ct), (ct, zeros)]  # (on_true, on_false) for the case of False, of True
        return [None, *[select(which, *c) if w else None for c, w in zip(chosen, wanted)]]

    def of_case(number: int) -> Any:
        return select(eq(which, constant(which, number)), ct, zeros)

    return [None, *[of_case(number) if w else None for number, w in enumerate(wanted)]]


def _select_n_batch(vals: Any, dims: Any) -> Any:
    which, *cases = vals
    which_dim, *case_dims = dims
    size = next(shape_of(x)[d] for x, d in zip(vals, dims) if d is not not_mapped)
    if all(d == which_dim for d in case_dims):
        if shape_of(which) != shape_of(cases[0]):  # a scalar `which` for each example
            which = broadcast_in_dim(which, shape_of(cases[0]), (which_dim,))
        return select_n(which, *cases), which_dim
    if not shape_of(which) and not_mapped not in case_dims:  # one scalar `which` for all examples
        dim = case_dims[0]
        return select_n(which, *[moveaxis(x, d, dim) for x, d in zip(cases, case_dims)]), dim

    if shape_of(which):
        which = bdim_at_front(which, which_dim, size)
    if any(shape_of(case) for case in cases):
        cases = [bdim_at_front(x, d, size) for x, d in zip(cases, case_dims)]
    shape = shape_of(cases[0])
    if 0 < len(shape_of(which)) < len(shape):
        which = broadcast_in_dim(which, shape, (0,))
    if not shape:
        cases = [broadcast_in_dim(x, shape_of(which), ()) for x in cases]
    return select_n(which, *cases), 0


impl_rules[select_n_p] = _select_n_impl
abstract_eval_rules[select_n_p] = _select_n_aval
jvp_rules[select_n_p] = _select_n_jvp
transpose_rules[select_n_p] = _select_n_transpose
batch_rules[select_n_p] = _select_n_batch


def select_n(which: Any, *cases: Any) -> Any:
    """For each element, the element of the case that `which` numbers (False is 0, True is 1).

    `which` is a bool or an integer, a scalar or of the cases' shape; cases have one shape and dtype.
    Raises TypeError where they have not."""
    return select_n_p.bind(which, *cases)


def select(pred: Any, on_true: Any, on_false: Any) -> Any:
    """on_true where `pred` holds, else on_false: select_n in the order of an if."""
    return select_n_p.bind(pred, on_false, on_true)


# ---- clamp ----

clamp_p = Primitive("clamp", cost=1, makes_nan=False)


def _clamp_aval(low: ShapedArray, x: ShapedArray, high: ShapedArray) -> ShapedArray:
    out = elementwise_aval("clamp", ANY, *(a.update(shape=()) for a in (low, x, high)))
    for name, bound in (("min", low), ("max", high)):
        if bound.shape and bound.shape != x.shape:
            raise TypeError(
                f"clamp requires {name}.shape == operand.shape or {name}.shape == (), got "
                f"{name}.shape={bound.shape}, operand.shape={x.shape}."
            )
    return out.update(shape=x.shape)


def _where_in(condition: Any, g: Any, x: Any) -> Any:
    """The tangent of one operand where that is the result, else zero."""
    shape = shape_of(x)
    return select(condition, broadcast_to_result(g, shape), full_like(x, 0))


def _clamp_batch(vals: Any, dims: Any) -> Any:
    low, x, high = vals
    low_dim, x_dim, high_dim = dims
    size = next(shape_of(v)[d] for v, d in zip(vals, dims) if d is not not_mapped)
    if x_dim is not not_mapped and not shape_of(low) and not shape_of(high):
        return clamp_p.bind(low, x, high), x_dim
    if low_dim == x_dim == high_dim:
        shape = shape_of(x)
        low, high = [
            v if shape_of(v) == shape else broadcast_in_dim(v, shape, (x_dim,)) for v in (low, high)
        ]
        return clamp_p.bind(low, x, high), x_dim

    low, high, x = [
        bdim_at_front(v, d, size) if shape_of(v) else v
        for v, d in ((low, low_dim), (high, high_dim), (x, x_dim))
    ]
    shape = shape_of(x)
    if not shape:  # one scalar, within a scalar bound for each example
        shape = max(shape_of(low), shape_of(high))
        x = broadcast_in_dim(x, shape, ())
    else:
        low, high = [v if shape_of(v) else broadcast_in_dim(v, shape, ()) for v in (low, high)]
    # A scalar bound for each example, where these are arrays.
    low, high = [
        broadcast_in_dim(v, shape, (0,)) if 0 < len(shape_of(v)) < len(shape) else v
        for v in (low, high)
    ]
    return clamp_p.bind(low, x, high), 0


impl_rules[clamp_p] = lambda low, x, high: np.minimum(np.maximum(low, x), high)
abstract_eval_rules[clamp_p] = _clamp_aval
defjvp(
    clamp_p,
    lambda g, low, x, high: _where_in(bitwise_and(gt(low, x), lt(low, high)), g, x),
    lambda g, low, x, high: _where_in(bitwise_and(gt(x, low), lt(x, high)), g, x),
    lambda g, low, x, high: _where_in(lt(high, x), g, x),
)
batch_rules[clamp_p] = _clamp_batch


def clamp(min: Any, x: Any, max: Any) -> Any:  # noqa: A002
    """`x` brought into [min, max] elementwise; where min > max, max. NaN stays NaN.

    Bounds are scalars or of x's shape, all of one dtype. Raises TypeError where they are not."""
    return clamp_p.bind(min, x, max)
