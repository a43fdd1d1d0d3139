"""Functions as text: find them in a file, empty them, replace them.

An emptied function keeps its decorators, signature and docstring. All other text of the file is unchanged,
byte for byte.
"""

from __future__ import annotations

import ast
import builtins
import functools
import io
import symtable
import textwrap
from collections.abc import Mapping
from types import MappingProxyType

Function = ast.FunctionDef | ast.AsyncFunctionDef


@functools.lru_cache(256)
def functions_of(source: str) -> Mapping[str, Function]:
    """The functions of a module and the methods of its classes, by qualified name; a later definition wins.
    Raises SyntaxError if `source` isn't Python."""
    found: dict[str, Function] = {}

    def visit(nodes: list[ast.stmt], prefix: str) -> None:
        for node in nodes:
            if isinstance(node, Function):
                found[prefix + node.name] = node
            elif isinstance(node, ast.ClassDef):
                visit(node.body, f"{prefix}{node.name}.")
            elif isinstance(node, ast.If | ast.Try):
                visit([n for n in ast.iter_child_nodes(node) if isinstance(n, ast.stmt)], prefix)

    visit(ast.parse(source).body, "")
    return MappingProxyType(found)  # read-only, as it is cached


def lines_of(node: Function) -> slice:
    """The range of the function's lines in its file, decorators included."""
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    return slice(first - 1, node.end_lineno)


def function_text(source: str, name: str) -> str:
    """The function's text, dedented. Raises KeyError if it is missing."""
    lines = _lines(source)
    return textwrap.dedent("".join(lines[lines_of(functions_of(source)[name])]))


def with_function(source: str, name: str, text: str) -> str:
    """`source` with the function `name` replaced by `text`. Raises KeyError if it is missing."""
    node = functions_of(source)[name]
    lines = _lines(source)
    lines[lines_of(node)] = [textwrap.indent(text.rstrip("\n") + "\n", " " * node.col_offset)]
    return "".join(lines)


def emptied(source: str, name: str, message: str, comment: str = "") -> str:
    """`source` with the body of the function `name` replaced by a comment and a raise of
    NotImplementedError(message). Comments in the body are removed too. Raises KeyError if there is no such
    function."""
    comments = [f"# {line}" for line in textwrap.wrap(comment, 100)]
    return with_body(source, name, [*comments, f"raise NotImplementedError({_quoted(message)})"])


def with_body(source: str, name: str, body: list[str]) -> str:
    """`source` with these lines below the docstring of the function `name`."""
    node = functions_of(source)[name]
    lines = _lines(source)
    indent = " " * (node.col_offset + 4)
    there = slice(_end_of_heading(node, lines), node.end_lineno)
    heading = _heading_of_a_line(node, lines)
    lines[there] = heading + [f"{indent}{line}".rstrip() + "\n" for line in body]
    return "".join(lines)


def is_empty(node: Function) -> bool:
    """Whether the body is the one that `emptied` writes, comments aside."""
    body = node.body[ast.get_docstring(node) is not None :]
    return [ast.unparse(s).startswith("raise NotImplementedError('exercise ") for s in body] == [
        True
    ]


def is_empty_text(text: str) -> bool:
    """`is_empty` for a function's text."""
    return any(is_empty(node) for node in functions_of(text).values())


# ---- the names in them ----


def names_missing(source: str, text: str) -> list[str]:
    """The module-level names that a function uses and that the module `source` lacks."""
    return sorted(names_used(text) - names_of_module(source) - set(dir(builtins)))


def names_of_module(source: str) -> set[str]:
    """The module-level names of a module."""
    module = symtable.symtable(source, "", "exec").get_symbols()
    return {s.get_name() for s in module if s.is_assigned() or s.is_imported()}


def names_used(text: str) -> set[str]:
    """The module-level names that functions use."""
    used = set()
    tables = symtable.symtable(text, "", "exec").get_children()
    while tables:
        table = tables.pop()
        used |= {s.get_name() for s in table.get_symbols() if s.is_global() and s.is_referenced()}
        tables += table.get_children()
    return used


# ---- lines ----


def _lines(source: str) -> list[str]:
    """The lines as Python numbers them: a form feed, for example, doesn't end a line."""
    return io.StringIO(source).readlines()


def _end_of_heading(node: Function, lines: list[str]) -> int:
    """The number of lines up to the end of the signature, or of the docstring."""
    if ast.get_docstring(node) is not None:
        return node.body[0].end_lineno or 0
    end = node.body[0].lineno - 1  # comments may follow the signature: it ends above them
    while end > node.lineno and not lines[end - 1].partition("#")[0].strip():
        end -= 1
    return end


def _heading_of_a_line(node: Function, lines: list[str]) -> list[str]:
    """The signature of a function whose body begins on the same line: `def f(x): return x`."""
    first = node.body[0]
    before = lines[first.lineno - 1].encode()[: first.col_offset].decode().rstrip()
    return [f"{before}\n"] if before else []


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
