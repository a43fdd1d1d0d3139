"""Sparse arrays out of nothing: empty, the identity and random ones; and `todense` for sparsify."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import tinyjax.numpy as jnp
from tinyjax.compile.kernel.rules import Elementwise, lowering_rules
from tinyjax.core.bind import Primitive, Tracer, abstract_eval_rules, impl_rules
from tinyjax.core.facts import MOVES
from tinyjax.core.tree_util.pytrees import tree_map
from tinyjax.random import choice, split, uniform
from tinyjax.sparse.base import JAXSparse
from tinyjax.sparse.bcoo import BCOO, over_batches
from tinyjax.sparse.bcsr import BCSR
from tinyjax.sparse.coordinates import bcoo_fromdense
from tinyjax.transform.batching import defvectorized
from tinyjax.transform.transposition import deflinear2

# Nothing happens to an ordinary array; the rule of sparsify makes one of a sparse array.
todense_p = Primitive("todense", axes="elementwise", **MOVES)
impl_rules[todense_p] = lambda x: x
abstract_eval_rules[todense_p] = lambda x: x
deflinear2(todense_p, lambda ct, x: [ct])
defvectorized(todense_p)
lowering_rules[todense_p] = Elementwise(lambda ctx, x: x, cost=0)


def todense(arr: Any) -> Any:
    """An ordinary array of a sparse one, also where sparsify makes a tracer stand for it."""

    def dense(x: Any) -> Any:
        if isinstance(x, JAXSparse):
            return x.todense()
        return todense_p.bind(x) if isinstance(x, Tracer) else jnp.asarray(x)

    return tree_map(dense, arr, is_leaf=lambda x: isinstance(x, JAXSparse))


def _format(sparse_format: str) -> Callable[[BCOO], Any]:
    formats: dict[str, Callable[[BCOO], Any]] = {"bcoo": lambda mat: mat, "bcsr": BCSR.from_bcoo}
    if sparse_format not in formats:
        raise ValueError(
            f"sparse_format={sparse_format!r} not recognized; must be one of {list(formats)}"
        )
    return formats[sparse_format]


def empty(
    shape: Sequence[int],
    dtype: Any = None,
    index_dtype: Any = "int32",
    sparse_format: str = "bcoo",
    *,
    n_batch: int = 0,
    n_dense: int = 0,
    nse: int = 0,
) -> Any:
    """A sparse array of this shape that stores nothing, with room for `nse` elements.

    `sparse_format` is "bcoo" or "bcsr"; raises ValueError for others, and for more axes than there are."""
    shape = tuple([int(size) for size in shape])
    if min(n_batch, n_dense, nse) < 0 or n_batch + n_dense > len(shape):
        raise ValueError(f"Invalid inputs: {shape=}, {n_dense=}, {n_batch=}, {nse=}")
    batch, sparse = shape[:n_batch], shape[n_batch : len(shape) - n_dense]
    if sparse_format == "bcsr" and len(sparse) != 2:
        raise ValueError(f"BCSR sparse.empty: must have 2 sparse dimensions. Got {len(sparse)}")
    data = jnp.zeros((*batch, nse, *shape[len(shape) - n_dense :]), dtype)
    outside = jnp.broadcast_to(jnp.array(sparse, index_dtype), (*batch, nse, len(sparse)))
    flags = {"indices_sorted": True, "unique_indices": True}
    return _format(sparse_format)(BCOO((data, outside), shape=shape, **flags))


def eye(
    N: int,  # noqa: N803  (JAX's names)
    M: int | None = None,  # noqa: N803
    k: int = 0,
    dtype: Any = None,
    index_dtype: Any = "int32",
    sparse_format: str = "bcoo",
    *,
    n_batch: int = 0,
    n_dense: int = 0,
) -> Any:
    """Ones along the k-th diagonal of an (N, M) matrix."""
    N, M = operator.index(N), operator.index(N if M is None else M)  # noqa: N806
    make = _format(sparse_format)
    if n_batch or n_dense:
        dense = jnp.eye(N, M, k, dtype=dtype)
        kwargs: dict[str, Any] = {"n_batch": n_batch, "n_dense": n_dense}
        return make(bcoo_fromdense(dense, index_dtype=index_dtype, **kwargs))
    nse = max(0, min(N + min(k, 0), M - max(k, 0)))
    first = jnp.array([max(-k, 0), max(k, 0)], index_dtype)
    indices = jnp.arange(nse, dtype=index_dtype)[:, None] + first
    flags = {"indices_sorted": True, "unique_indices": True}
    return make(BCOO((jnp.ones(nse, dtype), indices), shape=(N, M), **flags))


def random_bcoo(
    key: Any,
    shape: Sequence[int],
    *,
    dtype: Any = float,
    indices_dtype: Any = None,
    nse: float = 0.2,
    n_batch: int = 0,
    n_dense: int = 0,
    unique_indices: bool = True,
    generator: Callable[..., Any] = uniform,
    **kwds: Any,
) -> BCOO:
    """A sparse array of random elements at random coordinates.

    `nse` is their number in each batch, or, below 1, which part of all there are. `generator(key,
    shape=..., dtype=..., **kwds)` makes the elements. Raises ValueError if there is no room for as many."""
    shape = tuple([int(size) for size in shape])
    batch, sparse = shape[:n_batch], shape[n_batch : len(shape) - n_dense]
    room = math.prod(sparse)
    nse = int(math.ceil(nse * room)) if 0 < nse < 1 else int(nse)
    if not 0 <= nse <= room:
        raise ValueError(f"got nse={nse}, expected to be between 0 and {room}")
    data_shape = (*batch, nse, *shape[len(shape) - n_dense :])
    data_key, index_key = split(key)

    def places(key: Any) -> Any:
        if not sparse:
            return jnp.zeros((nse, 0), indices_dtype or np.int32)
        flat = choice(key, room, shape=(nse,), replace=not unique_indices)
        return jnp.column_stack(jnp.unravel_index(flat, sparse)).astype(indices_dtype or np.int32)

    keys = split(index_key, batch) if batch else index_key
    indices = over_batches(places, n_batch)(keys)
    data = generator(data_key, shape=data_shape, dtype=dtype, **kwds)
    return BCOO((data, indices), shape=shape)
