import numpy as np
import pytest

from tinyjax.compile.kernel.check_kernel import KernelError, check_kernel
from tinyjax.compile.kernel.indices import index, index_var
from tinyjax.compile.kernel.interpret import convert, interpret_kernel
from tinyjax.compile.kernel.kernel_ir import (
    Allocate,
    Buffer,
    Const,
    For,
    If,
    Kernel,
    Let,
    Load,
    PrivateArray,
    Store,
    Value,
    While,
    statements_of,
)
from tinyjax.core.dtypes import bfloat16

F32 = np.dtype("float32")
X, OUT = Buffer("x_in", F32, 8, "in"), Buffer("y_out", F32, 8, "kept")  # not all of it is stored
A, B = Value("a", F32), Value("b", F32)


def kernel(*body):
    return Kernel("k0", [X, OUT], 1, list(body))


def loop(at, *extra, last=7):
    i = index_var("i1", 0, last)
    return For(i, index(0), index(last + 1), [Load(A, X, at(i)), *extra, Store(OUT, i, A)])


def test_a_kernel_prints_one_statement_a_line():
    body = kernel(loop(lambda i: i, Let(B, "sin", (A,))))
    assert str(body).splitlines() == [
        "kernel k0(x_in: f32[8], y_out: f32[8]), work-items: 1",
        "  for i1 in 0 .. 8:",
        "    a:f32 = x_in[i1]",
        "    b:f32 = sin a",
        "    y_out[i1] = a",
    ]


def test_indices_simplify_by_their_range():
    i, j = index_var("i1", 0, 3), index_var("i2", 0, 9)
    assert str(i * 10 + j) == "i1 * 10 + i2"
    assert (i * 0 + j) is j
    assert (j % 10) is j
    assert (j // 10).is_const(0)
    assert i.min(5) is i and i.max(-1) is i
    assert str((i + 1) * 2) == "(i1 + 1) * 2"
    assert str(i - (j - 1)) == "i1 - (i2 - 1)"
    assert (i * 5 + 5 - i * 5).is_const(5)
    assert (i * 5 + 5 - (i * 5 + 3)).is_const(2)
    assert str(i * 5 + 5 - (j + i * 5)) == "5 - i2"


def test_an_index_knows_its_range():
    i = index_var("i1", 0, 3)
    shifted = (i * 10 - 5).max(0)
    assert (shifted.lo, shifted.hi) == (0, 25)


def test_a_load_beyond_its_buffer_is_refused():
    with pytest.raises(KernelError, match=r"i1 \+ 1 spans 1 .. 8, x_in has 8 elements"):
        check_kernel(kernel(loop(lambda i: i + 1)))


def test_a_value_used_before_it_is_defined_is_refused():
    with pytest.raises(KernelError, match="b is not defined"):
        check_kernel(kernel(Store(OUT, index(0), B)))


def test_a_value_defined_in_a_loop_is_gone_after_it():
    with pytest.raises(KernelError, match="a is not defined"):
        check_kernel(kernel(loop(lambda i: i), Store(OUT, index(0), A)))


def test_an_input_cannot_be_stored_to():
    with pytest.raises(KernelError, match="x_in is an input"):
        check_kernel(kernel(Load(A, X, index(0)), Store(X, index(0), A)))


def test_a_loop_variable_must_stay_in_its_range():
    i = index_var("i1", 0, 3)
    with pytest.raises(KernelError, match="loop variable i1 can leave 0 .. 3"):
        check_kernel(kernel(For(i, index(0), index(8), [])))


# ---- loops without a known length, choices, vectors ----

WIDE = Value("w", F32, 4)


def test_loops_and_choices_print_their_bodies():
    holds = Value("h", np.dtype(bool))
    test = Let(holds, "lt", (A, A))
    store = Store(OUT, index(0), A)
    body = kernel(Load(A, X, index(0)), While([test], holds, [If(holds, [store], [store])]))
    assert str(body).splitlines()[2:] == [
        "  while:",
        "    h:bool = lt a a",
        "    stop unless h",
        "    if h:",
        "      y_out[0] = a",
        "    else:",
        "      y_out[0] = a",
    ]
    check_kernel(body)


def test_a_condition_is_one_boolean():
    load = Load(A, X, index(0))
    with pytest.raises(KernelError, match="a is no boolean"):
        check_kernel(kernel(load, If(A, [])))


def test_all_lanes_of_a_vector_are_in_the_buffer():
    check_kernel(kernel(Load(WIDE, X, index(4)), Store(OUT, index(4), WIDE)))
    with pytest.raises(KernelError, match=r"index 5 spans 5 .. 8, x_in has 8 elements"):
        check_kernel(kernel(Load(WIDE, X, index(5))))


def test_elements_before_an_end_need_no_others():
    check_kernel(kernel(Load(WIDE, X, index(6), index(8)), Store(OUT, index(6), WIDE, index(8))))
    with pytest.raises(KernelError, match="spans 6 .. 8"):
        check_kernel(kernel(Load(WIDE, X, index(6), index(9))))


def test_an_index_into_a_private_array_of_vectors_counts_vectors():
    array = PrivateArray("kept", F32, 2, width=4)
    make, vector = Allocate(array, Const(0.0, F32)), Value("v", F32, 4)
    check_kernel(
        kernel(make, Load(vector, array, index(1)))
    )  # the last of two elements of four numbers
    with pytest.raises(KernelError, match="spans 2 .. 2, kept has 2 elements"):
        check_kernel(kernel(make, Load(vector, array, index(2))))


def test_what_is_defined_in_one_branch_is_gone_after_it():
    yes = Const(np.True_, np.dtype(bool))
    with pytest.raises(KernelError, match="a is not defined"):
        check_kernel(kernel(If(yes, [Load(A, X, index(0))]), Store(OUT, index(0), A)))


def test_an_index_must_not_be_negative():
    with pytest.raises(KernelError, match=r"i1 - 1 spans -1 .. 6, x_in has 8 elements"):
        check_kernel(kernel(loop(lambda i: i - 1)))


def test_memory_that_is_no_parameter_is_refused():
    other = Buffer("z_in", F32, 8, "in")
    with pytest.raises(KernelError, match="z_in is not defined"):
        check_kernel(kernel(Load(A, other, index(0))))


def interpreted(*body):
    """What a kernel stores, given the numbers from 0 to 7."""
    x, out = np.arange(8, dtype=np.float32), np.zeros(8, np.float32)
    interpret_kernel(kernel(*body), [x, out])
    return out


def test_the_interpreter_loads_and_stores_one_element():
    out = interpreted(Load(A, X, index(3)), Store(OUT, index(1), A))
    np.testing.assert_array_equal(out, [0, 3, 0, 0, 0, 0, 0, 0])


def test_the_interpreter_loads_and_stores_vectors():
    out = interpreted(Load(WIDE, X, index(3)), Store(OUT, index(1), WIDE))
    np.testing.assert_array_equal(out, [0, 3, 4, 5, 6, 0, 0, 0])


def test_the_interpreter_stores_nothing_beyond_the_end():
    out = interpreted(Load(WIDE, X, index(4)), Store(OUT, index(1), WIDE, index(3)))
    np.testing.assert_array_equal(out, [0, 4, 5, 0, 0, 0, 0, 0])


def test_a_private_array_of_vectors_holds_one_at_each_index():
    array = PrivateArray("kept", F32, 2, width=4)
    out = interpreted(
        Allocate(array, Const(0.0, F32)),
        Load(WIDE, X, index(4)),
        Store(array, index(1), WIDE),
        Load(Value("v", F32, 4), array, index(1)),
        Store(OUT, index(0), Value("v", F32, 4)),
    )
    np.testing.assert_array_equal(out, [4, 5, 6, 7, 0, 0, 0, 0])


def test_the_interpreter_repeats_the_first_element_beyond_the_end():
    x, out = np.arange(8, dtype=np.float32), np.zeros(8, np.float32)
    interpret_kernel(
        kernel(Load(WIDE, X, index(6), index(8)), Store(OUT, index(1), WIDE)), [x, out]
    )
    np.testing.assert_array_equal(out, [0, 6, 7, 6, 6, 0, 0, 0])


def test_the_interpreter_saturates_a_bfloat16_beyond_64_bits():
    assert convert(bfloat16.type(3e38), np.dtype("int8")) == 127


def test_a_statement_knows_the_equation_it_was_made_for_and_equals_one_made_for_another():
    with statements_of("sin a"):
        with statements_of("mul a b"):
            inner = Let(B, "mul", (A, A))
        outer = Let(B, "sin", (A,))
    assert (inner.origin, outer.origin, Let(B, "sin", (A,)).origin) == ("mul a b", "sin a", None)
    assert outer == Let(B, "sin", (A,))
