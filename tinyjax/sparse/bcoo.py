"""BCOO: a sparse array as its stored elements, and the coordinates of each.

`data[k]` is the element at the coordinates `indices[k]`; elements that aren't stored are 0. An index out of
bounds stores nothing: it pads arrays with fewer elements than `nse`, so that shapes are known while
tracing. The axes of an array are, in this order,

    n_batch axes    each batch has its own data and coordinates: an axis of both leaves
    n_sparse axes   those with coordinates: indices has a column for each
    n_dense axes    each stored element is an array of these axes: axes of `data` alone

Operations are gathers, scatters and segment sums of the two leaves, so all transformations apply.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.core.eval_shape import eval_shape
from tinyjax.core.structs import ShapeDtypeStruct
from tinyjax.core.tree_util.registration import register_pytree_node_class
from tinyjax.sparse.base import JAXSparse
from tinyjax.transform.batching import vmap


@register_pytree_node_class
class BCOO(JAXSparse):
    """A sparse array of batched coordinates: BCOO((data, indices), shape=shape).

    `indices_sorted` and `unique_indices` promise that coordinates are in order, and that none stands twice
    in a batch. Raises ValueError if the shapes don't fit, TypeError if indices are no integers."""

    def __init__(
        self,
        args: tuple[Any, Any],
        *,
        shape: Sequence[int],
        indices_sorted: bool = False,
        unique_indices: bool = False,
    ):
        data, indices = args
        self.data, self.indices = jnp.asarray(data), jnp.asarray(indices)
        self.shape = tuple([int(size) for size in shape])
        self.indices_sorted = indices_sorted
        self.unique_indices = unique_indices
        self._batch_of_shape = self.indices.ndim - 2
        _check_shapes(self)

    # ---- as a tree ----

    def tree_flatten(self) -> tuple[tuple[Any, Any], tuple]:
        flags = (self.indices_sorted, self.unique_indices)
        return (self.data, self.indices), (self.shape, self._batch_of_shape, flags)

    @classmethod
    def tree_unflatten(cls, aux: tuple, children: Any) -> BCOO:
        """vmap takes a batch axis off the leaves, or adds one: the shape follows. Leaves may be anything."""
        new = object.__new__(cls)
        new.data, new.indices = children
        new.shape, new._batch_of_shape, (new.indices_sorted, new.unique_indices) = aux
        n_batch = np.ndim(new.indices) - 2 if hasattr(new.indices, "ndim") else -1
        if n_batch >= 0 and n_batch != new._batch_of_shape and hasattr(new.data, "shape"):
            sizes = zip(new.data.shape[:n_batch], new.indices.shape[:n_batch])
            new.shape = (*[max(pair) for pair in sizes], *new.shape[new._batch_of_shape :])
            new._batch_of_shape = n_batch
        return new

    # ---- what it is made of ----

    @property
    def nse(self) -> int:
        return self.indices.shape[-2]

    @property
    def n_batch(self) -> int:
        if self.indices.ndim < 2:
            raise ValueError(
                "Cannot map in_axis=0 for BCOO array with n_batch=0. in_axes for batched BCOO operations "
                "must correspond to a batch dimension: update_layout(n_batch=1) makes one"
            )
        return self.indices.ndim - 2

    @property
    def n_sparse(self) -> int:
        return self.indices.shape[-1]

    @property
    def n_dense(self) -> int:
        return self.data.ndim - self.n_batch - 1

    @property
    def sparse_shape(self) -> tuple[int, ...]:
        return self.shape[self.n_batch : self.n_batch + self.n_sparse]

    @property
    def dense_shape(self) -> tuple[int, ...]:
        return self.shape[self.n_batch + self.n_sparse :]

    def like(self, data: Any) -> BCOO:
        """Other numbers in the same places."""
        flags = {"indices_sorted": self.indices_sorted, "unique_indices": self.unique_indices}
        return BCOO((data, self.indices), shape=self.shape, **flags)


def _check_shapes(mat: BCOO) -> None:
    if mat.indices.ndim < 2:
        raise ValueError(
            f"indices of BCOO have at least 2 axes, nse and one for the coordinates, got shape "
            f"{mat.indices.shape}; indices[:, None] of a vector's"
        )
    if not jnp.issubdtype(mat.indices.dtype, jnp.integer):
        raise TypeError(f"indices of BCOO must be integers, got {mat.indices.dtype}")
    n_batch, n_dense = mat.n_batch, mat.ndim - mat.n_batch - mat.n_sparse
    if n_dense < 0:
        raise ValueError(
            f"Invalid indices.shape={mat.indices.shape} for shape={mat.shape}: it has {n_batch} batch "
            f"axes and coordinates along {mat.n_sparse} more"
        )
    expected = (mat.nse, *mat.shape[n_batch + mat.n_sparse :])
    batches = (mat.data.shape[:n_batch], mat.indices.shape[:n_batch])
    fits = [
        size in (1, whole) for batch in batches for size, whole in zip(batch, mat.shape[:n_batch])
    ]
    if mat.data.shape[n_batch:] != expected or not all(fits):
        raise ValueError(
            f"Invalid data.shape={mat.data.shape} for nse={mat.nse}, n_batch={n_batch}, "
            f"n_dense={n_dense}: indices.shape={mat.indices.shape}, shape={mat.shape}"
        )


# ---- for the operations ----


def check_as_dense(fun: Callable[..., Any], *mats: Any) -> None:
    """Raises what a function of arrays raises for these, were they dense."""
    eval_shape(fun, *[ShapeDtypeStruct(mat.shape, mat.dtype) for mat in mats])


def over_batches(fun: Callable[..., Any], n_batch: int) -> Callable[..., Any]:
    """A function of arrays without batch axes, over the leading axes of all of them."""
    for _ in range(n_batch):
        fun = vmap(fun)
    return fun


def whole_batches(mat: BCOO) -> tuple[Any, Any]:
    """The leaves with all batches, where a leaf may have one that stands for all."""
    batch = mat.shape[: mat.n_batch]
    leaves = (mat.data, mat.indices)
    return tuple([jnp.broadcast_to(x, batch + x.shape[mat.n_batch :]) for x in leaves])


def without_outside(mat: BCOO) -> tuple[Any, Any]:
    """The leaves, with 0 for what is out of bounds: where its coordinates are looked at in part."""
    data, indices = whole_batches(mat)
    inside = jnp.all(indices < np.array(mat.sparse_shape, indices.dtype), axis=-1)
    return jnp.where(lax.expand_dims(inside, range(inside.ndim, data.ndim)), data, 0), indices


def columns(indices: Any) -> tuple[Any, ...]:
    """Coordinates as what indexes an array: an array of positions for each axis."""
    return tuple([indices[..., i] for i in range(indices.shape[-1])])
