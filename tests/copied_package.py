"""A copy of tinyjax and its tests from which folders are deleted."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import tinyjax

PACKAGE, TESTS = Path(tinyjax.__file__).parent, Path(__file__).parent

# Python imports it at its start. An editable install would find what was deleted in the repository.
SITECUSTOMIZE = """import sys
sys.meta_path[:] = [finder for finder in sys.meta_path if "editable" not in repr(finder).lower()]
"""
# A test that asks for a public name of what was deleted is skipped. One fails where the rest of tinyjax needs
# it: that error is another one ("this needs the folder").
CONFTEST = """import pytest


def or_skipped():
    try:
        return (yield)
    except (AttributeError, ImportError) as error:
        if "is in the folder" in str(error):
            pytest.skip(str(error))
        raise


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem):
    return (yield from or_skipped())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item):
    return (yield from or_skipped())


"""


def copy_without(folder: Path, *deleted: str) -> None:
    """The package and its tests in a folder, without folders of the package and their tests."""
    shutil.copytree(PACKAGE, folder / "tinyjax")  # with what Python has compiled
    shutil.copytree(TESTS, folder / "tests", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(TESTS.parent / "setup.cfg", folder)
    for name in deleted:
        shutil.rmtree(folder / "tinyjax" / name)
        shutil.rmtree(folder / "tests" / name)
    (folder / "sitecustomize.py").write_text(SITECUSTOMIZE)
    conftest = folder / "tests" / "conftest.py"
    text = conftest.read_text().replace("import gc\n", CONFTEST + "import gc\n", 1)
    conftest.write_text(text)


def run_in(folder: Path, *command: str) -> str:
    """What Python prints there. Raises AssertionError, with its last lines, if it fails."""
    done = subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": str(folder),
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        },
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


def run_tests_in(folder: Path, tests: list[str]) -> str:
    paths = [f"tests/{name}" for name in tests]
    options = ["-o", "addopts=", "--import-mode=importlib", "-m", "not slow", "-q"]
    fast = ["-p", "no:cacheprovider", "--assert=plain"]  # starts twice as fast
    return run_in(folder, "-m", "pytest", *options, *fast, *paths)
