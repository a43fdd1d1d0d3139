"""linear_transpose: the transpose of a linear function, as a function.

The function is traced to a jaxpr, which `backward_pass` runs backwards: nothing is linearized.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tinyjax.core import dtypes
from tinyjax.core.api_util import FlatFun, check_callable
from tinyjax.core.array import ShapedArray
from tinyjax.core.avals import get_aval
from tinyjax.core.bind import context, set_current_trace
from tinyjax.core.tracing import JaxprTrace
from tinyjax.core.tree_util.partial import Partial
from tinyjax.core.tree_util.pytrees import tree_flatten, tree_unflatten
from tinyjax.transform.jvp import Zero, instantiate_zeros
from tinyjax.transform.linearize import LinearizeTrace
from tinyjax.transform.transposition import ValAccum, backward_pass, checked_cotangent


def linear_transpose(fun: Callable, *primals: Any) -> Callable[..., tuple]:
    """The transpose of a linear function: from cotangents of its result to cotangents of its arguments.

    `primals` give shapes and dtypes alone (arrays or ShapeDtypeStructs). The transpose is a node whose
    leaves are the constants of the function. Raises TypeError for a function between integers and floats,
    NotImplementedError for products of arguments and for a primitive that is not linear, such as sin."""
    check_callable(fun, "transpose")
    leaves, in_tree = tree_flatten((primals, {}))
    avals = [get_aval(x) for x in leaves]
    flat_fun = FlatFun(fun, in_tree)
    unknown = JaxprTrace()
    with set_current_trace(LinearizeTrace(context.trace, unknown)):
        outs = flat_fun(*[unknown.new_arg(aval) for aval in avals])
    closed = unknown.finish(outs)
    _check_dtypes(avals, closed.out_avals)
    primal_tree = tree_flatten(primals)[1]

    def transposed(consts: Sequence[Any], cotangent: Any) -> Any:
        cts, ct_tree = tree_flatten(cotangent)
        if ct_tree != flat_fun.out_tree:
            raise TypeError(
                f"cotangent tree {ct_tree} does not match the result's {flat_fun.out_tree}"
            )
        accums = [ValAccum(aval) for aval in avals]
        cts = [_checked(ct, aval) for ct, aval in zip(cts, closed.out_avals)]
        backward_pass(closed.jaxpr, consts, accums, cts)
        return tree_unflatten(primal_tree, [instantiate_zeros(x.freeze()) for x in accums])

    return Partial(transposed, closed.consts)


def _check_dtypes(in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray]) -> None:
    """A transpose maps floats to floats, or integers to integers. float0 may occur with either."""
    kinds = {dtypes.kind(a.dtype) for a in (*in_avals, *out_avals) if a.dtype != dtypes.float0}
    if not (kinds <= set("fc") or kinds <= set("iu")):
        got = [", ".join(a.dtype.name for a in avals) for avals in (in_avals, out_avals)]
        raise TypeError(
            "linear_transpose only supports [float, complex, or float0] -> [float, complex, or float0], "
            f"and integer -> integer functions, but got [{got[0]}] -> [{got[1]}]"
        )


def _checked(ct: Any, aval: ShapedArray) -> Any:
    """The cotangent of a result as an array; a float0 result's is a Zero, which no rule reads."""
    checked = checked_cotangent(ct, aval, "linear_transpose's function", TypeError)
    if aval.dtype != dtypes.float0:
        return checked
    if get_aval(ct).dtype != dtypes.float0:
        raise TypeError(
            f"the cotangent of a float0 has dtype float0 too, but got {get_aval(ct).str_short()}"
        )
    return Zero(aval)
