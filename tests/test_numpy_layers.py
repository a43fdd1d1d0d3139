"""numpy/ is laid in layers: no file of it needs one that needs it."""

import graphlib

from source_imports import PACKAGE, imported_modules


def imports_within(package: str) -> dict[str, set[str]]:
    """Which files of a package each one imports, inside of functions too. The package itself needs all."""
    paths = [p for p in (PACKAGE / package).rglob("*.py") if p.name != "__init__.py"]
    files = {".".join(p.relative_to(PACKAGE).with_suffix("").parts): p for p in paths}
    imports = {name: imported_modules(path) & {*files, package} for name, path in files.items()}
    return imports | {package: set(files)}


def test_no_file_of_numpy_needs_one_that_needs_it():
    graphlib.TopologicalSorter(imports_within("numpy")).prepare()  # raises CycleError
