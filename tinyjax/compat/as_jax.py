"""Make `import jax` return tinyjax: a JAX program runs unchanged, and a debugger can step through every
layer.

An import finder, which Python calls before all others, maps each module of jax to the tinyjax module of the
same name.

Source: https://docs.python.org/3/reference/import.html#the-meta-path
"""

from __future__ import annotations

import importlib
import importlib.machinery
import sys
from types import ModuleType
from typing import Any

from tinyjax.core.config import config
from tinyjax.core.missing_reasons import reason
from tinyjax.version import __version__, __version_info__


class TinyjaxAsJax:
    """Finds `jax` and its modules, and loads tinyjax's."""

    def find_spec(
        self, fullname: str, path: Any = None, target: Any = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname.partition(".")[0] != "jax":
            return None
        loader: Any = self  # has a loader's methods
        return importlib.machinery.ModuleSpec(fullname, loader)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        if spec.name == "jax.config":  # was a module once: `from jax.config import config`
            return config  # type: ignore[return-value]
        name = "tinyjax" + spec.name.removeprefix("jax")
        try:
            module = importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name != name:
                raise
            why = (
                reason(spec.name) or "tinyjax, which stands in for JAX here, has none of this name"
            )
            raise ModuleNotFoundError(
                f"No module named {spec.name!r}: {why}", name=spec.name
            ) from None
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """The module has run already. Python gave it the spec of `jax`, so this restores its own."""
        if isinstance(module, ModuleType):
            assert module.__spec__ is not None
            module.__spec__ = module.__spec__.loader_state


def install_as_jax() -> None:
    """From now on, in this process, `import jax` and imports of its submodules return tinyjax's, whether or
    not JAX is installed, and `__version__` is JAX's. Calling it again does nothing.

    Raises RuntimeError if JAX has been imported already. Not in JAX."""
    if any(isinstance(finder, TinyjaxAsJax) for finder in sys.meta_path):
        return
    if "jax" in sys.modules:
        raise RuntimeError(
            "JAX itself has been imported already: call tinyjax.install_as_jax() before any `import jax`, "
            "or run the program as `python -m tinyjax run program.py`"
        )
    sys.meta_path.insert(0, TinyjaxAsJax())
    package: Any = sys.modules["tinyjax"]
    package.__version__, package.__version_info__ = __version__, __version_info__
