"""Lesson 19: kernels whose programs need nothing of each other, and first sums over many of them.

A function of arrays chooses the number of programs and the block of each array that they get. The kernel is
what a program does with its blocks. kernel_specs.py has the expected results, in NumPy.
"""

from __future__ import annotations

import functools
from typing import Any

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.experimental import pallas as pl

BLOCK = 8  # elements of a block, along an axis that is cut
ROWS = 4  # rows of a block that has whole rows
PIECE = 16  # elements of a row that a program looks at together


def struct_like(x: Any) -> Any:
    """The shape and dtype of a result that are those of `x`."""
    return jax.ShapeDtypeStruct(x.shape, x.dtype)


# ---- a program an element ----


def add_kernel(x_ref: Any, y_ref: Any, o_ref: Any) -> None:
    """Sets one element of the result: that of this program's number. The Refs have whole arrays."""
    i = pl.program_id(0)
    o_ref[i] = x_ref[i] + y_ref[i]


def add(x: Any, y: Any) -> Any:
    """x + y, for vectors, by as many programs as there are elements."""
    return pl.pallas_call(add_kernel, struct_like(x), grid=x.shape)(x, y)


# ---- a program a block ----


def double_kernel(x_ref: Any, o_ref: Any) -> None:
    o_ref[...] = 2 * x_ref[...]


def double(x: Any) -> Any:
    """2 * x, for a vector of any length, in blocks of BLOCK elements: each program gets one of `x`, and the
    one of the result that has the same number. The last block may reach beyond the end."""
    spec = pl.BlockSpec((BLOCK,), lambda i: (i,))
    programs = pl.cdiv(x.size, BLOCK)
    return pl.pallas_call(
        double_kernel, struct_like(x), grid=programs, in_specs=[spec], out_specs=spec
    )(x)


def outer_kernel(x_ref: Any, y_ref: Any, o_ref: Any) -> None:
    """Sets a block of the result: each element of `x_ref` times each of `y_ref`."""
    o_ref[...] = x_ref[...][:, None] * y_ref[...][None, :]


def outer(x: Any, y: Any) -> Any:
    """All products of an element of x and one of y: of shape (x.size, y.size), in blocks of BLOCK by BLOCK.
    Program (i, j) gets block i of x and block j of y."""
    return pl.pallas_call(
        outer_kernel,
        jax.ShapeDtypeStruct((x.size, y.size), x.dtype),
        grid=(pl.cdiv(x.size, BLOCK), pl.cdiv(y.size, BLOCK)),
        in_specs=[
            pl.BlockSpec((BLOCK,), lambda i, j: (i,)),
            pl.BlockSpec((BLOCK,), lambda i, j: (j,)),
        ],
        out_specs=pl.BlockSpec((BLOCK, BLOCK), lambda i, j: (i, j)),
    )(x, y)


def relu_gradient_kernel(x_ref: Any, bias_ref: Any, ct_ref: Any, o_ref: Any) -> None:
    """Lets a cotangent through where x + bias is positive, and sets 0 elsewhere, also if it is no number."""
    o_ref[...] = jnp.where(x_ref[...] + bias_ref[...] > 0, ct_ref[...], 0)


def relu_gradient(x: Any, bias: Any, ct: Any) -> Any:
    """The cotangent of the matrix `x`, given that of maximum(x + bias, 0); each program has ROWS rows, and
    all of the bias."""
    rows = pl.BlockSpec((ROWS, x.shape[1]), lambda i: (i, 0))
    whole = pl.BlockSpec(bias.shape, lambda i: (0,))
    return pl.pallas_call(
        relu_gradient_kernel,
        struct_like(x),
        grid=pl.cdiv(x.shape[0], ROWS),
        in_specs=[rows, whole, rows],
        out_specs=rows,
    )(x, bias, ct)


# ---- sums ----


def total_kernel(x_ref: Any, o_ref: Any, *, size: int) -> None:
    """Adds the sum of a block to `o_ref`, a block of one element that all programs have in turn. The first
    program begins at 0. Elements from number `size` on are none of the array's."""
    i = pl.program_id(0)

    @pl.when(i == 0)
    def _() -> None:
        o_ref[...] = jnp.zeros_like(o_ref)

    numbers = i * BLOCK + jnp.arange(BLOCK)
    o_ref[...] += jnp.where(numbers < size, x_ref[...], 0).sum(keepdims=True)


def total(x: Any) -> Any:
    """The sum of a vector of any length, as a vector of one element."""
    return pl.pallas_call(
        functools.partial(total_kernel, size=x.size),
        jax.ShapeDtypeStruct((1,), x.dtype),
        grid=pl.cdiv(x.size, BLOCK),
        in_specs=[pl.BlockSpec((BLOCK,), lambda i: (i,))],
        out_specs=pl.BlockSpec((1,), lambda i: (0,)),
    )(x)


def row_means_kernel(x_ref: Any, o_ref: Any) -> None:
    o_ref[...] = x_ref[...].mean(axis=1)


def row_means(x: Any) -> Any:
    """The mean of each row of a matrix. A program has ROWS whole rows, and as many elements of the result."""
    return pl.pallas_call(
        row_means_kernel,
        jax.ShapeDtypeStruct(x.shape[:1], x.dtype),
        grid=pl.cdiv(x.shape[0], ROWS),
        in_specs=[pl.BlockSpec((ROWS, x.shape[1]), lambda i: (i, 0))],
        out_specs=pl.BlockSpec((ROWS,), lambda i: (i,)),
    )(x)


# ---- softmax ----


def softmax_kernel(x_ref: Any, o_ref: Any) -> None:
    """Sets each row to its exponentials, divided by their sum. No exponential is of more than 0."""
    x = x_ref[...]
    e = jnp.exp(x - x.max(axis=1, keepdims=True))
    o_ref[...] = e / e.sum(axis=1, keepdims=True)


def softmax(x: Any) -> Any:
    """The softmax of each row, ROWS of them to a program."""
    rows = pl.BlockSpec((ROWS, x.shape[1]), lambda i: (i, 0))
    return pl.pallas_call(
        softmax_kernel,
        struct_like(x),
        grid=pl.cdiv(x.shape[0], ROWS),
        in_specs=[rows],
        out_specs=rows,
    )(x)


def long_softmax_kernel(x_ref: Any, o_ref: Any) -> None:
    """The softmax of one row, PIECE elements at a time, in two passes: one for the greatest element and the
    sum of the exponentials, one to store them divided. When a greater element comes, the sum so far is
    multiplied by what that makes of it."""

    def pieces(k: Any) -> Any:
        return pl.ds(k * PIECE, PIECE)

    def take_in(k: Any, carry: Any) -> Any:
        top, total = carry
        x = x_ref[pieces(k)]
        new_top = jnp.maximum(top, x.max())
        return new_top, total * jnp.exp(top - new_top) + jnp.exp(x - new_top).sum()

    def store(k: Any, _: Any) -> None:
        o_ref[pieces(k)] = jnp.exp(x_ref[pieces(k)] - top) / total

    count = x_ref.shape[0] // PIECE
    top, total = lax.fori_loop(0, count, take_in, (-jnp.inf, 0.0))
    lax.fori_loop(0, count, store, None)


def long_softmax(x: Any) -> Any:
    """The softmax of each row, one to a program. Rows have a multiple of PIECE elements."""
    row = pl.BlockSpec((None, x.shape[1]), lambda i: (i, 0))
    return pl.pallas_call(
        long_softmax_kernel, struct_like(x), grid=x.shape[:1], in_specs=[row], out_specs=row
    )(x)
