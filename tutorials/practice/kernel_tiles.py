"""Lesson 19: kernels of tiles; sums and carries that go from program to program.

Tiles have TILE by TILE elements, and matrices have a multiple of TILE rows and columns.
"""

from __future__ import annotations

from typing import Any

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.experimental import pallas as pl

TILE = 8


def transpose_kernel(x_ref: Any, o_ref: Any) -> None:
    o_ref[...] = x_ref[...].T


def transpose(x: Any) -> Any:
    """x.T, in tiles: program (i, j) stores tile (i, j) of the result."""
    return pl.pallas_call(
        transpose_kernel,
        jax.ShapeDtypeStruct(x.shape[::-1], x.dtype),
        grid=(x.shape[1] // TILE, x.shape[0] // TILE),
        in_specs=[pl.BlockSpec((TILE, TILE), lambda i, j: (j, i))],
        out_specs=pl.BlockSpec((TILE, TILE), lambda i, j: (i, j)),
    )(x)


# ---- products ----


def matmul_kernel(x_ref: Any, y_ref: Any, o_ref: Any) -> None:
    """Adds the product of two tiles to one of the result. Program (i, j, k) has tile (i, k) of x and tile
    (k, j) of y; those with the same i and j follow each other, and have the same tile of the result."""

    @pl.when(pl.program_id(2) == 0)
    def _() -> None:
        o_ref[...] = jnp.zeros_like(o_ref)

    o_ref[...] += x_ref[...] @ y_ref[...]


def matmul(x: Any, y: Any) -> Any:
    """x @ y: the grid is (tiles of rows, tiles of columns, tiles along the axis that is summed over)."""
    (m, k), n = x.shape, y.shape[1]
    return pl.pallas_call(
        matmul_kernel,
        jax.ShapeDtypeStruct((m, n), x.dtype),
        grid=(m // TILE, n // TILE, k // TILE),
        in_specs=[
            pl.BlockSpec((TILE, TILE), lambda i, j, k: (i, k)),
            pl.BlockSpec((TILE, TILE), lambda i, j, k: (k, j)),
        ],
        out_specs=pl.BlockSpec((TILE, TILE), lambda i, j, k: (i, j)),
    )(x, y)


def quantized_matmul_kernel(x_ref: Any, codes_ref: Any, scale_ref: Any, o_ref: Any) -> None:
    """As matmul_kernel, but the right tile has int8 codes; those of column j must be multiplied by
    scale_ref[j] when they are floats. The scale is applied once, when the sum is complete."""
    k = pl.program_id(2)

    @pl.when(k == 0)
    def _() -> None:
        o_ref[...] = jnp.zeros_like(o_ref)

    o_ref[...] += x_ref[...] @ codes_ref[...].astype(x_ref.dtype)

    @pl.when(k == pl.num_programs(2) - 1)
    def _() -> None:
        o_ref[...] *= scale_ref[...]


def quantized_matmul(x: Any, codes: Any, scale: Any) -> Any:
    """x @ (codes * scale), where codes are int8 and each column has a scale."""
    (m, k), n = x.shape, codes.shape[1]
    return pl.pallas_call(
        quantized_matmul_kernel,
        jax.ShapeDtypeStruct((m, n), x.dtype),
        grid=(m // TILE, n // TILE, k // TILE),
        in_specs=[
            pl.BlockSpec((TILE, TILE), lambda i, j, k: (i, k)),
            pl.BlockSpec((TILE, TILE), lambda i, j, k: (k, j)),
            pl.BlockSpec((TILE,), lambda i, j, k: (j,)),
        ],
        out_specs=pl.BlockSpec((TILE, TILE), lambda i, j, k: (i, j)),
    )(x, codes, scale)


# ---- convolutions ----


def convolve_kernel(x_ref: Any, w_ref: Any, o_ref: Any) -> None:
    """Sets a block of TILE elements: element i of the result is the sum of x[i + j] * w[j]. `x_ref` has all
    of x, and some zeros behind it: a slice that would reach beyond an array is moved until it fits."""
    first = pl.program_id(0) * TILE
    o_ref[...] = sum(x_ref[pl.ds(first + j, TILE)] * w_ref[j] for j in range(w_ref.shape[0]))


def convolve(x: Any, w: Any) -> Any:
    """The sums of x[i + j] * w[j], for each i for which x has all elements."""
    count = x.size - w.size + 1
    programs = pl.cdiv(count, TILE)
    padded = jnp.pad(x, (0, programs * TILE + w.size - 1 - x.size))
    return pl.pallas_call(
        convolve_kernel,
        jax.ShapeDtypeStruct((count,), x.dtype),
        grid=programs,
        in_specs=[pl.no_block_spec, pl.no_block_spec],
        out_specs=pl.BlockSpec((TILE,), lambda i: (i,)),
    )(padded, w)


def convolve_image_kernel(x_ref: Any, w_ref: Any, o_ref: Any) -> None:
    """Sets a tile: element (i, j) of the result is the sum of x[i + a, j + b] * w[a, b]. `x_ref` has all of
    the image, and zeros beyond its end."""
    top, left = pl.program_id(0) * TILE, pl.program_id(1) * TILE
    out = jnp.zeros_like(o_ref)
    for a in range(w_ref.shape[0]):
        for b in range(w_ref.shape[1]):
            out += x_ref[pl.ds(top + a, TILE), pl.ds(left + b, TILE)] * w_ref[a, b]
    o_ref[...] = out


def convolve_image(x: Any, w: Any) -> Any:
    """The sums of x[i + a, j + b] * w[a, b], for each place at which the image has all elements."""
    counts = [n - size + 1 for n, size in zip(x.shape, w.shape)]
    programs = tuple(pl.cdiv(count, TILE) for count in counts)
    pads = [(0, count * TILE + size - 1 - n) for count, size, n in zip(programs, w.shape, x.shape)]
    return pl.pallas_call(
        convolve_image_kernel,
        jax.ShapeDtypeStruct(counts, x.dtype),
        grid=programs,
        in_specs=[pl.no_block_spec, pl.no_block_spec],
        out_specs=pl.BlockSpec((TILE, TILE), lambda i, j: (i, j)),
    )(jnp.pad(x, pads), w)


# ---- a scan ----


def running_sum_kernel(x_ref: Any, o_ref: Any, carry_ref: Any) -> None:
    """Sets a block to its running sums, on top of `carry_ref`: the sum of all blocks before, which a program
    finds as the one before it left it. The first one begins at 0."""

    @pl.when(pl.program_id(0) == 0)
    def _() -> None:
        carry_ref[...] = jnp.zeros_like(carry_ref)

    sums = carry_ref[...] + jnp.cumsum(x_ref[...])
    o_ref[...] = sums
    carry_ref[...] = sums[-1:]


def running_sum(x: Any) -> Any:
    """The sums of the first 1, 2, 3, ... elements of a vector of any length."""
    block = pl.BlockSpec((TILE,), lambda i: (i,))
    return pl.pallas_call(
        running_sum_kernel,
        jax.ShapeDtypeStruct(x.shape, x.dtype),
        grid=pl.cdiv(x.size, TILE),
        in_specs=[block],
        out_specs=block,
        scratch_shapes=[pl.ANY((1,), x.dtype)],
    )(x)
