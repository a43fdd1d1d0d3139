"""Where PoCL can't write, a temporary folder is used, or NumPy computes; both say so."""

import os
import subprocess
import sys

import pytest

import tinyjax as jax
from tinyjax.runtime.errors import KernelBuildError
from tinyjax.runtime.pocl.cache import why_unwritable
from tinyjax.runtime.queues import queue_of

CPU = jax.devices("cpu")[0]
on_pocl = pytest.mark.skipif("pthread" not in CPU.device_kind, reason="the CPU's driver isn't PoCL")
PROGRAM = """
import tinyjax as jax
print(jax.jit(lambda x: x * 2.0)(3.0), jax.devices("cpu")[0].device_kind)
"""


def run(before="", **environment):
    """A jitted function in a new process, which has no cache folders but these."""
    unset = ("XDG_CACHE_HOME", "POCL_CACHE_DIR")
    inherited = {name: value for name, value in os.environ.items() if name not in unset}
    command, environment = [sys.executable, "-c", before + PROGRAM], inherited | environment
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done


@pytest.fixture
def no_folder(tmp_path):
    """A path where there can be no folder, even for root: it is below a file."""
    (tmp_path / "file").touch()
    return str(tmp_path / "file" / "cache")


def test_a_folder_is_made_and_left_empty_by_trying_it(tmp_path):
    assert why_unwritable(tmp_path / "new" / "cache") == ""
    assert list((tmp_path / "new" / "cache").iterdir()) == []


@on_pocl
@pytest.mark.parametrize("variable", ["HOME", "XDG_CACHE_HOME", "POCL_CACHE_DIR"])
def test_kernels_are_built_in_a_temporary_folder_where_the_users_can_not_be_written_to(
    variable, no_folder
):
    done = run(**{variable: no_folder})
    assert done.stdout.startswith("6.0 pthread")
    assert done.stderr.count("UserWarning") == 1
    assert f"can't be kept in {no_folder}" in done.stderr and "Not a directory" in done.stderr


@on_pocl
def test_an_empty_variable_is_as_good_as_none():
    done = run(POCL_CACHE_DIR="")
    assert done.stdout.startswith("6.0 pthread") and done.stderr == ""


@on_pocl
def test_numpy_computes_where_nothing_can_be_written_and_the_cause_is_named():
    pytest.importorskip("resource")
    full = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))"
    done = run(before=full)
    assert done.stdout == "6.0 NumPy\n"
    assert "Kernels can't be built" in done.stderr and "File too large" in done.stderr
    assert "install a driver" not in done.stderr


@on_pocl
def test_a_build_that_fails_as_the_folder_can_not_be_written_to_says_so(monkeypatch, no_folder):
    monkeypatch.setenv("POCL_CACHE_DIR", no_folder)  # as if the disk had become full
    with pytest.raises(KernelBuildError, match="can't be written to .Not a directory.. Make room"):
        queue_of(CPU).build("kernel void k0() { nonsense; }", ["k0"])
