"""Functions as they stand in their files: which lines are a function's, and in which function a line is."""

from __future__ import annotations

import ast
import functools
import inspect
import linecache
from collections.abc import Callable
from typing import Any


def source_of(f: Callable[..., Any]) -> tuple[str, range, str] | None:
    """File, lines and name of a function, if there is a source."""
    try:
        f = inspect.unwrap(f)
        lines, first = inspect.getsourcelines(f)
        return inspect.getsourcefile(f) or "", range(first, first + len(lines)), f.__name__
    except (OSError, TypeError, AttributeError):
        return None


AROUND = 4  # lines before and after one that is in no function


def function_around(file: str, number: int) -> tuple[str, range, str]:
    """File, lines and name of the outermost function that a line is in; else of the lines around it."""
    lines = linecache.getlines(file)
    for numbers, name in _functions("".join(lines)):
        if number in numbers:
            return file, numbers, name
    return file, range(max(1, number - AROUND), min(len(lines), number + AROUND) + 1), "<module>"


@functools.lru_cache(maxsize=256)
def _functions(text: str) -> list[tuple[range, str]]:
    """The lines of each function and method of a program, and its name; of those within none."""
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
