"""Kernels that leave their memory, or use what is not there, are refused."""

import re

import numpy as np
import pytest
from definite_assignment import check_assignment
from small_kernels import F32, OUT, A, B, X, kernel, loop, reversed_in_groups

from tinyjax.compile.kernel.check_kernel import KernelError, check_kernel
from tinyjax.compile.kernel.indices import index, index_var
from tinyjax.compile.kernel.kernel_ir import (
    Allocate,
    Barrier,
    Buffer,
    Const,
    For,
    If,
    Let,
    Load,
    PrivateArray,
    Store,
    Value,
    group_indices,
)


def refused(what, words, *body):
    """A kernel of these statements is refused with this message; `what` is the mistake in it."""
    try:
        check_kernel(kernel(*body))
    except KernelError as error:
        assert re.search(words, str(error)), f"{what}: not {words!r}, but {str(error)!r}"
    else:
        pytest.fail(f"{what}: no KernelError was raised")


def test_a_load_beyond_its_buffer_is_refused():
    body = loop(lambda i: i + 1)
    refused("i + 1 for i up to 7, of 8", r"i1 \+ 1 spans 1 .. 8, x_in has 8 elements", body)


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


WIDE = Value("w", F32, 4)


def test_an_index_cannot_say_less_of_a_variable_than_its_loop():
    """As where a directive makes a loop longer, and keeps its body."""
    body = For(index_var("i1", 0, 99), index(0), index(100), loop(lambda i: i).body)
    refused("100 elements of 8", r"i1 spans 0 \.\. 99, but 0 \.\. 7 in this index", body)


def test_a_condition_is_one_boolean():
    load = Load(A, X, index(0))
    with pytest.raises(KernelError, match="a is no boolean"):
        check_kernel(kernel(load, If(A, [])))


def test_an_index_is_one_number():
    numbers = Value("n", np.dtype("int32"), 4)
    let = Let(numbers, "ramp", (index(0), Const(np.int32(1), numbers.dtype)))
    with pytest.raises(KernelError, match="index n is a vector of 4"):
        check_kernel(kernel(let, Load(A, X, index_var("n", 0, 3))))


def test_all_lanes_of_a_vector_are_in_the_buffer():
    check_kernel(kernel(Load(WIDE, X, index(4)), Store(OUT, index(4), WIDE)))
    words = r"index 5 spans 5 .. 8, x_in has 8 elements"
    refused("4 lanes from element 5 on, of 8", words, Load(WIDE, X, index(5)))


def test_elements_before_an_end_need_no_others():
    check_kernel(kernel(Load(WIDE, X, index(6), index(8)), Store(OUT, index(6), WIDE, index(8))))
    load = Load(WIDE, X, index(6), index(9))
    refused("4 lanes from element 6 on, with an end of 9, of 8", "spans 6 .. 8", load)


def test_an_index_into_a_private_array_of_vectors_counts_vectors():
    array = PrivateArray("kept", F32, 2, width=4)
    make, vector = Allocate(array, Const(0.0, F32)), Value("v", F32, 4)
    check_kernel(
        kernel(make, Load(vector, array, index(1)))
    )  # the last of two elements of four numbers
    load = Load(vector, array, index(2))
    refused("vector number 2, of 2", "spans 2 .. 2, kept has 2 elements", make, load)


def test_a_private_array_of_vectors_is_read_by_vectors_of_its_width():
    array = PrivateArray("kept", F32, 2, width=4)
    make = Allocate(array, Const(0.0, F32))
    for value in (A, Value("v", F32, 2)):
        load = Load(value, array, index(0))
        refused(f"width {value.width} of vectors of width 4", "another width", make, load)


def test_a_vector_in_a_private_array_of_numbers_is_all_in_it():
    array = PrivateArray("kept", F32, 8)
    make = Allocate(array, Const(0.0, F32))
    check_kernel(kernel(make, Load(WIDE, array, index(4))))
    load = Load(WIDE, array, index(5))
    words = "spans 5 .. 8, kept has 8 elements"
    refused("4 lanes from element 5 on, of 8 private ones", words, make, load)
    numbers = PrivateArray("numbers", F32, 4)
    made = Allocate(numbers, Const(0.0, F32))
    check_kernel(kernel(made, Load(A, numbers, index(3))))
    refused("number 4, of 4", "spans 4 .. 4", made, Load(A, numbers, index(4)))


def test_the_first_element_and_the_last_are_in_the_buffer():
    check_kernel(kernel(loop(lambda i: i)))
    load = Load(A, X, index(8), index(8))
    refused("element 8 with an end of 8, of 8: the first is read", "spans 8 .. 8", load)
    i = index_var("i1", 0, 8)
    body = For(i, index(0), index(9), [Load(A, X, i, index(8))])
    refused("elements 0 to 8 with an end of 8, of 8", "spans 0 .. 8", body)


def test_names_in_an_index_and_in_an_end_must_be_defined():
    elsewhere = index_var("i9", 0, 3)
    refused("an index i9 of no loop", "i9 is not defined", Load(A, X, elsewhere))
    load = Load(WIDE, X, index(0), elsewhere)
    refused("an end i9 of no loop", "i9 is not defined", load)
    i = index_var("i9", 1, 3)
    for value in (A, WIDE):
        refused("an end that nobody defines", "i9 is not defined", Load(value, X, index(0), i))


def test_what_is_defined_in_one_branch_is_gone_after_it():
    yes = Const(np.True_, np.dtype(bool))
    with pytest.raises(KernelError, match="a is not defined"):
        check_kernel(kernel(If(yes, [Load(A, X, index(0))]), Store(OUT, index(0), A)))


def test_an_index_must_not_be_negative():
    body = loop(lambda i: i - 1)
    refused("i - 1 for i from 0 on", r"i1 - 1 spans -1 .. 6, x_in has 8 elements", body)
    i = index_var("i1", 0, 7)
    body = For(i, index(0), index(8), [Load(WIDE, X, i - 1, index(4))])
    refused("i - 1 for i from 0 on, with an end", "spans -1", body)
    refused("the constant -1", "spans -1 .. -1", Load(A, X, index(-1)))
    refused(
        "the constant -1 of a store",
        "spans -1 .. -1",
        Load(A, X, index(0)),
        Store(OUT, index(-1), A),
    )


def test_memory_that_is_no_parameter_is_refused():
    other = Buffer("z_in", F32, 8, "in")
    refused("a buffer that is no parameter", "z_in is not defined", Load(A, other, index(0)))
    longer = Buffer("x_in", F32, 16, "in")
    refused("another buffer of this name", "x_in is not defined", Load(A, longer, index(12)))


def test_local_memory_is_loaded_after_a_barrier():
    check_assignment(reversed_in_groups(Barrier()))
    with pytest.raises(KernelError, match="tile may be loaded before it is stored"):
        check_assignment(reversed_in_groups())


def test_all_work_items_of_a_group_come_to_a_barrier():
    local = group_indices(reversed_in_groups())[1]
    steps = index_var("i1", 0, 3)
    check_kernel(reversed_in_groups(Barrier(), For(steps, index(0), index(4), [Barrier()])))
    with pytest.raises(KernelError, match="not all work-items of a group"):
        check_kernel(reversed_in_groups(Barrier(), For(steps, local, index(4), [Barrier()])))
    with pytest.raises(KernelError, match="not all work-items of a group"):
        yes = Const(np.True_, np.dtype(bool))
        check_kernel(reversed_in_groups(Barrier(), If(yes, [Barrier()])))


def test_local_memory_and_barriers_need_work_groups():
    array = PrivateArray("tile", F32, 4, is_local=True)
    with pytest.raises(KernelError, match="tile is local, but not allocated at the start"):
        check_kernel(kernel(Allocate(array, None)))
    with pytest.raises(KernelError, match="a barrier needs work-groups"):
        check_kernel(kernel(Barrier()))
