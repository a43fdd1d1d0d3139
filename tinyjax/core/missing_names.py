"""Names of JAX that tinyjax does not have: accessing one raises an error that says so.

A `__getattr__` on modules raises the error for attributes; a finder at the end of Python's list of finders
raises it for modules that no other finder found. The same `__getattr__` imports rarely used modules on first
use.

Source: https://peps.python.org/pep-0562 (`__getattr__` of modules); docs/names.md lists all names
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import importlib.machinery
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

LazyAttributes = Mapping[type, Mapping[str, Sequence[str]]]  # {class: {module: names}}
NAMES_FILE = Path(__file__).parent / "jax_names.json"


@functools.cache
def jax_names() -> dict[str, list[str]]:
    """The public names of each of JAX's modules, such as "jax.numpy"."""
    return json.loads(NAMES_FILE.read_text())["names"]


def is_jax_name(module: str, name: str) -> bool:
    """Whether JAX's module of this name has a public `name`."""
    return name in jax_names().get(module, []) or f"{module}.{name}" in jax_names()


def not_there_yet(jax_name: str) -> str:
    why = importlib.import_module("tinyjax.core.missing_reasons").reason(jax_name)
    return f"{jax_name} is a name of JAX that tinyjax does not have{': ' + why if why else ' yet'}"


def lazy_names(module: str) -> dict[str, str]:
    """{name: the module that has it}, of names that a package imports on first access. A package lists
    them as `_LAZY_NAMES = {"its module": ("name", ...)}`, a module by tinyjax's; either may also give the
    whole name of a module."""
    listed = vars(sys.modules[module]).get("_LAZY_NAMES", {})
    package = module if "__path__" in vars(sys.modules[module]) else "tinyjax"
    places = {part: part if part.startswith("tinyjax.") else f"{package}.{part}" for part in listed}
    return {name: places[part] for part, names in listed.items() for name in names}


def imported(module: str, jax_name: str) -> Any:
    """The module that defines JAX's `jax_name`. Raises AttributeError if the module is in a feature's
    folder that was deleted."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith("tinyjax."):
            raise
        raise AttributeError(in_folder(jax_name, error.name)) from error


def in_folder(what: str, module: str | None) -> str:
    folder = "/".join(str(module).split(".")[:2])
    return f"{what} is in the folder {folder}, which is not there"


def check_folder(folder: str, what: str) -> None:
    """Raises ImportError if a feature's folder, which has `what`, was deleted."""
    if not is_submodule("tinyjax", folder):
        raise ModuleNotFoundError(in_folder(what, f"tinyjax.{folder}"), name=f"tinyjax.{folder}")


def getattr_of(module: str) -> Callable[[str], Any]:
    """The `__getattr__` of a module of tinyjax: what is neither one of its _LAZY_NAMES nor a module in it
    raises AttributeError. A module that `import tinyjax` does not import ends with

        __getattr__ = getattr_of(__name__)"""
    jax_module = "jax" + module.removeprefix("tinyjax")

    def missing(name: str) -> Any:
        if name in (lazy := lazy_names(module)):
            value = getattr(imported(lazy[name], f"{jax_module}.{name}"), name)
            setattr(sys.modules[module], name, value)  # asked for once
            return value
        if name == "__all__":  # `from module import *` reads it
            return [public for public in dir_of(module)() if not public.startswith("_")]
        if not name.startswith("_"):
            if is_submodule(module, name):
                return imported(f"{module}.{name}", f"{jax_module}.{name}")
            with contextlib.suppress(KeyError):
                return older(f"{jax_module}.{name}")
            if is_jax_name(jax_module, name):
                raise AttributeError(not_there_yet(f"{jax_module}.{name}"), name=name)
        # With the module, Python adds "Did you mean: 'zeros'?".
        text = f"module {module!r} has no attribute {name!r}"
        raise AttributeError(text, name=name, obj=sys.modules[module])

    return missing


def feature(module: str) -> ModuleType:
    """A module of a feature, by its path in tinyjax, imported when it is first needed.

    Raises ImportError, which names the folder, where the feature was deleted."""
    check_folder(module.partition(".")[0], "what this needs")
    return importlib.import_module(f"tinyjax.{module}")


def older(name: str) -> Any:
    """The current meaning of an older JAX name, from older_spellings. Raises KeyError for other names."""
    if not is_submodule("tinyjax", "compat"):
        raise KeyError(name)
    older_spellings = importlib.import_module("tinyjax.compat.older_spellings")
    if name in older_spellings.RENAMED_MODULES:
        return importlib.import_module("tiny" + name)
    return older_spellings.find(name)


def is_submodule(package: str, name: str) -> bool:
    """Whether the package has a module of this name, imported or not."""
    folders = vars(sys.modules[package]).get("__path__", ())
    return importlib.machinery.PathFinder.find_spec(f"{package}.{name}", folders) is not None


def dir_of(module: str) -> Callable[[], list[str]]:
    """The `__dir__` of a module: its _LAZY_NAMES are among its names."""
    return lambda: sorted({*vars(sys.modules[module]), *lazy_names(module)})


class MissingNames:
    """The last finder of a module of tinyjax: raises ImportError if JAX has one, or another thing, of that
    name. `from tinyjax.numpy import fft` asks for the module tinyjax.numpy.fft too. A module's older JAX
    name gives the module of today."""

    def find_spec(
        self, fullname: str, path: Any = None, target: Any = None
    ) -> importlib.machinery.ModuleSpec | None:
        module, _, name = fullname.rpartition(".")
        if module.partition(".")[0] == "tinyjax":
            jax_module = "jax" + module.removeprefix("tinyjax")
            if name in (lazy := lazy_names(module)):  # an import of it has failed
                raise ImportError(in_folder(f"{jax_module}.{name}", lazy[name]), name=fullname)
            if is_jax_name(jax_module, name):
                raise ImportError(not_there_yet(f"{jax_module}.{name}"), name=fullname)
            if is_submodule("tinyjax", "compat"):
                return importlib.import_module("tinyjax.compat.older_spellings").find_module(
                    fullname
                )
        return None


# Those that `import tinyjax` imports; the names are read when the first one is missing.
MODULES = (
    "tinyjax", "tinyjax.api_util", "tinyjax.core", "tinyjax.experimental", "tinyjax.interpreters",
    "tinyjax.transform.partial_eval", "tinyjax.lax", "tinyjax.nn", "tinyjax.nn.initializers",
    "tinyjax.numpy", "tinyjax.numpy.linalg", "tinyjax.random", "tinyjax.tree", "tinyjax.tree_util",
)  # fmt: skip


class LazyAttribute:
    """An attribute that a feature's module gives to a class: the first access imports the module, which
    replaces this by the real one."""

    def __init__(self, module: str, name: str):
        self.module, self.name = module, name

    def __get__(self, instance: Any, owner: type) -> Any:
        imported(self.module, f"{owner.__name__}.{self.name}")
        return getattr(owner if instance is None else instance, self.name)


def add_lazy_attributes(listed: LazyAttributes) -> None:
    """Gives classes the attributes whose modules are not imported yet."""
    for cls, modules in listed.items():
        for module, names in modules.items():
            for name in names:
                if name not in vars(cls):
                    setattr(cls, name, LazyAttribute(f"tinyjax.{module}", name))


def install(attributes: LazyAttributes) -> None:
    """Gives all imported modules the error for missing names, and adds MissingNames as Python's last
    finder."""
    add_lazy_attributes(attributes)
    for name in MODULES:
        vars(sys.modules[name])["__getattr__"] = getattr_of(name)
        vars(sys.modules[name])["__dir__"] = dir_of(name)
    sys.meta_path.append(MissingNames())
