"""What is installed must be what is in the tree: every package, every data file, the command."""

import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import tinyjax.studio.data

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def wheel_contents(tmp_path_factory):
    """The names in a wheel built from a copy of the tree (a build leaves folders behind)."""
    source = tmp_path_factory.mktemp("source")
    for name in ("setup.cfg", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    shutil.copytree(
        ROOT / "tinyjax", source / "tinyjax", ignore=shutil.ignore_patterns("__pycache__")
    )
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*command, "-w", source / "dist", source], check=True)
    (wheel,) = (source / "dist").glob("*.whl")
    return set(zipfile.ZipFile(wheel).namelist())


@pytest.mark.slow
def test_the_wheel_carries_every_file_of_the_package(wheel_contents):
    in_tree = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "tinyjax").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert in_tree - wheel_contents == set()


def test_the_wheel_has_the_version_of_the_package(wheel_contents):
    source = (ROOT / "tinyjax" / "__init__.py").read_text()
    (version,) = re.findall(r'^__version__ = "(.+)"', source, re.MULTILINE)
    assert f"tinyjax_readable-{version}.dist-info/METADATA" in wheel_contents


def test_digits_are_1797_scaled_images_with_a_label_each():
    images, labels = tinyjax.studio.data.digits()
    assert (images.shape, images.dtype) == ((1797, 64), "float32")
    assert (images.min(), images.max()) == (0.0, 1.0)
    assert (labels.shape, labels.dtype) == ((1797,), "int32")
    assert sorted(set(labels.tolist())) == list(range(10))


def test_the_karate_club_has_34_members_78_friendships_and_two_halves():
    edges, clubs = tinyjax.studio.data.karate_club()
    assert (edges.shape, edges.dtype) == ((78, 2), "int32")
    assert (clubs.shape, clubs.dtype) == ((34,), "int32")
    assert sorted(set(edges.ravel().tolist())) == list(range(34))
    assert all(a < b for a, b in edges) and len({tuple(e) for e in edges.tolist()}) == 78
    assert (clubs[0], clubs[33], clubs.sum()) == (0, 1, 17)
    between = clubs[edges[:, 0]] != clubs[edges[:, 1]]
    assert between.sum() == 11  # friends who did not go the same way
