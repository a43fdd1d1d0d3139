"""What all sparse arrays share: a shape, a dtype, a repr, and operators that say what they can't.

A sparse array is a pytree node, whose leaves are the arrays that it is stored in, so that all transformations
see these. It is no jax.Array.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np


class SparseEfficiencyError(ValueError):
    """What was asked for would store more than a dense array does."""


class SparseEfficiencyWarning(UserWarning):
    """What was asked for stores more than it has to."""


class JAXSparse:
    """A sparse array: `data` has its stored elements, other leaves say where they are."""

    # With this, NumPy leaves `numpy_array @ sparse_array` to us.
    __array_ufunc__ = None

    data: Any
    shape: tuple[int, ...]

    @property
    def nse(self) -> int:
        """The number of stored elements, in each batch."""
        raise NotImplementedError

    @property
    def n_batch(self) -> int:
        raise NotImplementedError

    @property
    def n_dense(self) -> int:
        raise NotImplementedError

    @property
    def n_sparse(self) -> int:
        return self.ndim - self.n_batch - self.n_dense

    @property
    def dtype(self) -> np.dtype:
        return self.data.dtype

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        """How many elements the dense array has."""
        return math.prod(self.shape)

    @property
    def T(self) -> Any:  # noqa: N802  (JAX's name)
        return self.transpose()

    def todense(self) -> Any:
        """The same numbers as an ordinary array."""
        raise NotImplementedError

    def transpose(self, axes: Sequence[int] | None = None) -> Any:
        raise NotImplementedError

    def sum(self, axis: Any = None) -> Any:
        raise NotImplementedError(_no_method(self, "sum"))

    def __getitem__(self, item: Any) -> Any:
        raise NotImplementedError(_no_method(self, "__getitem__"))

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object: the sparse array has no dimensions")
        return self.shape[0]

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        name = type(self).__name__
        if not hasattr(self.data, "dtype"):
            return f"{name}({self.data!r})"
        sizes = f"nse={self.nse}"
        sizes += "".join(
            f", {n}={getattr(self, n)}" for n in ("n_batch", "n_dense") if getattr(self, n)
        )
        return f"{name}({self.dtype}{list(self.shape)}, {sizes})"

    def block_until_ready(self) -> Any:
        """Waits until the stored elements are computed."""
        self.data.block_until_ready()
        return self


def _no_method(x: JAXSparse, name: str) -> str:
    return (
        f"{type(x)}.{name}: {type(x).__name__} has no such operation; BCOO has most, and x.todense() gives "
        "an ordinary array"
    )


def _not_there(name: str) -> Callable[..., Any]:
    def operator(self: Any, *others: Any) -> Any:
        raise NotImplementedError(_no_method(self, name))

    return operator


_OPERATORS = "add matmul mul neg pos radd rmatmul rmul rsub sub".split()
for _name in _OPERATORS:
    setattr(JAXSparse, f"__{_name}__", _not_there(f"__{_name}__"))
JAXSparse.__hash__ = None  # type: ignore[assignment]
