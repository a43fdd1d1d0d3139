"""The benchmark compares like with like: each workload gives NumPy's answer, eagerly and jitted."""

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


ANSWERED_BY_NUMPY = [workload for workload in workloads.WORKLOADS if workload.numpy is not None]


@pytest.mark.parametrize("workload", ANSWERED_BY_NUMPY, ids=lambda workload: workload.name)
def test_a_workload_gives_the_answer_of_numpy(workload):
    args = workload.args()
    expected = jax.tree.leaves(workload.numpy(*args))
    for transform in (lambda f: f, jax.jit):
        got = jax.tree.leaves(transform(workload.make(jax))(*args))
        for x, y in zip(got, expected, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-3, atol=1e-4)
