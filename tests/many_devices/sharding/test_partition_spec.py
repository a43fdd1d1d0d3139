"""How an array is cut, by names."""

from tinyjax.many_devices.sharding.partition_spec import P, names_at


def test_sets_of_names_are_printed_in_order():
    names = {f"axis{i}" for i in range(9)}
    assert repr(P("x", reduced=names)) == f"P('x', reduced={{{str(sorted(names))[1:-1]}}})"


def test_an_axis_that_a_spec_leaves_out_is_whole():
    spec = P("x", ("y", "z"))
    assert [names_at(spec, axis) for axis in range(3)] == [("x",), ("y", "z"), ()]


def test_an_entry_that_is_empty_names_no_axis():
    assert P("x", 0, (), "") == P("x", None, None, None)
