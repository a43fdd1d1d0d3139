"""Reads an answer before it runs, and refuses what no exercise needs and a cheat does.

An answer may use what its reference uses, tinyjax, NumPy, and the modules in SAFE_MODULES. It is refused if
it imports anything else, reaches for the interpreter (`__globals__`, frames), replaces attributes of modules
and other global objects, or defines objects that compare equal to anything. Reading the text can't find
everything: guard.py also watches the process.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tinyjax.studio.learn.functions import Function, function_text, names_of_module

SAFE_MODULES = set(
    "__future__ abc bisect cmath collections contextlib copy dataclasses enum fractions functools heapq "
    "itertools math numbers operator string textwrap typing warnings weakref".split()
)
# Packages of which only some parts are safe: not those that have a second version of an exercise's function.
_PARTS = {
    "numpy": {"", "linalg", "fft", "random"},
    "practice": None,
    "tinyjax": None,
}
_UNSAFE_PARTS = {"studio", "fast", "compat", "later"}
_NAMES = set(
    "open exec eval compile __import__ globals locals vars breakpoint input exit quit setattr delattr "
    "__builtins__ __loader__ __spec__ __file__ SystemExit KeyboardInterrupt".split()
)
_ATTRIBUTES = set(
    "__globals__ __builtins__ __code__ __closure__ __subclasses__ __bases__ __mro__ __base__ __dict__ "
    "__import__ __loader__ __spec__ __file__ __self__ __func__ f_back f_globals f_locals f_builtins f_code "
    "tb_frame gi_frame cr_frame ag_frame _getframe __traceback__ __setattr__ __delattr__ "
    "__getattribute__".split()
)
_MODULES = set(
    "os sys builtins importlib inspect io subprocess pathlib ctypes pickle shutil gc testing ctypeslib f2py "
    "fromfile memmap loadtxt genfromtxt".split()
)
_COMPARISONS = set(
    "__eq__ __ne__ __lt__ __le__ __gt__ __ge__ __bool__ __array__ __array_ufunc__ __array_function__ "
    "__float__ __instancecheck__ __subclasscheck__".split()
)


def refusals(source: str, reference: str, names: list[str]) -> list[str]:
    """Why a file with answers is refused, a line each, or nothing. `names` are the functions that are asked
    for; whatever else differs from the reference's file is a helper of theirs."""
    known = {ast.dump(node) for node in _parts(ast.parse(reference))}
    allowed = _vocabulary([function_text(reference, name) for name in names])
    allowed |= {"import " + name for name in _imports(ast.parse(reference))}
    own = names_of_module(source)
    found: dict[str, None] = {}
    for part in _parts(ast.parse(source)):
        if ast.dump(part) not in known:
            for line, what in _complaints(part, own):
                if what not in allowed:
                    found[f"line {line} {_told(what)}"] = None
    return list(found)


def _parts(module: ast.Module) -> Iterator[ast.stmt]:
    """The statements of a module, and of its classes."""
    for node in module.body:
        if isinstance(node, ast.ClassDef):
            yield from node.body
            yield ast.ClassDef(
                node.name, node.bases, node.keywords, [ast.Pass()], node.decorator_list
            )
        else:
            yield node


def _told(what: str) -> str:
    kind, _, name = what.partition(" ")
    return {
        "import": f"imports {name}",
        "use": f"uses {name}",
        "set": f"sets {name}, which is not the function's own",
        "define": f"defines {name}",
    }[kind]


def _vocabulary(texts: list[str]) -> set[str]:
    """What functions of the reference do that would be refused of others."""
    return {what for text in texts for _, what in _complaints(ast.parse(text), set())}


def _complaints(part: ast.AST, own: set[str]) -> Iterator[tuple[int, str]]:
    """Lines, and what to refuse there, unless the reference does it too. `own` are the global names; if there
    are none, any name may be one."""
    bound = _bound_in(part)
    for node in ast.walk(part):
        line = getattr(node, "lineno", 0)
        if isinstance(node, ast.Import | ast.ImportFrom):
            for name in _imports(ast.Module([node], [])):
                if not _is_safe(name):
                    yield line, f"import {name}"
        elif isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Store) and node.id in _COMPARISONS:
                yield line, f"define {node.id}"
            elif node.id in _NAMES:
                yield line, f"use {node.id}"
        elif isinstance(node, ast.Attribute):
            if node.attr in _ATTRIBUTES | _MODULES:
                yield line, f"use {node.attr}"
            root = _root(node)
            is_global = root not in bound and (not own or root in own)
            if not isinstance(node.ctx, ast.Load) and root and is_global:
                yield line, f"set {ast.unparse(node)}"
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            if node.value in _ATTRIBUTES | _COMPARISONS:
                yield line, f"use {node.value}"
        elif isinstance(node, Function) and node.name in _COMPARISONS:
            yield line, f"define {node.name}"
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if node.func.id == "type" and len(node.args) > 1:
                yield line, "use type to make a class"
            elif node.func.id == "getattr" and not isinstance(node.args[-1], ast.Constant):
                yield line, "use getattr with a computed name"


def _bound_in(part: ast.AST) -> set[str]:
    """The names that a function binds: its parameters and variables, and those of functions in it."""
    bound = {n.arg for n in ast.walk(part) if isinstance(n, ast.arg)}
    bound |= {
        n.id for n in ast.walk(part) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }
    return bound | {n.name for n in ast.walk(part) if isinstance(n, Function | ast.ClassDef)}


def _root(node: ast.expr) -> str:
    """The name that an attribute of an attribute ... is reached from; "" if from a call or an item."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _imports(module: ast.Module) -> list[str]:
    """The modules, and the names in them, that statements import: "numpy", "tinyjax.core.bind.context"."""
    names = []
    for node in ast.walk(module):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names += [f"{'.' * node.level}{node.module or ''}.{alias.name}" for alias in node.names]
    return names


def _is_safe(name: str) -> bool:
    package, _, rest = name.partition(".")
    if package not in _PARTS:
        return package in SAFE_MODULES
    parts = _PARTS[package]
    first = rest.partition(".")[0]
    if parts is None:
        return not _UNSAFE_PARTS & set(rest.split("."))
    return first in parts or first not in _MODULES and "." not in rest and not first.startswith("_")
