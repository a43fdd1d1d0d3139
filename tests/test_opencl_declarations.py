"""PoCL's long header is skipped: programs bring the declarations of what they call."""

import re

import numpy as np
import pytest

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.opencl import c_halves, c_integers, c_library, device_queue
from tinyjax.opencl.declarations import has_long_header, with_declarations
from tinyjax.opencl.scalar_ops import scalar_ops

OPERATIONS = [(name, text) for name, op in scalar_ops.items() for text in op.c.values()]
FUNCTIONS = c_library.BY_NAME | c_halves.BY_NAME | c_integers.BY_NAME


@pytest.mark.parametrize("name, text", [*OPERATIONS, *FUNCTIONS.items()])
def test_all_functions_that_operations_call_are_known(name, text):
    assert with_declarations(text) is not None


def test_only_what_is_called_is_declared():
    declared = with_declarations("__kernel void k(__global float *x) { x[0] = sqrt(x[0]); }")
    assert "float16 TJ_VALUE sqrt(float16);" in declared
    assert not re.search(r"\bpow\b|double", declared)


def test_a_program_that_calls_something_else_needs_the_header():
    assert with_declarations("x = hypot(x, y);") is None


def test_functions_of_the_program_itself_are_known():
    assert with_declarations("void one(int x) {}\n__kernel void k(int x) { one(x); }") is not None


def test_an_error_has_the_line_of_the_program_itself():
    assert with_declarations("first line").endswith("#line 1\nfirst line")


def f(x):
    return jnp.sum(jnp.sqrt(abs(x)) * jnp.tan(x), axis=1), jnp.floor(x).astype(int), x**2.5


CL_DEVICE = jax.devices()[0].cl_device


@pytest.mark.skipif(
    CL_DEVICE is None or not has_long_header(CL_DEVICE), reason="the driver's header is read"
)
def test_bits_are_those_that_the_header_gives(monkeypatch):
    x = np.random.default_rng(0).normal(size=(20, 30)).astype("float32")
    ours = jax.tree.map(np.asarray, jax.jit(f)(x))
    device_queue.shared_program.cache_clear()
    monkeypatch.setattr(device_queue, "with_declarations", lambda text: None)
    theirs = jax.jit(lambda x: f(x))(x)
    jax.tree.map(np.testing.assert_array_equal, ours, theirs)
