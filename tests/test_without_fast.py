"""With the folder tinyjax/fast deleted, all tests pass but its own: it holds shortcuts, and nothing else."""

import pytest
from copied_package import PACKAGE, copy_without, run_in, run_tests_in

# Those that could notice, in about a minute; CI runs this test with the slow ones.
NOTICING = [
    "core/test_bind.py",
    "transform/jit/test_jit.py",
    "compile/test_compile.py",
    "runtime/test_step_program.py",
    "many_devices/pmap/test_pmap.py",
    "studio/test_profiler.py",
    "studio/viz/test_record.py",
    "lax/control_flow/test_scan.py",
    "transform/jit/test_stages.py",
    "studio/test_steps.py",
    "transform/test_vjp.py",
]


@pytest.mark.slow
def test_the_folder_of_shortcuts_can_be_deleted(tmp_path):
    copy_without(tmp_path, "fast")
    loaded = run_in(tmp_path, "-c", "import sys, tinyjax; print('tinyjax.fast' in sys.modules)")
    assert loaded == "False\n"
    run_tests_in(tmp_path, NOTICING)


def test_nothing_outside_imports_it_by_name():
    lines = [
        f"{path.relative_to(PACKAGE)}: {line.strip()}"
        for path in PACKAGE.rglob("*.py")
        if "fast" not in path.relative_to(PACKAGE).parts
        for line in path.read_text(encoding="utf-8").splitlines()
        if "tinyjax.fast" in line or "import fast" in line
    ]
    assert [line for line in lines if "import" in line] == []
