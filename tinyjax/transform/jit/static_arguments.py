"""Static arguments: values that are part of a jitted function's cache key, and are not traced.

They are split off before the other arguments are flattened, and put back when the function is traced. A
parameter is static by its position or by its name; both stand for the same one.

Source: https://docs.jax.dev/en/latest/jit-compilation.html#marking-arguments-as-static
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from tinyjax.core.api_util import as_argnums, fun_name
from tinyjax.core.argument_names import positional_name

Static = tuple[tuple[int | str, type, Any], ...]  # (position or name, type, value) of each


def named_arguments(
    fun: Callable, argnums: Any, argnames: Any, what: str
) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Positions and names of the same parameters: a parameter given by name may be passed by position.

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
    """Which of `num_args` positional arguments `argnums` name."""
    return {i % num_args for i in argnums if -num_args <= i < num_args} if argnums else set()


def split_static(
    args: tuple, kwargs: dict, argnums: tuple[int, ...], argnames: tuple[str, ...]
) -> tuple[tuple[tuple, dict], Static]:
    """The pair (args, kwargs) without the static arguments, and these, as (place, type, value) of each.

    The place of a positional argument is its number, counted from the front even if argnums counts from
    the end; the place of a keyword argument is its name. Numbers come first, in order, and then names,
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
