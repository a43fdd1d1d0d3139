"""Dtypes that NumPy does not know, without the package that has them."""

import os
import runpy
import subprocess
import sys

import numpy as np
import pytest

from tinyjax.core import small_dtypes


@pytest.fixture
def without_package(monkeypatch):
    """What the file has where ml_dtypes is not installed."""
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    return runpy.run_path(small_dtypes.__file__)


def test_without_ml_dtypes_every_name_has_a_dtype_that_is_no_other(without_package):
    found = [np.dtype(scalar) for scalar in without_package["scalar_types"].values()]
    assert without_package["scalar_types"].keys() == small_dtypes.scalar_types.keys()
    assert len(set(found)) == len(found)
    assert not without_package["are_here"]


def test_without_ml_dtypes_a_number_says_what_is_missing(without_package):
    with pytest.raises(TypeError, match="arrays of bfloat16 need the package ml_dtypes"):
        without_package["scalar_types"]["bfloat16"](1.0)


PROGRAM = """
import sys
sys.modules["ml_dtypes"] = None
import tinyjax as jax, tinyjax.numpy as jnp
print(jax.grad(jax.jit(lambda x: x * x))(3.0), jnp.finfo(jnp.float32).bits)
for name in (jnp.bfloat16, "int4"):
    try:
        jnp.zeros(3, name)
    except TypeError as error:
        print(error)
"""


@pytest.mark.slow
def test_without_ml_dtypes_all_else_works():
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, env=os.environ
    )
    assert done.stdout.splitlines() == [
        "6.0 32",
        "arrays of bfloat16 need the package ml_dtypes, which is not installed",
        "arrays of int4 need the package ml_dtypes, which is not installed",
    ], done.stderr
