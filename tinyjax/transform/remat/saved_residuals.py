"""The arrays that grad keeps for the backward pass: `print_saved_residuals` prints a line for each.

The forward pass is traced, and its residuals are looked up in the jaxpr; nothing is computed.

Source: https://docs.jax.dev/en/latest/gradient-checkpointing.html
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable
from typing import Any

from tinyjax.core.api_util import FlatFun
from tinyjax.core.array import LiteralArray, ShapedArray
from tinyjax.core.avals import get_aval
from tinyjax.core.bind import context
from tinyjax.core.jaxpr import Atom, JaxprEqn, Literal, SourceLine, Var
from tinyjax.core.tracing import JaxprTrace, line_text, trace_to_jaxpr
from tinyjax.core.tree_util.key_paths import keystr, tree_flatten_with_path
from tinyjax.core.tree_util.pytrees import tree_flatten
from tinyjax.transform.linearize import LinearizeTrace, trace_linear
from tinyjax.transform.remat.named_policies import name_p
from tinyjax.transform.remat.primitive import reduce_precision_p


def saved_residuals(fun: Callable, *args: Any, **kwargs: Any) -> list[tuple[ShapedArray, str]]:
    """The aval of each array that grad of `fun` keeps for its backward pass, and where it is from."""
    leaves, in_tree = tree_flatten((args, kwargs))
    flat_fun = FlatFun(fun, in_tree)

    def residuals(*xs: Any) -> list[Any]:
        trace = LinearizeTrace(context.trace, _TraceThatKeepsLiterals())
        return list(trace_linear(trace, flat_fun, xs)[1].residuals)

    jaxpr = trace_to_jaxpr(residuals, [get_aval(x) for x in leaves]).jaxpr
    rounded = {e.outvars[0]: e.invars[0] for e in jaxpr.eqns if e.primitive is reduce_precision_p}
    kept = [rounded.get(v, v) if isinstance(v, Var) else v for v in jaxpr.outvars]

    found = [(v.aval, "from a literal") for v in kept if isinstance(v, Literal)]
    found += [(v.aval, "from a constant") for v in jaxpr.constvars if v in kept]
    names = _argument_names(fun, args, kwargs)
    found += [
        (v.aval, f"from the argument {name}") for v, name in zip(jaxpr.invars, names) if v in kept
    ]
    found += [(v.aval, _origin(eqn)) for eqn in jaxpr.eqns for v in eqn.outvars if v in kept]
    return found


def print_saved_residuals(fun: Callable, *args: Any, **kwargs: Any) -> None:
    """Prints the result of saved_residuals, a line for each array."""
    for aval, origin in saved_residuals(fun, *args, **kwargs):
        print(f"{aval.str_short(short_dtypes=True)} {origin}")


class _TraceThatKeepsLiterals(JaxprTrace):
    """Keeps literals as residuals. A number of the program, as 2.0 in `2.0 * x`, is part of the linear jaxpr
    and takes no memory. JAX lists it anyway if it was converted, such as to x's float32: so does this trace.
    The zeros that replace a Zero are not listed."""

    def atom(self, x: Any) -> Atom:
        was_converted = isinstance(x, LiteralArray) and x.written is x._value
        is_residual = was_converted and context.trace is not self
        return self.constvar(x, x.aval) if is_residual else super().atom(x)


def _origin(eqn: JaxprEqn) -> str:
    line = _place_text(eqn.source_info)
    if eqn.primitive is name_p:
        return f"named '{eqn.params['name']}' from {line}"
    if eqn.primitive.name == "jit":
        return f"output of jitted function '{eqn.params['name']}' from {line}"
    return f"output of {eqn.primitive} from {line}"


def _place_text(source_info: SourceLine | None) -> str | None:
    """The line, with its column and the function's qualified name where these are known."""
    if source_info is None or source_info.where is None:
        return line_text(source_info)
    code, instruction = source_info.where
    _, _, column, _ = next(itertools.islice(code.co_positions(), instruction // 2, None))
    return f"{source_info[0]}:{source_info[1]}:{column} ({code.co_qualname})"


def _argument_names(fun: Callable, args: tuple, kwargs: dict) -> list[str]:
    """The names of all leaves of the arguments: x, x['a'] or, without a signature, args[0]."""
    try:
        bound = inspect.signature(fun).bind(*args, **kwargs).arguments
    except (TypeError, ValueError):
        bound = {"args": args, "kwargs": kwargs}
    return [
        name + keystr(path)
        for name, value in bound.items()
        for path, _ in tree_flatten_with_path(value)[0]
    ]
