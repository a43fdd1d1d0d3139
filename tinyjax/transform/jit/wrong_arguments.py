"""The errors for arguments that a compiled program was not compiled for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tinyjax.core.array import ShapedArray
from tinyjax.core.tree_util.differences import equality_errors
from tinyjax.core.tree_util.key_paths import keystr, tree_flatten_with_path
from tinyjax.core.tree_util.pytrees import PyTreeDef


def tree_error(in_tree: PyTreeDef, given: PyTreeDef) -> TypeError:
    """The error for arguments (args, kwargs) with another tree."""
    mismatches = [
        f"at {_place(path)}, compiled for {expected} but called with {got}, so {why}"
        for path, expected, got, why in equality_errors(in_tree, given)
    ]
    return TypeError(
        "Function compiled with input pytree does not match the input pytree it was called with: "
        + "; ".join(mismatches)
        + ". Pass what was traced: static arguments are part of the program, and left out"
    )


def type_error(args_info: Any, pairs: Sequence[tuple[ShapedArray, ShapedArray]]) -> TypeError:
    """The error for arguments of other types: `pairs` of the compiled type and the given type."""
    mismatches = [
        f"{argument_name(args_info, i)} compiled with {want.str_short()} and called with {got.str_short()}"
        for i, (want, got) in enumerate(pairs)
        if (got.shape, got.dtype) != (want.shape, want.dtype)
    ]
    return TypeError(
        "Argument types differ from the types for which this computation was compiled: "
        f"{'; '.join(mismatches)}. Call the jitted function itself, which compiles again"
    )


def place_error(args_info: Any, number: int, passed: Any, required: Any) -> ValueError:
    """The error for an argument on another device."""
    return ValueError(
        "Computation was compiled for input shardings that disagree with the shardings of arguments passed "
        f"to it. Here is a mismatch:\nArgument {argument_name(args_info, number)}:\n"
        f"  Passed: {passed!r}\n  Required: {required!r}\n"
        "Bring it there by jax.device_put, or call the jitted function, which compiles again"
    )


def argument_name(args_info: Any, number: int) -> str:
    """The name of an argument: args[0], args[1]['w'], kwargs['b']."""
    return _place(tree_flatten_with_path(args_info)[0][number][0])


def _place(path: Sequence[Any]) -> str:
    """A path into (args, kwargs)."""
    return ("args", "kwargs")[path[0].idx] + keystr(tuple(path[1:]))
