"""Wrong answers of the kinds that people write: right for the examples at hand, and harmful in use.

    for change in kinds("def f(x):\n    with set_current_trace(t):\n        return g(x)\n"):
        print(change.says)      # by hand: with set_current_trace(t) -> no finally

Where changes.py turns around an operator, a kind changes what nobody looks at while all goes well: a trace
that is put in charge without a `finally`, an error that is caught, elements after the second, what stands
there twice, a 0 that is not None, parameters, a dtype, the caller's list or array, the result of an earlier
call, settings of the whole process, equal things that are not one object, a loop that is written out, an
argument that is donated, what is kept for the way back.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator

from wrong_answers.changes import Change

Changed = tuple[str, ast.AST]  # what it says, and the function


def kinds(text: str) -> list[Change]:
    """All changes of these kinds of a function."""
    tree = ast.parse(text)
    before, found, seen = ast.unparse(tree), [], set()
    for make in KINDS:
        for says, function in make(tree.body[0]):
            after = ast.unparse(ast.fix_missing_locations(function)) + "\n"
            if after.strip() != before and after not in seen:
                seen.add(after)
                found.append(Change(make.__name__.strip("_"), says, after))
    return found


def _each(function: ast.AST, kind: type | tuple[type, ...]) -> Iterator[tuple[ast.AST, ast.AST]]:
    """A copy of the function for each node of a kind in it, and that node in the copy."""
    for number, node in enumerate(ast.walk(function)):
        if isinstance(node, kind):
            copied = copy.deepcopy(function)
            yield copied, next(n for i, n in enumerate(ast.walk(copied)) if i == number)


def _replaced(function: ast.AST, old: ast.AST, new: list[ast.stmt] | ast.expr) -> ast.AST:
    """The function with something in place of a node of it."""

    class Replace(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> object:
            return new if node is old else self.generic_visit(node)

    return Replace().visit(function)


def _statements(text: str) -> list[ast.stmt]:
    return ast.parse(text).body


# ---- the kinds ----


def _by_hand(function: ast.AST) -> Iterator[Changed]:
    """`with set_current_trace(t):` as two assignments, without a `finally`."""
    for copied, block in _each(function, ast.With):
        for item in block.items:  # type: ignore[attr-defined]
            call = item.context_expr
            if isinstance(call, ast.Call) and ast.unparse(call.func) == "set_current_trace":
                trace = ast.unparse(call.args[0])
                rest = [i for i in block.items if i is not item]  # type: ignore[attr-defined]
                body = _ended(block.body, "context.trace = trace_before")  # type: ignore[attr-defined]
                if rest:
                    body = [ast.With(rest, body)]
                begin = f"trace_before = context.trace\ncontext.trace = {trace}"
                yield (
                    f"by hand: {ast.unparse(item)}",
                    _replaced(copied, block, [*_statements(begin), *body]),
                )


def _ended(body: list[ast.stmt], end: str) -> list[ast.stmt]:
    """The statements, and then another, which also stands before a last `return`."""
    if body and isinstance(body[-1], ast.Return) and body[-1].value is not None:
        result = ast.Assign([ast.Name("result_of_block", ast.Store())], body[-1].value, lineno=1)
        return [*body[:-1], result, *_statements(end), *_returned("result_of_block")]
    return [*body, *_statements(end)]


def _returned(name: str) -> list[ast.stmt]:
    return [ast.Return(ast.Name(name, ast.Load()))]


def _errors_caught(function: ast.AST) -> Iterator[Changed]:
    """A statement that calls something, and gives None where that raises an error of common kinds."""
    for copied, statement in _each(function, (ast.Assign, ast.Return)):
        value = statement.value  # type: ignore[attr-defined]
        if not any(isinstance(node, ast.Call) for node in ast.walk(value or ast.Pass())):
            continue
        nothing = copy.deepcopy(statement)
        nothing.value = ast.Constant(None)  # type: ignore[attr-defined]
        (attempt,) = _statements(
            "try:\n    pass\nexcept (TypeError, ValueError, IndexError, KeyError):\n    pass"
        )
        attempt.body, attempt.handlers[0].body = [statement], [nothing]  # type: ignore
        says = f"errors caught: {ast.unparse(statement).splitlines()[0]}"
        yield says, _replaced(copied, statement, [attempt])


def _few(function: ast.AST) -> Iterator[Changed]:
    """Only the first two of what a loop or a comprehension goes through."""
    for copied, loop in _each(function, (ast.For, ast.comprehension)):
        items = ast.unparse(loop.iter)  # type: ignore[attr-defined]
        loop.iter = ast.parse(f"[*({items})][:2]", mode="eval").body  # type: ignore[attr-defined]
        yield f"the first two: {items}", copied


def _pairs_once(function: ast.AST) -> Iterator[Changed]:
    """Of pairs that begin alike only the last: `zip` as a dict, which loses what stands there twice."""
    for copied, loop in _each(function, (ast.For, ast.comprehension)):
        call = loop.iter  # type: ignore[attr-defined]
        if isinstance(call, ast.Call) and ast.unparse(call.func) == "zip" and len(call.args) == 2:
            pairs = ast.unparse(call)
            loop.iter = ast.parse(f"dict({pairs}).items()", mode="eval").body  # type: ignore
            yield f"once: {pairs}", copied


def _truth(function: ast.AST) -> Iterator[Changed]:
    """Whether something is true in place of whether it is None: 0, () and arrays are taken for None."""
    for copied, node in _each(function, ast.Compare):
        if isinstance(node.ops[0], (ast.Is, ast.IsNot)) and ast.unparse(node).endswith(" None"):  # type: ignore
            is_none = isinstance(node.ops[0], ast.Is)  # type: ignore[attr-defined]
            asked = node.left  # type: ignore[attr-defined]
            new = ast.UnaryOp(ast.Not(), asked) if is_none else asked
            yield f"truth: {ast.unparse(node)}", _replaced(copied, node, new)


def _in_place(function: ast.AST) -> Iterator[Changed]:
    """`x = x + y` as `x += y`, which changes an array or a list that others have, too."""
    for copied, node in _each(function, ast.Assign):
        value = node.value  # type: ignore[attr-defined]
        target = node.targets[0]  # type: ignore[attr-defined]
        if isinstance(value, ast.BinOp) and ast.unparse(value.left) == ast.unparse(target):
            new = ast.AugAssign(target, value.op, value.right)
            yield f"in place: {ast.unparse(node)}", _replaced(copied, node, [new])


def _parameters_lost(function: ast.AST) -> Iterator[Changed]:
    """A call without its `**parameters`."""
    for copied, call in _each(function, ast.Call):
        lost = [k for k in call.keywords if k.arg is None]  # type: ignore[attr-defined]
        if lost:
            says = f"without **: {ast.unparse(call).splitlines()[0]}"
            call.keywords = [k for k in call.keywords if k.arg]  # type: ignore[attr-defined]
            yield says, copied


def _one_dtype(function: ast.AST) -> Iterator[Changed]:
    """float32 in place of any other dtype."""
    for copied, node in _each(function, ast.Attribute):
        if node.attr == "dtype" and isinstance(node.ctx, ast.Load):  # type: ignore[attr-defined]
            float32 = ast.parse("__import__('numpy').dtype('float32')", mode="eval").body
            yield f"float32: {ast.unparse(node)}", _replaced(copied, node, float32)


def _kept(function: ast.AST) -> Iterator[Changed]:
    """The result of the first call, for all others."""
    copied = copy.deepcopy(function)
    kept = "__import__('sys').__dict__.setdefault('kept_result', [])"
    for copied_again, statement in _each(copied, ast.Return):
        if statement.value is not None:  # type: ignore[attr-defined]
            value = ast.unparse(statement.value)  # type: ignore[attr-defined]
            new = _statements(f"{kept}.append({value})") + [
                ast.Return(ast.parse(f"{kept}[0]", mode="eval").body)
            ]
            yield f"kept: return {value}", _replaced(copied_again, statement, new)


def _arguments_changed(function: ast.AST) -> Iterator[Changed]:
    """A list or a dict that is given is emptied in the end."""
    assert isinstance(function, ast.FunctionDef)
    for argument in function.args.args:
        if argument.arg == "self" or ast.unparse(argument.annotation or ast.Name("Any")) in FIXED:
            continue
        name = argument.arg
        copied = copy.deepcopy(function)
        clear = f"if isinstance({name}, (list, dict)):\n    {name}.clear()"
        copied.body = _ended(copied.body, clear)
        yield f"argument changed: {name}", copied


def _settings_left(function: ast.AST) -> Iterator[Changed]:
    """`with np.errstate(...):` as np.seterr, which stays."""
    for copied, block in _each(function, ast.With):
        for item in block.items:  # type: ignore[attr-defined]
            text = ast.unparse(item)
            if text.startswith("np.errstate(") and len(block.items) == 1:  # type: ignore[attr-defined]
                setting = _statements(text.replace("errstate", "seterr"))
                yield f"left: {text}", _replaced(copied, block, [*setting, *block.body])  # type: ignore


def _identity(function: ast.AST) -> Iterator[Changed]:
    """`is` in place of `==`: what is equal must be one object."""
    for copied, node in _each(function, ast.Compare):
        sides = [node.left, *node.comparators]  # type: ignore[attr-defined]
        swapped = {ast.Eq: ast.Is, ast.NotEq: ast.IsNot}.get(type(node.ops[0]))  # type: ignore
        if swapped and len(sides) == 2 and not any(isinstance(x, ast.Constant) for x in sides):
            says = f"identity: {ast.unparse(node)}"
            node.ops = [swapped()]  # type: ignore[attr-defined]
            yield says, copied


def _option(function: ast.AST, of: str, option: str, value: str) -> Iterator[Changed]:
    """A call of the function `of` with an option more."""
    for copied, call in _each(function, ast.Call):
        names = [k.arg for k in call.keywords]  # type: ignore[attr-defined]
        if ast.unparse(call.func) == of and option not in names:  # type: ignore[attr-defined]
            says = f"{option}={value}: {ast.unparse(call).splitlines()[0]}"
            given = ast.keyword(option, ast.parse(value, mode="eval").body)
            call.keywords.append(given)  # type: ignore[attr-defined]
            yield says, copied


def _written_out(function: ast.AST) -> Iterator[Changed]:
    """A loop whose iterations the compiler writes out: the program grows with their number."""
    yield from _option(function, "lax.scan", "unroll", "True")


def _donated(function: ast.AST) -> Iterator[Changed]:
    """A jitted function that eats its first argument."""
    yield from _option(function, "jax.jit", "donate_argnums", "0")


def _products_kept(function: ast.AST) -> Iterator[Changed]:
    """A checkpoint that keeps products of matrices, or all, for the way back."""
    for policy in ("dots_saveable", "everything_saveable"):
        value = f"jax.checkpoint_policies.{policy}"
        yield from _option(function, "jax.checkpoint", "policy", value)


FIXED = (
    "Primitive",
    "Callable",
    "Trace",
    "ShapedArray",
    "int",
    "float",
    "bool",
    "str",
)  # no list or dict
KINDS: tuple[Callable, ...] = (
    _by_hand,
    _errors_caught,
    _few,
    _pairs_once,
    _truth,
    _in_place,
    _parameters_lost,
    _one_dtype,
    _kept,
    _arguments_changed,
    _settings_left,
    _identity,
    _written_out,
    _donated,
    _products_kept,
)
