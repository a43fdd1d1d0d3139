"""Functions as they stand in their files: which lines are a function's, and in which function a line is.

After this file you can show a line with what is around it. Builds on nothing of tinyjax.
"""

from __future__ import annotations

import ast
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


def function_around(file: str, number: int) -> tuple[str, range, str]:
    """File, lines and name of the outermost function that a line is in; else of the line."""
    try:
        nodes = list(ast.parse("".join(linecache.getlines(file))).body)
    except SyntaxError:
        nodes = []
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.ClassDef):
            nodes += node.body
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            if first <= number <= (node.end_lineno or number):
                return file, range(first, (node.end_lineno or number) + 1), node.name
    return file, range(number, number + 1), "<module>"
