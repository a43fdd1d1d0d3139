"""linear_transpose: the transpose of a linear function, as a function.

The function is traced to a jaxpr, which `backward_pass` runs backwards: nothing is linearized.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tinyjax.core import dtypes
from tinyjax.core.api_util import FlatFun, check_callable
from tinyjax.core.avals import get_aval
from tinyjax.core.bind import context, set_current_trace
from tinyjax.core.tracing import JaxprTrace
from tinyjax.core.tree_util.pytrees import tree_flatten, tree_unflatten
from tinyjax.transform.jvp import instantiate_zeros
from tinyjax.transform.linearize import LinearizeTrace
from tinyjax.transform.transposition import ValAccum, backward_pass, checked_cotangent


def linear_transpose(fun: Callable, *primals: Any) -> Callable[..., tuple]:
    """The transpose of a linear function: from cotangents of its result to those of its arguments.

    `primals` give shapes and dtypes alone (arrays or ShapeDtypeStructs). Raises TypeError for
    integer arguments and for products of arguments, NotImplementedError for a primitive that is not
    linear, such as sin."""
    check_callable(fun, "transpose")
    leaves, in_tree = tree_flatten((primals, {}))
    avals = [get_aval(x) for x in leaves]
    flat_fun = FlatFun(fun, in_tree)
    unknown = JaxprTrace()
    with set_current_trace(LinearizeTrace(context.trace, unknown)):
        outs = flat_fun(*[unknown.new_arg(aval) for aval in avals])
    closed = unknown.finish(outs)
    for aval in (*avals, *closed.out_avals):
        if not dtypes.is_inexact(aval.dtype):
            raise TypeError(
                "linear_transpose only supports [float or complex] -> [float or complex] functions, "
                f"but got {aval.str_short(short_dtypes=True)} among its arguments or results"
            )
    primal_tree = tree_flatten(primals)[1]

    def transposed(cotangent: Any) -> Any:
        cts, ct_tree = tree_flatten(cotangent)
        if ct_tree != flat_fun.out_tree:
            raise TypeError(
                f"cotangent tree {ct_tree} does not match the result's {flat_fun.out_tree}"
            )
        who = "linear_transpose's function"
        cts = [
            checked_cotangent(ct, aval, who, TypeError) for ct, aval in zip(cts, closed.out_avals)
        ]
        accums = [ValAccum(aval) for aval in avals]
        backward_pass(closed.jaxpr, closed.consts, accums, cts)
        return tree_unflatten(primal_tree, [instantiate_zeros(x.freeze()) for x in accums])

    return transposed
