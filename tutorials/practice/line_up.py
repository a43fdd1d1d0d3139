"""A product of two batches, in NumPy: where must their axes be?

The batching rule of `mul` does this before it multiplies.
"""

from __future__ import annotations

import numpy as np


def batch_product(x: np.ndarray, x_dim: int | None, y: np.ndarray, y_dim: int | None) -> np.ndarray:
    """For each example, the product that NumPy gives for its part of `x` and its part of `y`; examples are
    along axis 0 of the result. `x_dim` and `y_dim` are the batch dims, of which one may be None: then all
    examples share the operand. In one operand an example may have fewer axes than in the other. No loop."""
    x = x[None] if x_dim is None else np.moveaxis(x, x_dim, 0)
    y = y[None] if y_dim is None else np.moveaxis(y, y_dim, 0)
    ndim = max(x.ndim, y.ndim)
    x, y = [z.reshape(z.shape[0], *[1] * (ndim - z.ndim), *z.shape[1:]) for z in (x, y)]
    return x * y
