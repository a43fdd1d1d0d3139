"""Products of sparse arrays: gather the other factor's rows, multiply, and add up what belongs together.

A matrix times a vector is a gather and a segment sum:

    rows.at[indices[:, 0]].add(data * vector[indices[:, 1]])
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.sparse.bcoo import (
    BCOO,
    check_as_dense,
    columns,
    over_batches,
    whole_batches,
    without_outside,
)
from tinyjax.sparse.coordinates import bcoo_sum_duplicates, elements_at
from tinyjax.transform.batching import vmap


def bcoo_dot_general(
    lhs: Any,
    rhs: Any,
    *,
    dimension_numbers: Any,
    precision: Any = None,
    preferred_element_type: Any = None,
    out_sharding: Any = None,
) -> Any:
    """lax.dot_general where one factor is sparse, or both are: with a dense one the product is dense.

    Raises TypeError for shapes that don't fit, NotImplementedError for contracted dense axes and for
    batch axes of the product that are none of the sparse array."""
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = [
        [tuple([int(i) for i in axes]) for axes in pair] for pair in dimension_numbers
    ]
    lhs, rhs = [x if isinstance(x, BCOO) else jnp.asarray(x) for x in (lhs, rhs)]
    dense_product = functools.partial(
        lax.dot_general,
        dimension_numbers=dimension_numbers,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )
    if not isinstance(lhs, BCOO) and not isinstance(rhs, BCOO):
        return dense_product(lhs, rhs)
    check_as_dense(dense_product, lhs, rhs)
    for x, contract in ((lhs, lhs_contract), (rhs, rhs_contract)):
        if isinstance(x, BCOO) and any(i >= x.n_batch + x.n_sparse for i in contract):
            raise NotImplementedError("bcoo_dot_general: contracting over dense dimensions.")
    dtype = preferred_element_type or jnp.result_type(lhs.dtype, rhs.dtype)
    if isinstance(lhs, BCOO) and isinstance(rhs, BCOO):
        out = _sparse_sparse(lhs, rhs, lhs_contract, rhs_contract, lhs_batch, rhs_batch)
        return out if out.dtype == dtype else out.like(out.data.astype(dtype))
    if isinstance(lhs, BCOO):
        return _sparse_dense(lhs, rhs, lhs_contract, rhs_contract, lhs_batch, rhs_batch, dtype)
    out = _sparse_dense(rhs, lhs, rhs_contract, lhs_contract, rhs_batch, lhs_batch, dtype)
    free = out.ndim - (lhs.ndim - len(lhs_contract) - len(lhs_batch))
    order = [*range(len(lhs_batch)), *range(free, out.ndim), *range(len(lhs_batch), free)]
    return out.transpose(order)


def _sparse_dense(
    mat: BCOO,
    other: Any,
    contract: Any,
    their_contract: Any,
    batch: Any,
    their_batch: Any,
    dtype: Any,
) -> Any:
    """Batch axes of the sparse array one by one: those of the product, those that stay, those that are
    contracted. Then each batch is a plain sparse array."""
    if any(i >= mat.n_batch for i in batch):
        raise NotImplementedError(
            "bcoo_dot_general batch dimensions must be among the batch dimensions in the sparse "
            f"representation.\ngot lhs_batch={batch}, n_batch={mat.n_batch}"
        )
    summed = [i for i in contract if i < mat.n_batch]
    kept = [i for i in range(mat.n_batch) if i not in batch and i not in summed]
    partner = dict(zip((*batch, *contract), (*their_batch, *their_contract)))
    sparse = [i for i in contract if i >= mat.n_batch]
    first = [partner[i] for i in (*batch, *summed, *sparse)]
    free = [i for i in range(other.ndim) if i not in first]
    other = other.transpose(*first, *free).astype(dtype)

    axes = [*batch, *kept, *summed]
    data, indices = [x.transpose(*axes, *range(mat.n_batch, x.ndim)) for x in whole_batches(mat)]
    columns_of = [i - mat.n_batch for i in sparse]
    left = [i for i in range(mat.n_sparse) if i not in columns_of]
    sizes = [mat.sparse_shape[i] for i in left]

    def product(data: Any, indices: Any, other: Any) -> Any:
        rows = elements_at(other, indices[:, np.array(columns_of, int)])
        rows = lax.expand_dims(rows, range(1, data.ndim))
        terms = lax.expand_dims(data, range(data.ndim, rows.ndim)) * rows
        if not left:
            return terms.sum(0, dtype=dtype)
        zeros = jnp.zeros((*sizes, *terms.shape[1:]), dtype)
        return zeros.at[columns(indices[:, np.array(left, int)])].add(terms, mode="drop")

    fun: Callable[..., Any] = product
    for _ in summed:
        fun = _summed_over(fun)
    for _ in kept:
        fun = vmap(fun, (0, 0, None))
    for _ in batch:
        fun = vmap(fun)
    return fun(data.astype(dtype), indices, other)


def _summed_over(fun: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args: vmap(fun)(*args).sum(0)


def _sparse_sparse(
    lhs: BCOO, rhs: BCOO, contract: Any, their_contract: Any, batch: Any, their_batch: Any
) -> BCOO:
    """Each stored element with each of the other's: 0 where the contracted coordinates differ."""
    for mat, axes in ((lhs, batch), (rhs, their_batch)):
        if mat.n_dense:
            raise NotImplementedError("bcoo_spdot_general with dense dimensions.")
        if sorted(axes) != list(range(mat.n_batch)) or list(axes) != sorted(axes):
            raise NotImplementedError(
                "bcoo_spdot_general: batch_dims must correspond to batch dimensions of the sparse "
                f"representation, got {axes} for n_batch={mat.n_batch}; update_layout changes these"
            )
    ours, theirs = [
        np.array([i - mat.n_batch for i in axes], int)
        for mat, axes in ((lhs, contract), (rhs, their_contract))
    ]
    free = [np.delete(np.arange(m.n_sparse), axes) for m, axes in ((lhs, ours), (rhs, theirs))]
    sizes = [mat.sparse_shape[i] for mat, axes in zip((lhs, rhs), free) for i in axes]

    def product(data: Any, indices: Any, their_data: Any, their_indices: Any) -> tuple[Any, Any]:
        equal = indices[:, None, ours] == their_indices[None, :, theirs]
        terms = jnp.where(jnp.all(equal, -1), data[:, None] * their_data[None, :], 0)
        pairs = terms.shape
        parts = [
            jnp.broadcast_to(indices[:, None, free[0]], (*pairs, len(free[0]))),
            jnp.broadcast_to(their_indices[None, :, free[1]], (*pairs, len(free[1]))),
        ]
        return terms.ravel(), jnp.concatenate(parts, -1).reshape(terms.size, len(sizes))

    leaves = over_batches(product, lhs.n_batch)(*without_outside(lhs), *whole_batches(rhs))
    return _at_most(BCOO(leaves, shape=(*lhs.shape[: lhs.n_batch], *sizes)), math.prod(sizes))


def _at_most(mat: BCOO, nse: int) -> BCOO:
    """No more elements than there is room for."""
    if mat.nse <= nse:
        return mat
    mat = bcoo_sum_duplicates(mat, nse=nse, remove_zeros=False)
    return BCOO((mat.data, mat.indices), shape=mat.shape)


def bcoo_dot_general_sampled(
    A: Any,
    B: Any,
    indices: Any,
    *,
    dimension_numbers: Any,  # noqa: N803  (JAX's names)
) -> Any:
    """The elements of lax.dot_general(A, B) at some coordinates."""
    return over_batches(elements_at, indices.ndim - 2)(
        lax.dot_general(A, B, dimension_numbers=dimension_numbers), indices
    )


# ---- element by element ----


def bcoo_multiply_dense(sp_mat: BCOO, v: Any) -> Any:
    """The stored elements of sp_mat * v: `sp_mat.data` times the elements of v at its coordinates.

    Raises NotImplementedError where the product is larger than `sp_mat`."""
    v = jnp.asarray(v)
    sizes = (1,) * (sp_mat.ndim - v.ndim) + v.shape
    if len(sizes) != sp_mat.ndim or any(
        size not in (1, whole) for size, whole in zip(sizes, sp_mat.shape)
    ):
        raise NotImplementedError(
            "multiplication between sparse and dense is only implemented for cases where the output "
            f"shape matches the sparse matrix shape. Got shape={sp_mat.shape}, v.shape={v.shape}"
        )
    v = v.reshape(sizes)
    v = jnp.broadcast_to(v, (*sp_mat.shape[: sp_mat.n_batch], *sizes[sp_mat.n_batch :]))
    alike = np.array(sizes[sp_mat.n_batch : sp_mat.n_batch + sp_mat.n_sparse]) == 1

    def product(data: Any, indices: Any, v: Any) -> Any:
        return data * elements_at(v, jnp.where(alike, 0, indices))

    return over_batches(product, sp_mat.n_batch)(*whole_batches(sp_mat), v)


def bcoo_multiply_sparse(lhs: BCOO, rhs: BCOO) -> BCOO:
    """lhs * rhs of two sparse arrays: stored is what both store. An axis of size 1 is for all.

    Raises NotImplementedError if their numbers of batch and dense axes differ, TypeError if the shapes
    don't fit."""
    if (lhs.n_batch, lhs.n_dense, lhs.ndim) != (rhs.n_batch, rhs.n_dense, rhs.ndim):
        raise NotImplementedError(
            "bcoo_multiply_sparse: arrays with different numbers of axes, of batch or dense axes, got "
            f"{lhs} and {rhs}"
        )
    try:
        shape = np.broadcast_shapes(lhs.shape, rhs.shape)
    except ValueError:
        raise TypeError(
            f"mul got incompatible shapes for broadcasting: {lhs.shape}, {rhs.shape}."
        ) from None
    sparse_shape = shape[lhs.n_batch : lhs.n_batch + lhs.n_sparse]
    alike = [np.array(mat.sparse_shape) != np.array(sparse_shape) for mat in (lhs, rhs)]

    def product(data: Any, indices: Any, their_data: Any, their_indices: Any) -> tuple[Any, Any]:
        ours, theirs = indices[:, None, :], their_indices[None, :, :]
        ours, theirs = jnp.where(alike[0], theirs, ours), jnp.where(alike[1], ours, theirs)
        end = jnp.array(sparse_shape, indices.dtype)
        both = jnp.all((ours == theirs) & (ours < end), -1)
        both_in_data = lax.expand_dims(both, range(2, data.ndim + 1))
        terms = jnp.where(both_in_data, data[:, None] * their_data[None, :], 0)
        places = jnp.where(both[..., None], ours, end)
        count = both.size
        return terms.reshape(count, *terms.shape[2:]), places.reshape(count, places.shape[-1])

    leaves = _with_batch(lhs, shape), _with_batch(rhs, shape)
    out = over_batches(product, lhs.n_batch)(*leaves[0], *leaves[1])
    product_of = BCOO(out, shape=shape)
    product_of = bcoo_sum_duplicates(product_of, nse=product_of.nse, remove_zeros=False)
    return BCOO((product_of.data, product_of.indices), shape=shape)


def _with_batch(mat: BCOO, shape: Sequence[int]) -> list[Any]:
    batch = tuple(shape[: mat.n_batch])
    return [jnp.broadcast_to(x, batch + x.shape[mat.n_batch :]) for x in (mat.data, mat.indices)]
