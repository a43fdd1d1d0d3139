"""Lesson 19: kernels of networks: attention without its matrix, and a layer with a custom derivative."""

from __future__ import annotations

from typing import Any

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.experimental import pallas as pl

QUERIES = 4  # to a program
KEYS = 8  # that a program looks at together


def attention_kernel(q_ref: Any, k_ref: Any, v_ref: Any, o_ref: Any) -> None:
    """Sets a block of the result: softmax(q @ k.T / sqrt(d)) @ v, for some queries and all keys, KEYS of
    which are looked at together. Of each query it carries the greatest score so far, and the sum of the
    exponentials and of their products with v on its account.

    Source: M. Milakov, N. Gimelshein, "Online normalizer calculation for softmax" (2018); T. Dao and others,
    "FlashAttention" (2022), algorithm 1"""
    q = q_ref[...] / q_ref.shape[1] ** 0.5

    def take_in(n: Any, carry: Any) -> Any:
        top, total, out = carry
        at = pl.ds(n * KEYS, KEYS)
        scores = q @ k_ref[at, :].T
        new_top = jnp.maximum(top, scores.max(axis=1, keepdims=True))
        e, old = jnp.exp(scores - new_top), jnp.exp(top - new_top)
        return new_top, total * old + e.sum(axis=1, keepdims=True), out * old + e @ v_ref[at, :]

    rows = q.shape[0]
    first = jnp.full((rows, 1), -jnp.inf), jnp.zeros((rows, 1)), jnp.zeros(o_ref.shape)
    _, total, out = lax.fori_loop(0, k_ref.shape[0] // KEYS, take_in, first)
    o_ref[...] = out / total


def attention(q: Any, k: Any, v: Any) -> Any:
    """softmax(q @ k.T / sqrt(d)) @ v, QUERIES rows to a program. There are a multiple of KEYS keys."""
    return pl.pallas_call(
        attention_kernel,
        jax.ShapeDtypeStruct((q.shape[0], v.shape[1]), q.dtype),
        grid=pl.cdiv(q.shape[0], QUERIES),
        in_specs=[
            pl.BlockSpec((QUERIES, q.shape[1]), lambda i: (i, 0)),
            pl.no_block_spec,
            pl.no_block_spec,
        ],
        out_specs=pl.BlockSpec((QUERIES, v.shape[1]), lambda i: (i, 0)),
    )(q, k, v)


# ---- a layer ----


def dense_kernel(x_ref: Any, w_ref: Any, b_ref: Any, o_ref: Any) -> None:
    o_ref[...] = jnp.tanh(x_ref[...] @ w_ref[...] + b_ref[...])


@jax.custom_vjp
def dense(x: Any, w: Any, b: Any) -> Any:
    """tanh(x @ w + b), as one kernel. Its derivative is one, too."""
    return pl.pallas_call(dense_kernel, jax.ShapeDtypeStruct((x.shape[0], w.shape[1]), x.dtype))(
        x, w, b
    )


def dense_fwd(x: Any, w: Any, b: Any) -> tuple[Any, Any]:
    """The layer's result, and what its backward pass needs: as little as that is."""
    out = dense(x, w, b)
    return out, (x, w, out)


def dense_bwd_kernel(
    x_ref: Any, w_ref: Any, out_ref: Any, ct_ref: Any, x_ct_ref: Any, w_ct_ref: Any, b_ct_ref: Any
) -> None:
    """Sets the cotangents of x, w and b. The derivative of tanh at a is 1 - tanh(a) ** 2."""
    ct = ct_ref[...] * (1 - out_ref[...] ** 2)
    x_ct_ref[...] = ct @ w_ref[...].T
    w_ct_ref[...] = x_ref[...].T @ ct
    b_ct_ref[...] = ct.sum(axis=0)


def dense_bwd(saved: Any, ct: Any) -> tuple[Any, ...]:
    """The cotangents of x, w and b, by one call of dense_bwd_kernel."""
    x, w, out = saved
    shapes = x.shape, w.shape, w.shape[1:]
    structs = tuple(jax.ShapeDtypeStruct(shape, x.dtype) for shape in shapes)
    return pl.pallas_call(dense_bwd_kernel, structs)(x, w, out, ct)


dense.defvjp(dense_fwd, dense_bwd)
