"""Read an answer before it runs, and refuse constructs that only cheats need.

An answer may use what its reference uses, tinyjax, NumPy, and the modules in SAFE_MODULES. It is refused if
it imports anything else, reaches for the interpreter (`__globals__`, frames), replaces attributes of modules
and other global objects, or defines objects that compare equal to anything. Reading the text can't find
everything, so guard.py also supervises the process.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tinyjax.studio.learn.functions import Function, function_text

SAFE_MODULES = set(
    "__future__ bisect cmath collections contextlib copy dataclasses fractions functools heapq itertools "
    "math operator string textwrap typing warnings".split()
)
# Packages with only some safe parts: the others contain a second version of an exercise's function.
_PARTS = {
    "numpy": {"", "linalg", "fft", "random"},
    "practice": None,
    "tinyjax": None,
}
_UNSAFE_PARTS = {"studio", "fast", "compat", "later"}
_NAMES = set(
    "open exec eval compile __import__ globals locals breakpoint input exit quit setattr delattr "
    "__builtins__ __loader__ __spec__ __file__ SystemExit KeyboardInterrupt".split()
)
_ATTRIBUTES = set(
    "__globals__ __builtins__ __code__ __closure__ __subclasses__ __bases__ __mro__ __base__ __dict__ "
    "__import__ __loader__ __spec__ __file__ __self__ __func__ f_back f_globals f_locals f_builtins f_code "
    "tb_frame gi_frame cr_frame ag_frame cell_contents _getframe __traceback__ __setattr__ __delattr__ "
    "__getattribute__".split()
)
# Modules, and functions of safe modules that make classes, read attributes or evaluate text by a computed
# name. Neither an attribute nor an import may have one of these names.
_UNSAFE_MEMBERS = set(
    "os sys _sys builtins bltns importlib inspect io subprocess pathlib ctypes pickle shutil gc testing "
    "threading _thread atexit signal mmap tempfile traceback new_class ctypeslib f2py fromfile memmap "
    "loadtxt genfromtxt ma attrgetter methodcaller make_dataclass get_type_hints ForwardRef".split()
)
# Methods by which a class's objects compare equal to others or take part in a comparison.
_COMPARISONS = set(
    "__eq__ __ne__ __lt__ __le__ __gt__ __ge__ __bool__ __contains__ __float__ __class__ __prepare__ "
    "__array__ __array_ufunc__ __array_function__ __array_wrap__ __array_finalize__ __array_interface__ "
    "__array_struct__ __instancecheck__ __subclasscheck__".split()
)
_NUMBERS = set("float int complex bool ndarray float32 float64 generic number".split())


def refusals(source: str, reference: str, names: list[str]) -> list[str]:
    """The reasons to refuse a file with answers, one per line, if any. `names` are the requested functions;
    everything else that differs from the reference's file is a helper."""
    known = {ast.dump(node) for node in _parts(ast.parse(reference))}
    allowed = _vocabulary([function_text(reference, name) for name in names])
    allowed |= {"import " + name for name in _imports(ast.parse(reference))}
    allowed.add("set context.trace")  # the current trace, for exercises that set it
    found: dict[str, None] = {}
    for part in _parts(ast.parse(source)):
        if ast.dump(part) not in known:
            for line, what in _complaints(part):
                if what not in allowed:
                    found[f"line {line} {_told(what)}"] = None
    return list(found)


def _parts(module: ast.Module) -> Iterator[ast.stmt]:
    """The statements of a module and of its classes."""
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
    """The reference functions' own uses of otherwise refused constructs."""
    return {what for text in texts for _, what in _complaints(ast.parse(text))}


def _complaints(part: ast.AST) -> Iterator[tuple[int, str]]:
    """Lines and the constructs to refuse in them, unless the reference uses them too."""
    bound = _bound_in(part)
    raised = {id(n) for r in ast.walk(part) if isinstance(r, ast.Raise) for n in ast.walk(r)}
    calls = [n for n in ast.walk(part) if isinstance(n, ast.Call)]
    named = {id(call.func) for call in calls if _is_readable(call, bound - _aliases_in(part))}
    for node in ast.walk(part):
        line = getattr(node, "lineno", 0)
        for name in _names_made(node) & (_COMPARISONS | _ATTRIBUTES):
            yield line, f"define {name}"
        if isinstance(node, ast.Import | ast.ImportFrom):
            for name in _imports(ast.Module([node], [])):
                if not _is_safe(name):
                    yield line, f"import {name}"
        elif isinstance(node, ast.Name):
            if node.id in _NAMES or node.id == "AssertionError" and id(node) not in raised:
                yield line, f"use {node.id}"
            elif node.id in ("getattr", "vars") and id(node) not in named:
                yield line, f"use {node.id} of a computed name or object"
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            if node.value in _ATTRIBUTES | _COMPARISONS:
                yield line, f"use {node.value}"
        elif isinstance(node, ast.Global):
            yield line, f"set {', '.join(node.names)}"
        elif isinstance(node, ast.Attribute | ast.Subscript):
            if isinstance(node, ast.Attribute) and node.attr in _ATTRIBUTES | _UNSAFE_MEMBERS:
                yield line, f"use {node.attr}"
            if not isinstance(node.ctx, ast.Load) and _is_global(node, bound):
                yield line, f"set {ast.unparse(node)}"
        elif isinstance(node, ast.ClassDef):
            bases = [base.attr if isinstance(base, ast.Attribute) else base for base in node.bases]
            if any((b if isinstance(b, str) else ast.unparse(b)) in _NUMBERS for b in bases):
                yield line, f"define {node.name}, a kind of number"
            if any(keyword.arg == "metaclass" for keyword in node.keywords):
                yield line, f"define {node.name} with a metaclass"
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if node.func.id == "type" and len(node.args) > 1:
                yield line, "use type to make a class"


def _aliases_in(part: ast.AST) -> set[str]:
    """The variables that may alias a global object."""
    assigned = [
        n for n in ast.walk(part) if isinstance(n, ast.Assign | ast.AnnAssign | ast.NamedExpr)
    ]
    return {
        target.id
        for node in assigned
        if not isinstance(node.value, ast.Call)
        for target in ast.walk(node)
        if isinstance(target, ast.Name) and isinstance(target.ctx, ast.Store)
    }


def _is_readable(call: ast.Call, objects: set[str]) -> bool:
    """Whether it is getattr(x, "name"), with or without a default, or vars(x) of one of these objects."""
    if isinstance(call.func, ast.Name) and call.func.id == "vars":
        return [ast.unparse(argument) in objects for argument in call.args] == [True]
    return len(call.args) > 1 and isinstance(call.args[1], ast.Constant)


def _names_made(node: ast.AST) -> set[str]:
    """The names that a statement or pattern itself binds."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        return {node.id}
    if isinstance(node, Function | ast.ClassDef | ast.MatchAs | ast.MatchStar):
        return {node.name or ""}
    return {node.asname or ""} if isinstance(node, ast.alias) else set()


def _is_global(target: ast.Attribute | ast.Subscript, bound: set[str]) -> bool:
    """Whether the attribute or item belongs to an object that the function neither received nor made: a
    global one, or the result of a call such as type(x)."""
    root: ast.expr = target
    while isinstance(root, ast.Attribute | ast.Subscript):
        root = root.value
    if isinstance(root, ast.Call):
        return isinstance(target, ast.Attribute)
    return isinstance(root, ast.Name) and root.id not in bound


def _bound_in(part: ast.AST) -> set[str]:
    """The names that a function binds: its parameters and variables, and those of nested functions."""
    bound = {n.arg for n in ast.walk(part) if isinstance(n, ast.arg)}
    bound |= {
        n.id for n in ast.walk(part) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }
    return bound | {n.name for n in ast.walk(part) if isinstance(n, Function | ast.ClassDef)}


def _imports(module: ast.Module) -> list[str]:
    """The modules and names that statements import: "numpy", "tinyjax.core.bind.context"."""
    names = []
    for node in ast.walk(module):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names += [f"{'.' * node.level}{node.module or ''}.{alias.name}" for alias in node.names]
    return names


def _is_safe(name: str) -> bool:
    package, _, rest = name.partition(".")
    if (_ATTRIBUTES | _UNSAFE_MEMBERS) & set(name.split(".")):
        return False
    if package not in _PARTS:
        return package in SAFE_MODULES
    parts = _PARTS[package]
    first = rest.partition(".")[0]
    if parts is None:
        return not _UNSAFE_PARTS & set(rest.split("."))
    return first in parts or "." not in rest and not first.startswith("_")
