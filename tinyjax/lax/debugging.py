"""Seeing values while a program runs: debug.print and debug.callback.

An equation with an *effect* does something besides returning results. These have no results at all, so
`Primitive.has_effects` is what keeps them from being dropped, merged or reordered. A transformation adds
nothing to it: jvp shows primals, grad shows them on the way forward, vmap shows one example after the
other.

Source: https://docs.jax.dev/en/latest/debugging/print_breakpoint.html
"""

from __future__ import annotations

import copy
import logging
import string
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tinyjax import lax
from tinyjax.compile.kernel.rules import OnHost, lowering_rules
from tinyjax.core.avals import get_aval
from tinyjax.core.bind import Primitive, abstract_eval_rules, impl_rules
from tinyjax.core.jaxpr import JaxprEqn
from tinyjax.core.lists import drop
from tinyjax.core.tracing import user_line
from tinyjax.core.tree_util import PyTreeDef, tree_flatten, tree_unflatten
from tinyjax.lax.callback import CALLS_PYTHON, argument
from tinyjax.lax.shape import batch_size
from tinyjax.transform.batching import batch_rules, not_mapped
from tinyjax.transform.jvp import jvp_rules
from tinyjax.transform.remat.policies import EqnSplit, is_saved, only_staged, policy_rules
from tinyjax.transform.transposition import transpose_rules

logger = logging.getLogger(__name__)

# ---- two primitives without results, and their rules ----

debug_callback_p = Primitive("debug_callback", **CALLS_PYTHON, has_effects=True)
debug_print_p = Primitive("debug_print", **CALLS_PYTHON, has_effects=True)


class DebugEffect:
    """The parameter `effect` of an unordered debug_callback."""

    def __str__(self) -> str:
        return "Debug"


class OrderedDebugEffect:
    """The parameter `effect` of an ordered debug_callback."""

    def __str__(self) -> str:
        return "OrderedDebug"


debug_effect, ordered_debug_effect = DebugEffect(), OrderedDebugEffect()


def _debug_callback_impl(*args: Any, callback: Callable, **params: Any) -> list[Any]:
    callback(*[argument(x) for x in args])
    return []


def def_debug_rules(primitive: Primitive) -> None:
    def batch(vals: Sequence[Any], dims: Sequence[int | None], **params: Any) -> Any:
        """One call for each example, in order."""
        for i in range(batch_size(vals, dims)):
            example = [
                x if d is not_mapped else lax.index_in_dim(x, i, d, keepdims=False)
                for x, d in zip(vals, dims)
            ]
            primitive.bind(*example, **params)
        return [], []

    def jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
        return primitive.bind(*primals, **params), []

    def split(policy: Any, unknown: Any, available: Any, eqn: JaxprEqn) -> EqnSplit:
        """Under jax.checkpoint the effect happens each time its operands are computed."""
        if any(unknown):
            return only_staged(eqn, available)
        missing = drop(eqn.invars, available)
        if is_saved(policy, eqn) and missing:
            return EqnSplit([eqn], [], [], [], [])
        return EqnSplit([eqn], [eqn], [], [], missing)

    abstract_eval_rules[primitive] = lambda *avals, **params: []
    policy_rules[primitive] = split
    batch_rules[primitive] = batch
    jvp_rules[primitive] = jvp
    transpose_rules[primitive] = lambda cts, *args, **params: [None] * len(args)
    lowering_rules[primitive] = OnHost("it calls Python")


def_debug_rules(debug_callback_p)
def_debug_rules(debug_print_p)
impl_rules[debug_callback_p] = _debug_callback_impl

# ---- arguments of any kind ----


def _split_args(args: tuple, kwargs: dict) -> tuple[PyTreeDef, list[Any], dict[int, Any]]:
    """The tree of the arguments, the leaves that can be arrays, and the other leaves by position."""
    leaves, in_tree = tree_flatten((args, kwargs))
    dynamic, static = [], {}
    for i, x in enumerate(leaves):
        try:
            get_aval(x)
            dynamic.append(x)
        except TypeError:
            static[i] = x
    return in_tree, dynamic, static


def _merge_args(in_tree: PyTreeDef, dynamic: Sequence[Any], static: dict[int, Any]) -> Any:
    found = iter(dynamic)
    leaves = [static[i] if i in static else next(found) for i in range(in_tree.num_leaves)]
    return tree_unflatten(in_tree, leaves)


# ---- debug.callback ----


def debug_callback(
    callback: Callable[..., Any] | None = None,
    *args: Any,
    ordered: bool = False,
    partitioned: bool = False,
    **kwargs: Any,
) -> Any:
    """Calls `callback(*args, **kwargs)` when the program runs: with Arrays in place of tracers.

    Options can come first: `debug.callback(ordered=True)(callback, *args, **kwargs)`. Arguments are
    pytrees; leaves that are no arrays are handed through. Under vmap it is called for each example.
    Raises TypeError if the first argument can't be called. The call raises the callback's exception; a
    compiled call raises it as JaxRuntimeError."""

    def _debug_callback(callback: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
        if not callable(callback):
            raise TypeError(
                "first argument to jax.debug.callback must be callable, but got an object of type "
                f"{type(callback)}"
            )
        in_tree, dynamic, static = _split_args(args, kwargs)

        def _flat_callback(*dynamic: Any) -> None:
            args, kwargs = _merge_args(in_tree, dynamic, static)
            callback(*args, **kwargs)

        debug_callback_p.bind(
            *dynamic,
            callback=_flat_callback,
            effect=ordered_debug_effect if ordered else debug_effect,
            partitioned=partitioned,
        )

    if callback is None:
        _check_options_alone("debug.callback", args, kwargs)
        return _debug_callback
    return _debug_callback(callback, *args, **kwargs)


def _check_options_alone(name: str, args: tuple, kwargs: dict) -> None:
    if args or kwargs:
        raise TypeError(
            f"jax.{name} got unexpected arguments {args} {kwargs}: without its first argument it takes "
            "options alone, and gives a function that takes the rest"
        )


# ---- debug.print ----


class _FormatChecker(string.Formatter):
    """Formats nothing, but complains about arguments that are missing or not used."""

    def format_field(self, value: Any, format_spec: str) -> str:
        return ""

    def check_unused_args(self, used_args: Any, args: Any, kwargs: Any) -> None:
        unused = [x for i, x in enumerate(args) if i not in used_args]
        if unused:
            raise ValueError(f"Unused positional arguments to `jax.debug.print`: {unused}")
        names = [name for name in kwargs if name not in used_args]
        if names:
            raise ValueError(
                f"Unused keyword arguments to `jax.debug.print`: {names}. Give it a plain string such as "
                "'x = {x}', not an f-string, which is formatted before there are values"
            )


def debug_print(
    fmt: str | None = None, *args: Any, ordered: bool = False, partitioned: bool = False,
    skip_format_check: bool = False, _use_logging: bool = False, **kwargs: Any,
) -> Any:  # fmt: skip
    """Prints `fmt.format(*args, **kwargs)` when the program runs, with values in place of tracers.

    Options can come first: `debug.print(ordered=True)("x = {}", x)`. Arguments are pytrees. NumPy's
    print options at the time of tracing apply. Under vmap, a line for each example.
    Raises IndexError or KeyError for a missing argument, ValueError for one that is not used."""

    def _debug_print(fmt: str, *args: Any, **kwargs: Any) -> None:
        if not skip_format_check:
            _FormatChecker().format(fmt, *args, **kwargs)
        first_field = next(iter(string.Formatter().parse(fmt)))[1] if fmt else None
        in_tree, dynamic, static = _split_args(args, kwargs)
        debug_print_p.bind(
            *dynamic,
            fmt=fmt,
            ordered=ordered,
            partitioned=partitioned,
            in_tree=in_tree,
            static_args=tuple(static.items()),
            np_printoptions=tuple(np.get_printoptions().items()),
            has_placeholders=first_field is not None,
            logging_record=_logging_record() if _use_logging else None,
        )

    if fmt is None:
        _check_options_alone("debug.print", args, kwargs)
        return _debug_print
    return _debug_print(fmt, *args, **kwargs)


def debug_log(fmt: str, *args: Any, **kwargs: Any) -> None:
    """Like debug.print, to the logger of this module (level INFO), from the line of the call."""
    debug_print(fmt, *args, _use_logging=True, **kwargs)


def _logging_record() -> logging.LogRecord:
    file, line, _ = user_line() or ("(unknown file)", 0, "")
    return logger.makeRecord(logger.name, logging.INFO, file, line, "", (), None)


def _debug_print_impl(
    *args: Any, fmt: str, in_tree: PyTreeDef, static_args: tuple, np_printoptions: tuple,
    has_placeholders: bool, logging_record: logging.LogRecord | None, **params: Any,
) -> list[Any]:  # fmt: skip
    values, named = _merge_args(in_tree, [argument(x) for x in args], dict(static_args))
    if has_placeholders:
        with np.printoptions(**dict(np_printoptions)):
            text = fmt.format(*values, **named)
    else:
        text = " ".join([fmt, *map(str, values)])
    if logging_record is None:
        sys.stdout.write(text + "\n")
    else:
        record = copy.copy(logging_record)
        record.msg = text
        logger.handle(record)
    return []


impl_rules[debug_print_p] = _debug_print_impl


def effects_barrier() -> None:
    """Waits until the effects of all calls so far have happened.

    A call runs its host steps before it returns, so this returns at once."""
