"""What the files of the package import, read from their sources."""

import ast
from pathlib import Path

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


def imports_inside_functions(path: Path) -> set[str]:
    """The modules that functions of a file import."""
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    tree = ast.parse(path.read_text())
    found = set()
    for function in [node for node in ast.walk(tree) if isinstance(node, functions)]:
        for node in ast.walk(function):
            if isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found
