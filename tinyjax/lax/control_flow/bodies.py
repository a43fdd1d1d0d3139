"""Checks of loop bodies, and shared constants of branches.

A loop's body must return a carry of the type that it takes. Branches take the same operands, so a value
that one of them closes over is an argument of all.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tinyjax.core import type_promotion
from tinyjax.core.array import ShapedArray
from tinyjax.core.avals import get_aval
from tinyjax.core.jaxpr import ClosedJaxpr, Var
from tinyjax.core.tree_util.differences import equality_errors
from tinyjax.core.tree_util.key_paths import KeyPath, keystr, tree_leaves_with_path
from tinyjax.core.tree_util.pytrees import PyTreeDef, tree_unflatten
from tinyjax.lax.conversion import convert_element_type


def with_common_consts(
    jaxprs: Sequence[ClosedJaxpr], consts: Sequence[Sequence[Any]]
) -> tuple[list[ClosedJaxpr], list[Any]]:
    """Gives all bodies the same leading arguments: the values that any of them closes over, each once."""
    values = {id(x): x for xs in consts for x in xs}
    common = []
    for closed, own in zip(jaxprs, consts):
        if [id(x) for x in own] == list(values):
            common.append(closed)  # the same body, which may be compiled already
            continue
        jaxpr = closed.jaxpr
        at = {id(x): v for x, v in zip(own, jaxpr.invars)}
        leading = [at[key] if key in at else Var(get_aval(x)) for key, x in values.items()]
        common.append(ClosedJaxpr(jaxpr.replace(invars=leading + jaxpr.invars[len(own) :])))
    return common, list(values.values())


# ---- the carry of a loop ----


def fixed_point(
    step: Callable[[tuple[bool, ...]], Sequence[bool]], carry: tuple[bool, ...]
) -> tuple[bool, ...]:
    """Which parts of a carry have some property: a tangent, a batch dim, being unknown.

    `carry` has a flag for each part: whether it has the property before the first iteration.
    `step(flags)` returns which parts have it after an iteration if the flagged parts have it before. A
    part that has it once keeps it, so `step` is called until no part is added."""
    while (after := tuple(a or b for a, b in zip(carry, step(carry)))) != carry:
        carry = after
    return carry


def same_type(a: ShapedArray, b: ShapedArray) -> bool:
    """Whether a value of one aval can stand for one of the other: weak types don't matter."""
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.extra is b.extra is None:
        return True
    return (a.extra and a.extra.of_any_shape()) == (b.extra and b.extra.of_any_shape())


def equal_types(a: ShapedArray, b: ShapedArray) -> bool:
    """Whether two avals have the same_type and the same `extra`."""
    return same_type(a, b) and a.extra == b.extra


def promote_weak_carry(
    init: Sequence[Any], in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray]
) -> tuple[list[Any], bool]:
    """The first carry, with weakly typed parts (mostly Python scalars) promoted with the body's result;
    and whether any part changed. If so, the body must be traced again."""
    promoted, changed = [], False
    for x, in_aval, out_aval in zip(init, in_avals, out_avals):
        if in_aval.weak_type and not same_type(in_aval, out_aval):
            x = convert_element_type(x, type_promotion.promoted_type(x, out_aval.dtype)[0])
            changed = True
        promoted.append(x)
    return promoted, changed


def check_carry_type(
    what: str,
    body: Callable,
    in_tree: PyTreeDef,
    in_avals: Sequence[ShapedArray],
    out_tree: PyTreeDef,
    out_avals: Sequence[ShapedArray],
) -> None:
    """Raises TypeError, with the places that differ, if a body gives another carry than it takes.

    `what` begins the message ("scan body"); `body` is the user's function, whose first parameter
    names the carry in it."""

    def place(path: KeyPath) -> str:
        name = _first_parameter(body)
        if not path:
            return f"the input carry {name}" if name else "the input carry"
        return "the input carry " + (f"component {name}" if name else "at path ") + keystr(path)

    if in_tree != out_tree:
        differences = [
            f"{place(path)} is a {a} but the corresponding component of the carry output is a {b}, "
            f"so {explanation}"
            for path, a, b, explanation in equality_errors(in_tree, out_tree)
        ]
        raise TypeError(
            f"{what} function carry input and carry output must have the same pytree structure, but "
            f"they differ:\n{_listed(differences)}\nReturn a carry of the structure that the body takes"
        )
    paths = [path for path, _ in tree_leaves_with_path(tree_unflatten(in_tree, in_avals))]
    differences = [
        f"{place(path)} has type {a.str_short()} but the corresponding output carry component has "
        f"type {b.str_short()}, so the {_what_differs(a, b)} do not match"
        for path, a, b in zip(paths, in_avals, out_avals)
        if not equal_types(a, b)
    ]
    if differences:
        raise TypeError(
            f"{what} function carry input and carry output must have equal types, but they differ:\n"
            f"{_listed(differences)}\nReturn each part of the carry in the shape and dtype in which "
            "the body takes it, or change the first carry: x.astype(...), jnp.zeros(shape, dtype)"
            + advice(zip(in_avals, out_avals), "the first carry")
        )


def _what_differs(a: ShapedArray, b: ShapedArray) -> str:
    if a.shape != b.shape:
        return "shapes"
    if a.dtype != b.dtype:
        return "dtypes"
    extra = a.extra or b.extra
    assert extra is not None
    return extra.difference(a, b)


def advice(pairs: Iterable[tuple[ShapedArray, ShapedArray]], what: str) -> str:
    """How to give `what` the required type, if their extras differ."""
    pairs = list(pairs)
    extra = next((a.extra or b.extra for a, b in pairs if a.extra != b.extra), None)
    return "" if extra is None else extra.advice(pairs, what)


def _first_parameter(fun: Callable) -> str:
    """The name of a function's first parameter; "" if it is not known."""
    try:
        return next(iter(inspect.signature(fun).parameters), "")
    except (TypeError, ValueError):
        return ""


def _listed(differences: Sequence[str]) -> str:
    return "\n".join(f"  * {text}" for text in differences)
