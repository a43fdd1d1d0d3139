"""With the folder tinyjax/refs deleted, all tests pass but its own."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import tinyjax

PACKAGE, TESTS = Path(tinyjax.__file__).parent, Path(__file__).parents[1]
HOUSE = ("core", "transform", "compile", "runtime", "lax", "numpy")
# Those that could notice, in about a minute; CI runs this test with the slow ones.
NOTICING = [
    "core/test_bind.py",
    "core/test_avals.py",
    "core/test_primitives.py",
    "core/test_tracing.py",
    "lax/control_flow",
    "numpy/test_slices.py",
    "transform/jit",
    "transform/remat",
    "transform/test_batching.py",
    "transform/test_jvp.py",
    "transform/test_partial_eval.py",
    "transform/test_vjp.py",
    "studio/test_steps.py",
    "studio/viz/test_viz.py",
]
# Python imports it at its start. An editable install would find the deleted folder in the repository.
SITECUSTOMIZE = """
import sys
sys.meta_path[:] = [f for f in sys.meta_path if "editable" not in repr(f).lower()]
"""


def copy_without_refs(folder: Path) -> None:
    """The package and its tests, without the folders that are named refs."""
    without = shutil.ignore_patterns("refs")
    shutil.copytree(PACKAGE, folder / "tinyjax", ignore=without)  # with what Python has compiled
    without = shutil.ignore_patterns("refs", "__pycache__")
    shutil.copytree(TESTS, folder / "tests", ignore=without)
    shutil.copy(TESTS.parent / "setup.cfg", folder)
    (folder / "sitecustomize.py").write_text(SITECUSTOMIZE)


@pytest.mark.slow
def test_the_folder_of_refs_can_be_deleted(tmp_path):
    copy_without_refs(tmp_path)

    def run(*command: str) -> str:
        done = subprocess.run(
            [sys.executable, *command],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(tmp_path)},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        return done.stdout

    assert run("-c", "import tinyjax; print(tinyjax.__file__)").startswith(str(tmp_path))
    for name in ("new_ref", "ref"):
        asked = f"import tinyjax as jax\ntry: jax.{name}\nexcept AttributeError as e: print(e)"
        assert "needs tinyjax/refs, which is not there" in run("-c", asked)
    run("-m", "pytest", "-n", "0", "-p", "no:cacheprovider", *[f"tests/{x}" for x in NOTICING])


def test_import_tinyjax_does_not_import_it():
    script = "import sys, tinyjax; print([m for m in sys.modules if m.startswith('tinyjax.ref')])"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"


def test_the_house_does_not_mention_it():
    """But for missing_reasons, which has words for the user."""
    word = re.compile(r"\b(Refs?|refs|is_ref|AbstractRef|with_refs|new_ref)\b(?!\()")
    lines = [
        f"{path.relative_to(PACKAGE)}: {line.strip()}"
        for folder in HOUSE
        for path in (PACKAGE / folder).rglob("*.py")
        if path.name != "missing_reasons.py"
        for line in path.read_text(encoding="utf-8").splitlines()
        if word.search(line)
    ]
    assert lines == []
