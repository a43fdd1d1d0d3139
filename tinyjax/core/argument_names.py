"""The names of a function's arguments and results, for errors and pictures: params['w'], result[0].

They are looked up only when a message needs them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Sequence
from typing import Any

from tinyjax.core.api_util import fun_name
from tinyjax.core.array import ShapedArray
from tinyjax.core.avals import get_aval
from tinyjax.core.debug_info import DebugInfo
from tinyjax.core.tree_util.key_paths import keystr, tree_flatten_with_path
from tinyjax.core.tree_util.pytrees import PyTreeDef, tree_unflatten


def argument_names(fun: Callable, static: Collection[int], tree: Any) -> list[str]:
    """The name of each leaf of (args, kwargs), such as params['w'] or x; `static` are the positions of
    arguments that are not among the leaves."""
    leaves = tree_unflatten(tree, range(tree.num_leaves))
    pairs, _ = tree_flatten_with_path(leaves)
    return [_name(fun, static, path) for path, _ in pairs]


def result_paths(info: DebugInfo) -> list[str]:
    """Where each output is in the result, such as result['loss']."""
    leaves = tree_unflatten(info.out_tree, range(info.out_tree.num_leaves))
    return [f"result{keystr(path)}" for path, _ in tree_flatten_with_path(leaves)[0]]


def _name(fun: Callable, static: Collection[int], path: tuple) -> str:
    kind, first, *rest = path
    if kind.idx == 1:
        return first.key + keystr(tuple(rest))
    return positional_name(fun, static, first.idx) + keystr(tuple(rest))


def positional_number(static: Collection[int], number: int) -> int:
    """The position of the argument that has this number among those that are not static."""
    for position in sorted(static):
        number += position <= number
    return number


def positional_name(fun: Callable, static: Collection[int], number: int) -> str:
    """The parameter of the argument that has this number among those that are not static."""
    number = positional_number(static, number)
    try:
        parameters = list(inspect.signature(fun).parameters.values())
    except (TypeError, ValueError):  # a builtin without a signature
        return f"number {number}"
    if (
        number < len(parameters)
        and parameters[number].kind <= inspect.Parameter.POSITIONAL_OR_KEYWORD
    ):
        return parameters[number].name
    rest = [p for p in parameters if p.kind is inspect.Parameter.VAR_POSITIONAL]
    return f"{rest[0].name}[{number - parameters.index(rest[0])}]" if rest else f"number {number}"


def named_avals(
    fun: Callable, static: Collection[int], tree: PyTreeDef, leaves: Sequence[Any]
) -> tuple[ShapedArray, ...]:
    """The avals of the leaves of a function's (args, kwargs), but for those at `static` positions.

    Raises TypeError, with the argument's name, for a leaf that is no array."""
    avals = []
    for number, x in enumerate(leaves):
        try:
            avals.append(get_aval(x))
        except TypeError as error:
            raise TypeError(
                f"Error interpreting argument {argument_names(fun, static, tree)[number]} of "
                f"{fun_name(fun)} as an array. {error}. If the function needs it as a Python value, mark "
                "it as static (static_argnums or static_argnames)"
            ) from None
    return tuple(avals)


DebugInfo.arg_names = property(  # type: ignore[assignment,method-assign]
    lambda info: argument_names(info.fun, info.static, info.in_tree)
)
