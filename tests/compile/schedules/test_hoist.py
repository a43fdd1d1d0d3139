from loop_nests import (
    assert_computes_the_same,
    doubled,
    halved_until_small,
    row_sums,
    scaled_rows,
)

from tinyjax.compile.schedules.hoist import Hoist


def test_what_no_iteration_changes_is_computed_before_the_loop():
    naive = scaled_rows(3, 5)
    kernel = Hoist("i2").apply(naive)
    before, _ = str(kernel).split("for i2")
    assert "b:f32 = row_in[i1]" in before and "x_in[" not in before
    assert_computes_the_same(kernel, naive)


def test_what_is_computed_from_such_values_goes_with_them():
    (outer,) = scaled_rows(3, 5).body
    kernel = Hoist("i2").apply(scaled_rows(3, 5))
    assert [len(loop.body) for loop in (outer.body[0], kernel.body[0].body[-1])] == [6, 5]


def test_what_the_iterations_store_is_loaded_in_each():
    kernel = halved_until_small(5)
    assert Hoist("").why_not(kernel) == "its iterations compute nothing that is the same in all"


def test_there_may_be_nothing_to_hoist():
    assert "the same in all" in Hoist("i1").why_not(doubled(5))
    assert "no axis 'i7'" in Hoist("i7").why_not(doubled(5))
    assert Hoist("").why_not(row_sums(3, 4)) == "it has no while"
