"""Attention: for each query the mean of the values, weighted by how well their keys match it.

softmax(Q K^T / sqrt(d)) V is two einsums with a softmax between. A mask limits the keys of a query.

In the einsums B counts examples, T queries, S keys and values, N heads, H the elements of a head.
Source: Vaswani et al., "Attention is all you need" (2017), section 3.2; Ainslie et al., "GQA" (2023), for
heads of queries that share keys; https://docs.jax.dev/en/latest/_autosummary/jax.nn.dot_product_attention.html
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from tinyjax import lax
from tinyjax import numpy as jnp
from tinyjax.core import dtypes
from tinyjax.numpy.log_sums import logsumexp, softmax
from tinyjax.transform.batching import vmap

FLOAT32 = np.dtype("float32")


def dot_product_attention(
    query: Any,
    key: Any,
    value: Any,
    bias: Any = None,
    mask: Any = None,
    *,
    scale: float | None = None,
    is_causal: bool = False,
    query_seq_lengths: Any = None,
    key_value_seq_lengths: Any = None,
    local_window_size: int | tuple[int, int] | None = None,
    implementation: str | None = None,
    return_residual: bool = False,
) -> Any:
    """softmax(query @ key^T * scale + bias) @ value, for each head: an array of query's shape.

    query: (B, T, N, H), or without B; key and value: (B, S, K, H). With fewer heads K than N, every N / K
    heads of queries share one.
    bias, mask: broadcast to (B, N, T, S); where the bool `mask` is False, the query does not see the key.
    scale: 1 / sqrt(H) where none is given.
    is_causal: query t sees the keys 0 to t alone.
    query_seq_lengths, key_value_seq_lengths: int32 (B,), how many there really are; the rest is padding.
    local_window_size: query t sees the keys t - left to t + right, for (left, right) or one number.
    implementation: None or "xla"; "cudnn" raises RuntimeError, as there is none.
    return_residual: also gives the logarithm of the softmax's denominator, float32 of (B, T, N).
    Raises ValueError for shapes and dtypes that do not fit, TypeError for those of bias and mask."""
    _check_implementation(implementation)
    query, key, value = (jnp.asarray(x) for x in (query, key, value))
    given_shape = query.shape
    query, key, value = (x[None] if x.ndim == 3 else x for x in (query, key, value))
    _check_operands(query, key, value)
    batch, queries, heads, size = query.shape
    shared = key.shape[2]
    grouped = query.reshape(batch, queries, shared, heads // shared, size)
    logits_shape = (batch, heads, queries, key.shape[1])
    bias = None if bias is None else _by_group("bias", bias, logits_shape, shared)
    mask = None if mask is None else _by_group("mask", _checked_mask(mask), logits_shape, shared)
    limits = _Limits(
        is_causal,
        _checked_lengths("query_seq_lengths", query_seq_lengths, batch),
        _checked_lengths("key_value_seq_lengths", key_value_seq_lengths, batch),
        _window(local_window_size),
    )
    scale = 1 / np.sqrt(size) if scale is None else scale

    def attend(query: Any, bias: Any, mask: Any) -> Any:
        """For one head of each group that shares its keys."""
        return _attention(query, key, value, bias, mask, scale, limits, return_residual)

    in_axes = (3, None if bias is None else 2, None if mask is None else 2)
    result = vmap(attend, in_axes, out_axes=3)(grouped, bias, mask)
    encoded, *residual = result if return_residual else (result,)
    encoded = encoded.reshape(query.shape).reshape(given_shape)
    return (encoded, residual[0].reshape(given_shape[:-1])) if residual else encoded


# ---- arguments ----


def _check_implementation(implementation: str | None) -> None:
    if implementation == "cudnn":
        raise RuntimeError(
            "cuDNN is not detected: it is NVIDIA's library; leave implementation away"
        )
    if implementation not in (None, "xla"):
        raise ValueError(
            f"Unsupported implementation option: {implementation}; there are None and 'xla'"
        )


def _check_operands(query: Any, key: Any, value: Any) -> None:
    batch, keys, shared, size = _checked_rank("key", key).shape

    def check(name: str, x: Any, wanted: tuple[int, ...]) -> None:
        fits = x.ndim == 4 and all(w in (-1, n) for w, n in zip(wanted, x.shape))
        if not fits:
            raise ValueError(f"{name} shape should be {list(wanted)}: but got {x.shape}")
        if x.dtype != key.dtype:
            raise ValueError(f"{name} dtype should be {key.dtype}, but got {x.dtype}")

    check("value", value, key.shape)
    check("query", query, (batch, -1, -1, size))
    if not shared or query.shape[2] % shared:
        raise ValueError(
            "The number of query heads must be a multiple of key/value heads, but got "
            f"{query.shape[2]} vs {shared}"
        )


def _checked_rank(name: str, x: Any) -> Any:
    if x.ndim != 4:
        raise ValueError(f"{name} must have the axes (B, S, K, H), or (S, K, H), got {x.shape}")
    return x


def _checked_mask(mask: Any) -> Any:
    mask = jnp.asarray(mask)
    if mask.dtype != np.bool_:
        raise ValueError(f"mask dtype should be bool, but got {mask.dtype}")
    return mask


def _checked_lengths(name: str, lengths: Any, batch: int) -> Any:
    if lengths is None:
        return None
    lengths = jnp.asarray(lengths)
    if lengths.shape != (batch,):
        raise ValueError(f"{name} shape should be [{batch}]: but got {lengths.shape}")
    if lengths.dtype != np.int32:
        raise ValueError(f"{name} dtype should be int32, but got {lengths.dtype}")
    return lengths


def _by_group(name: str, x: Any, logits_shape: tuple[int, ...], shared: int) -> Any:
    """Bias or mask (B, N, T, S) with N as two axes: keys' heads, and which of the group."""
    x = jnp.asarray(x)
    heads = logits_shape[1]
    x = x.reshape((1,) * (4 - x.ndim) + x.shape)
    if x.ndim > 4 or any(n not in (1, wanted) for n, wanted in zip(x.shape, logits_shape)):
        raise TypeError(
            f"{name} must broadcast to (batch, query heads, queries, keys) = {logits_shape}, got "
            f"shape {x.shape}"
        )
    batch, own, *rest = x.shape
    if own == 1 != heads:
        return jnp.broadcast_to(x[:, :, None], (batch, 1, heads // shared, *rest))
    return x.reshape(batch, shared, heads // shared, *rest)


def _window(size: int | tuple[int, int] | None) -> tuple[int, int] | None:
    if size is None:
        return None
    left, right = (size, size) if isinstance(size, int) else size
    return left, right


# ---- the formula ----


class _Limits(NamedTuple):
    """What a query may not look at, besides the mask."""

    is_causal: bool
    query_lengths: Any
    key_lengths: Any
    window: tuple[int, int] | None


def _attention(
    query: Any,
    key: Any,
    value: Any,
    bias: Any,
    mask: Any,
    scale: float,
    limits: _Limits,
    return_residual: bool,
) -> Any:
    logits = jnp.einsum("BTNH,BSNH->BNTS", query, key, preferred_element_type=FLOAT32)
    logits = logits * jnp.array(scale, logits.dtype)
    if bias is not None:
        logits = (logits + bias).astype(logits.dtype)
    if mask is not None or limits.is_causal or any(x is not None for x in limits[1:]):
        sees = jnp.ones(logits.shape, bool)
        for each in _masks(logits.shape, mask, limits):
            sees = jnp.logical_and(sees, each)
        # Far below all logits, but no -inf: a query that sees nothing gets the mean, and not NaN.
        unseen = jnp.array(-0.7 * dtypes.finfo(logits.dtype).max, logits.dtype)
        logits = jnp.where(sees, logits, unseen)

    weights = softmax(logits, axis=-1).astype(key.dtype)
    encoded = jnp.einsum("BNTS,BSNH->BTNH", weights, value)
    if limits.query_lengths is not None:
        is_query = jnp.arange(query.shape[1])[None] < limits.query_lengths[:, None]
        encoded = encoded * is_query[:, :, None, None].astype(encoded.dtype)
    if not return_residual:
        return encoded
    residual = logsumexp(logits, axis=-1).swapaxes(1, 2)
    return encoded, lax.stop_gradient(residual)


def _masks(shape: tuple[int, ...], mask: Any, limits: _Limits) -> Iterator[Any]:
    """Which query (axis -2) sees which key (axis -1), by each of the reasons that there are."""
    queries, keys = shape[-2:]
    if mask is not None:
        yield mask
    if limits.is_causal:
        yield jnp.tril(jnp.ones((queries, keys), bool))[None, None]
    if limits.window is not None:
        left, right = limits.window
        row, column = jnp.arange(queries)[:, None], jnp.arange(keys)[None]
        yield ((row >= column - right) & (row <= column + left))[None, None]
    if limits.query_lengths is not None:
        yield (jnp.arange(queries)[:, None] < limits.query_lengths[:, None, None])[:, None]
    if limits.key_lengths is not None:
        yield (jnp.arange(keys) < limits.key_lengths[:, None, None])[:, None]
