"""Which of JAX's public names tinyjax has: writes docs/names.md.

    python tools/list_names.py              # the table, from the names that were recorded
    python tools/list_names.py --record     # first record the names: needs JAX 0.12

Names are recorded in tinyjax/core/jax_names.json, where a missing one is looked up at run time too.
"""

import argparse
import importlib
import json
import sys
import types
import warnings
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RECORDED = ROOT / "tinyjax" / "core" / "jax_names.json"
TABLE = ROOT / "docs" / "names.md"

# Recorded with all their submodules that are public.
MODULES = (
    "jax",
    "jax.numpy",
    "jax.lax",
    "jax.nn",
    "jax.random",
    "jax.scipy",
    "jax.tree_util",
    "jax.tree",
    "jax.scipy.optimize",
    "jax.scipy.spatial.transform",
    "jax.example_libraries.stax",
    "jax.example_libraries.optimizers",
)
# Recorded alone.
WITHOUT_SUBMODULES = (
    "jax.core",
    "jax.extend",
    "jax.extend.backend",
    "jax.extend.core",
    "jax.extend.core.primitives",
    "jax.extend.linear_util",
    "jax.extend.source_info_util",
    "jax.interpreters",
    "jax.interpreters.ad",
    "jax.interpreters.batching",
    "jax.interpreters.mlir",
    "jax.interpreters.partial_eval",
    "jax.interpreters.xla",
    "jax.sharding",
)
HEADING = """# Names of JAX, and which of them tinyjax has

Written by `python tools/list_names.py`; the names are those of JAX {version}. A missing one raises an
AttributeError or ImportError that says so, and why it is missing.

| module | names | there | missing |
|---|---|---|---|
"""


def public_names(module: types.ModuleType) -> list[str]:
    """Without what the example libraries import for themselves."""
    names = [name for name in dir(module) if not name.startswith("_")]
    if module.__name__.startswith("jax.example_libraries"):
        names = [n for n in names if getattr(vars(module)[n], "__module__", "") == module.__name__]
    return sorted(n for n in names if not is_imported_for_itself(getattr(module, n, None)))


def is_imported_for_itself(value: Any) -> bool:
    name = value.__name__ if isinstance(value, types.ModuleType) else ""
    return name in sys.stdlib_module_names or name.startswith("jax._src")


def record() -> None:
    """Write the names of the JAX that is installed."""
    jax: Any = importlib.import_module("jax")
    names: dict[str, list[str]] = {}
    waiting = [*MODULES, *WITHOUT_SUBMODULES]
    for name in waiting:
        module = importlib.import_module(name)
        names[name] = public_names(module)
        if name in WITHOUT_SUBMODULES:
            continue
        inner = [getattr(module, n) for n in names[name] if "." in name]
        waiting += [
            m.__name__
            for m in inner
            if isinstance(m, types.ModuleType) and m.__name__.startswith(f"{name}.")
        ]
    document = {"version": jax.__version__, "names": dict(sorted(names.items()))}
    RECORDED.write_text(json.dumps(document, indent=0) + "\n")


def table() -> str:
    """The table, as it should stand in docs/names.md."""
    recorded = json.loads(RECORDED.read_text())
    text = HEADING.format(version=recorded["version"])
    for name, names in recorded["names"].items():
        present = names_there(name, names)
        missing = [n for n in names if n not in present]
        listed = ", ".join(f"`{n}`" for n in missing) if present else "all of it"
        text += f"| `{name}` | {len(names)} | {len(names) - len(missing)} | {listed or 'none'} |\n"
    return text + reasons()


def reasons() -> str:
    """Why the missing ones are missing (tinyjax/core/missing_reasons.py)."""
    given = importlib.import_module("tinyjax.core.missing_reasons").REASONS
    rows = [
        f"| {', '.join(f'`{n}`' for n in names.split())} | {why} |\n"
        for why, names in given.items()
    ]
    return "\n## Why some are missing\n\n| name | why |\n|---|---|\n" + "".join(rows)


def names_there(module_name: str, names: list[str]) -> list[str]:
    """Which of the names tinyjax's module has; none, if it has no such module."""
    try:
        module = importlib.import_module("tinyjax" + module_name.removeprefix("jax"))
    except ImportError:
        return []
    return [name for name in names if hasattr(module, name)]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--record", action="store_true", help="take the names from JAX again")
    if parser.parse_args().record:
        warnings.simplefilter("ignore")
        record()
    TABLE.write_text(table())
    print(f"wrote {TABLE}")


if __name__ == "__main__":
    main()
