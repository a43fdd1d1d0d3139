"""Positions in memory, which know their range."""

from tinyjax.compile.kernel.indices import index_var


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
