"""Transposition: a linear jaxpr run backwards, from the cotangents of its results to its arguments'.

The transpose rule of a linear operation turns the cotangent of the result into the operands'. The backward
pass walks the linear equations from the last to the first, applies the rules, and adds up the cotangents of
each value in an accumulator.

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
from tinyjax.core.jaxpr import Jaxpr, Literal, literal_value
from tinyjax.core.tree_util.pytrees import register_pytree_node
from tinyjax.transform.jvp import Zero, add_any_p, defjvp, deflinear_jvp

# ---- running a linear jaxpr backwards ----


class UndefinedPrimal:
    """A linear operand, which has an aval and no value. Like Zero, it is a pytree without leaves."""

    __slots__ = ("aval",)

    def __init__(self, aval: ShapedArray):
        self.aval = aval

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.aval.str_short(short_dtypes=True)})"


class ValAccum(UndefinedPrimal):
    """Adds up the cotangents of a linear value: one for each of its uses."""

    __slots__ = ("total",)

    def __init__(self, aval: ShapedArray):
        self.aval = aval
        self.total: Any = None

    def accum(self, ct: Any) -> None:
        """Adds a cotangent, unless it is None or a Zero."""
        if ct is not None and type(ct) is not Zero:
            self.total = ct if self.total is None else add_any_p.bind(self.total, ct)

    def freeze(self) -> Any:
        """The sum so far."""
        return Zero(self.aval) if self.total is None else self.total


for _kind in (UndefinedPrimal, ValAccum):
    register_pytree_node(_kind, lambda x: ((), x.aval), lambda aval, _: UndefinedPrimal(aval))


def is_undefined_primal(x: Any) -> bool:
    return isinstance(x, UndefinedPrimal)


def backward_pass(
    jaxpr: Jaxpr, consts: Sequence[Any], args: Sequence[Any], cotangents: Sequence[Any]
) -> None:
    """Adds the cotangents of the linear arguments to these: `args` are values and ValAccums.

    `cotangents` are those of the jaxpr's results, Zero among them. Each linear value has a ValAccum. First
    the equations without one are run, forwards. Then the linear ones are transposed, from the last to the
    first. Raises NotImplementedError if a primitive has no transpose rule."""
    env: dict[Any, Any] = dict(zip(jaxpr.constvars, consts))
    env.update(zip(jaxpr.invars, args))
    linear: set[Any] = {v for v in jaxpr.invars if isinstance(env[v], UndefinedPrimal)}
    linear_eqns = []
    for eqn in jaxpr.eqns:
        operands = [literal_value(v) if isinstance(v, Literal) else env[v] for v in eqn.invars]
        if linear.isdisjoint(eqn.invars):  # an equation without linear operands
            outs = eqn.primitive.bind(*operands, **eqn.params)
            env.update(zip(eqn.outvars, outs if eqn.primitive.multiple_results else [outs]))
        else:
            for v in eqn.outvars:
                env[v] = ValAccum(v.aval)
            linear.update(eqn.outvars)
            linear_eqns.append((eqn, operands))

    for atom, ct in zip(jaxpr.outvars, cotangents):
        if atom in linear:
            env[atom].accum(ct)
    source_before = context.source_info
    try:
        for eqn, operands in reversed(linear_eqns):
            cts = [env[v].freeze() for v in eqn.outvars]
            if set(map(type, cts)) <= {Zero}:
                continue
            context.source_info = eqn.source_info  # transposed equations have the same source line
            rule = transpose_rules.get(eqn.primitive) or missing_rule(eqn.primitive, "transpose")
            ct = cts if eqn.primitive.multiple_results else cts[0]
            cts_in = rule(ct, *operands, **eqn.params)
            for operand, ct in zip(operands, cts_in):
                if isinstance(operand, ValAccum):
                    operand.accum(ct)
    finally:
        context.source_info = source_before


# ---- rules ----

# primitive -> (ct, *operands, **params) -> a cotangent for each operand; None for operands that are not
# linear, or to whose accumulators the rule itself has added
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
    """Like defbilinear, for a product that has its JVP rule already."""
    rules = functools.partial(product_transpose, primitive, lhs_transpose, rhs_transpose)
    transpose_rules[primitive] = rules


def product_transpose(
    primitive: Primitive, lhs_transpose: Any, rhs_transpose: Any, ct: Any, x: Any, y: Any,
    **params: Any,
) -> tuple[Any, Any]:  # fmt: skip
    """A product is linear in each operand while the other is known: that one gets None.

    Raises `not_linear` if both are UndefinedPrimals."""
    if not isinstance(x, UndefinedPrimal):
        return None, rhs_transpose(ct, x, y, **params)
    if isinstance(y, UndefinedPrimal):
        raise not_linear(primitive)
    return lhs_transpose(ct, x, y, **params), None


def not_linear(primitive: Primitive) -> NotImplementedError:
    """The error for an equation that is not linear in the operands that are transposed."""
    return NotImplementedError(
        f"the function is not linear: '{primitive.name}' is not linear in the operands that depend on "
        "its arguments. Only linear functions have a transpose; jax.vjp differentiates the others"
    )


def require_known(primitive: Primitive, *operands: Any) -> None:
    """Raises `not_linear` if one of these is an UndefinedPrimal."""
    if any(map(is_undefined_primal, operands)):
        raise not_linear(primitive)


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
    """Each linear operand of a sum gets the sum's cotangent."""
    return [unbroadcast(v.aval, ct) if is_undefined_primal(v) else None for v in (x, y)]


def mul_transpose_x(ct: Any, x: Any, y: Any) -> Any:
    """The cotangent of x in x * y, where y is known. Broadcasting may have stretched either."""
    return unbroadcast(x.aval, primitives.mul(ct, y))


def mul_transpose_y(ct: Any, x: Any, y: Any) -> Any:
    """The cotangent of y in x * y, where x is known."""
    return unbroadcast(y.aval, primitives.mul(x, ct))


def _broadcast_in_dim_transpose(
    ct: Any, x: Any, *, shape: Any, broadcast_dimensions: Any
) -> list[Any]:
    """Sums the cotangent over the copies: along axes that x did not have, or had with size 1."""
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
    """A user's cotangent as an array: rules look at its aval, which a Python number does not have.

    An integer's cotangent may have any dtype, as it is not read."""
    is_float0 = getattr(ct, "dtype", None) == dtypes.float0
    got = ShapedArray(np.shape(ct), dtypes.float0) if is_float0 else get_aval(ct)
    if got.shape != expected.shape or expected.dtype not in (got.dtype, dtypes.float0):
        raise error(
            f"unexpected JAX type (e.g. shape/dtype) for argument to {who}: got {got.str_short()}, but "
            f"expected {expected.str_short()}, the type of the function's result"
        )
    return ct if is_float0 else as_array(ct)
