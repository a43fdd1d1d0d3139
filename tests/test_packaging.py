"""The installed package has all that is in the tree: every package, every data file, the command."""

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import website_tools  # noqa: F401  (makes the next import possible)
from build_wheel import build_wheel

import tinyjax.studio.data

ROOT = Path(__file__).parent.parent


def version():
    """As the source has it: `import jax` shows JAX's."""
    source = (ROOT / "tinyjax" / "__init__.py").read_text()
    return re.search(r'^__version__ = "(.+)"', source, re.MULTILINE)[1]


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
    assert f"tinyjax_readable-{version()}.dist-info/METADATA" in wheel_contents


@pytest.mark.slow
def test_a_wheel_built_again_has_the_same_bytes(wheel, tmp_path):
    assert build_wheel(tmp_path).read_bytes() == wheel.read_bytes()


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


def test_the_citation_has_the_version():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {version()}\n" in citation


# ---- from the wheel alone ----


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A folder with the package as `pip install` of a whole tree puts it there, with the course."""
    source, folder = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("installed")
    for name in ("setup.cfg", "setup.py", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    for name in ("tinyjax", "tutorials", "tests"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    alone = ["--no-deps", "--no-build-isolation", "--no-index", "--target", folder, source]
    subprocess.run([*pip, *alone], check=True)
    return folder


@pytest.fixture
def run(installed, tmp_path):
    """Runs `python -m tinyjax` of the installed package in an empty folder; returns what it prints."""
    (tmp_path / "wave.py").write_text("import jax.numpy as jnp\nf = lambda x: jnp.sin(x) * x\n")

    def run(*arguments, folder=tmp_path, status=0):
        done = subprocess.run(
            [sys.executable, "-m", "tinyjax", *arguments],
            cwd=folder,
            env=os.environ | {"PYTHONPATH": str(installed), "TINYJAX_BACKGROUND_BUILD": "0"},
            capture_output=True,
            text=True,
        )
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout

    return run


@pytest.mark.slow
def test_an_installed_package_has_the_lessons_and_judges_exercises(run, installed, tmp_path):
    assert str(installed / "tinyjax_course") in run("doctor")
    run("learn", "start", "02")
    assert "0 of" in run("learn", "test", folder=tmp_path / "learn" / "02_jvp", status=1)


@pytest.mark.slow
def test_an_installed_package_draws_explains_and_runs(run, tmp_path):
    run("graph", "wave.py:f", "--args", "3.0", "-o", "wave.dot")
    run("explain", "wave.py:f", "--args", "3.0")
    assert (tmp_path / "wave.dot").exists() and (tmp_path / "explain.html").exists()
    (tmp_path / "train.py").write_text("import jax; print(jax.grad(jax.numpy.sin)(0.0))")
    assert run("run", "train.py") == "1.0\n"


USERS_PROGRAM = """
import tinyjax as jax
import tinyjax.numpy as jnp

def loss(w: jax.Array, x: jax.Array) -> jax.Array:
    return jnp.sum(jnp.tanh(x @ w) ** 2)

w: jax.Array = jnp.ones((3, 2))
step = jax.jit(jax.grad(loss))
for _ in range(3):
    w = w - 0.1 * step(w, jnp.ones((4, 3)))
print(w.shape[0] + 1, w.dtype, jax.vmap(jnp.sin)(w))
reveal_type(w)
reveal_type(jnp.sin(w))
"""


@pytest.mark.slow
def test_a_users_program_is_type_checked_against_the_package(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(USERS_PROGRAM, encoding="utf-8")
    checker = [sys.executable, "-m", "mypy", "--config-file", ROOT / "setup.cfg"]
    environment = os.environ | {"MYPYPATH": str(ROOT)}
    done = subprocess.run(
        [*checker, program], cwd=ROOT, env=environment, capture_output=True, text=True
    )
    assert "error" not in done.stdout, done.stdout
    assert done.stdout.count('"tinyjax.core.array.Array"') == 2, done.stdout
