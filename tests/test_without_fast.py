"""With the folder tinyjax/fast deleted, all tests pass but its own: it holds shortcuts, and nothing else."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import tinyjax

PACKAGE, TESTS = Path(tinyjax.__file__).parent, Path(__file__).parent
# Those that could notice, in about a minute; CI runs this test with the slow ones.
NOTICING = [
    "core/test_bind.py",
    "transform/jit/test_jit.py",
    "compile/test_compile.py",
    "runtime/test_step_program.py",
    "transform/pmap/test_pmap.py",
    "studio/test_profiler.py",
    "studio/viz/test_record.py",
    "lax/control_flow/test_scan.py",
    "transform/jit/test_stages.py",
    "studio/test_steps.py",
    "transform/test_vjp.py",
]


def copy_without_fast(folder: Path) -> None:
    """The package and its tests, without tinyjax/fast and tests/fast."""
    without = shutil.ignore_patterns("fast")
    shutil.copytree(PACKAGE, folder / "tinyjax", ignore=without)  # with what Python has compiled
    without = shutil.ignore_patterns("fast", "__pycache__")
    shutil.copytree(TESTS, folder / "tests", ignore=without)
    shutil.copy(TESTS.parent / "setup.cfg", folder)


@pytest.mark.slow
def test_the_folder_of_shortcuts_can_be_deleted(tmp_path):
    copy_without_fast(tmp_path)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}

    def run(*command: str) -> str:
        done = subprocess.run(
            [sys.executable, *command],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        return done.stdout

    assert run("-c", "import sys, tinyjax; print('tinyjax.fast' in sys.modules)") == "False\n"
    tests = [f"tests/{name}" for name in NOTICING]
    run("-m", "pytest", "-n", "0", "-p", "no:cacheprovider", *tests)


def test_one_line_outside_imports_it():
    lines = [
        f"{path.relative_to(PACKAGE)}: {line.strip()}"
        for path in PACKAGE.rglob("*.py")
        if "fast" not in path.relative_to(PACKAGE).parts
        for line in path.read_text(encoding="utf-8").splitlines()
        if "tinyjax.fast" in line or "import fast" in line
    ]
    assert [line for line in lines if "import" in line] == [
        "__init__.py: from tinyjax import fast as fast"
    ]
