"""Kernels of a few statements."""

from dataclasses import replace

import numpy as np

from tinyjax.compile.kernel.indices import index, index_var
from tinyjax.compile.kernel.kernel_ir import (
    Allocate,
    Buffer,
    For,
    Kernel,
    Load,
    PrivateArray,
    Store,
    Value,
    group_indices,
)

F32 = np.dtype("float32")
X, OUT = Buffer("x_in", F32, 8, "in"), Buffer("y_out", F32, 8, "kept")  # not all of it is stored
A, B = Value("a", F32), Value("b", F32)


def kernel(*body):
    return Kernel("k0", [X, OUT], 1, list(body))


def loop(at, *extra, last=7):
    i = index_var("i1", 0, last)
    return For(i, index(0), index(last + 1), [Load(A, X, at(i)), *extra, Store(OUT, i, A)])


def reversed_in_groups(*between):
    """Each group of four work-items reverses four elements, with these statements before the second half."""
    kernel = Kernel("k0", [X, replace(OUT, role="out")], 8, local_size=4)
    group, local = group_indices(kernel)
    tile = PrivateArray("tile", F32, 4, is_local=True)
    load, store = Load(A, X, group * 4 + local), Store(tile, local, A)
    rest = [Load(B, tile, index(3) - local), Store(kernel.buffers[1], group * 4 + local, B)]
    return replace(kernel, body=[Allocate(tile, None), load, store, *between, *rest])
