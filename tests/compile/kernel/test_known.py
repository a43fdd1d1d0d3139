"""Integers computed from positions are indices; those that may wrap, or come from memory, are not."""

import numpy as np
import pytest
from compiled_and_eager import compare
from lowering import aval, stages

import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.compile.kernel.kernel_ir import Let
from tinyjax.compile.kernel.substitution import every_statement


def operations(f, *avals):
    _, _, kernels = stages(f, *avals)
    statements = [s for kernel in kernels for s in every_statement(kernel.body)]
    return [s.op for s in statements if isinstance(s, Let)]


def test_frames_are_loaded_without_a_clamp():
    def frames(x):
        return x[4 * jnp.arange(8)[:, None] + jnp.arange(10)]

    assert not {"min", "max", "lt", "select"}.intersection(operations(frames, aval(40)))


@pytest.mark.parametrize(
    ("index", "clamps"),
    [(lambda i: i, 1), (lambda i: i % 40, 0), (lambda i: jnp.clip(i - 3, 0, 39), 1)],
)
def test_an_index_of_known_range_has_no_further_clamp(index, clamps):
    found = operations(lambda x: x[index(jnp.arange(64))], aval(40))
    assert found.count("min") == clamps


def test_compiled_indices_equal_eager_ones():
    x, u = np.arange(40, dtype=np.float32), np.arange(64, dtype=np.uint8) * 4

    def of(index, dtype="int32"):
        return lambda x, u, b: x[index(lax.iota(np.dtype(dtype), 64), u, b)]

    cases = {
        "affine": of(lambda i, u, b: 3 * i[:12] + 2),
        "negative": of(lambda i, u, b: i - 20),
        "beyond the end": of(lambda i, u, b: i + 20),
        "of products that wrap": of(lambda i, u, b: (i * (1 << 28)) // (1 << 26)),
        "of sums that wrap": of(lambda i, u, b: i + (2**31 - 40)),
        "of long sums": of(lambda i, u, b: (i + (2**31 - 40)) - (2**31 - 45), "int64"),
        "of quotients": of(lambda i, u, b: i // 3 + (i - 9) // 3),
        "of remainders": of(lambda i, u, b: i % 7 + (i - 9) % 7),
        "of two numbers": of(lambda i, u, b: u.astype(int) % 8 * 5 + u.astype(int) // 64),
        "of booleans": of(lambda i, u, b: b * 8 + ~b * 4 + (u > 7) * 1),
        "of a byte": of(lambda i, u, b: u),
        "of bytes that wrap": of(lambda i, u, b: (u + u) // np.uint8(8) + u * np.uint8(3)),
        "of a choice": of(lambda i, u, b: jnp.where(b, i, 39 - i)),
        **{
            f"of {dtype}": of(lambda i, u, b: i + i * i, dtype)
            for dtype in ("int8", "uint8", "int16", "uint32", "int64", "uint64")
        },
    }
    compare(cases, x, u, u % 3 == 0)
