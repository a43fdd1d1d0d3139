"""The C of a kernel: its names, and how large arrays are indexed."""

import numpy as np
from lowering import aval, softmax_like, stages
from small_kernels import reversed_in_groups

import tinyjax as jax
from tinyjax import lax
from tinyjax.compile.codegen.codegen import kernel_text
from tinyjax.compile.codegen.program import program_text
from tinyjax.compile.kernel.kernel_ir import Barrier
from tinyjax.core.primitives import add, broadcast_in_dim, neg, sin


def test_the_text_is_the_same_from_run_to_run():
    def text():
        return program_text(stages(softmax_like, aval(20, 30))[2])

    assert text() == text()


def test_kernels_use_the_names_of_the_jaxpr():
    closed, _, (kernel,) = stages(lambda x: add(sin(x), 1.0), aval(10))
    assert "b:f32[10] = sin a" in str(closed)
    assert "const float b = tj_sin(a);" in program_text([kernel])


def test_a_variable_named_like_a_keyword_builds_under_another_name():
    def f(x):
        for _ in range(200):  # names reach past "do" and "if"
            x = sin(add(x, 1.0))
        return x

    text = "".join(map(kernel_text, stages(f, aval(3))[2]))
    assert " do " not in text and " if " not in text


def test_large_arrays_are_indexed_with_64_bits():
    _, _, (kernel,) = stages(lambda x: neg(x), aval(3, 2**30))
    assert "long item" in program_text([kernel])


def test_the_smaller_of_two_64_bit_indices_has_no_operand_of_32_bits():
    def f(x, y):
        return add(
            broadcast_in_dim(x, (70000, 40000), (0,)), broadcast_in_dim(y, (70000, 40000), (1,))
        )

    _, _, (kernel,) = stages(f, aval(70000), aval(40000))
    text = program_text([kernel])
    assert "min((long)(item" in text and "(long)(70000))" in text


def test_a_variable_called_t_keeps_its_name_where_another_one_is_equal_to_it():
    def f(x):
        for _ in range(19):  # the jaxpr's variables a, b, ..., t
            x = x + 1
        return lax.stop_gradient(x) * x

    np.testing.assert_array_equal(jax.jit(f)(np.zeros(3, np.float32)), [361, 361, 361])


def test_work_groups_have_local_memory_and_barriers():
    text = kernel_text(reversed_in_groups(Barrier()))
    assert "const int local_id = get_local_id(0);\n  __local float tile[4];" in text
    assert "tile[local_id] = a;\n  barrier(CLK_LOCAL_MEM_FENCE);" in text
