"""Custom derivative rules, forward: `custom_jvp`.

jvp calls the rule (and so do linearize and grad, which are made of jvp), vmap batches it along with the
function, and evaluation never looks at it.

Source: https://docs.jax.dev/en/latest/notebooks/Custom_derivative_rules_for_Python_code.html
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from tinyjax.core import dtypes
from tinyjax.core.api_util import fun_name
from tinyjax.core.avals import get_aval
from tinyjax.core.bind import (
    Primitive,
    Tracer,
    abstract_eval_rules,
    context,
    impl_rules,
    set_current_trace,
)
from tinyjax.core.debug_info import DebugInfo
from tinyjax.core.facts import MOVES
from tinyjax.core.inlining import eager_jaxpr_fun
from tinyjax.core.jaxpr import ClosedJaxpr, JaxprEqn, dce_jaxpr, dce_rules
from tinyjax.core.lists import pick
from tinyjax.core.pretty_printer import JaxprPpContext, Params, printed_params
from tinyjax.core.tracing import trace_to_jaxpr
from tinyjax.core.tree_util.pytrees import tree_flatten, tree_map, tree_unflatten
from tinyjax.transform.batching import (
    AxisData,
    BatchTrace,
    axis_batch_rules,
    defvectorized,
    move_batch_dim,
)
from tinyjax.transform.custom.calls import (
    BatchDims,
    CallWithRules,
    FunctionWithRules,
    TypedFun,
    batched_function,
    check_same_result,
    from_symbolic_zero,
    leaf_paths,
    positional,
    tangent_aval_of,
    to_symbolic_zero,
    with_user_source_info,
)
from tinyjax.transform.jit.static_arguments import with_static
from tinyjax.transform.jvp import (
    JVPTracer,
    Zero,
    add_tangents,
    defzero,
    instantiate_zeros,
    jvp_rules,
    zero_tangent,
)

# ---- stop_gradient: the rule that the tangent is zero ----

stop_gradient_p = Primitive("stop_gradient", axes="elementwise", **MOVES)
impl_rules[stop_gradient_p] = lambda x: x
abstract_eval_rules[stop_gradient_p] = lambda x: x
defzero(stop_gradient_p)  # and so never transposed
defvectorized(stop_gradient_p)


def stop_gradient(x: Any) -> Any:
    """`x`, a pytree of arrays, as a constant to differentiation: its tangents are zero, at all levels."""
    return tree_map(_stop_gradient, x)


def _stop_gradient(x: Any) -> Any:
    if isinstance(x, JVPTracer):
        return _stop_gradient(x.primal)
    return x if getattr(x, "dtype", None) == dtypes.key_dtype else stop_gradient_p.bind(x)


# ---- custom_jvp_call ----

# Parameters: fun; jvp, (primals, tangents) -> (outs, out_tangents), where any tangent may be a Zero;
# names, of the function and of its rule; symbolic_zeros.


def _jvp_functions(
    *, call_jaxpr: ClosedJaxpr, num_consts: int, jvp: Callable, **params: Any
) -> dict[str, Any]:
    """An equation's parameters as functions. The rule does not get the closed-over values."""

    def rule(primals: Any, tangents: Any) -> Any:
        return _call_traced(jvp, primals[num_consts:], tangents[num_consts:])

    return {"fun": lambda *args: eager_jaxpr_fun(call_jaxpr)(*args), "jvp": rule, **params}


def _call_traced(jvp: Callable, primals: Any, tangents: Any) -> tuple[list, list]:
    """Traces a rule and runs its jaxpr: it sees tracers, as the function did when it was traced."""
    zeros = [type(t) is Zero for t in tangents]
    out_zeros: list[bool] = []

    def traced(*args: Any) -> list[Any]:
        nonzero = iter(args[len(primals) :])
        given = [t if zero else next(nonzero) for t, zero in zip(tangents, zeros)]
        outs, out_tangents = jvp(args[: len(primals)], given)
        out_zeros.extend(type(t) is Zero for t in out_tangents)
        return [*outs, *(t for t in out_tangents if type(t) is not Zero)]

    args = [*primals, *(t for t in tangents if type(t) is not Zero)]
    flat = eager_jaxpr_fun(trace_to_jaxpr(traced, [get_aval(x) for x in args]))(*args)
    outs, nonzero = flat[: len(out_zeros)], iter(flat[len(out_zeros) :])
    return outs, [zero_tangent(x) if z else next(nonzero) for x, z in zip(outs, out_zeros)]


custom_jvp_call_p = CallWithRules("custom_jvp_call", _jvp_functions)


def _custom_jvp_jvp(
    primals: Any, tangents: Any, *, jvp: Callable, symbolic_zeros: bool, **params: Any
) -> Any:
    """The pair (outs, out_tangents) that the user's rule, the parameter `jvp`, makes of primals and
    tangents.

    A tangent may be a Zero. A rule that asked for no symbolic_zeros is given arrays in their place;
    but the tangents of integers and bools, whose tangent dtype is float0, are handed on as they are."""
    if not symbolic_zeros:
        tangents = [
            t if get_aval(x).to_tangent_aval().dtype == dtypes.float0 else instantiate_zeros(t)
            for x, t in zip(primals, tangents)
        ]
    return jvp(primals, tangents)


def _custom_jvp_batch(
    axis: AxisData, vals: Any, dims: Any, *, fun: Callable, jvp: Callable, **params: Any
) -> Any:
    batch = BatchDims(axis, dims)

    def batched_jvp(primals: Any, tangents: Any) -> Any:
        trace = BatchTrace(context.trace, axis)
        primals = [trace.tracer(x, d) for x, d in zip(primals, dims)]
        tangents = [
            zero_tangent(x) if type(t) is Zero else trace.tracer(t, d)
            for x, t, d in zip(primals, tangents, dims)
        ]
        with set_current_trace(trace):
            outs, out_tangents = jvp(primals, tangents)
        outs = batch.settle([trace.val_and_dim(x) for x in outs])
        return outs, [
            zero_tangent(x)
            if type(t) is Zero
            else move_batch_dim(*trace.val_and_dim(t), dim, axis.size)
            for x, t, dim in zip(outs, out_tangents, batch.out_dims)
        ]

    batched_fun = batched_function(fun, batch)
    outs = custom_jvp_call_p.bind(*vals, fun=batched_fun, jvp=batched_jvp, **params)
    return outs, batch.out_dims


def _custom_jvp_dce(eqn: JaxprEqn, used: list[bool]) -> JaxprEqn:
    """Drops unused results. All operands stay: the rule may need what the function does not."""

    def jvp(primals: Any, tangents: Any) -> Any:
        outs, out_tangents = eqn.params["jvp"](primals, tangents)
        return pick(outs, used), pick(out_tangents, used)

    jaxpr = dce_jaxpr(eqn.params["call_jaxpr"].jaxpr, used)[0]
    return eqn.replace(
        outvars=pick(eqn.outvars, used),
        params=eqn.params | {"call_jaxpr": ClosedJaxpr(jaxpr), "jvp": jvp},
    )


def _custom_jvp_params(eqn: JaxprEqn, context: JaxprPpContext) -> Params:
    name, jvp_name = eqn.params["names"]
    shown = [("name", name), ("call_jaxpr", eqn.params["call_jaxpr"]), ("jvp", jvp_name)]
    if eqn.params["num_consts"]:
        shown.append(("num_consts", eqn.params["num_consts"]))
    return [*shown, ("symbolic_zeros", eqn.params["symbolic_zeros"])]


jvp_rules[custom_jvp_call_p] = _custom_jvp_jvp
axis_batch_rules[custom_jvp_call_p] = _custom_jvp_batch
dce_rules[custom_jvp_call_p] = _custom_jvp_dce
printed_params["custom_jvp_call"] = _custom_jvp_params


# ---- the front door ----


class custom_jvp(FunctionWithRules):  # noqa: N801  (used as a decorator)
    """A function whose derivative is the rule that is given to `defjvp` (or `defjvps`).

    It takes and gives pytrees of arrays; keyword arguments are resolved to positions. Arguments that
    `nondiff_argnums` or `nondiff_argnames` name can be any Python values, such as functions: the
    rule is given them first. What the function closes over is a constant to differentiation.
    Calls raise AttributeError as long as there is no rule, TypeError where the rule's results do not
    fit those of the function."""

    rules = ("jvp",)
    jvp: Callable | None

    def defjvp(self, jvp: Callable, symbolic_zeros: bool = False) -> Callable:
        """Sets the rule `(*nondiff_args, primals, tangents) -> (out, tangent_out)`, and gives it back.

        With symbolic_zeros, tangents known to be zero are SymbolicZero objects instead of arrays."""
        self.jvp = jvp
        self.symbolic_zeros = symbolic_zeros
        return jvp

    def defjvps(self, *jvps: Callable | None) -> None:
        """Sets a rule for each argument, `(tangent, out, *primals) -> tangent_out`; None for no
        dependence.

        Raises TypeError if there are nondiff_argnums."""
        if self.nondiff_argnums:
            raise TypeError("Can't use defjvps with nondiff_argnums: defjvp takes one rule for all")
        rules = [rule and _with_zeros(with_user_source_info(rule)) for rule in jvps]

        def jvp(primals: tuple, tangents: tuple) -> tuple[Any, Any]:
            out, tangent = _sum_of_rules(self, rules, primals, tangents)
            return out, tree_map(
                lambda _, t: to_symbolic_zero(t, symbolic_zeros=True), out, tangent
            )

        self.defjvp(jvp)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        name = fun_name(self.fun)
        if self.jvp is None:
            raise AttributeError(
                f"No JVP defined for custom_jvp function {name} using defjvp: give it the rule before "
                "the first call"
            )
        args = positional("custom_jvp", self.fun, args, kwargs)
        static = [(i, type(args[i]), _constant(args[i])) for i in self.nondiff_argnums]
        dynamic = tuple(x for i, x in enumerate(args) if i not in self.nondiff_argnums)
        leaves, in_tree = tree_flatten((dynamic, {}))
        info = DebugInfo(self.fun, self.nondiff_argnums, in_tree, traced_for="jax.custom_jvp")
        fun = TypedFun(with_static(self.fun, tuple(static)), in_tree, info)
        constants = [value for _, _, value in static]
        jvp = functools.partial(with_user_source_info(self.jvp), *constants)
        outs = custom_jvp_call_p.bind(
            *leaves,
            fun=fun,
            jvp=functools.partial(_call_rule, jvp, fun, name, self.symbolic_zeros),
            names=(name, fun_name(self.jvp)),
            symbolic_zeros=self.symbolic_zeros,
        )
        return tree_unflatten(fun.out_tree, outs)


def _constant(x: Any) -> Any:
    """An argument that is not differentiated: its arrays become constants, other values stay unchanged."""
    return tree_map(lambda leaf: stop_gradient(leaf) if isinstance(leaf, Tracer) else leaf, x)


# ---- a user's rule, and what it must give ----


def _with_zeros(rule: Callable) -> Callable:
    """The user's rule with each zero tangent, in whatever form, returned as a Zero."""
    return lambda *args: tree_map(from_symbolic_zero, rule(*args))


def _sum_of_rules(
    function: Callable, jvps: Sequence[Callable | None], primals: tuple, tangents: tuple
) -> tuple[Any, Any]:
    """The result of `function`, and its tangent: the sum of the tangents that the rules return.

    The rule of an argument is called as rule(tangent, out, *primals); one that is None adds nothing.
    The result and each rule's tangent may be pytrees, which are added leaf by leaf."""
    out = function(*primals)
    zeros = tree_map(zero_tangent, out)
    parts = [rule(t, out, *primals) if rule else zeros for rule, t in zip(jvps, tangents)]
    sums = tree_map(lambda _, *terms: functools.reduce(add_tangents, terms), out, *parts)
    return out, sums


def _call_rule(
    rule: Callable,
    fun: TypedFun,
    name: str,
    symbolic_zeros: bool,
    primals: Sequence[Any],
    tangents: Sequence[Any],
) -> tuple[list[Any], list[Any]]:
    """The results and their tangents, as flat lists, by the rule of custom_jvp."""
    shown = [to_symbolic_zero(t, symbolic_zeros) for t in tangents]
    (py_primals, _), (py_tangents, _) = (tree_unflatten(fun.in_tree, x) for x in (primals, shown))
    pair = rule(py_primals, py_tangents)
    who = f"Custom JVP rule {fun_name(rule)} for function {name}"
    if not isinstance(pair, (tuple, list)) or len(pair) != 2:
        raise TypeError(
            f"{who} must produce a pair (list or tuple of length two) representing primal and tangent "
            f"outputs, but got {pair}"
        )
    (outs, out_tree), (out_tangents, tangent_tree) = tree_flatten(pair[0]), tree_flatten(pair[1])
    if out_tree != tangent_tree:
        raise TypeError(
            f"{who} must produce primal and tangent outputs with equal container (pytree) structures, "
            f"but got {out_tree} and {tangent_tree} respectively"
        )
    check_same_result(who, fun, out_tree, outs)
    for path, x, t in zip(leaf_paths(out_tree), outs, out_tangents):
        expected, got = get_aval(x).to_tangent_aval().strip_weak_type(), tangent_aval_of(t)
        if expected != got:
            raise TypeError(
                f"{who} must produce primal and tangent outputs with corresponding shapes and dtypes. "
                f"Expected {expected.str_short()} (tangent type of {get_aval(x).str_short()}) but got "
                f"{got.str_short()}, at output{path}"
            )
    fun.out_tree = out_tree
    return outs, [from_symbolic_zero(t) for t in out_tangents]
