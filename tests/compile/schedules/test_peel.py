import pytest
from loop_nests import assert_computes_the_same, doubled, row_sums

from tinyjax.compile.schedules.peel import Peel
from tinyjax.compile.schedules.split import Split
from tinyjax.compile.schedules.vectorize import Vectorize


def vectors(naive, axis):
    return Vectorize(f"{axis}_inner", 16).apply(Split(axis, 16).apply(naive))


def test_only_the_last_vector_needs_a_mask():
    lines = str(Peel("i2_outer").apply(vectors(row_sums(3, 100), "i2"))).splitlines()
    loop = lines.index("    for i2_outer in 0 .. 6:")
    assert lines[loop + 1 : loop + 3] == [
        "      a:f32 x16 = x_in[i1 * 100 + i2_outer * 16 x16]",
        "      acc1[0] = add acc1[0] a",
    ]
    assert "x_in[i1 * 100 + 96 x16 before i1 * 100 + 100]" in "\n".join(lines[loop + 3 :])


@pytest.mark.parametrize("columns", [1, 15, 16, 17, 33, 100])
def test_the_last_iteration_comes_after_the_others(columns):
    for naive, axis in ((row_sums(3, columns), "i2"), (doubled(columns), "i1")):
        split = Split(axis, 16).apply(naive)
        assert_computes_the_same(Peel(f"{axis}_outer").apply(split), naive)
        kernel = Peel(f"{axis}_outer").apply(vectors(naive, axis))
        assert_computes_the_same(kernel, naive)


def test_a_loop_of_one_iteration_is_gone():
    assert "for" not in str(Peel("i1").apply(doubled(1)))


def test_what_has_no_last_iteration_is_explained():
    assert Peel("i7").why_not(doubled(8)) == "it has no axis 'i7'; its axes are i1"
    assert "no constants" in Peel("i1_inner").why_not(Split("i1", 3).apply(doubled(8)))
    assert Peel("i1").why_not(doubled(0)) == "i1 has no iteration"
