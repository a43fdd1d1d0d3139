"""Functions in their files: the lines of a function, and the function around a line."""

from __future__ import annotations

import ast
import functools
import inspect
import linecache
from collections.abc import Callable
from typing import Any


def source_of(f: Callable[..., Any]) -> tuple[str, range, str] | None:
    """File, lines and name of a function, if its source is available."""
    try:
        f = inspect.unwrap(f)
        lines, first = inspect.getsourcelines(f)
        return inspect.getsourcefile(f) or "", range(first, first + len(lines)), f.__name__
    except (OSError, TypeError, AttributeError):
        return None


AROUND = 4  # lines shown before and after a line outside of functions


def function_around(file: str, number: int) -> tuple[str, range, str]:
    """File, lines and name of the outermost function around a line, or the lines around it."""
    lines = linecache.getlines(file)
    for numbers, name in _functions("".join(lines)):
        if number in numbers:
            return file, numbers, name
    return file, range(max(1, number - AROUND), min(len(lines), number + AROUND) + 1), "<module>"


@functools.lru_cache(maxsize=256)
def _functions(text: str) -> list[tuple[range, str]]:
    """The lines and name of each outermost function and method of a program."""
    try:
        nodes: list[ast.stmt] = list(ast.parse(text).body)
    except SyntaxError:
        return []
    found = []
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.ClassDef):
            nodes += node.body
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            found.append((range(first, (node.end_lineno or node.lineno) + 1), node.name))
    return found
