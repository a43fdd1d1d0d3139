"""Kernels of a few statements."""

import numpy as np

from tinyjax.compile.kernel.indices import index, index_var
from tinyjax.compile.kernel.kernel_ir import Buffer, For, Kernel, Load, Store, Value

F32 = np.dtype("float32")
X, OUT = Buffer("x_in", F32, 8, "in"), Buffer("y_out", F32, 8, "kept")  # not all of it is stored
A, B = Value("a", F32), Value("b", F32)


def kernel(*body):
    return Kernel("k0", [X, OUT], 1, list(body))


def loop(at, *extra, last=7):
    i = index_var("i1", 0, last)
    return For(i, index(0), index(last + 1), [Load(A, X, at(i)), *extra, Store(OUT, i, A)])
