"""Linear functions with a custom transpose: `linear_call`.

custom_jvp replaces the derivative, custom_vjp both halves of reverse mode; here only the second half,
transposition, is replaced: the function is linear, so its derivative is itself.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from tinyjax.core.api_util import FlatFun
from tinyjax.core.avals import get_aval
from tinyjax.core.bind import Primitive, abstract_eval_rules, impl_rules, no_rule_reasons
from tinyjax.core.inlining import eager_jaxpr_fun
from tinyjax.core.jaxpr import ClosedJaxpr, jaxpr_as_fun
from tinyjax.core.tracing import trace_to_jaxpr
from tinyjax.core.tree_util.pytrees import tree_flatten, tree_unflatten
from tinyjax.transform.batching import AxisData, axis_batch_rules
from tinyjax.transform.batching_of_jaxpr import batch_jaxpr
from tinyjax.transform.custom.calls import cotangent_of_batch, trace_call, with_user_source_info
from tinyjax.transform.jvp import Zero, instantiate_zeros, jvp_rules
from tinyjax.transform.transposition import is_undefined_primal, transpose_rules

# Operands: the values that the function closes over, residuals, linear operands. Parameters: callee, the
# function as a jaxpr; transpose_thunk, which returns the transpose (a jaxpr) and its closed-over values;
# num_callee_consts; num_res.
linear_call_p = Primitive("linear_call", multiple_results=True, impl_binds_primitives=True)
Transpose = tuple[ClosedJaxpr, Sequence[Any]]


def _linear_call_jvp(primals: Any, tangents: Any, **params: Any) -> Any:
    num_fixed = params["num_callee_consts"] + params["num_res"]
    fixed = primals[:num_fixed]
    if any(type(t) is not Zero for t in tangents[:num_fixed]):
        raise NotImplementedError(
            "linear_call cannot be differentiated by its residuals, nor by what its function closes over: "
            "its rule is for the linear arguments alone"
        )
    linear_tangents = [instantiate_zeros(t) for t in tangents[num_fixed:]]
    outs = linear_call_p.bind(*primals, **params)
    return outs, linear_call_p.bind(*fixed, *linear_tangents, **params)


def _linear_call_transpose(
    cts: Any,
    *args: Any,
    callee: ClosedJaxpr,
    transpose_thunk: Callable[[], Transpose],
    num_callee_consts: int,
    num_res: int,
) -> list[Any]:
    """Calls the transpose, whose own transpose is the function."""
    num_fixed = num_callee_consts + num_res
    if any(is_undefined_primal(x) for x in args[:num_fixed]):
        raise NotImplementedError(
            "linear_call is not transposed by its residuals: they are constants"
        )
    transpose, consts = transpose_thunk()
    operands = [*args[num_callee_consts:num_fixed], *[instantiate_zeros(ct) for ct in cts]]
    functions = {"callee": transpose, "transpose_thunk": lambda: (callee, args[:num_callee_consts])}
    counts = {"num_callee_consts": len(consts), "num_res": num_res}
    outs = linear_call_p.bind(*consts, *operands, **functions, **counts)
    return [None] * num_fixed + outs


def _linear_call_batch(
    axis: AxisData, vals: Any, dims: Any, *, callee: ClosedJaxpr,
    transpose_thunk: Callable[[], Transpose], num_callee_consts: int, num_res: int,
) -> Any:  # fmt: skip
    batched, out_dims = batch_jaxpr(callee, axis, dims)
    num_fixed = num_callee_consts + num_res

    def batched_transpose() -> Transpose:
        transpose, consts = transpose_thunk()
        in_dims = ((None,) * len(consts), dims[num_callee_consts:num_fixed], out_dims)
        of_batch, ct_dims = batch_jaxpr(transpose, axis, sum(map(tuple, in_dims), ()))

        def placed(*args: Any) -> list[Any]:
            cts = jaxpr_as_fun(of_batch)(*args)
            return [
                cotangent_of_batch(ct, dim, to, axis.size)
                for ct, dim, to in zip(cts, ct_dims, dims[num_fixed:])
            ]

        return trace_to_jaxpr(placed, of_batch.in_avals), consts

    functions = {"callee": batched, "transpose_thunk": functools.cache(batched_transpose)}
    counts = {"num_callee_consts": num_callee_consts, "num_res": num_res}
    outs = linear_call_p.bind(*vals, **functions, **counts)
    return outs, out_dims


impl_rules[linear_call_p] = lambda *args, callee, **params: eager_jaxpr_fun(callee)(*args)
abstract_eval_rules[linear_call_p] = lambda *avals, callee, **params: callee.out_avals
jvp_rules[linear_call_p] = _linear_call_jvp
transpose_rules[linear_call_p] = _linear_call_transpose
axis_batch_rules[linear_call_p] = _linear_call_batch
no_rule_reasons[linear_call_p, "lowering"] = "compile/passes/inline.py replaces it by its equations"


def linear_call(
    fun: Callable, fun_transpose: Callable, residual_args: Any, linear_args: Any
) -> Any:
    """`fun(residual_args, linear_args)`, which is linear in its second argument. Its transpose is
    `fun_transpose(residual_args, ct)`, which returns the tree, shapes and dtypes of linear_args.

    All arguments are pytrees of arrays. Raises TypeError when it is transposed and the transpose's
    result has another tree."""
    residuals = tree_flatten(residual_args)[0]
    linear, linear_tree = tree_flatten(linear_args)
    res_avals, linear_avals = ([get_aval(x) for x in leaves] for leaves in (residuals, linear))
    flat_fun = FlatFun(fun, tree_flatten(((residual_args, linear_args), {}))[1])
    callee, consts = trace_call(flat_fun, [*res_avals, *linear_avals])

    @functools.cache
    def transpose_thunk() -> Transpose:
        example = tree_unflatten(flat_fun.out_tree, callee.out_avals)
        flat = FlatFun(
            with_user_source_info(fun_transpose), tree_flatten(((residual_args, example), {}))[1]
        )
        transpose = trace_call(flat, [*res_avals, *callee.out_avals])
        if flat.out_tree != linear_tree:
            raise TypeError(
                "linear_call's transpose output pytree structure must match that of the linear inputs: "
                f"expected {linear_tree}, got {flat.out_tree}"
            )
        return transpose

    functions = {"callee": callee, "transpose_thunk": transpose_thunk}
    counts = {"num_callee_consts": len(consts), "num_res": len(residuals)}
    outs = linear_call_p.bind(*consts, *residuals, *linear, **functions, **counts)
    return tree_unflatten(flat_fun.out_tree, outs)
