"""The benchmark compares like with like: each workload gives NumPy's answer, as it is measured."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

import tinyjax as jax

PATH = Path(__file__).parent.parent / "benchmarks" / "workloads.py"
spec = importlib.util.spec_from_file_location("workloads", PATH)
workloads = sys.modules["workloads"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(workloads)


# The smallest workload of each function; it stands first.
BY_NUMPY = {
    workload.numpy: workload for workload in reversed(workloads.WORKLOADS) if workload.numpy
}


@pytest.mark.slow
@pytest.mark.parametrize("workload", BY_NUMPY.values(), ids=lambda workload: workload.name)
def test_a_workload_gives_the_answer_of_numpy(workload):
    args = workload.args()
    expected = jax.tree.leaves(workload.numpy(*args))
    for mode in workload.modes:
        f = workload.make(jax)
        got = jax.tree.leaves((jax.jit(f) if mode == "jit" else f)(*args))
        for x, y in zip(got, expected, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-3, atol=1e-4)


# ---- what is missed ----


@pytest.fixture
def compare(monkeypatch):
    monkeypatch.syspath_prepend(PATH.parent)
    monkeypatch.setenv("TINYJAX_BACKGROUND_BUILD", "0")  # as it sets itself, and undone here
    return importlib.import_module("compare")


def test_a_missed_goal_is_told_with_its_reason(compare):
    workload = workloads.Workload("SELU of 1M", tuple, None, lambda jax: None, goal=2, numpy_goal=5)
    seconds = {("NumPy", ""): 9.0, ("JAX", "jit"): 1.5, ("tinyjax", "jit"): 1.0}
    told = compare.missed_goals([workload], [seconds])
    assert "SELU of 1M: 1.50 times as fast as JAX, wanted 2. The time is that of expm1" in told
    assert "NumPy, wanted" not in told


def test_reasons_are_of_workloads(compare):
    names = [workload.name for workload in workloads.WORKLOADS]
    for key in sys.modules["reasons"].REASONS:
        assert any(name.startswith(key) for name in names), key


# ---- beside another process ----


def test_a_slowdown_beyond_the_bound_is_marked(compare):
    load = importlib.import_module("load")
    table = load.load_table([0, 1], [[1.0, 2.0, 1.5, 1.9], [1.0, 2.0, 1.5, 2.1]])
    assert [line.endswith("|  |") for line in table.splitlines()[2:]] == [True, False]
    assert table.endswith("| 1000.0000 | 2000.0000 | 1.50 | 2.10 | 1.40 |")
