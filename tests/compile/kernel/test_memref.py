import numpy as np

from tinyjax.compile.kernel.indices import index
from tinyjax.compile.kernel.kernel_ir import Buffer
from tinyjax.compile.kernel.memref import MemRef

STACK = Buffer("x_in", np.dtype("float32"), 60, "in")


def test_a_row_of_a_stack_begins_after_the_rows_before_it():
    row = MemRef(STACK).part(index(2) * 20)
    assert [str(row.place(index(n))) for n in (0, 5)] == ["40", "45"]
