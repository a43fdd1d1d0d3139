"""Compare the signature of a learner's function with the exercise's.

Callers may pass each parameter by position or by name, or leave it out, as the handed-out signature says: so
the names, kinds and defaults must stay. Types may differ. Parameters may be added whose names begin with `_`
and that have defaults, for a function that calls itself.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from tinyjax.studio.learn.atomic_files import read, read_source
from tinyjax.studio.learn.exercises import Exercise, in_clone
from tinyjax.studio.learn.functions import Function, functions_of

BY_POSITION, BY_BOTH, BY_NAME = "by position only", "by position or name", "by name only"


class Parameter(NamedTuple):
    """How a parameter is given, and its default, or "" if it has none."""

    kind: str
    default: str


Parameters = dict[str, Parameter]  # by name


def changed_signatures(src: Path, exercises: Iterable[Exercise]) -> dict[str, list[str]]:
    """The exercises whose functions in `src` have another signature than the exercise's, by name: how they
    differ, in lines."""
    found: dict[str, list[str]] = {}
    for exercise in exercises:
        for file, name in exercise.places:
            wanted = functions_of(read(in_clone(file)))[name]
            yours = functions_of(read_source(src / file)).get(name, wanted)
            if lines := differences(wanted, yours):
                found.setdefault(exercise.name, []).extend(lines)
    return found


def differences(wanted: Function, yours: Function) -> list[str]:
    """How a function's signature differs from the wanted one, in lines."""
    name = f"`{wanted.name}`"
    if isinstance(yours, ast.AsyncFunctionDef) and not isinstance(wanted, ast.AsyncFunctionDef):
        return [f"your {name} is `async`, the exercise's is not: a call of it computes nothing"]
    returned = ast.unparse(wanted.returns or ast.Constant(None))
    if is_generator(yours) and not is_generator(wanted) and "Iter" not in returned:
        return [
            f"your {name} is a generator, because of its `yield`; the exercise's returns a value"
        ]
    before, now = parameters_of(wanted), parameters_of(yours)
    lines = list(_differences(name, before, now))
    if not lines and _order(now)[: len(_order(before))] != _order(before):
        lines = [f"the parameters of your {name} are in another order"]
    return [*lines, f"the exercise's is {wanted.name}({parameters(wanted)})"] if lines else []


def _differences(name: str, wanted: Parameters, yours: Parameters) -> Iterator[str]:
    lost = [p for p in wanted if p not in yours]
    new = [p for p in yours if p not in wanted and not (p.startswith("_") and yours[p].default)]
    if len(lost) == len(new):
        for a, b in zip(lost, new):
            yield f"your {name} has the parameter `{b}`, the exercise's is `{a}`"
    else:
        for p in lost:
            yield f"your {name} lacks the parameter `{p}`"
        for p in new:
            yield f"your {name} has the parameter `{p}`, which the exercise's lacks"
    for p in [p for p in wanted if p in yours]:
        (kind, default), (your_kind, your_default) = wanted[p], yours[p]
        if kind != your_kind:
            yield f"`{p}` of your {name} is given {your_kind}, in the exercise's {kind}"
        if default != your_default:
            have, want = (value or "no default" for value in (your_default, default))
            yield f"`{p}` of your {name} has {have}, the exercise's has {want}"


def _order(parameters: Parameters) -> list[str]:
    """The names of those that are given by position."""
    return [name for name, (kind, _) in parameters.items() if kind != BY_NAME]


def parameters_of(node: Function) -> Parameters:
    """The parameters of a function in their order. Callers don't know the names after `*` and `**`."""
    a = node.args
    plain = [*a.posonlyargs, *a.args]
    kinds = [BY_POSITION] * len(a.posonlyargs) + [BY_BOTH] * len(a.args)
    values = [None] * (len(plain) - len(a.defaults)) + a.defaults
    found = {p.arg: Parameter(k, _default(v)) for p, k, v in zip(plain, kinds, values)}
    if a.vararg:
        found["*args"] = Parameter(BY_POSITION, "")
    found |= {p.arg: Parameter(BY_NAME, _default(v)) for p, v in zip(a.kwonlyargs, a.kw_defaults)}
    if a.kwarg:
        found["**kwargs"] = Parameter(BY_NAME, "")
    return found


def _default(value: ast.expr | None) -> str:
    return f"the default {ast.unparse(value)}" if value else ""


def parameters(node: Function) -> str:
    """The parameters of the signature, without types."""
    bare = copy.deepcopy(node.args)
    for part in ast.walk(bare):
        if isinstance(part, ast.arg):
            part.annotation = None
    return ast.unparse(bare)


def is_generator(node: Function) -> bool:
    """Whether the function itself yields, not one within it."""
    todo: list[ast.AST] = list(node.body)
    while todo:
        part = todo.pop()
        if isinstance(part, ast.Yield | ast.YieldFrom):
            return True
        if not isinstance(part, Function | ast.Lambda | ast.ClassDef):
            todo += ast.iter_child_nodes(part)
    return False
