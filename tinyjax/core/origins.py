"""Which arguments a tracer depends on: errors about its value name them, and say how to make them static.

It gives `JaxprTracer` its `origin`. The equations of the trace are read only when an error needs them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tinyjax.core.argument_names import positional_number
from tinyjax.core.bind import Tracer
from tinyjax.core.debug_info import DebugInfo, name_of
from tinyjax.core.errors import Origin, made_at
from tinyjax.core.tracing import JaxprTracer
from tinyjax.core.tree_util.key_paths import KeyPath, tree_flatten_with_path
from tinyjax.core.tree_util.pytrees import tree_unflatten


def origin_of(tracer: Any) -> Origin:
    """The arguments that a JaxprTracer depends on, by the equations of its trace."""
    trace, info = tracer._trace, tracer._trace.debug_info
    needed = {tracer.atom}
    for eqn in reversed(trace.eqns):
        if not needed.isdisjoint(eqn.outvars):
            needed.update(eqn.invars)
    arguments = [i for i, var in enumerate(trace.invars) if var in needed]
    outer = [x for var, x in trace.consts.values() if var in needed and isinstance(x, Tracer)]
    if not arguments and outer:
        return outer[0].origin()
    if info is None or info.is_helper:
        return Origin("traced", made_at(tracer))
    if not arguments:
        written = "it records operations to run later, but NumPy computes at once"
        return Origin("traced", f"{info.traced_for} traces {info.function}: {written}.")
    why = (
        f"It depends on {_arguments(info, arguments)} of {info.function}. {info.traced_for} traces "
        f"{name_of(info.fun)} once, for all values of one shape and dtype."
    )
    are_numbers = info.static_option != "" and all(
        not trace.invars[i].aval.shape and not issubclass(info.types[i], Tracer) for i in arguments
    )
    return Origin("traced", why, _static_advice(info, arguments) if are_numbers else "")


def _arguments(info: DebugInfo, leaves: Sequence[int]) -> str:
    """The arguments of these leaves: "the arguments x and params['w'] (of the carry)"."""
    names, paths = info.arg_names, _paths(info)
    shown = []
    for leaf in leaves:
        kind, position = paths[leaf][:2]
        has_role = kind.idx == 0 and position.idx < len(info.roles)
        shown.append(names[leaf] + (f" ({info.roles[position.idx]})" if has_role else ""))
    return f"the argument{'s' * (len(shown) > 1)} {' and '.join(shown)}"


def _static_advice(info: DebugInfo, leaves: Sequence[int]) -> str:
    """How to make static the arguments that these leaves are; "" if the leaves are only parts of
    arguments."""
    names, paths = info.arg_names, _paths(info)
    if not info.static_option or any(len(paths[leaf]) > 2 for leaf in leaves):
        return ""
    shown, option = [names[leaf] for leaf in leaves], info.static_option
    wanted: Any = shown
    if option == "static_argnums" or not all(map(str.isidentifier, shown)):
        option = "static_argnums"
        if any(paths[leaf][0].idx == 1 for leaf in leaves):  # given by name
            return ""
        wanted = [positional_number(info.static, paths[leaf][1].idx) for leaf in leaves]
    values = repr(wanted[0] if len(wanted) == 1 else tuple(wanted))
    are, them = "is a Python number", "it"
    if len(shown) > 1:
        are, them = "are Python numbers", "them"
    return (
        f"Or, if {' and '.join(shown)} {are}, make {them} static: {info.traced_for}(..., "
        f"{option}={values})."
    )


def _paths(info: DebugInfo) -> list[KeyPath]:
    leaves = tree_unflatten(info.in_tree, range(info.in_tree.num_leaves))
    return [path for path, _ in tree_flatten_with_path(leaves)[0]]


JaxprTracer.origin = origin_of  # type: ignore[assignment,method-assign]
