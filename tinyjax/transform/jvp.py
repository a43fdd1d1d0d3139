"""Forward-mode differentiation: a value carries its tangent along.

Nested differentiation does not confuse tangents: each `JVPTrace` recognizes only its own tracers; all others
are constants to it.

Source: https://docs.jax.dev/en/latest/notebooks/autodiff_cookbook.html
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tinyjax.core import bind, dtypes, primitives
from tinyjax.core.api_util import check_callable, split_aux
from tinyjax.core.array import Array, LiteralArray, ShapedArray
from tinyjax.core.avals import get_aval
from tinyjax.core.bind import (
    Primitive,
    Trace,
    Tracer,
    check_values,
    context,
    missing_rule,
    set_current_trace,
)
from tinyjax.core.errors import Origin
from tinyjax.core.facts import declare
from tinyjax.core.tree_util.prefixes import structures_differ
from tinyjax.core.tree_util.pytrees import (
    PyTreeDef,
    register_pytree_node,
    tree_flatten,
    tree_unflatten,
)

# ---- tangents that are known to be zero ----


class Zero:
    """A tangent (or cotangent) that is zero: no memory, no arithmetic. It is a pytree without leaves, so that
    a rule that is itself vmapped or jitted can take and return one."""

    __slots__ = ("aval",)

    def __init__(self, aval: ShapedArray):
        self.aval = aval

    def __repr__(self) -> str:
        return f"Zero({self.aval.str_short(short_dtypes=True)})"


register_pytree_node(Zero, lambda zero: ((), zero.aval), lambda aval, _: Zero(aval))


def zero_tangent(primal: Any) -> Zero:
    """The symbolic zero tangent of a value."""
    return Zero(get_aval(primal).to_tangent_aval())


def instantiate_zeros(tangent: Any) -> Any:
    """A tangent as an array, even if it is a Zero; `full` makes arrays of one value."""
    return full(tangent.aval, 0) if type(tangent) is Zero else tangent


def full(aval: ShapedArray, value: float) -> Any:
    """An array of one value. Integers' tangents (dtype float0) are NumPy's: no operation takes one."""
    if aval.dtype == dtypes.float0:
        return np.zeros(aval.shape, dtypes.float0)
    scalar = LiteralArray(np.array(value, aval.dtype), ShapedArray((), aval.dtype, aval.weak_type))
    out = scalar
    if aval.shape:
        place = {} if aval.extra is None else aval.extra.params_for("broadcast_in_dim")
        out = primitives.broadcast_in_dim(scalar, aval.shape, (), **place)
    return out if aval.extra is None else aval.extra.cast(out)


# The sum of two tangents or cotangents of one value
add_any_p = Primitive("add_any", axes="elementwise", cost=1, makes_nan=True)
bind.impl_rules[add_any_p] = np.add


def _add_any_aval(x: ShapedArray, y: ShapedArray) -> ShapedArray:
    return x if x is y else ShapedArray(x.shape, x.dtype, x.weak_type and y.weak_type)


bind.abstract_eval_rules[add_any_p] = _add_any_aval


def add_tangents(x: Any, y: Any) -> Any:
    """The sum of two tangents of one value. A Zero costs nothing: the other one is the sum."""
    if type(x) is Zero:
        return y
    return x if type(y) is Zero else add_any_p.bind(x, y)


# ---- the trace ----


class JVPTracer(Tracer):
    """A pair of a primal and its tangent."""

    __slots__ = ("aval", "primal", "tangent")

    def __init__(self, trace: Trace, primal: Any, tangent: Any):
        self._trace = trace
        self.aval = primal.aval if isinstance(primal, Array) else get_aval(primal)
        self.primal = primal
        self.tangent = tangent if self.aval.extra is None else self.aval.extra.cast(tangent)

    def __repr__(self) -> str:
        return f"JVPTracer(primal={self.primal}, tangent={self.tangent})"

    @property
    def line(self) -> str | None:
        known = [x.line for x in (self.primal, self.tangent) if isinstance(x, Tracer)]
        return next((line for line in known if line), None)

    def concrete(self) -> Any:
        """The primal if it is a value; `concrete` of the primal if that is a tracer too."""
        return self.primal.concrete() if isinstance(self.primal, Tracer) else self.primal

    def origin(self) -> Origin:
        if isinstance(self.primal, Tracer):
            return self.primal.origin()
        return Origin(
            "differentiated",
            "Its value is known, but it carries a tangent (jax.grad, jax.jvp), which Python's numbers and "
            "NumPy's arrays can't.",
        )


class JVPTrace(Trace):
    """Applies JVP rules. The rules' own binds go to `parent`, the trace that was current outside."""

    def __init__(self, parent: Trace):
        self.parent = parent

    def primal_and_tangent(self, x: Any) -> tuple[Any, Any]:
        """What a tracer of this trace carries. All else is a constant here: its tangent is Zero."""
        if type(x) is JVPTracer and x._trace is self:
            return x.primal, x.tangent
        return x, zero_tangent(x)

    def primal(self, x: Any) -> Any:
        """The primal of a tracer of this trace; all else, array or not, as it is."""
        return x.primal if type(x) is JVPTracer and x._trace is self else x

    def process_primitive(self, primitive: Primitive, args: Sequence[Any], params: dict) -> Any:
        """The primitive's JVP rule, applied to primals and tangents; what the rule binds goes to the
        parent. Where no operand has a tangent, or there is no operand, the parent processes the primitive:
        no rule, no tracer. A primitive of several results gives a list of tracers. Raises NotImplementedError
        if a rule is needed and missing."""
        primals, tangents = zip(*map(self.primal_and_tangent, args)) if args else ((), ())
        if all([type(t) is Zero for t in tangents]):
            return self.parent.process_primitive(primitive, primals, params)
        rule = jvp_rules.get(primitive) or missing_rule(primitive, "jvp")
        with set_current_trace(self.parent):
            out, tangent_out = rule(primals, tangents, **params)
        if primitive.multiple_results:
            return [self.pair(x, t) for x, t in zip(out, tangent_out)]
        return self.pair(out, tangent_out)

    def pair(self, primal: Any, tangent: Any) -> Any:
        """A tracer of this trace; the primal itself, without a tracer, if the tangent is a Zero."""
        return primal if type(tangent) is Zero else JVPTracer(self, primal, tangent)


# ---- rules ----

# primitive -> (primals, tangents, **params) -> (primal_out, tangent_out)
jvp_rules: dict[Primitive, Callable[..., Any]] = {}


def defjvp(primitive: Primitive, *rules: Callable | None) -> None:
    """One rule an operand, `(tangent, *primals, **params) -> tangent_out`; the sum is the result's.

    None stands for an operand that carries no tangent."""
    jvp_rules[primitive] = functools.partial(_jvp_by_operand, primitive, rules, False)


def defjvp2(primitive: Primitive, *rules: Callable | None) -> None:
    """Like defjvp, for rules that use the result: `(tangent, out, *primals, **params)`."""
    jvp_rules[primitive] = functools.partial(_jvp_by_operand, primitive, rules, True)


def _jvp_by_operand(
    primitive: Primitive, rules: Any, use_result: bool, primals: Any, tangents: Any, **params: Any
) -> tuple[Any, Any]:
    """The result, and its tangent: what the operands' rules give, summed; Zero if no operand moves.

    rules: one an operand, None where there is none, called as defjvp says, or with `use_result` as
    defjvp2 says, and only for operands whose tangent is not a Zero."""
    out = primitive.bind(*primals, **params)
    operands = (out, *primals) if use_result else primals
    parts = [
        rule(tangent, *operands, **params)
        for rule, tangent in zip(rules, tangents)
        if rule is not None and type(tangent) is not Zero
    ]
    return out, functools.reduce(add_tangents, parts) if parts else zero_tangent(out)


def deflinear_jvp(primitive: Primitive) -> None:
    """For a primitive that is linear in all operands together: its JVP applies it to the tangents."""
    declare(primitive, linear="all")
    jvp_rules[primitive] = functools.partial(_linear_jvp, primitive)


def _linear_jvp(primitive: Primitive, primals: Any, tangents: Any, **params: Any) -> Any:
    """The result, and the primitive applied to the tangents as arrays."""
    out = primitive.bind(*primals, **params)
    return out, primitive.bind(*[instantiate_zeros(t) for t in tangents], **params)


def defzero(primitive: Primitive) -> None:
    """For a primitive whose derivative is zero: comparisons, rounding."""
    declare(primitive, is_step=True)
    jvp_rules[primitive] = functools.partial(_zero_jvp, primitive)


def _zero_jvp(primitive: Primitive, primals: Any, tangents: Any, **params: Any) -> Any:
    out = primitive.bind(*primals, **params)
    if primitive.multiple_results:
        return out, [zero_tangent(x) for x in out]
    return out, zero_tangent(out)


def broadcast_to_result(tangent: Any, shape: tuple[int, ...]) -> Any:
    """The tangent of the one operand that has any, in the shape of an elementwise result."""
    t_shape = primitives.shape_of(tangent)
    if t_shape == shape:
        return tangent
    if not t_shape:
        return primitives.broadcast_in_dim(tangent, shape, ())
    kept = [i for i, (a, b) in enumerate(zip(t_shape, shape)) if a == b]
    return primitives.broadcast_in_dim(
        primitives.reshape(tangent, [t_shape[i] for i in kept]), shape, kept
    )


def sum_jvp(primitive: Primitive, negate_y: Callable | None = None) -> Callable[..., Any]:
    """The rule of x + y, and of x - y where `negate_y` is given."""

    def rule(primals: Any, tangents: Any) -> Any:
        out = primitive.bind(*primals)
        x_dot, y_dot = tangents
        if type(x_dot) is Zero:
            y_dot = negate_y(y_dot) if negate_y else y_dot
            return out, broadcast_to_result(y_dot, primitives.shape_of(out))
        if type(y_dot) is Zero:
            return out, broadcast_to_result(x_dot, primitives.shape_of(out))
        return out, primitive.bind(x_dot, y_dot)

    return rule


def sin_jvp(tangent: Any, x: Any) -> Any:
    """The derivative of sin at x, times the tangent."""
    return primitives.mul(tangent, primitives.cos(x))


def cos_jvp(tangent: Any, x: Any) -> Any:
    """The derivative of cos at x, times the tangent."""
    return primitives.neg(primitives.mul(tangent, primitives.sin(x)))


def mul_jvp_x(tangent: Any, x: Any, y: Any) -> Any:
    """How x * y moves when x moves by the tangent, and y stays."""
    return primitives.mul(tangent, y)


def mul_jvp_y(tangent: Any, x: Any, y: Any) -> Any:
    """How x * y moves when y moves by the tangent, and x stays."""
    return primitives.mul(x, tangent)


def _broadcast_in_dim_jvp(primals: Any, tangents: Any, **params: Any) -> Any:
    out = primitives.broadcast_in_dim_p.bind(*primals, **params)
    return out, primitives.broadcast_in_dim_p.bind(*tangents, **params)


jvp_rules[primitives.add_p] = sum_jvp(primitives.add_p)
defjvp(primitives.mul_p, mul_jvp_x, mul_jvp_y)
deflinear_jvp(primitives.neg_p)
defjvp(primitives.sin_p, sin_jvp)
defjvp(primitives.cos_p, cos_jvp)
defzero(primitives.gt_p)
deflinear_jvp(primitives.reduce_sum_p)
jvp_rules[primitives.broadcast_in_dim_p] = _broadcast_in_dim_jvp
deflinear_jvp(primitives.reshape_p)
deflinear_jvp(primitives.transpose_p)
deflinear_jvp(add_any_p)


# ---- the front door ----


def jvp(
    fun: Callable, primals: Sequence[Any], tangents: Sequence[Any], has_aux: bool = False
) -> Any:
    """The value of `fun` at `primals` and its derivative along `tangents`: (out, tangent_out).

    `primals` and `tangents` are tuples of pytrees of equal structure, shapes and dtypes (float0
    tangents for integers). With has_aux, fun gives (out, aux) and jvp gives (out, tangent_out, aux).
    Raises TypeError or ValueError where tangents do not fit primals."""
    check_callable(fun, "differentiate")
    flat_primals, flat_tangents, in_tree = _flat_pairs(primals, tangents)
    trace = JVPTrace(context.trace)
    args = [_as_tracer(trace, p, t) for p, t in zip(flat_primals, flat_tangents)]
    with set_current_trace(trace):
        out = fun(*tree_unflatten(in_tree, args))
    aux: tuple = ()
    if has_aux:
        out, raw_aux = split_aux(out)
        leaves, aux_tree = tree_flatten(raw_aux)
        aux = (tree_unflatten(aux_tree, [trace.primal(x) for x in leaves]),)
    outs, out_tree = tree_flatten(out)
    pairs = [trace.primal_and_tangent(x) for x in outs]
    primal_out = tree_unflatten(out_tree, [primal for primal, _ in pairs])
    tangent_out = tree_unflatten(out_tree, [instantiate_zeros(t) for _, t in pairs])
    return primal_out, tangent_out, *aux


def _flat_pairs(primals: Any, tangents: Any) -> tuple[list[Any], list[Any], PyTreeDef]:
    """The leaves of both, and their structure. Raises the errors that jvp documents."""
    if not isinstance(primals, (tuple, list)) or not isinstance(tangents, (tuple, list)):
        raise TypeError(
            "primal and tangent arguments to jax.jvp must be tuples or lists; found "
            f"{type(primals).__name__} and {type(tangents).__name__}."
        )
    flat_primals, in_tree = tree_flatten(primals)
    flat_tangents, tangent_tree = tree_flatten(tangents)
    if in_tree != tangent_tree:
        raise TypeError(
            "primal and tangent arguments to jax.jvp must have the same tree structure; primals have "
            f"tree structure {in_tree} whereas tangents have tree structure {tangent_tree}."
            + structures_differ("primals", in_tree, "tangents", tangent_tree)
        )
    for primal, tangent in zip(flat_primals, flat_tangents):
        _check_tangent(get_aval(primal), tangent)
    return flat_primals, flat_tangents, in_tree


def _as_tracer(trace: JVPTrace, primal: Any, tangent: Any) -> Any:
    """The pair as a tracer; an integer, whose tangent has dtype float0, is a constant."""
    float0 = getattr(tangent, "dtype", None) == dtypes.float0
    return primal if float0 else JVPTracer(trace, primal, tangent)


def _check_tangent(primal: ShapedArray, tangent: Any) -> None:
    for check in check_values:
        check("jvp", (primal, tangent))
    is_float0 = getattr(tangent, "dtype", None) == dtypes.float0
    dtype = dtypes.float0 if is_float0 else get_aval(tangent).dtype
    expected = dtypes.tangent_dtype(primal.dtype)
    if dtype != expected:
        raise TypeError(
            "primal and tangent arguments to jax.jvp do not match; dtypes must be equal, or in case of "
            f"int/bool primal dtype the tangent dtype must be float0. Got primal dtype "
            f"{primal.dtype.name} and so expected tangent dtype {dtypes.long_name(expected)}, but got "
            f"tangent dtype {dtypes.long_name(dtype)} instead."
        )
    shape = np.shape(tangent) if is_float0 else get_aval(tangent).shape
    if shape != primal.shape:
        raise ValueError(
            "jvp called with different primal and tangent shapes; Got primal shape "
            f"{primal.shape} and tangent shape as {shape}"
        )
