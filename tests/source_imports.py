"""What the files of the package import, read from their sources."""

import ast
import functools
from pathlib import Path

import tinyjax as jax

PACKAGE = Path(jax.__file__).parent


def imported_modules(path: Path, for_type_checkers: bool = False) -> set[str]:
    """The tinyjax modules that a file imports anywhere; those under `if TYPE_CHECKING:`, which never runs,
    are left out by default."""
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        is_if = isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING"
        if is_if and not for_type_checkers:
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


@functools.cache
def is_module(name: str) -> bool:
    if not name.startswith("tinyjax."):
        return False
    path = PACKAGE.joinpath(*name.split(".")[1:])
    return path.with_suffix(".py").exists() or (path / "__init__.py").exists()


def module_name(path: Path) -> str:
    """A file's module, without the package's name."""
    relative = path.relative_to(PACKAGE).with_suffix("")
    return ".".join(relative.parts).removesuffix(".__init__")


def import_circles() -> set[frozenset[str]]:
    """The strongly connected components of several modules, in the graph of all imports: those in functions
    and those for type checkers too."""
    imports = {
        module_name(path): imported_modules(path, for_type_checkers=True)
        for path in PACKAGE.rglob("*.py")
    }
    reached = {module: _reached(module, imports) for module in imports}
    return {
        frozenset(other for other in reached[module] if module in reached[other])
        for module in imports
        if module in reached[module]
    }


def _reached(module: str, imports: dict[str, set[str]]) -> set[str]:
    """What a module imports, directly or through others; itself if it is in a circle."""
    found: set[str] = set()
    todo = [module]
    while todo:
        new = imports.get(todo.pop(), set()) - found
        found |= new
        todo += new
    return found & imports.keys()


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
