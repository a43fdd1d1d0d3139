"""Gives BCOO and BCSR their methods and operators: x @ y, x + y, x[i], x.sum(), x.todense()."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import tinyjax.numpy as jnp
from tinyjax.sparse import arithmetic, coordinates, creation, layout
from tinyjax.sparse import sparse_rules as _rules  # noqa: F401  (fills the table)
from tinyjax.sparse.base import JAXSparse
from tinyjax.sparse.bcoo import BCOO
from tinyjax.sparse.bcsr import BCSR
from tinyjax.sparse.sparsify import sparsify

matmul = sparsify(jnp.matmul)


def _operator(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, other: function(self, other)


def _reflected(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, other: function(other, self)


def _by_sparsify(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, *others: sparsify(function)(self, *others)


def from_scipy_sparse(
    cls: type[BCOO], mat: Any, *, index_dtype: Any = None, n_dense: int = 0, n_batch: int = 0
) -> BCOO:
    """The stored elements of a matrix of scipy.sparse, in its order.

    Raises NotImplementedError for batch or dense axes: update_layout makes them."""
    if n_dense or n_batch:
        raise NotImplementedError(
            "BCOO.fromscipy with nonzero n_dense/n_batch: use update_layout on the result"
        )
    mat = mat.tocoo()
    indices = np.stack([mat.row, mat.col], axis=-1).astype(index_dtype or np.int32)
    return cls((mat.data, indices), shape=mat.shape)


def transpose(self: BCOO, axes: Sequence[int] | None = None) -> BCOO:
    """As bcoo_transpose; without axes, all in reverse."""
    permutation = range(self.ndim)[::-1] if axes is None else axes
    return layout.bcoo_transpose(self, permutation=permutation)


def reshape(self: BCOO, *args: Any) -> BCOO:
    """As array.reshape: sizes one by one or as a tuple, -1 for the one that follows from the others."""
    sizes = args[0] if len(args) == 1 and isinstance(args[0], Sequence) else args
    shape = [int(size) for size in sizes]
    if -1 in shape:
        others = math.prod([size for size in shape if size != -1])
        shape[shape.index(-1)] = self.size // max(others, 1)
    return layout.bcoo_reshape(self, new_sizes=shape)


def update_layout(self: BCOO, **kwargs: Any) -> BCOO:
    """As bcoo_update_layout."""
    return layout.bcoo_update_layout(self, **kwargs)


def astype(self: BCOO, *args: Any, **kwargs: Any) -> BCOO:
    """The same array with elements of another dtype."""
    return self.like(self.data.astype(*args, **kwargs))


def getitem(self: JAXSparse, item: Any) -> Any:
    return sparsify(lambda x: x[item])(self)


_OPERATORS = {
    "add": arithmetic.add,
    "mul": arithmetic.multiply,
    "sub": arithmetic.subtract,
    "truediv": arithmetic.divide,
}
_BY_SPARSIFY: dict[str, Callable[..., Any]] = {
    "abs": jnp.abs,
    "eq": jnp.equal,
    "ge": jnp.greater_equal,
    "gt": jnp.greater,
    "le": jnp.less_equal,
    "lt": jnp.less,
    "ne": jnp.not_equal,
    "neg": jnp.negative,
}
_METHODS: dict[str, Any] = {
    "todense": coordinates.bcoo_todense,
    "sort_indices": coordinates.bcoo_sort_indices,
    "sum_duplicates": coordinates.bcoo_sum_duplicates,
    "transpose": transpose,
    "reshape": reshape,
    "update_layout": update_layout,
    "astype": astype,
    "sum": arithmetic.sum_of,
    "__pow__": arithmetic.power,
    "__pos__": lambda self: self,
    "fromdense": staticmethod(coordinates.bcoo_fromdense),
    "from_scipy_sparse": classmethod(from_scipy_sparse),
    "_empty": staticmethod(creation.empty),
    "_eye": staticmethod(creation.eye),
}


def attach() -> None:
    """Sets the methods; called once."""
    for name, operator in _OPERATORS.items():
        setattr(BCOO, f"__{name}__", _operator(operator))
        setattr(BCOO, f"__r{name}__", _reflected(operator))
    for name, function in _BY_SPARSIFY.items():
        setattr(BCOO, f"__{name}__", _by_sparsify(function))
    for name, method in _METHODS.items():
        setattr(BCOO, name, method)
    BCOO.__hash__ = None  # type: ignore[assignment]
    classes: Any = (BCOO, BCSR)
    for cls in classes:
        cls.__matmul__ = _operator(matmul)
        cls.__rmatmul__ = _reflected(matmul)
        cls.__getitem__ = getitem
