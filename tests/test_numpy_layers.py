"""numpy/ is laid in layers: no file of it needs one that needs it."""

import graphlib
from pathlib import Path

from source_imports import PACKAGE, imported_modules


def imports_within(package: str) -> dict[str, set[str]]:
    """Which files of a package each one imports, inside of functions too. The package itself needs all."""
    paths = [p for p in (PACKAGE / package).rglob("*.py") if p.name != "__init__.py"]
    files = {".".join(p.relative_to(PACKAGE).with_suffix("").parts): p for p in paths}
    imports = {name: imported_modules(path) & {*files, package} for name, path in files.items()}
    return imports | {package: set(files)}


def importers_of(package: str, folder: str) -> list[Path]:
    """Which files of a folder import a package, or something in it."""
    names = {path: imported_modules(path) for path in (PACKAGE / folder).rglob("*.py")}
    return [path for path, found in names.items() if package in {n.split(".")[0] for n in found}]


def test_no_file_of_numpy_needs_one_that_needs_it():
    graphlib.TopologicalSorter(imports_within("numpy")).prepare()  # raises CycleError


def test_nothing_that_numpy_is_written_with_imports_it():
    below = ("lax", "interpreters", "control_flow", "custom_derivatives", "opencl")
    assert [importers_of("numpy", folder) for folder in below] == [[]] * len(below)
