import numpy as np

from tinyjax.compile.kernel.indices import index, index_var
from tinyjax.compile.kernel.kernel_ir import Buffer
from tinyjax.compile.kernel.memref import MemRef

STACK = Buffer("x_in", np.dtype("float32"), 60, "in")
CHUNK = index_var("i1", 0, 1)


def test_a_row_of_a_stack_begins_after_the_rows_before_it():
    row = MemRef(STACK).part(index(2) * 20)
    assert [str(row.bounds(index(n))[0]) for n in (0, 5)] == ["40", "45"]


def test_the_next_element_of_a_lane_is_a_row_away():
    """Three arrays of 20 elements, stacked: a vector of 16, or the 4 that are left, of each."""
    lanes = MemRef(STACK, CHUNK * 16, index(20), width=16, scale=20)
    assert list(map(str, lanes.bounds(index(2)))) == ["i1 * 16 + 40", "60"]
