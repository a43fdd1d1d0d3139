"""Why a jitted function is traced again: what `jax.explain_cache_misses()` logs.

The key of the call (see api.py) is compared with that of the most similar call before it, and each part that
differs is named with its argument, and with what to do. This module runs only if the flag is set.

    traced again: step, called at train.py:12 (main)
      argument x: float32[32,8] now, float32[64,8] before (4 shapes so far; padding to one saves traces)
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

from tinyjax.core.api_util import fun_name
from tinyjax.core.argument_names import argument_names, positional_name
from tinyjax.core.array import ShapedArray
from tinyjax.core.compile_log import misses_logger
from tinyjax.core.config import TRACED_FLAGS
from tinyjax.core.tracing import line_text, user_line
from tinyjax.core.tree_util.pytrees import PyTreeDef

# (tree of the arguments, avals, static arguments, named axes, config): as api.py makes it.
Key = tuple[PyTreeDef, tuple[ShapedArray, ...], Any, Any, tuple]

MANY_SHAPES = 3
# First line of a function -> the function last explained there.
_lines_traced: dict[tuple[str, int], weakref.ref] = {}


def explain_miss(fun: Callable, static: Collection[int], key: Key, known: Sequence[Key]) -> None:
    """Logs why `fun`, with static arguments `static`, is traced for `key` although it was traced for
    `known`."""
    caller = line_text(user_line())
    heading = "traced again" if known else "traced for the first time"
    lines = [f"{heading}: {fun_name(fun)}, called at {caller}"]
    if known:
        lines += differences(fun, static, key, known)
    elif remark := _new_function_remark(fun):
        lines.append(remark)
    misses_logger.warning("%s", "\n  ".join(lines))


def differences(
    fun: Callable, static: Collection[int], key: Key, known: Sequence[Key]
) -> list[str]:
    """The differences from the most similar of the known keys, one line each."""
    nearest = max(reversed(known), key=lambda other: _similarity(key, other))
    lines: list[str] = []
    if key[0] != nearest[0]:
        lines += _tree_lines(fun, static, key, nearest)
    elif key[1] != nearest[1]:
        lines += _aval_lines(fun, static, key, nearest, known)
    if key[2] != nearest[2]:
        lines += _static_lines(fun, key[2], nearest[2])
    if key[3] != nearest[3]:
        lines.append(f"named axes around the call: {key[3]} now, {nearest[3]} before")
    for name, now, before in zip(TRACED_FLAGS, key[4], nearest[4]):
        if now != before:
            lines.append(f"config {name}: {now!r} now, {before!r} before")
    return lines or ["the function was traced before, but within another transformation's trace"]


def _similarity(key: Key, other: Key) -> tuple[int, int]:
    """How many parts are equal, and how many avals."""
    same_avals = sum(a == b for a, b in zip(key[1], other[1])) if key[0] == other[0] else 0
    return sum(a == b for a, b in zip(key, other)), same_avals


# ---- the parts of a key ----


def _aval_lines(
    fun: Callable, static: Collection[int], key: Key, before: Key, known: Sequence[Key]
) -> Iterator[str]:
    names = argument_names(fun, static, key[0])
    for at, (name, new, old) in enumerate(zip(names, key[1], before[1])):
        if new == old:
            continue
        if (new.shape, new.dtype) == (old.shape, old.dtype):
            python, array = ("now", "before") if new.weak_type else ("before", "now")
            yield (
                f"argument {name}: {new.str_short()} is weakly typed {python}, as of a Python number, and "
                f"not {array}: give it one dtype, as by jnp.float32(x)"
            )
            continue
        line = f"argument {name}: {new.str_short()} now, {old.str_short()} before"
        shapes = {new.shape, *(k[1][at].shape for k in known if k[0] == key[0])}
        shapes = {shape for shape in shapes if len(shape) == new.ndim}
        if new.shape != old.shape and len(shapes) >= MANY_SHAPES:
            line += f" ({len(shapes)} shapes so far: padding to a common one saves traces)"
        yield line


def _tree_lines(fun: Callable, static: Collection[int], key: Key, before: Key) -> Iterator[str]:
    (args, kwargs), (old_args, old_kwargs) = key[0].children(), before[0].children()
    if len(args.children()) != len(old_args.children()):
        yield (
            f"arguments by position: {len(args.children())} now, {len(old_args.children())} before "
            "(an argument by name and the same one by position are two traces)"
        )
    for number, (new, old) in enumerate(zip(args.children(), old_args.children())):
        if new != old:
            name = positional_name(fun, static, number)
            yield f"containers in argument {name}: {_tree_text(new)} now, {_tree_text(old)} before"
    news, olds = _by_name(kwargs), _by_name(old_kwargs)
    for name in sorted(news.keys() | olds.keys()):
        if name not in olds or name not in news:
            yield f"argument {name}: by name {'now' if name in news else 'before'} only"
        elif news[name] != olds[name]:
            texts = _tree_text(news[name]), _tree_text(olds[name])
            yield f"containers in argument {name}: {texts[0]} now, {texts[1]} before"


def _by_name(kwargs: PyTreeDef) -> dict[str, PyTreeDef]:
    data = kwargs.node_data()
    return dict(zip(data[1], kwargs.children())) if data else {}


def _tree_text(tree: PyTreeDef) -> str:
    return repr(tree).removeprefix("PyTreeDef(").removesuffix(")")


def _static_lines(fun: Callable, static: Any, before: Any) -> Iterator[str]:
    olds = {place: (cls, value) for place, cls, value in before}
    for place, cls, value in static:
        old_class, old = olds.pop(place, (None, None))
        name = place if isinstance(place, str) else positional_name(fun, (), place)
        if old_class is None:
            yield f"static argument {name}: {value!r} now, not given before"
        elif (cls, value) != (old_class, old):
            line = f"static argument {name}: {value!r} now, {old!r} before"
            if cls is old_class and cls.__eq__ is object.__eq__:
                line += f" ({cls.__name__} has no __eq__, so that no two of its objects are equal)"
            elif cls is not old_class:
                line += f" ({cls.__name__} now, {old_class.__name__} before)"
            yield line
    for place in olds:
        name = place if isinstance(place, str) else positional_name(fun, (), place)
        yield f"static argument {name}: not given now, {olds[place][1]!r} before"


def _new_function_remark(fun: Callable) -> str | None:
    """If functions from the same line of a program have been traced: each is another one to jit."""
    while isinstance(fun, functools.partial):
        fun = fun.func
    code = getattr(fun, "__code__", None)
    if code is None:
        return None
    line = code.co_filename, code.co_firstlineno
    before = _lines_traced.get(line)
    _lines_traced[line] = weakref.ref(fun)
    if before is not None and before() is not fun:  # not if the caches were cleared
        return (
            f"another function object from the same line, {line[0]}:{line[1]}, was traced before: a def, "
            "lambda or partial that runs again makes a new function. Make it, and its jit, once"
        )
    return None
