"""The story's definitions, without what its script shows: of tutorials/00_story.py, or a learner's copy.

    story = load()
    story.jvp(story.f, (3.0,), (1.0,))

No device is looked for: NumPy runs all programs.
"""

import ast
import types
from pathlib import Path
from typing import Any

import numpy as np

import tinyjax


def load() -> types.ModuleType:
    """A module with the functions, classes and tables of the script."""
    src = Path(tinyjax.__file__).parents[1]
    copy = src / "story.py"
    path = copy if copy.exists() else src / "tutorials" / "00_story.py"
    tree = ast.parse(path.read_text(encoding="utf-8"))
    own = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    tree.body = [node for node in tree.body if defines(node, own)]
    module = types.ModuleType("story")
    exec(compile(tree, str(path), "exec"), module.__dict__)
    module.queue = None  # type: ignore[attr-defined]
    return module


def defines(node: ast.stmt, own: set[str]) -> bool:
    """Whether a statement defines something, and calls none of the script's own functions."""
    if isinstance(node, ast.Expr | ast.Try):  # prints; the driver
        return False
    if isinstance(node, ast.FunctionDef):
        return not any(isinstance(d, ast.Name) and d.id in own for d in node.decorator_list)
    if isinstance(node, ast.Assign):
        calls = [call.func for call in ast.walk(node.value) if isinstance(call, ast.Call)]
        return not any(isinstance(called, ast.Name) and called.id in own for called in calls)
    return True


def expect(asked: str, got: Any, expected: Any) -> None:
    """Raises AssertionError with what was asked, what was expected and what came, in three lines."""
    if not is_same(got, expected):
        raise AssertionError(f"{asked}\nexpected: {expected}\ngot:      {got}")


def is_same(got: Any, expected: Any) -> bool:
    """Whether two values are the same: numbers and arrays up to rounding, lists by their members."""
    if isinstance(expected, list | tuple):
        is_list = isinstance(got, list | tuple) and len(got) == len(expected)
        return is_list and all(map(is_same, got, expected))
    if isinstance(expected, float | np.ndarray | np.floating):
        try:
            close = np.allclose(np.asarray(got, float), expected, rtol=1e-5, atol=1e-6)
        except (TypeError, ValueError):
            return False
        return np.shape(got) == np.shape(expected) and close
    return got is expected or bool(got == expected)
