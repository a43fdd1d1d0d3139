"""A jaxpr as text, letter for letter as JAX prints it.

A document is text, breaks and groups; a group is printed on one line if it fits. Then come the few rules that
turn a jaxpr into such a document.

Source: P. Wadler, "A prettier printer" (2003), in the strict form of C. Lindig (2000).
"""

from __future__ import annotations

import itertools
import re
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from tinyjax.core.jaxpr import (
    Atom,
    ClosedJaxpr,
    DropVar,
    Jaxpr,
    JaxprEqn,
    Literal,
    Var,
    all_jaxprs,
    subjaxprs,
)

# ---- documents ----


@dataclass(frozen=True)
class Break:
    """A possible line break; `flat` is printed there when the group fits on its line."""

    flat: str = " "


@dataclass(frozen=True)
class Nest:
    """`doc`, with lines that begin in it indented by two more spaces."""

    doc: Doc


@dataclass(frozen=True)
class Group:
    """`doc` on one line if that fits, else with all its direct breaks as line breaks."""

    doc: Doc


Doc = str | Break | Nest | Group | list["Doc"]
# What is still to print: (indentation, whether breaks are flat, document)
Pending = list[tuple[int, bool, Doc]]


def render(doc: Doc, width: int = 80) -> str:
    """The document as text, groups broken where a line would be longer than `width`."""
    out: list[str] = []
    column = 0
    pending: Pending = [(0, False, doc)]
    while pending:
        indent, flat, item = pending.pop()
        if isinstance(item, str):
            out.append(item)
            column += len(item)
        elif isinstance(item, list):
            pending.extend((indent, flat, child) for child in reversed(item))
        elif isinstance(item, Nest):
            pending.append((indent + 2, flat, item.doc))
        elif isinstance(item, Group):
            flat = flat or _fits(item.doc, width - column)
            pending.append((indent, flat, item.doc))
        elif flat:
            out.append(item.flat)
            column += len(item.flat)
        else:
            out.append("\n" + " " * indent)
            column = indent
    return "".join(out)


def _fits(doc: Doc, room: int) -> bool:
    """Whether `doc` on one line fits into `room`. As in JAX, the text after it is ignored."""
    pending: list[Doc] = [doc]
    while pending and room >= 0:
        node = pending.pop()
        if isinstance(node, str):
            room -= len(node)
        elif isinstance(node, list):
            pending.extend(reversed(node))
        elif isinstance(node, (Nest, Group)):
            pending.append(node.doc)
        else:
            room -= len(node.flat)
    return room >= 0


def join(separator: Doc, docs: Sequence[Doc]) -> list[Doc]:
    parts: list[Doc] = []
    for doc in docs:
        parts += [separator, doc] if parts else [doc]
    return parts


# ---- names ----


class JaxprPpContext:
    """The names given so far, as in JAX's class of this name.

    Variables get a, b, ..., z, ba, bb, ... in order of appearance."""

    def __init__(self, jaxpr: Jaxpr, names: Mapping[Var, str] = MappingProxyType({})):
        self.shared: dict[Jaxpr, str] = {}  # jaxprs printed once, before the others, by name
        self.names = dict(names)
        self.unused = _unused_vars(jaxpr)
        self.taken = set(names.values())
        self._fresh = _alphabetic_names()

    def name(self, v: Var) -> str:
        if isinstance(v, DropVar) or v in self.unused:
            return "_"
        if v not in self.names:
            name = next(self._fresh)
            while name in self.taken or name in self.shared.values():
                name = next(self._fresh)
            self.names[v] = name
        return self.names[v]

    def suggest_same_names(self, inner: Sequence[Atom], outer: Sequence[Atom]) -> None:
        """Gives a nested jaxpr's variables the names of the outer variables that they stand for."""
        taken: set[Var] = set()
        for v, like in zip(inner, outer):
            if isinstance(v, Var) and isinstance(like, Var) and like not in taken:
                if v not in self.names:
                    taken.add(like)
                    self.names[v] = self.name(like)


def _alphabetic_names() -> Iterator[str]:
    """a, b, ..., z, ba, bb, ...: the numbers from 0 on, in the base of 26, with letters as digits."""
    for n in itertools.count():
        name = ""
        while not name or n:
            n, digit = divmod(n, 26)
            name = chr(ord("a") + digit) + name
        yield name


def _unused_vars(jaxpr: Jaxpr) -> set[Var]:
    """The equation results that nothing reads (those of nested jaxprs keep their names)."""
    made = {v for eqn in jaxpr.eqns for v in eqn.outvars}
    return made.difference(jaxpr.outvars, *[eqn.invars for eqn in jaxpr.eqns])


def _name_shared_jaxprs(top: Jaxpr, context: JaxprPpContext) -> None:
    """Finds the jaxprs to print before the rest: those used twice, and those over ten equations."""
    uses: Counter[Jaxpr] = Counter()
    names: dict[Jaxpr, str] = {}
    visits: Counter[Jaxpr] = Counter()
    queue = deque([top])
    while queue:
        jaxpr = queue.popleft()
        visits[jaxpr] += 1
        if visits[jaxpr] > 2:  # nested jaxprs were counted twice as well
            continue
        uses[jaxpr] += 2 if jaxpr is not top and len(jaxpr.eqns) > 10 else 1
        for eqn in jaxpr.eqns:
            for sub in subjaxprs(eqn.params):
                queue.append(sub)
                if eqn.params.get("name"):
                    names.setdefault(sub, eqn.params["name"].strip("<>"))
    taken: Counter[str] = Counter()
    for jaxpr, count in uses.items():
        if count > 1:
            name = names.get(jaxpr, "jaxpr")
            number = taken[name]
            taken[name] += 1
            if number:
                name += str(number)
                taken[name] += 1
            context.shared[jaxpr] = name


# ---- jaxprs as documents ----


def jaxpr_text(jaxpr: Jaxpr) -> str:
    """The text of a jaxpr, at most 80 columns wide where it can be."""
    return render(_program_doc(jaxpr, JaxprPpContext(jaxpr)))


def jaxpr_lines(jaxpr: Jaxpr, names: Mapping[Var, str]) -> list[str]:
    """The lines of the text. Each equation begins a line; `names` has the variables already named."""
    *shared, body = _program_doc(jaxpr, JaxprPpContext(jaxpr, names))
    return render([*shared, body.doc if isinstance(body, Group) else body]).splitlines()


def variable_names(jaxpr: Jaxpr, names: Mapping[Var, str] = MappingProxyType({})) -> dict[Var, str]:
    """The names in a jaxpr's text, for other renderers; variables in `names` keep theirs. A jaxpr that is
    printed like any other value, such as one of several in a named tuple, has its own text and names."""
    context = JaxprPpContext(jaxpr, names)
    inside = [*all_jaxprs(jaxpr)]
    if len(inside) > 1:
        _program_doc(jaxpr, context)
    for variables in (jaxpr.constvars, jaxpr.invars, *[eqn.outvars for eqn in jaxpr.eqns]):
        for v in variables:  # in the order of the text
            context.name(v)
    names = context.names
    for inner in inside:
        if not names.keys() >= {*inner.constvars, *inner.invars}:
            names = variable_names(inner) | names
    return names


def eqn_text(eqn: JaxprEqn) -> str:
    """The text of one equation, its variables named from a."""
    return render(_eqn_doc(eqn, JaxprPpContext(Jaxpr([], [], eqn.outvars, [eqn]))))


def _program_doc(jaxpr: Jaxpr, context: JaxprPpContext) -> list[Doc]:
    _name_shared_jaxprs(jaxpr, context)
    doc: list[Doc] = []
    for shared, name in context.shared.items():
        doc += [f"let {name} = ", _jaxpr_body(shared, context), " in", Break()]
    return [*doc, _jaxpr_doc(jaxpr, context)]


def _jaxpr_doc(jaxpr: Jaxpr, context: JaxprPpContext) -> Doc:
    return context.shared.get(jaxpr) or _jaxpr_body(jaxpr, context)


def _jaxpr_body(jaxpr: Jaxpr, context: JaxprPpContext) -> Doc:
    arguments = [binders(jaxpr.constvars, context), "; ", binders(jaxpr.invars, context)]
    eqns = join(Break("; "), [_eqn_doc(eqn, context) for eqn in jaxpr.eqns])
    outs = [atom_text(v, context) for v in jaxpr.outvars]
    out_doc = Nest(Group(join([",", Group(Break())], outs)))
    close = ",)" if len(outs) == 1 else ")"
    body: Doc = ["{ lambda ", *arguments, ". let", Nest([Break(), *eqns]), Break()]
    return Group([Nest([body, "in (", out_doc, close]), " }"])


def binders(variables: Sequence[Var], context: JaxprPpContext) -> Doc:
    texts = [f"{context.name(v)}:{v.aval.str_short(short_dtypes=True)}" for v in variables]
    return Nest(Group(join(Group(Break()), texts)))


def atom_text(v: Atom, context: JaxprPpContext) -> str:
    if isinstance(v, Literal):
        return f"{literal_text(v)}:{v.aval.str_short(short_dtypes=True)}"
    return context.name(v)


def literal_text(literal: Literal) -> str:
    value = literal.val
    return str(value.item() if hasattr(value, "item") else value)


def _eqn_doc(eqn: JaxprEqn, context: JaxprPpContext) -> Doc:
    if eqn.primitive.name in printed_eqns:
        return printed_eqns[eqn.primitive.name](eqn, context)
    shown = printed_params.get(eqn.primitive.name, _sorted_params)(eqn, context)
    params: Doc = ""
    # The left side takes its names first: variables are named in the order of the text.
    left = binders(eqn.outvars, context)
    if shown:
        pairs = [[f"{name}=", _param_doc(value, context)] for name, value in shown]
        params = Group([Nest(["[", Break(""), *join(Break(), pairs)]), Break(""), "]"])
    operands = Nest(Group(join(Group(Break()), [atom_text(v, context) for v in eqn.invars])))
    right: Doc = [eqn.primitive.name, params, " ", operands]
    return [left, " = ", right] if eqn.outvars else right


def _param_doc(value: Any, context: JaxprPpContext) -> Doc:
    if isinstance(value, ClosedJaxpr):
        return _jaxpr_doc(value.jaxpr, context)
    if isinstance(value, Jaxpr):
        return _jaxpr_doc(value, context)
    if type(value) is tuple and all(isinstance(j, (Jaxpr, ClosedJaxpr)) for j in value):
        jaxprs = [_param_doc(j, context) for j in value]
        return Group([Nest(["(", Break(""), *join(Break(), jaxprs)]), Break(""), ")"])
    return re.sub(r" at 0x([0-9a-fA-F]+)", lambda m: " at 0x" + "X" * len(m[1]), str(value))


# ---- which parameters are shown: all, sorted by name, but for some primitives ----

Params = list[tuple[str, Any]]
# primitive name -> (eqn, context) -> the (name, value) pairs to print
printed_params: dict[str, Callable[[JaxprEqn, JaxprPpContext], Params]] = {}


def _sorted_params(eqn: JaxprEqn, context: JaxprPpContext) -> Params:
    """All parameters, with those that exist only in JAX, as JAX prints them: all but accuracy and
    out_dtype."""
    ignored = {*eqn.primitive.facts.ignored_params} - {"accuracy", "out_dtype"}
    return sorted((dict.fromkeys(ignored) | eqn.params).items())


def _broadcast_params(eqn: JaxprEqn, context: JaxprPpContext) -> Params:
    """No shape, as the result's aval shows it; dimensions only if there are any."""
    dimensions = eqn.params["broadcast_dimensions"]
    return [("broadcast_dimensions", dimensions)] if dimensions else []


def _jit_params(eqn: JaxprEqn, context: JaxprPpContext) -> Params:
    """The name and the jaxpr, whose variables are named like the operands; others if set."""
    jaxpr = eqn.params["jaxpr"].jaxpr
    if jaxpr not in context.shared:
        context.suggest_same_names(jaxpr.invars, eqn.invars)
        context.suggest_same_names(jaxpr.outvars, eqn.outvars)
    shown: Params = [("name", eqn.params["name"])]
    for name, value in sorted(eqn.params.items()):
        is_tuple = type(value) is tuple
        is_set = any(value) if is_tuple else value
        if is_set and name not in ("device", "inline", "name"):
            shown.append((name, _unspecified_text(value) if is_tuple else value))
    return shown


# primitive name -> (eqn, context) -> the text of an equation with custom notation
printed_eqns: dict[str, Callable[[JaxprEqn, JaxprPpContext], Doc]] = {}


def _unspecified_text(values: tuple) -> str:
    """One entry for each argument or result; JAX's word for an entry that is not given."""
    return str(values).replace("None,", "UnspecifiedValue,").replace("None)", "UnspecifiedValue)")


printed_params["broadcast_in_dim"] = _broadcast_params
printed_params["jit"] = _jit_params

JaxprEqn.__repr__ = eqn_text  # type: ignore[assignment]
Jaxpr.__repr__ = jaxpr_text  # type: ignore[assignment]
