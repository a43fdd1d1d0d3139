"""numpy/ is laid in layers: no file of it needs one that needs it."""

from pathlib import Path

import pytest
from source_imports import PACKAGE, imported_modules

from tinyjax.numpy.layers import LAYERS


def imports_within(package: str) -> dict[str, set[str]]:
    """What each file of a package imports of it, inside of functions too; but for those that re-export."""
    paths = [
        p for p in (PACKAGE / package).rglob("*.py") if p.name not in ("__init__.py", "layers.py")
    ]
    files = {".".join(p.relative_to(PACKAGE).with_suffix("").parts): p for p in paths}
    return {name: imported_modules(path) & {*files, package} for name, path in files.items()}


def importers_of(package: str, folder: str) -> list[Path]:
    """Which files of a folder import a package, or something in it."""
    names = {path: imported_modules(path) for path in (PACKAGE / folder).rglob("*.py")}
    return [path for path, found in names.items() if package in {n.split(".")[0] for n in found}]


def test_a_file_of_numpy_imports_only_files_of_layers_before_it_or_earlier_in_its_own():
    order = [f"numpy.{name}" for names in LAYERS.values() for name in names.split()]
    imports = imports_within("numpy")
    assert sorted(order) == sorted(imports)
    late = {name: imports[name] - set(order[:i]) for i, name in enumerate(order)}
    assert {name: found for name, found in late.items() if found} == {}


@pytest.mark.slow
def test_nothing_that_numpy_is_written_with_imports_it():
    below = ("core", "compile", "runtime", "transform", "lax")
    assert [importers_of("numpy", folder) for folder in below] == [[]] * len(below)
