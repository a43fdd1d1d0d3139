"""The reading order: no step needs a later one, and none needs the breadth."""

import ast
import importlib.util
from pathlib import Path

import pytest

import tinyjax as jax

PACKAGE = Path(jax.__file__).parent


def imported_modules(path: Path) -> set[str]:
    """The tinyjax modules that a file imports anywhere, but for type checkers' sake."""
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):  # what stands under `if TYPE_CHECKING:` is never run
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING":
            node.body = []
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            inside = {f"{node.module}.{alias.name}" for alias in node.names}
            modules = {name for name in inside if is_module(name)}
            found |= modules if len(modules) == len(inside) else modules | {node.module}
    return {name.removeprefix("tinyjax.") for name in found if name.startswith("tinyjax.")}


def is_module(name: str) -> bool:
    if not name.startswith("tinyjax."):
        return False
    path = PACKAGE.joinpath(*name.split(".")[1:])
    return path.with_suffix(".py").exists() or (path / "__init__.py").exists()


def path_of(step: str) -> Path:
    return PACKAGE.joinpath(*step.split(".")).with_suffix(".py")


@pytest.mark.parametrize("step", jax.STEPS)
def test_a_step_imports_earlier_steps_only(step):
    earlier = set(jax.STEPS[: jax.STEPS.index(step)])
    assert imported_modules(path_of(step)) <= earlier


@pytest.mark.parametrize("step", jax.STEPS)
def test_a_step_opens_with_what_the_reader_can_do_after_it(step):
    docstring = ast.get_docstring(ast.parse(path_of(step).read_text()))
    assert docstring and "Builds on" in docstring


def test_every_step_is_a_module():
    assert all(importlib.util.find_spec(f"tinyjax.{step}") for step in jax.STEPS)
