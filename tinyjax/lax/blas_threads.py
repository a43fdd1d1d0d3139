"""Small products and decompositions in the calling thread.

OpenBLAS, which NumPy and SciPy include, divides even small work among its threads, one for each core. If
another process takes the core of one, all wait for it, often for milliseconds. An idle thread waits for more
work in a loop for 26 ms, which takes a core from other threads.

It saves, while another process keeps one of two cores busy: the gradient of a Gaussian process of 300 points
takes 3 ms instead of 4 to 12, and the eager gradient of an MLP 2.2 instead of 3 to 8. With both cores free,
they take 2.5 to 3 ms instead of 2.3 to 2.8, and 2.0 instead of 1.7.

Source: https://github.com/OpenMathLib/OpenBLAS, driver/others/blas_server.c
"""

from __future__ import annotations

import ctypes
import functools
import importlib
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

TINY = 2**18  # multiplications: OpenBLAS uses one thread for fewer
SMALL_PRODUCT = 2**23
# Threads save less of a decomposition. Counted as n^3 for n rows and columns.
TINY_MATRIX = 2**15  # LAPACK takes 32 columns together, and divides the work on more
SMALL_MATRIX = 2**25
NAMES = (
    "scipy_openblas_{}_num_threads64_",  # NumPy's, then SciPy's, then a system's
    "scipy_openblas_{}_num_threads",
    "openblas_{}_num_threads",
)


class Threads:
    """The threads of the OpenBLAS that a module is linked to, if it is linked to one.

    A `with` block has only the calling thread, and restores their number. Several threads can be in such
    blocks at once. The number is that of the whole process: products of others use one thread meanwhile."""

    def __init__(self, module: str):
        self.module = module
        self.lock = threading.Lock()
        self.blocks = self.before = 0

    @functools.cached_property
    def functions(self) -> list[Callable[..., int]]:
        """OpenBLAS's functions that return the number of threads and set it; none if it is another BLAS."""
        try:
            library = ctypes.CDLL(importlib.import_module(self.module).__file__)
        except (ImportError, AttributeError, OSError):
            return []
        names = [name for name in NAMES if hasattr(library, name.format("set"))]
        return [getattr(library, names[0].format(verb)) for verb in ("get", "set")] if names else []

    def limit(self, count: int) -> None:
        """Sets the number of threads."""
        if self.functions:
            self.functions[1](count)

    def __enter__(self) -> None:
        with self.lock:
            if not self.blocks and self.module in sys.modules and self.functions:
                self.before = self.functions[0]()
                self.limit(1)
            self.blocks += 1

    def __exit__(self, *_: Any) -> None:
        with self.lock:
            self.blocks -= 1
            if self.before and not self.blocks and self.functions[0]() == 1:
                self.limit(self.before)


NUMPY = Threads("numpy._core._multiarray_umath")
SCIPY = Threads("scipy.linalg._fblas")


def matmul(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """np.matmul of two matrices, or of two stacks of matrices."""
    if TINY < left.shape[-2] * left.shape[-1] * right.shape[-1] <= SMALL_PRODUCT:
        with NUMPY:
            return np.matmul(left, right)
    return np.matmul(left, right)


def for_small_matrices(impl: Callable[..., Any]) -> Callable[..., Any]:
    """An impl rule whose first operand is a stack of matrices; it uses no other threads if they are small."""

    @functools.wraps(impl)
    def rule(*operands: np.ndarray, **params: Any) -> Any:
        *_, rows, columns = 1, 1, *operands[0].shape
        if TINY_MATRIX < rows * columns * min(rows, columns) <= SMALL_MATRIX:
            with NUMPY, SCIPY:
                return impl(*operands, **params)
        return impl(*operands, **params)

    return rule
