"""PoCL's long header is skipped: programs bring the declarations of what they call. A kernel's body is a
function, on the same lines."""

import re

import numpy as np
import pytest

import tinyjax as jax
from tinyjax.compile.codegen.program import function_helper
from tinyjax.compile.kernel.functions.kernel_function import widened
from tinyjax.compile.kernel.functions.notation import definitions
from tinyjax.compile.kernel.scalar_ops import scalar_ops
from tinyjax.runtime import programs
from tinyjax.runtime.pocl.declarations import is_pocl_3, with_bodies, with_declarations
from tinyjax.runtime.queues import queue_of

OPERATIONS = [(name, text) for name, op in scalar_ops.items() for text in op.c.values()]
FUNCTIONS = {
    name: function_helper(widened(definition.kernel_function, 16)).text
    for name, definition in definitions.items()
}


@pytest.mark.parametrize("name, text", [*OPERATIONS, *FUNCTIONS.items()])
def test_all_functions_that_operations_call_are_known(name, text):
    assert with_declarations(text) is not None


def test_only_what_is_called_is_declared():
    declared = with_declarations("__kernel void k(__global float *x) { x[0] = sqrt(x[0]); }")
    assert "float8 TJ_VALUE sqrt(float8 x);" in declared
    assert not re.search(r"\bpow\b|double", declared)


@pytest.mark.parametrize("name", ["sqrt", "pow"])
def test_functions_of_64_bytes_are_never_the_drivers_own(name):
    declared = with_declarations(f"double x = {name}(x);")
    assert not re.search(rf"(float16|double8|double16) TJ_VALUE {name}\([^)]*\);", declared)


def test_a_program_that_calls_something_else_needs_the_header():
    assert with_declarations("x = hypot(x, y);") is None


def test_functions_of_the_program_itself_are_known():
    assert with_declarations("void one(int x) {}\n__kernel void k(int x) { one(x); }") is not None


def test_an_error_has_the_line_of_the_program_itself():
    assert with_declarations("first line").endswith("#line 1\nfirst line")


PROGRAM = """
__kernel void tj_test(__global const float *x, __global float *y) {
  const int i = get_global_id(0);
  const float8 wide = sqrt((float8)(x[i])) * tan((float8)(x[i]));
  y[i] = wide.s5 + floor(x[i]) + pow(x[i], 2.5f);
}
"""
DEVICE = jax.devices()[0]


@pytest.mark.skipif(
    DEVICE.cl_device is None or not is_pocl_3(DEVICE.cl_device),
    reason="the driver's header is read",
)
def test_bits_are_those_that_the_header_gives(monkeypatch):
    queue = queue_of(DEVICE)
    x = queue.upload(np.random.default_rng(0).uniform(size=600).astype("float32"))

    def bits():
        (kernel,) = queue.build(PROGRAM, ["tj_test"])
        y = queue.allocate(x.shape, x.dtype)
        queue.launch(kernel, 600, 1, [x, y])
        return np.array(queue.read(y))

    ours = bits()
    programs.shared_program.cache_clear()
    monkeypatch.setattr(programs, "with_declarations", lambda text: None)
    np.testing.assert_array_equal(ours, bits())


KERNEL = """\
__kernel void double_it(
    __global const float *restrict a_in,
    __global float *restrict b_out) {
  const int item = get_global_id(0);
  if (item < 5) {
    b_out[item] = a_in[item] + a_in[item];
  }
}
"""


def test_the_kernel_calls_a_function_with_its_body():
    lines = with_bodies(KERNEL).splitlines()
    assert lines[3] == "  const int item = tj_id;"
    assert lines[5] == KERNEL.splitlines()[5]
    assert lines[7].endswith(
        "{ double_it_body(get_global_id(0), get_global_size(0), a_in, b_out); }"
    )


def test_each_kernel_of_a_program_has_a_function():
    text = KERNEL + "\n" + KERNEL.replace("double_it", "again")
    assert with_bodies(text).count("noinline") == 2


def test_work_items_that_work_together_do_so_in_the_kernel():
    together = KERNEL.replace("get_global_id", "get_local_id")
    assert with_bodies(together) == together
