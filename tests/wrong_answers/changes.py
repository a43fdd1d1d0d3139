"""Small changes that make a function wrong: made by machine, of its syntax tree.

    for change in changes("def f(x, y):\n    return x - y\n"):
        print(change.kind, change.says)      # operators   return x - y -> return x + y

A test of the function that fails for none of them has not looked at what was changed. Some changes make no
difference at all: these are called equivalent.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

OPERATORS: dict[type, type] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.FloorDiv: ast.Mult,
    ast.Div: ast.Mult,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
COMMUTATIVE = ("add", "mul", "max", "min")  # exchanged arguments say nothing

# What a learner is likely to forget or to confuse comes first.
KINDS = (
    "branches",
    "statements",
    "operators",
    "blocks",
    "calls",
    "operands",
    "numbers",
    "names",
    "order",
    "arguments",
)


Edit = tuple[str, Callable[[], None], Callable[[], None]]  # its kind; make it; take it back


@dataclass(frozen=True)
class Change:
    """A changed function: which kind of change, what it says in a line, and the whole text."""

    kind: str
    says: str
    text: str


def changes(text: str, most: int = 10**6) -> list[Change]:
    """At most `most` changes of a function: some of each kind, from all over it. No two have the same text,
    nor say the same."""
    tree = ast.parse(text)
    function = tree.body[0]
    assert isinstance(function, ast.FunctionDef)
    before = ast.unparse(tree)
    found: list[Change] = []
    seen, said = {before}, set()
    for kind, put, back in _mixed(_edits(function)):
        if len(found) == most:
            break
        put()
        after = ast.unparse(tree)
        back()
        if after in seen:
            continue
        seen.add(after)
        says = _difference(before.splitlines(), after.splitlines())
        number = next(n for n in itertools.count(1) if (says, n) not in said)
        said.add((says, number))
        found.append(Change(kind, says if number == 1 else f"{says} ({number})", after + "\n"))
    return found


def _mixed(edits: Iterable[Edit]) -> Iterator[Edit]:
    """One edit of each kind after the other."""
    by_kind: dict[str, list[Edit]] = {kind: [] for kind in KINDS}
    for edit in edits:
        by_kind[edit[0]].append(edit)
    while any(by_kind.values()):
        for of_kind in by_kind.values():
            if of_kind:  # the middle one: beginning and end are alike in many functions
                yield of_kind.pop(len(of_kind) // 2)


def _difference(before: list[str], after: list[str]) -> str:
    """The lines that differ, as "old -> new"."""
    start = _common(before, after)
    end = _common(before[start:][::-1], after[start:][::-1])
    old, new = before[start : len(before) - end], after[start : len(after) - end]
    if not old or not new:  # the line above says where it was, or is now
        old, new = before[start - 1 : start] + old, before[start - 1 : start] + new
    shown = [" / ".join(line.strip() for line in part) for part in (old, new)]
    return " -> ".join(_around(shown[0], shown[1]))


def _around(old: str, new: str, context: int = 30) -> tuple[str, str]:
    """Two texts cut to what differs, and a little before and after it."""
    start = max(_common(old, new) - context, 0)
    end = max(_common(old[start:][::-1], new[start:][::-1]) - context, 0)
    cut = [text[start : len(text) - end] for text in (old, new)]
    marks = "..." if start else "", "..." if end else ""
    return f"{marks[0]}{cut[0]}{marks[1]}", f"{marks[0]}{cut[1]}{marks[1]}"


def _common(a: Sequence[str], b: Sequence[str]) -> int:
    """How many lines, or letters, two texts have in common at the beginning."""
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(a, b)))


# ---- where to change what ----


def _edits(function: ast.FunctionDef) -> Iterator[Edit]:
    """All edits of the body; names are exchanged for others that the function has."""
    names = _names(function)
    for parent, field, index in _places(function):
        values = getattr(parent, field)
        node = values if index is None else values[index]
        if isinstance(parent, ast.Expr) or isinstance(node, ast.Tuple) and _is_check(parent):
            continue  # the statement is left out as a whole; the order of classes says nothing
        new = _of_statement(node) if isinstance(node, ast.stmt) else _of_expression(node, names)
        for kind, replacement in new:
            yield _edit(kind, parent, field, index, node, replacement)


def _edit(
    kind: str, parent: ast.AST, field: str, index: int | None, old: ast.AST, new: list[ast.AST]
) -> Edit:
    """Put the nodes `new` in the place of `old`."""
    if index is None:
        return kind, lambda: setattr(parent, field, new[0]), lambda: setattr(parent, field, old)
    values = getattr(parent, field)
    kept = list(values)

    def put() -> None:
        values[index : index + 1] = new
        if not values and field == "body":
            values.append(ast.Pass())

    def back() -> None:
        values[:] = kept

    return kind, put, back


def _places(node: ast.AST) -> Iterator[tuple[ast.AST, str, int | None]]:
    """Where statements and expressions stand below a node, types and docstrings left out."""
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list", "args") and not isinstance(
            node, ast.Call
        ):
            continue
        items = list(enumerate(value)) if isinstance(value, list) else [(None, value)]
        for index, child in items:
            if isinstance(child, ast.AST) and not _is_text(child):
                if isinstance(child, ast.stmt | ast.expr | ast.comprehension | ast.keyword):
                    yield node, field, index  # type: ignore[misc]
                if not isinstance(child, ast.Raise):  # the words of an error are not judged
                    yield from _places(child)


def _is_text(node: ast.AST) -> bool:
    """A docstring, or another text that stands alone."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _names(function: ast.FunctionDef) -> dict[str, int]:
    """The names of the function's own, each with the line that binds it first: parameters, and what it
    assigns; not those within comprehensions."""
    found = {a.arg: 0 for a in ast.walk(function.args) if isinstance(a, ast.arg)}
    found.pop("self", None)
    for node in ast.walk(function):
        if isinstance(node, ast.Assign | ast.For):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for name in [n for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)]:
                if isinstance(name.ctx, ast.Store):
                    found.setdefault(name.id, node.lineno)
    return found


# ---- what may stand in place of a node ----

New = Iterator[tuple[str, list[ast.AST]]]


def _of_statement(node: ast.stmt) -> New:
    if isinstance(node, ast.If):
        yield "branches", list(node.body)
        yield "branches", list(node.orelse)
    elif isinstance(node, ast.Expr):
        yield "statements", []
    elif isinstance(node, ast.Assign | ast.AugAssign):
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        if isinstance(target, ast.Attribute | ast.Subscript) or isinstance(node, ast.AugAssign):
            yield "statements", []
    elif isinstance(node, ast.With):
        yield "blocks", list(node.body)
    elif isinstance(node, ast.Try):
        yield "blocks", [*node.body, *node.finalbody]
    elif isinstance(node, ast.For):
        once = [*node.body, ast.Break()]
        yield "blocks", [ast.For(node.target, node.iter, once, [], lineno=node.lineno)]
    elif isinstance(node, ast.Continue | ast.Break):
        yield "statements", [ast.Pass()]


def _of_expression(node: ast.AST, names: dict[str, int]) -> New:
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        yield "operators", [ast.Compare(node.left, [_other(node.ops[0])], node.comparators)]
    elif isinstance(node, ast.BoolOp):
        for value in node.values:
            rest = [v for v in node.values if v is not value]
            yield "branches", [rest[0] if len(rest) == 1 else ast.BoolOp(node.op, rest)]
        yield "operators", [ast.BoolOp(_other(node.op), node.values)]
    elif isinstance(node, ast.BinOp):
        if type(node.op) in OPERATORS:
            yield "operators", [ast.BinOp(node.left, _other(node.op), node.right)]
        yield "operands", [node.left]
        yield "operands", [node.right]
    elif isinstance(node, ast.UnaryOp):
        yield "operators", [node.operand]
    elif isinstance(node, ast.IfExp):
        yield "branches", [node.body]
        yield "branches", [node.orelse]
    elif isinstance(node, ast.Constant):
        yield from _of_constant(node)
    elif isinstance(node, ast.Call):
        if not _is_check(node):
            yield from _of_call(node)
    elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
        yield "numbers", [node.value]
    elif isinstance(node, ast.Tuple) and len(node.elts) == 2 and isinstance(node.ctx, ast.Load):
        yield "order", [ast.Tuple([node.elts[1], node.elts[0]], node.ctx)]
    elif isinstance(node, ast.comprehension) and node.ifs:
        yield "branches", [ast.comprehension(node.target, node.iter, [], node.is_async)]
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in names:
        there = [name for name, line in names.items() if line < node.lineno or name == node.id]
        other = there[(there.index(node.id) + 1) % len(there)]
        yield "names", [ast.Name(other, node.ctx)]


def _of_constant(node: ast.Constant) -> New:
    if isinstance(node.value, bool):
        yield "numbers", [ast.Constant(not node.value)]
    elif isinstance(node.value, int):
        yield "numbers", [ast.Constant(node.value + 1)]
        if node.value > 0:
            yield "numbers", [ast.Constant(node.value - 1)]


def _of_call(node: ast.Call) -> New:
    """Without one of the arguments; two of them exchanged; an argument in place of the call."""
    if len(node.args) == 1 and not node.keywords and not isinstance(node.args[0], ast.Starred):
        yield "calls", [node.args[0]]
    for i, argument in enumerate(node.args):
        others = node.args[:i] + node.args[i + 1 :]
        if isinstance(argument, ast.Starred) or i and i == len(node.args) - 1:
            yield "arguments", [ast.Call(node.func, others, node.keywords)]
        if i and not isinstance(argument, ast.Starred) and _name_of(node.func) not in COMMUTATIVE:
            swapped = [*node.args[: i - 1], argument, node.args[i - 1], *node.args[i + 1 :]]
            yield "order", [ast.Call(node.func, swapped, node.keywords)]
    for keyword in node.keywords:
        rest = [k for k in node.keywords if k is not keyword]
        yield "arguments", [ast.Call(node.func, node.args, rest)]


def _is_check(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and _name_of(node.func) == "isinstance"


def _name_of(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def _other(operator: ast.AST) -> ast.AST:
    return OPERATORS[type(operator)]()
