import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from stored_elements import IterationRange, Stored, Where, covered

from tinyjax.compile.kernel.indices import index, index_value, index_var

ROW, COLUMN = index_var("i", 0, 99), index_var("j", 0, 99)


def positions(stores):
    begin, end = covered(stores)
    return [(int(a), int(b)) for a, b in zip(begin, end)]


def test_iterations_that_touch_each_other_are_one_interval():
    rows = IterationRange(ROW, index(0), index(3)), IterationRange(COLUMN, index(0), index(10))
    assert positions([Stored(ROW * 10 + COLUMN, None, 1, rows)]) == [(0, 30)]


def test_iterations_that_do_not_are_several():
    assert positions([Stored(ROW * 5 + 1, None, 4, (IterationRange(ROW, index(0), index(3)),))]) == [
        (1, 5), (6, 10), (11, 15),
    ]  # fmt: skip


def test_columns_are_put_together():
    columns = IterationRange(COLUMN, index(0), index(4)), IterationRange(ROW, index(0), index(3))
    assert positions([Stored(ROW * 4 + COLUMN, None, 1, columns)]) == [(0, 12)]


def test_columns_are_put_together_however_long_they_are():
    rows = index_var("i", 0, 10**9)
    columns = (
        IterationRange(COLUMN, index(0), index(4)),
        IterationRange(rows, index(0), index(10**9)),
    )
    assert positions([Stored(rows * 4 + COLUMN, None, 1, columns)]) == [(0, 4 * 10**9)]


def test_those_who_take_every_nth_iteration_do_all_of_them_together():
    every_third = IterationRange(COLUMN, ROW, index(100), 3)
    together = Stored(COLUMN, None, 1, (IterationRange(ROW, index(0), index(3)), every_third))
    assert positions([together]) == [(0, 100)]
    without_one = Stored(COLUMN, None, 1, (IterationRange(ROW, index(0), index(2)), every_third))
    assert positions([without_one])[:2] == [(0, 2), (3, 5)]


def test_the_last_neighbours_end_before_an_end():
    chunks = (IterationRange(ROW, index(0), index(3)),)
    assert positions([Stored(ROW * 16, index(40), 16, chunks)]) == [(0, 40)]


def test_an_end_of_all_chunks_costs_nothing_however_many_there_are():
    chunks = (IterationRange(ROW, index(0), index(2**30)),)
    assert positions([Stored(ROW * 16, index(2**34 - 5), 16, chunks)]) == [(0, 2**34 - 5)]


def test_a_loop_without_iterations_stores_nothing():
    assert positions([Stored(ROW, None, 1, (IterationRange(ROW, index(3), index(3)),))]) == []


def test_one_iteration_of_a_loop_is_picked_out():
    picked = IterationRange(ROW, index(0), index(9)), Where(ROW, index(4))
    assert positions([Stored(ROW * 2, None, 1, picked)]) == [(8, 9)]


def test_the_runs_of_work_items_are_one_loop_however_many_there_are():
    item = index_var("item", 0, 2**30 - 1)
    run = IterationRange(ROW, item * 7, (item * 7 + 7).min(2**31))
    assert positions(
        [Stored(ROW, None, 1, (IterationRange(item, index(0), index(2**30)), run))]
    ) == [(0, 2**31)]


def test_what_depends_on_something_else_is_not_counted():
    assert (
        positions([Stored(ROW + COLUMN, None, 1, (IterationRange(COLUMN, index(0), index(5)),))])
        == []
    )


# ---- against going through all iterations ----

numbers = st.integers(0, 6)


@st.composite
def places(draw):
    """A place that loops over i and j may store to."""
    at = ROW * draw(numbers) + draw(numbers)
    at = draw(
        st.sampled_from(
            [
                at,
                at + COLUMN,
                at * 3 + COLUMN,
                COLUMN * 7 + at,
                (COLUMN + at) % 5,
                at // 2 + COLUMN * 4,
            ]
        )
    )
    return at + draw(st.sampled_from([index(0), COLUMN // 3, ROW % 2, (ROW * 4 + COLUMN) // 3]))


@settings(max_examples=300, deadline=None, derandomize=True)
@given(
    places(),
    numbers,
    st.tuples(numbers, numbers),
    st.booleans(),
    st.sampled_from([1, 3]),
    st.data(),
)
def test_intervals_are_what_all_iterations_store(at, count, bounds, depends, width, data):
    start = ROW if depends else index(bounds[0])
    stop = data.draw(st.sampled_from([start + bounds[1], (start * 2).min(bounds[1])]))
    end = data.draw(st.sampled_from([None, at + 2, index(40)]))
    found = np.zeros(400, bool)
    for begin, after in positions(
        [
            Stored(
                at,
                end,
                width,
                (IterationRange(ROW, index(0), index(count)), IterationRange(COLUMN, start, stop)),
            )
        ]
    ):
        found[begin:after] = True
    wanted = np.zeros(400, bool)
    for i in range(count):
        for j in range(index_value(start, {"i": i}), index_value(stop, {"i": i})):
            scope = {"i": i, "j": j}
            first = index_value(at, scope)
            last = first + width if end is None else min(first + width, index_value(end, scope))
            wanted[first:last] = True
    np.testing.assert_array_equal(found, wanted)
