"""Calls of functions with custom derivative rules: the common part of custom_jvp and custom_vjp.

Such a function is bound as a primitive whose parameters are Python functions (the function, and its rules),
so that each transformation can choose among them; a trace writes an equation that has the function as a jaxpr
and remembers the rules for later.

Source: https://docs.jax.dev/en/latest/notebooks/Custom_derivative_rules_for_Python_code.html
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from tinyjax.core import dtypes, primitives
from tinyjax.core.api_util import FlatFun, fun_name, wraps
from tinyjax.core.array import ShapedArray
from tinyjax.core.avals import get_aval
from tinyjax.core.bind import (
    Primitive,
    abstract_eval_rules,
    context,
    impl_rules,
    no_rule_reasons,
    restore_source_info,
    set_current_trace,
)
from tinyjax.core.jaxpr import ClosedJaxpr, SourceLine, constvars_as_invars
from tinyjax.core.tracing import JaxprTrace, is_ours, staging_rules, trace_to_jaxpr
from tinyjax.core.tree_util.key_paths import keystr, tree_flatten_with_path
from tinyjax.core.tree_util.pytrees import PyTreeDef, tree_map, tree_unflatten
from tinyjax.transform.batching import AxisData, BatchTrace, move_batch_dim
from tinyjax.transform.jvp import Zero, full, zero_tangent
from tinyjax.transform.linearize import LinearizeTrace, partial_eval_rules
from tinyjax.transform.transposition import backward_pass, transpose_rules

# ---- a primitive of Python functions ----


class CallWithRules(Primitive):
    """Calls `fun`, a function of leaves with custom rules, which are functions of leaves too.

    An equation has the jaxpr of `fun`, `call_jaxpr`, whose first `num_consts` arguments stand for the
    values that `fun` closes over; `from_eqn` makes functions of such parameters when the equation is run."""

    takes_functions = True

    def __init__(self, name: str, from_eqn: Callable[..., dict]):
        super().__init__(name, multiple_results=True, impl_binds_primitives=True)
        self.from_eqn = from_eqn
        impl_rules[self] = lambda *args, fun, **params: fun(*args)
        abstract_eval_rules[self] = lambda *avals, call_jaxpr, **params: call_jaxpr.out_avals
        staging_rules[self] = functools.partial(_stage, self)
        partial_eval_rules[self] = _run_linear_function
        transpose_rules[self] = _transpose_function
        no_rule_reasons[self, "lowering"] = "compile/passes/inline.py replaces it by its equations"

    def bind(self, *args: Any, **params: Any) -> Any:
        return super().bind(*args, **self.from_eqn(**params) if "call_jaxpr" in params else params)


def _stage(primitive: Primitive, trace: JaxprTrace, args: Sequence[Any], params: dict) -> Any:
    """Writes the equation: the function is traced now, and its rules when they are needed."""
    rules = {name: value for name, value in params.items() if name != "fun"}
    call_jaxpr, consts = trace_call(params["fun"], [get_aval(x) for x in args])
    params = {"call_jaxpr": call_jaxpr, "num_consts": len(consts), **rules}
    return trace.add_eqn(primitive, [*consts, *args], params)


def trace_call(fun: Callable, in_avals: Sequence[ShapedArray]) -> tuple[ClosedJaxpr, Sequence[Any]]:
    """The jaxpr of a function of leaves, and the closed-over values, which are the jaxpr's first
    arguments."""
    closed = trace_to_jaxpr(fun, in_avals)
    return constvars_as_invars(closed), closed.consts


def _run_linear_function(trace: LinearizeTrace, args: Sequence[Any], params: dict) -> Any:
    """Runs the function without its rule: applied to a tangent, in another function's rule, it is linear."""
    with set_current_trace(trace):
        return params["fun"](*args)


def _transpose_function(cts: Any, *args: Any, call_jaxpr: ClosedJaxpr, **params: Any) -> list[Any]:
    """The operands' accumulators are the jaxpr's: the backward pass adds to them."""
    backward_pass(call_jaxpr.jaxpr, call_jaxpr.consts, args, cts)
    return [None] * len(args)


# ---- functions of a batch ----


class BatchDims:
    """The batch dims of a function's results, settled by whichever runs first, the function or its rule."""

    def __init__(self, axis: AxisData, in_dims: Sequence[int | None]):
        self.axis = axis
        self.in_dims = in_dims
        self.out_dims: list[int | None] = []

    def settle(self, pairs: Sequence[tuple[Any, int | None]]) -> list[Any]:
        """The results, given as values and dims, with their batch dims in the settled places."""
        if not self.out_dims:
            unmapped = all(dim is None for dim in self.in_dims)
            self.out_dims.extend(dim if unmapped else dim or 0 for _, dim in pairs)
        return [
            move_batch_dim(x, d, to, self.axis.size) for (x, d), to in zip(pairs, self.out_dims)
        ]


def batched_function(fun: Callable, dims: BatchDims) -> Callable[..., list[Any]]:
    """`fun` of a batch. It may be called under another trace than the one that is current now."""

    def batched(*vals: Any) -> list[Any]:
        trace = BatchTrace(context.trace, dims.axis)
        with set_current_trace(trace):
            outs = fun(*[trace.tracer(x, d) for x, d in zip(vals, dims.in_dims)])
        return dims.settle([trace.val_and_dim(x) for x in outs])

    return batched


def cotangent_of_batch(ct: Any, dim: int | None, to: int | None, size: int) -> Any:
    """A cotangent with the operand's batch dim; summed over the batch if all examples share the operand."""
    if to is None and dim is not None:
        return primitives.reduce_sum(ct, (dim,))
    return move_batch_dim(ct, dim, to, size)


# ---- zeros, as rules see them ----


class SymbolicZero:
    """A tangent or cotangent that is zero, passed to rules with symbolic_zeros=True.

    It has the shape and dtype of the zero array that it stands for, but operations do not accept it."""

    def __init__(self, aval: ShapedArray):
        self.aval = aval

    def __getattr__(self, name: str) -> Any:
        return getattr(self.aval, name)  # shape, dtype, ndim, size

    def __repr__(self) -> str:
        return "SymbolicZero"


def zero_from_primal(primals: Any, symbolic_zeros: bool = False) -> Any:
    """The zero tangents of a pytree of arrays: arrays, or SymbolicZeros if `symbolic_zeros` is set."""
    return tree_map(lambda x: to_symbolic_zero(zero_tangent(x), symbolic_zeros), primals)


def to_symbolic_zero(tangent: Any, symbolic_zeros: bool) -> Any:
    """A tangent as a rule sees it."""
    if type(tangent) is not Zero:
        return tangent
    return SymbolicZero(tangent.aval) if symbolic_zeros else full(tangent.aval, 0)


def from_symbolic_zero(tangent: Any) -> Any:
    """A tangent that a rule returned; a Zero instead of a SymbolicZero or a float0 array."""
    if type(tangent) is SymbolicZero or getattr(tangent, "dtype", None) == dtypes.float0:
        return Zero(get_aval(tangent) if type(tangent) is not SymbolicZero else tangent.aval)
    return tangent


def tangent_aval_of(tangent: Any) -> ShapedArray:
    """The type of a tangent, whether an array or one of the zeros."""
    aval = tangent.aval if isinstance(tangent, (Zero, SymbolicZero)) else get_aval(tangent)
    return aval.strip_weak_type()


# ---- what the front doors share ----


class FunctionWithRules:
    """The base of custom_jvp and custom_vjp: a function without rules yet, and the positions of its
    nondifferentiable arguments, which its rules get unchanged."""

    rules: tuple[str, ...]

    def __init__(
        self,
        fun: Callable,
        nondiff_argnums: Sequence[int] = (),
        nondiff_argnames: str | Sequence[str] = (),
    ):
        wraps(fun)(self)
        names = (nondiff_argnames,) if isinstance(nondiff_argnames, str) else nondiff_argnames
        named = enumerate(inspect.signature(fun).parameters if names else ())
        self.fun = fun
        self.nondiff_argnums = sorted({*nondiff_argnums, *(i for i, n in named if n in names)})
        self.symbolic_zeros = False
        vars(self).update(dict.fromkeys(self.rules))


def positional(kind: str, fun: Callable, args: tuple, kwargs: dict) -> tuple:
    """The arguments of a call, all given by position; defaults filled in."""
    try:
        bound = inspect.signature(fun).bind(*args, **kwargs)
        bound.apply_defaults()
        given_by_name = [name for name in bound.kwargs if name in kwargs]
        if given_by_name:
            raise TypeError(f"these can be given by name alone: {', '.join(given_by_name)}")
    except TypeError as error:
        raise TypeError(
            f"The input arguments to the {kind}-decorated function {fun_name(fun)} could not be resolved "
            f"to positional-only arguments, which its rules take. Binding failed with the error:\n{error}"
        ) from error
    return bound.args


# ---- a user's rule, and what it must give ----


def with_user_source_info(rule: Callable[..., Any]) -> Callable[..., Any]:
    """A user's rule whose equations have the rule's source lines, instead of the line of the equation
    that it differentiates. A rule of tinyjax's own is returned unchanged.

    (What a jaxpr is run with may be more than a line. Then it stays.)"""
    code = getattr(inspect.unwrap(rule), "__code__", None)
    if code is None or is_ours[code.co_filename]:
        return rule

    @wraps(rule)
    def call(*args: Any, **kwargs: Any) -> Any:
        with restore_source_info():
            if type(context.source_info) is SourceLine:
                context.source_info = None
            return rule(*args, **kwargs)

    return call


class TypedFun(FlatFun):
    """A FlatFun that also remembers the avals of its results, which rules must agree with."""

    out_avals: list[ShapedArray] | None = None

    def __call__(self, *leaves: Any) -> list[Any]:
        out = super().__call__(*leaves)
        self.out_avals = [get_aval(x).strip_weak_type() for x in out]
        return out


def leaf_paths(treedef: PyTreeDef) -> list[str]:
    """The path from the root to each leaf, as in `['a'][0]`."""
    tree = tree_unflatten(treedef, range(treedef.num_leaves))
    return [keystr(path) for path, _ in tree_flatten_with_path(tree)[0]]


def check_same_result(who: str, fun: TypedFun, out_tree: PyTreeDef, outs: Sequence[Any]) -> None:
    """Compares a rule's primal results with those of the function, if that has run already."""
    if fun.out_avals is None:
        return
    got = [get_aval(x).strip_weak_type() for x in outs]
    what = "container/pytree structure" if out_tree != fun.out_tree else "shapes/dtypes"
    if out_tree != fun.out_tree or got != fun.out_avals:
        raise TypeError(
            f"{who} must produce a pair whose first element is the function's own output, but that "
            f"element had {what}\n    {_types(out_tree, got)}\nwhile the function's output had {what}\n"
            f"    {_types(fun.out_tree, fun.out_avals)}"
        )


def _types(treedef: PyTreeDef, avals: Sequence[ShapedArray]) -> str:
    return str(tree_unflatten(treedef, [aval.str_short() for aval in avals])).replace("'", "")
