"""Kernels run in Python."""

import numpy as np
import pytest
from judged import unchanged
from small_kernels import F32, OUT, A, X, kernel, reversed_in_groups

from tinyjax.compile.kernel.indices import index, index_var
from tinyjax.compile.kernel.interpret import _load, _store, convert, interpret_kernel
from tinyjax.compile.kernel.kernel_ir import (
    Allocate,
    Barrier,
    Buffer,
    Const,
    For,
    Load,
    PrivateArray,
    Store,
    Value,
)
from tinyjax.core.dtypes import bfloat16

WIDE = Value("w", F32, 4)


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
    memory = np.zeros(8, np.float32)
    for end, want in ((3, 0), (4, 5)):
        _store(np.float32([5]), X, index(3), index(end), {X.name: memory})
        assert memory[3] == want, "a vector of one element has an end, too"


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


def test_a_later_store_does_not_change_what_was_loaded():
    array, v = PrivateArray("kept", F32, 2, width=4), Value("v", F32, 4)
    out = interpreted(
        Allocate(array, Const(0.0, F32)),
        Load(v, array, index(0)),
        Load(WIDE, X, index(4)),
        Store(array, index(0), WIDE),
        Store(OUT, index(0), v),
    )
    np.testing.assert_array_equal(out, np.zeros(8), "a load gives a copy")


@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.bool_, np.complex64, bfloat16])
@pytest.mark.parametrize("width, end", [(1, None), (4, None), (4, 8), (4, 4), (2, 3)])
def test_what_is_loaded_is_a_copy_also_where_all_elements_are_there(dtype, width, end):
    memory = np.arange(8).astype(dtype)
    scope = {X.name: memory}
    loaded = _load(width, X, index(2), None if end is None else index(end), scope)
    before = np.copy(loaded)
    memory[:] = np.zeros(8, dtype)
    np.testing.assert_array_equal(loaded, before, "a later store changes nothing that was loaded")
    assert np.asarray(loaded).dtype == np.dtype(dtype)
    if width > 1:
        many = np.arange(16).astype(dtype)
        loaded = _load(8, Buffer("m", np.dtype(dtype), 16, "in"), index(3), None, {"m": many})
        np.testing.assert_array_equal(loaded, many[3:11], "of eight lanes each is its own")
        loaded = _load(8, Buffer("m", np.dtype(dtype), 16, "in"), index(9), index(16), {"m": many})
        np.testing.assert_array_equal(loaded[:7], many[9:], "before the end each is its own")


def test_what_is_stored_is_a_copy_too_and_stays_as_it_is():
    memory, value = np.zeros(8, np.float32), np.arange(1, 5, dtype=np.float32)
    with unchanged(value=value):
        _store(value, X, index(2), index(5), {X.name: memory})
    value[:] = 9
    np.testing.assert_array_equal(memory, [0, 0, 1, 2, 3, 0, 0, 0])
    _store(np.float32(7), X, index(7), None, {X.name: memory})
    assert memory[7] == 7
    for dtype in ("float64", "int64", "complex128"):
        exact = (np.arange(8) + 2**30 + 1).astype(dtype)
        wide = np.zeros(12, dtype)
        _store(exact, Buffer("m", np.dtype(dtype), 12, "out"), index(2), None, {"m": wide})
        np.testing.assert_array_equal(wide[2:10], exact, "no bit is lost")
    memory = np.zeros(8, np.float32)
    _store(np.float32(7), X, index(2), index(6), {X.name: memory})
    assert memory.tolist() == [0, 0, 7, 0, 0, 0, 0, 0], "a scalar is one element, whatever the end"


def test_indices_and_ends_are_those_of_the_iteration():
    i = index_var("i1", 0, 2)
    out = interpreted(
        For(i, index(0), index(3), [Load(A, X, i * 2), Store(OUT, i, A)]),
        For(i, index(0), index(3), [Load(WIDE, X, index(0), i), Store(OUT, index(3), WIDE, i + 4)]),
    )
    np.testing.assert_array_equal(out, [0, 2, 4, 0, 1, 0, 0, 0])


def test_one_element_is_a_number():
    scope = {"x_in": np.arange(8, dtype=np.float32)}
    assert np.ndim(_load(1, X, index(3), None, scope)) == 0
    assert isinstance(_load(1, X, index(3), None, scope), np.generic), "a number, no array"


def test_the_interpreter_repeats_the_first_element_beyond_the_end():
    x, out = np.arange(8, dtype=np.float32), np.zeros(8, np.float32)
    interpret_kernel(
        kernel(Load(WIDE, X, index(6), index(8)), Store(OUT, index(1), WIDE)), [x, out]
    )
    np.testing.assert_array_equal(out, [0, 6, 7, 6, 6, 0, 0, 0])


def test_a_loop_takes_every_nth_iteration():
    i = index_var("i1", 1, 7)
    out = interpreted(For(i, index(1), index(8), [Store(OUT, i, Const(1.0, F32))], 3))
    np.testing.assert_array_equal(out, [0, 1, 0, 0, 1, 0, 0, 1])


def test_after_a_barrier_work_items_see_what_others_of_their_group_stored():
    x, out = np.arange(8, dtype=np.float32), np.zeros(8, np.float32)
    interpret_kernel(reversed_in_groups(Barrier()), [x, out])
    np.testing.assert_array_equal(out, [3, 2, 1, 0, 7, 6, 5, 4])


def test_a_loop_may_have_barriers_in_it():
    x, out = np.arange(8, dtype=np.float32), np.zeros(8, np.float32)
    loop = For(index_var("i1", 0, 2), index(0), index(3), [Barrier()])
    interpret_kernel(reversed_in_groups(Barrier(), loop), [x, out])
    np.testing.assert_array_equal(out, [3, 2, 1, 0, 7, 6, 5, 4])


def test_the_interpreter_saturates_a_bfloat16_beyond_64_bits():
    assert convert(bfloat16.type(3e38), np.dtype("int8")) == 127


def test_who_watches_sees_each_statement_before_it_runs():
    seen = []

    def watch(statement, scope):
        seen.append((type(statement).__name__, scope.get("i1"), scope["y_out"].tolist()[:2]))

    i = index_var("i1", 0, 1)
    loop = For(i, index(0), index(2), [Load(A, X, i + 3), Store(OUT, i, A)])
    x, out = np.arange(8, dtype=np.float32), np.zeros(8, np.float32)
    interpret_kernel(kernel(loop), [x, out], watch)
    assert seen == [
        ("For", None, [0, 0]),
        ("Load", 0, [0, 0]), ("Store", 0, [0, 0]),
        ("Load", 1, [3, 0]), ("Store", 1, [3, 0]),
    ]  # fmt: skip
