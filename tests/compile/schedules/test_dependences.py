import numpy as np
import pytest
from loop_nests import F32, A, axis, doubled, loop, row_sums, scaled_rows

from tinyjax.compile.kernel.indices import index
from tinyjax.compile.kernel.kernel_ir import Buffer, Load, PrivateArray, Store, Value
from tinyjax.compile.schedules.dependences import iterations, numbers, why_dependent
from tinyjax.compile.schedules.directive import find_loop
from tinyjax.compile.schedules.split import Split

OUT = Buffer("y_out", F32, 100, "out")
ROW = axis("i1", 4)


def stored_at(at):
    """A loop over i1 in 0 .. 4 around one over i2 in 0 .. 5 that stores to at(i1, i2)."""
    i, j = axis("i1", 4), axis("i2", 5)
    return loop(i, 4, loop(j, 5, Store(OUT, at(i, j), A)))


@pytest.mark.parametrize(
    "at, independent",
    [
        (lambda i, j: i * 5 + j, True),
        (lambda i, j: j * 4 + i, True),
        (lambda i, j: i * 4 + j, False),  # rows overlap
        (lambda i, j: j, False),
        (lambda i, j: (i * 5 + j) % 7, False),
    ],
)
def test_iterations_are_independent_if_each_stores_elements_of_its_own(at, independent):
    assert bool(why_dependent(stored_at(at))) != independent


@pytest.mark.parametrize(
    "offsets, independent",
    [((0, 16, 64), True), ((0, 4, 40), True), ((0, 3, 16), False), ((0, 17, 20), False)],
)
def test_several_elements_of_an_iteration_may_lie_between_those_of_others(offsets, independent):
    i = axis("i1", 4)
    stores = [Store(OUT, i + offset, A) for offset in offsets]
    assert bool(why_dependent(loop(i, 4, *stores))) != independent


@pytest.mark.parametrize("end, independent", [(25, True), (26, False)])
def test_vectors_of_a_row_that_data_chooses_end_with_it(end, independent):
    i, j, row, x = axis("i1", 2), axis("i2", 4), axis("row", 4), Value("a", F32, 16)
    load = Load(Value("row", np.dtype("int32")), Buffer("n_in", np.dtype("int32"), 9, "in"), j)
    store = Store(OUT, row * 25 + i * 16, x, row * 25 + end)
    assert bool(why_dependent(loop(i, 2, loop(j, 4, load, store)))) != independent


@pytest.mark.parametrize("kernel", [doubled(10), scaled_rows(3, 5), row_sums(3, 5)])
def test_outer_loops_of_naive_nests_are_independent(kernel):
    assert why_dependent(kernel.body[0]) == ""


def test_a_sum_depends_on_the_iteration_before():
    kernel = row_sums(3, 5)
    assert "elements of acc1" in why_dependent(find_loop(kernel, "i2"))


@pytest.mark.parametrize("axis", ["i1_outer", "i1_inner", "i2_outer", "i2_inner"])
def test_chunks_are_as_independent_as_the_whole(axis):
    kernel = Split("i2", 2).apply(Split("i1", 4).apply(scaled_rows(7, 5)))
    assert why_dependent(find_loop(kernel, axis)) == ""


def test_what_is_read_before_it_is_stored_again_is_a_dependence():
    i = axis("i1", 4)
    moved = loop(i, 4, Load(A, OUT, i + 1), Store(OUT, i, A))
    assert "'i1'" in why_dependent(moved)


def test_iterations_of_the_last_chunk_are_no_more_than_of_others():
    kernel = Split("i1", 4).apply(doubled(10))
    assert iterations(find_loop(kernel, "i1_inner")) == 4


def test_an_array_for_all_iterations_has_room_for_whole_vectors():
    kernel = Split("i1", 4).apply(scaled_rows(7, 5))
    loops = [find_loop(kernel, name) for name in ("i1_inner", "i2")]
    at, count = numbers(loops)
    assert (str(at), count) == ("(i1_inner % 4) * 8 + i2", 4 * 8)
    assert at.hi < PrivateArray("sums", F32, count).size and index(0).lo == at.lo
