"""Transposition: a linear jaxpr run backwards, from the cotangents of its results to its arguments'.

A transpose rule says, for a linear operation, how a cotangent of the result becomes the operands'. The
backward pass walks the linear equations from the last to the first, applies the rules, and adds up where a
value was used twice. vjp and grad, the next file, need it after linearizing; `linear_transpose` runs it
alone.

Source: https://docs.jax.dev/en/latest/autodidax.html#part-4-linearize-and-vjp-and-partial-eval
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tinyjax.core import dtypes, primitives
from tinyjax.core.array import ShapedArray
from tinyjax.core.avals import get_aval
from tinyjax.core.bind import Primitive, as_array, context, missing_rule
from tinyjax.core.facts import declare
from tinyjax.core.jaxpr import ClosedJaxpr, Jaxpr, Literal, Var, cached_on_jaxpr, literal_value
from tinyjax.core.lists import drop, pick
from tinyjax.core.tracing import trace_to_jaxpr
from tinyjax.core.tree_util.pytrees import register_pytree_node
from tinyjax.transform.jvp import (
    Zero,
    add_any_p,
    add_tangents,
    defjvp,
    deflinear_jvp,
    instantiate_zeros,
)

# ---- running a linear jaxpr backwards ----


class UndefinedPrimal:
    """A linear operand, which has an aval and no value. As Zero, it is a pytree without leaves."""

    __slots__ = ("aval",)

    def __init__(self, aval: ShapedArray):
        self.aval = aval

    def __repr__(self) -> str:
        return f"UndefinedPrimal({self.aval.str_short(short_dtypes=True)})"


register_pytree_node(UndefinedPrimal, lambda x: ((), x.aval), lambda aval, _: UndefinedPrimal(aval))


def is_undefined_primal(x: Any) -> bool:
    return type(x) is UndefinedPrimal


def backward_pass(
    jaxpr: Jaxpr,
    consts: Sequence[Any],
    args: Sequence[Any],
    cotangents: Sequence[Any],
    so_far: Sequence[Any] = (),
) -> list[Any]:
    """The cotangents of the UndefinedPrimals among `args` (Zero for the other arguments).

    `cotangents` are those of the jaxpr's results, Zero among them. Equations without an UndefinedPrimal
    are run first, forwards. `so_far`: what the cotangents of the first arguments are added to (a loop's;
    None: nothing). Raises NotImplementedError if a primitive has no transpose rule."""
    env: dict[Var, Any] = dict(zip(jaxpr.constvars, consts))
    env.update(zip(jaxpr.invars, args))

    linear_eqns = []
    for eqn in jaxpr.eqns:
        invals = [literal_value(v) if isinstance(v, Literal) else env[v] for v in eqn.invars]
        if any(map(is_undefined_primal, invals)):
            env.update([(v, UndefinedPrimal(v.aval)) for v in eqn.outvars])
            linear_eqns.append((eqn, invals))
        else:  # an equation of residuals alone
            outs = eqn.primitive.bind(*invals, **eqn.params)
            env.update(zip(eqn.outvars, outs if eqn.primitive.multiple_results else [outs]))

    ct_env: dict[Var, Any] = {}

    def accumulate(v: Any, ct: Any) -> None:
        """A value used twice has the sum of both uses' cotangents."""
        if ct is not None and type(v) is Var and type(env[v]) is UndefinedPrimal:
            ct_env[v] = add_tangents(ct_env[v], ct) if v in ct_env else ct

    for v, ct in zip([*jaxpr.invars[: len(so_far)], *jaxpr.outvars], [*so_far, *cotangents]):
        accumulate(v, ct)
    source_before = context.source_info
    try:
        for eqn, invals in reversed(linear_eqns):
            cts = [ct_env.pop(v) if v in ct_env else Zero(v.aval) for v in eqn.outvars]
            if all([type(ct) is Zero for ct in cts]):
                continue
            context.source_info = eqn.source_info  # what goes backwards is from the same line
            rule = transpose_rules.get(eqn.primitive) or missing_rule(eqn.primitive, "transpose")
            cts_in = rule(cts if eqn.primitive.multiple_results else cts[0], *invals, **eqn.params)
            for v, ct in zip(eqn.invars, cts_in):
                accumulate(v, ct)
    finally:
        context.source_info = source_before
    return [ct_env.get(v, Zero(v.aval)) for v in jaxpr.invars]


@cached_on_jaxpr
def transpose_jaxpr(
    closed_jaxpr: ClosedJaxpr,
    linear: tuple[bool, ...],
    zero_cts: tuple[bool, ...],
    instantiate: bool | tuple[bool, ...] = False,
) -> tuple[ClosedJaxpr, tuple[bool, ...]]:
    """The backward pass as a jaxpr: from non-linear arguments and non-zero cotangents to the linear
    arguments' cotangents. Also says which of these are not Zero: only they are in the jaxpr, and
    those that `instantiate` asks for: all, or some (an entry a linear argument)."""
    jaxpr = closed_jaxpr.jaxpr
    fixed, ct_avals = drop(closed_jaxpr.in_avals, linear), drop(closed_jaxpr.out_avals, zero_cts)
    nonzero: list[bool] = []

    def backward(*flat: Any) -> list[Any]:
        values = iter(flat)
        args = [
            UndefinedPrimal(v.aval) if is_linear else next(values)
            for v, is_linear in zip(jaxpr.invars, linear)
        ]
        cts = [Zero(v.aval) if z else next(values) for v, z in zip(jaxpr.outvars, zero_cts)]
        outs = backward_pass(jaxpr, closed_jaxpr.consts, args, cts)
        wanted = pick(outs, linear)
        forced = (instantiate,) * len(wanted) if isinstance(instantiate, bool) else instantiate
        wanted = [instantiate_zeros(ct) if f else ct for ct, f in zip(wanted, forced)]
        nonzero.extend(type(ct) is not Zero for ct in wanted)
        return [ct for ct in wanted if type(ct) is not Zero]

    return trace_to_jaxpr(backward, fixed + ct_avals), tuple(nonzero)


def operand_cotangents(
    operands: Sequence[Any], outs: Sequence[Any], nonzero: Sequence[bool]
) -> list[Any]:
    """What a jaxpr made by transpose_jaxpr gave, as a transpose rule gives it: an entry an operand,
    None for those that are not linear."""
    found, flags = iter(outs), iter(nonzero)
    return [
        (next(found) if next(flags) else Zero(x.aval)) if is_undefined_primal(x) else None
        for x in operands
    ]


# ---- rules ----

# primitive -> (ct, *operands, **params) -> a cotangent for each operand, None for non-linear ones
transpose_rules: dict[Primitive, Callable[..., Any]] = {}


def deflinear2(primitive: Primitive, transpose_rule: Callable) -> None:
    """For a primitive that is linear in all operands: jvp and transpose rules."""
    deflinear_jvp(primitive)
    transpose_rules[primitive] = transpose_rule


def defbilinear(primitive: Primitive, lhs_transpose: Callable, rhs_transpose: Callable) -> None:
    """For a product: rules `(ct, x, y, **params)` for the cotangent of x, and for that of y."""
    declare(primitive, linear="each")
    defjvp(
        primitive,
        lambda g, x, y, **params: primitive.bind(g, y, **params),
        lambda g, x, y, **params: primitive.bind(x, g, **params),
    )

    defproduct(primitive, lhs_transpose, rhs_transpose)


def defproduct(primitive: Primitive, lhs_transpose: Callable, rhs_transpose: Callable) -> None:
    """The same for a product that has its JVP rule already."""
    rules = functools.partial(product_transpose, primitive, lhs_transpose, rhs_transpose)
    transpose_rules[primitive] = rules


def product_transpose(
    primitive: Primitive,
    lhs_transpose: Any,
    rhs_transpose: Any,
    ct: Any,
    x: Any,
    y: Any,
    **params: Any,
) -> tuple[Any, Any]:
    """A product is linear in each operand while the other is known: that one gets None.

    Raises `not_linear` if both are UndefinedPrimals."""
    if is_undefined_primal(x) and is_undefined_primal(y):
        raise not_linear(primitive)
    if is_undefined_primal(x):
        return lhs_transpose(ct, x, y, **params), None
    return None, rhs_transpose(ct, x, y, **params)


def not_linear(primitive: Primitive) -> NotImplementedError:
    """The error for an equation that is not linear in what it is to be transposed by."""
    return NotImplementedError(
        f"the function is not linear: '{primitive.name}' is not linear in the operands that depend on "
        "its arguments. Only linear functions have a transpose; jax.vjp differentiates the others"
    )


def unbroadcast(aval: ShapedArray, ct: Any) -> Any:
    """The cotangent of an operand of this aval that an elementwise primitive may have stretched (or
    that is a scalar): the sum over its copies."""
    shape = primitives.shape_of(ct)
    if shape == aval.shape:
        return ct
    if not aval.shape:
        return primitives.reduce_sum(ct, range(len(shape)))
    axes = [
        i for i, (size, operand_size) in enumerate(zip(shape, aval.shape)) if size != operand_size
    ]
    return primitives.reshape(primitives.reduce_sum(ct, axes), aval.shape)


def _add_transpose(ct: Any, x: Any, y: Any) -> list[Any]:
    """A sum hands its cotangent to each of its linear operands."""
    return [unbroadcast(v.aval, ct) if is_undefined_primal(v) else None for v in (x, y)]


def mul_transpose_x(ct: Any, x: Any, y: Any) -> Any:
    """The cotangent of x in x * y, of which y is known. Either may have been stretched."""
    return unbroadcast(x.aval, primitives.mul(ct, y))


def mul_transpose_y(ct: Any, x: Any, y: Any) -> Any:
    """The cotangent of y in x * y, of which x is known."""
    return unbroadcast(y.aval, primitives.mul(x, ct))


def _broadcast_in_dim_transpose(
    ct: Any, x: Any, *, shape: Any, broadcast_dimensions: Any
) -> list[Any]:
    """What was copied gets the sum over the copies: along axes that x did not have, or had with size 1."""
    unit_dims = [i for i, size in enumerate(x.aval.shape) if size == 1]
    kept = [d for i, d in enumerate(broadcast_dimensions) if i not in unit_dims]
    axes = [axis for axis in range(len(shape)) if axis not in kept]
    return [primitives.expand_dims(primitives.reduce_sum(ct, axes), unit_dims)]


def _reduce_sum_transpose(ct: Any, x: Any, *, axes: Any) -> list[Any]:
    """Each element that was added up gets the cotangent of the sum."""
    kept: Any = [i for i in np.arange(x.aval.ndim) if i not in axes]
    return [primitives.broadcast_in_dim(ct, x.aval.shape, kept)]


def inverse(permutation: Sequence[int]) -> list[int]:
    """The permutation that undoes this one."""
    return sorted(range(len(permutation)), key=permutation.__getitem__)


transpose_rules[primitives.add_p] = _add_transpose
defproduct(primitives.mul_p, mul_transpose_x, mul_transpose_y)
deflinear2(primitives.neg_p, lambda ct, x: [primitives.neg(ct)])
transpose_rules[primitives.reduce_sum_p] = _reduce_sum_transpose
transpose_rules[primitives.broadcast_in_dim_p] = _broadcast_in_dim_transpose
deflinear2(primitives.reshape_p, lambda ct, x, **params: [primitives.reshape(ct, x.aval.shape)])
deflinear2(
    primitives.transpose_p,
    lambda ct, x, permutation: [primitives.transpose(ct, inverse(permutation))],
)
deflinear2(add_any_p, lambda ct, x, y: [ct, ct])


def checked_cotangent(
    ct: Any, expected: ShapedArray, who: str, error: type[Exception] = ValueError
) -> Any:
    """A user's cotangent as an array: rules look at its aval, which a Python number does not have."""
    is_float0 = getattr(ct, "dtype", None) == dtypes.float0
    got = ShapedArray(np.shape(ct), dtypes.float0) if is_float0 else get_aval(ct)
    if got.shape != expected.shape or got.dtype != expected.dtype:
        raise error(
            f"unexpected JAX type (e.g. shape/dtype) for argument to {who}: got {got.str_short()}, but "
            f"expected {expected.str_short()}, the type of the function's result"
        )
    return ct if is_float0 else as_array(ct)
