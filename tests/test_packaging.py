"""What is installed must be what is in the tree: every package, every data file, the command."""

import re
import zipfile
from pathlib import Path

import pytest
import website_tools  # noqa: F401  (makes the next import possible)
from build_wheel import build_wheel

import tinyjax.studio.data

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    return build_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def wheel_contents(wheel):
    return set(zipfile.ZipFile(wheel).namelist())


def test_the_wheel_is_pure_python_and_asks_for_pyopencl_only_outside_of_browsers(wheel):
    assert wheel.name.endswith("-py3-none-any.whl")
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (n for n in archive.namelist() if n.endswith("METADATA"))
        lines = archive.read(name).decode().splitlines()
    (asked,) = (line for line in lines if line.startswith("Requires-Dist: pyopencl"))
    assert 'sys_platform != "emscripten"' in asked


@pytest.mark.slow
def test_the_wheel_carries_every_file_of_the_package(wheel_contents):
    in_tree = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "tinyjax").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert in_tree - wheel_contents == set()


@pytest.mark.slow
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
