"""The collectives of a program of several processes: combined, and identified equally in all processes.

Each collective is identified by its number in the program and a hash of the program's text. To reduce the
number of collectives in a training step, sums are delayed until one of them is read, or until another
operation has effects. Delayed sums are then sent together, such as the gradients of all layers.
"""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Iterator, Mapping
from typing import Any

from tinyjax.core.inlining import inline_calls
from tinyjax.core.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var, has_effects
from tinyjax.many_devices.across_processes import group_all_gather_p, group_psum_p

# ---- what program it is ----


def fingerprint(jaxpr: Jaxpr) -> str:
    """A hash that is equal for programs of equal text in all processes: it excludes hashes and addresses,
    which differ."""
    return f"{zlib.crc32(''.join(_text(jaxpr)).encode()):08x}"


def _text(jaxpr: Jaxpr) -> Iterator[str]:
    names: dict[Var, int] = {}

    def name(atom: Any) -> str:
        if isinstance(atom, Literal):
            return ":".join(map(str, atom.key))
        return f"{names.setdefault(atom, len(names))}:{atom.aval.str_short()}"

    yield f"({[*map(name, [*jaxpr.constvars, *jaxpr.invars])]}"
    for eqn in jaxpr.eqns:
        yield f"{[*map(name, eqn.outvars)]}={eqn.primitive.name}{[*map(name, eqn.invars)]}"
        for key, value in sorted(eqn.params.items()):
            yield f"{key}="
            yield from _value_text(value)
    yield f"{[*map(name, jaxpr.outvars)]})"


def _value_text(value: Any) -> Iterator[str]:
    if isinstance(value, ClosedJaxpr | Jaxpr):
        yield from _text(value.jaxpr if isinstance(value, ClosedJaxpr) else value)
    elif isinstance(value, set | frozenset):
        yield str(sorted(map(str, value)))
    elif isinstance(value, tuple | list | Mapping):
        for item in value.items() if isinstance(value, Mapping) else value:
            yield from _value_text(item)
    elif isinstance(value, str | int | float | complex | None):
        yield f"{value!r},"
    else:
        yield f"{type(value).__name__},"


# ---- fewer meetings ----


def with_meetings(closed: ClosedJaxpr, program: str) -> ClosedJaxpr:
    """The program with sums combined and its meetings numbered; `program` is the fingerprint of its text."""
    inlined = inline_calls(closed)
    jaxpr = _named(_merged(inlined.jaxpr), program, itertools.count(1))
    return inlined.replace(jaxpr=jaxpr)


def _merged(jaxpr: Jaxpr) -> Jaxpr:
    """Delay sums until one is read, or until another effect."""
    eqns: list[JaxprEqn] = []
    waiting: list[JaxprEqn] = []
    unread: set[Var] = set()

    def meet() -> None:
        groups: dict[tuple[int, ...], list[JaxprEqn]] = {}
        for eqn in waiting:
            groups.setdefault(eqn.params["ranks"], []).append(eqn)
        eqns.extend(map(_together, groups.values()))
        waiting.clear()
        unread.clear()

    for eqn in jaxpr.eqns:
        if not unread.isdisjoint(v for v in eqn.invars if isinstance(v, Var)) or (
            waiting and eqn.primitive is not group_psum_p and has_effects(eqn)
        ):
            meet()
        if eqn.primitive is group_psum_p:
            waiting.append(eqn)
            unread.update(eqn.outvars)
        else:
            eqns.append(_inside(eqn, _merged))
    meet()
    return jaxpr.replace(eqns=eqns)


def _together(eqns: list[JaxprEqn]) -> JaxprEqn:
    invars = [v for eqn in eqns for v in eqn.invars]
    return eqns[0].replace(invars=invars, outvars=[v for eqn in eqns for v in eqn.outvars])


def _named(jaxpr: Jaxpr, program: str, numbers: Iterator[int]) -> Jaxpr:
    eqns = []
    for eqn in jaxpr.eqns:
        if eqn.primitive in (group_psum_p, group_all_gather_p):
            at = f"number {next(numbers)} of program {program}"
            eqns.append(eqn.replace(params=eqn.params | {"at": at}))
        else:
            eqns.append(_inside(eqn, lambda inner: _named(inner, program, numbers)))
    return jaxpr.replace(eqns=eqns)


def _inside(eqn: JaxprEqn, change: Any) -> JaxprEqn:
    """An equation with the bodies of its loop or branch transformed, if they have collectives."""
    if not has_effects(eqn):
        return eqn
    params = eqn.params | {
        name: type(value)(_body(item, change) for item in value)
        if type(value) in (tuple, list)
        else _body(value, change)
        for name, value in eqn.params.items()
    }
    return eqn.replace(params=params)


def _body(value: Any, change: Any) -> Any:
    if not isinstance(value, ClosedJaxpr):
        return value
    inlined = inline_calls(value)
    return inlined.replace(jaxpr=change(inlined.jaxpr))
