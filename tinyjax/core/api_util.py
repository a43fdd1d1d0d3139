"""What the front doors (grad, vmap, jit, ...) share: arguments in and out as flat lists.

After this file you know how `f(params, x=data)` becomes a function of a flat list of arrays.
Builds on tree_util.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection, Sequence
from types import MappingProxyType
from typing import Any, TypeVar, cast
from weakref import WeakKeyDictionary

from tinyjax.core.tree_util.key_paths import keystr, tree_flatten_with_path
from tinyjax.core.tree_util.pytrees import tree_flatten, tree_unflatten

F = TypeVar("F")


UNNAMED = "<unnamed function>"  # as JAX prints a callable object


def fun_name(fun: Callable) -> str:
    """The name of a function in printed jaxprs and messages; that of what a partial wraps."""
    while isinstance(fun, functools.partial):
        fun = fun.func
    return _text_attribute(fun, "__name__", UNNAMED)


def wraps(fun: Callable) -> Callable[[F], F]:
    """functools.wraps for any callable: one without a name, or with one that is not a string, gets that of
    `fun_name`."""

    def decorate(wrapper: F) -> F:
        name, named = fun_name(fun), cast(Any, wrapper)
        attributes = getattr(fun, "__dict__", {})
        named.__dict__.update(attributes if isinstance(attributes, dict | MappingProxyType) else {})
        named.__name__ = name
        named.__qualname__ = _text_attribute(fun, "__qualname__", name)
        named.__module__ = _text_attribute(fun, "__module__", "<unknown module>")
        named.__doc__ = _text_attribute(fun, "__doc__", None)
        named.__wrapped__ = fun
        return wrapper

    return decorate


def _text_attribute(x: Any, name: str, default: Any) -> Any:
    value = getattr(x, name, None)
    return value if isinstance(value, str) else default


def check_callable(fun: Any, transformation: str) -> None:
    """Raises TypeError unless `fun` can be called and is no generator function."""
    if not callable(fun):
        raise TypeError(
            f"Expected a callable value, got {fun!r} as the function to {transformation}"
        )
    code = getattr(fun, "__code__", None)
    if code is not None and code.co_flags & inspect.CO_GENERATOR:
        raise TypeError(
            f"Expected a function to {transformation}, got a generator function: {fun}. "
            "Return the values, in a list, instead of yielding them"
        )


_traces: list[WeakKeyDictionary[Callable, dict]] = []


def memory_of_traces() -> WeakKeyDictionary[Callable, dict]:
    """A memory of what was traced, which `forget_traces` empties."""
    _traces.append(WeakKeyDictionary())
    return _traces[-1]


def forget_traces() -> None:
    for memory in _traces:
        memory.clear()


def memory_of(caches: WeakKeyDictionary[Callable, dict], fun: Callable) -> dict:
    """What `caches` remembers of a function, for as long as it lives: of one without a hash or weak
    references, nothing."""
    try:
        return caches.setdefault(fun, {})
    except TypeError:
        return {}


class FlatFun:
    """`fun` as a function of leaves that gives leaves; `out_tree` is known after a call."""

    def __init__(self, fun: Callable, in_tree: Any, debug_info: Any = None):
        self.fun = fun
        self.in_tree = in_tree
        self.out_tree: Any = None
        self.debug_info = debug_info

    def __call__(self, *leaves: Any) -> list[Any]:
        args, kwargs = tree_unflatten(self.in_tree, leaves)
        out, self.out_tree = tree_flatten(self.fun(*args, **kwargs))
        return out


def split_aux(out: Any) -> tuple[Any, Any]:
    """The (result, aux) pair that a function under has_aux=True must give."""
    if not isinstance(out, (tuple, list)) or len(out) != 2:
        raise TypeError(
            "expected function with aux output to return a two-element tuple (has_aux=True), but got "
            f"{type(out).__name__}: {out!r}"
        )
    return out[0], out[1]


def as_argnums(argnums: int | Sequence[int], what: str) -> tuple[int, ...]:
    """`argnums` as a tuple. Raises TypeError if it is not an int or a sequence of ints."""
    if isinstance(argnums, int) and not isinstance(argnums, bool):
        return (argnums,)
    if isinstance(argnums, (tuple, list)) and all(isinstance(i, int) for i in argnums):
        return tuple(argnums)
    raise TypeError(f"{what} must be an int or a tuple of ints, got {argnums!r}")


def wrap_argnums(argnums: Sequence[int], num_args: int, what: str) -> tuple[int, ...]:
    """Negative argnums counted from the end. Raises ValueError for one that names no argument."""
    for i in argnums:
        if not -num_args <= i < num_args:
            raise ValueError(
                f"{what} {tuple(argnums)} names argument {i}, but the function was called with "
                f"{num_args} positional arguments"
            )
    return tuple(i % num_args for i in argnums)


def function_of(
    fun: Callable, argnums: Any, args: tuple, kwargs: dict, error: type[Exception]
) -> tuple[tuple, Callable]:
    """The arguments that `argnums` name, and `fun` as a function of them alone.

    Raises `error` for one that the caller did not pass (JAX's grad and jacfwd differ in its class)."""
    numbers = as_argnums(argnums, "argnums")
    if not all([-len(args) <= i < len(args) for i in numbers]):
        raise error(
            f"differentiating with respect to argnums={argnums} requires at least {max(numbers) + 1} "
            "positional arguments to be passed by the caller, but got only "
            f"{len(args)} positional arguments."
        )
    positions = [i % len(args) for i in numbers]

    def partial_fun(*dynamic: Any) -> Any:
        full_args = list(args)
        for i, x in zip(positions, dynamic):
            full_args[i] = x
        return fun(*full_args, **kwargs)

    return tuple([args[i] for i in positions]), partial_fun


# ---- static arguments: values that are part of a jitted function's cache key ----

Static = tuple[tuple[int | str, type, Any], ...]  # (position or name, type, value) of each


def named_arguments(
    fun: Callable, argnums: Any, argnames: Any, what: str
) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Positions and names of the same parameters: one that is named may be given by position.

    Raises ValueError for a position or name that `fun` does not have; `what` is the option's name."""
    numbers = () if argnums is None else as_argnums(argnums, what)
    names = (
        () if argnames is None else (argnames,) if isinstance(argnames, str) else tuple(argnames)
    )
    if not (numbers or names):
        return (), ()
    try:
        parameters = list(inspect.signature(fun).parameters.values())
    except (TypeError, ValueError):  # a builtin without a signature
        return numbers, names
    positional = [
        p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    if not any(p.kind is p.VAR_POSITIONAL for p in parameters):
        for i in numbers:
            if not -len(positional) <= i < len(positional):
                raise ValueError(
                    f"Jitted function has {what}={numbers}, but only accepts {len(positional)} "
                    "positional arguments."
                )
    known = {p.name for p in parameters}
    if not any(p.kind is p.VAR_KEYWORD for p in parameters):
        for name in names:
            if name not in known:
                raise ValueError(
                    f"Jitted function has invalid argnames {{{name!r}}} in "
                    f"{what.replace('nums', 'names')}. Function only takes {sorted(known)}."
                )
    named = [positional.index(name) for name in names if name in positional]
    numbered = [positional[i] for i in numbers if -len(positional) <= i < len(positional)]
    return (*numbers, *(i for i in named if i not in numbers)), (*names, *numbered)


def positions(argnums: tuple[int, ...], num_args: int) -> set[int]:
    """The arguments, of `num_args` given by position, that `argnums` name."""
    return {i % num_args for i in argnums if -num_args <= i < num_args} if argnums else set()


def split_static(
    args: tuple, kwargs: dict, argnums: tuple[int, ...], argnames: tuple[str, ...]
) -> tuple[tuple[tuple, dict], Static]:
    """The pair (args, kwargs) without the static arguments, and these, as (place, type, value) of each.

    The place of an argument given by position is its number, counted from the front also where argnums
    counts from the end; of one given by name, its name. Numbers come first, in order, and then names,
    sorted. A number or name that the call does not have is no error."""
    if not argnums and not argnames:
        return (args, kwargs), ()
    numbers = positions(argnums, len(args))
    static: list[tuple[int | str, type, Any]] = [
        (i, type(args[i]), args[i]) for i in sorted(numbers)
    ]
    static += [(name, type(x), x) for name, x in sorted(kwargs.items()) if name in argnames]
    dynamic_args = tuple([x for i, x in enumerate(args) if i not in numbers])
    dynamic_kwargs = {name: x for name, x in kwargs.items() if name not in argnames}
    return (dynamic_args, dynamic_kwargs), tuple(static)


def with_static(fun: Callable, static: Static) -> Callable:
    """`fun` as a function of its dynamic arguments alone."""
    if not static:
        return fun

    def call(*dynamic: Any, **kwargs: Any) -> Any:
        args = list(dynamic)
        for place, _, value in static:
            if isinstance(place, int):
                args.insert(place, value)
            else:
                kwargs[place] = value
        return fun(*args, **kwargs)

    return call


def unhashable_error(fun: Callable, static: Static) -> ValueError:
    instead_of: dict[type, str] = {
        list: "a tuple",
        set: "a frozenset",
        dict: "a tuple of its items",
    }
    for place, kind, value in static:
        try:
            hash(value)
        except TypeError:
            name = positional_name(fun, (), place) if isinstance(place, int) else place
            instead = instead_of.get(kind)
            pass_it = f"pass {instead} instead of a {kind.__name__}, or " if instead else ""
            return ValueError(
                f"Non-hashable static arguments are not supported: static argument {name} of "
                f"{fun_name(fun)} is unhashable, of type {kind}: {value!r}. Static arguments are part "
                f"of jit's cache key: {pass_it}do not make the argument static"
            )
    return ValueError("the arguments' tree has unhashable parts: see their register_pytree_node")


# ---- names of arguments ----


def argument_names(fun: Callable, static: Collection[int], tree: Any) -> list[str]:
    """The name of each leaf of (args, kwargs), such as params['w'] or x; `static` are the positions of
    arguments that are not among the leaves."""
    leaves = tree_unflatten(tree, range(tree.num_leaves))
    pairs, _ = tree_flatten_with_path(leaves)
    return [_name(fun, static, path) for path, _ in pairs]


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
