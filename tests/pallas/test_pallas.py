"""Kernels of one's own: interpreted, compiled and transformed."""

import numpy as np
import pytest

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.experimental import pallas as pl

X = np.arange(32, dtype=np.float32).reshape(4, 8)


def struct(*shape, dtype=jnp.float32):
    return jax.ShapeDtypeStruct(shape, dtype)


def sum_kernel(x_ref, o_ref):
    """Adds up blocks along the last axis of the grid."""

    @pl.when(pl.program_id(1) == 0)
    def _():
        o_ref[...] = jnp.zeros_like(o_ref)

    o_ref[...] += x_ref[...]


def sums(x, interpret=False):
    """Of each row, the blocks of two elements added up."""
    return pl.pallas_call(
        sum_kernel,
        struct(x.shape[0], 2),
        grid=(x.shape[0], x.shape[1] // 2),
        in_specs=[pl.BlockSpec((None, 2), lambda i, k: (i, k))],
        out_specs=pl.BlockSpec((None, 2), lambda i, k: (i, 0)),
        interpret=interpret,
    )(x)


SUMS = X.reshape(4, 4, 2).sum(1)


def test_programs_that_follow_each_other_add_to_one_block():
    np.testing.assert_array_equal(sums(X, interpret=True), SUMS)
    np.testing.assert_array_equal(sums(X), SUMS)
    np.testing.assert_array_equal(jax.jit(sums, static_argnums=1)(X, True), SUMS)


def test_a_batch_is_one_more_axis_of_the_grid():
    batch = np.stack([X, X + 1], axis=1)
    expected = np.stack([SUMS, SUMS + 4])
    interpreted = jax.vmap(lambda x: sums(x, interpret=True), in_axes=1)
    np.testing.assert_array_equal(interpreted(batch), expected)
    np.testing.assert_array_equal(jax.vmap(sums, in_axes=1)(batch), expected)
    assert "grid=(2, 4, 4)" in str(jax.make_jaxpr(jax.vmap(sums, in_axes=1))(batch))


def test_a_kernel_is_interpreted_program_by_program_on_values():
    seen = []

    def kernel(x_ref, o_ref):
        seen.append((int(pl.program_id(0)), float(x_ref[0])))
        o_ref[...] = jax.jit(jnp.square)(x_ref[...])

    spec = pl.BlockSpec((2,), lambda i: (i,))
    call = pl.pallas_call(
        kernel, struct(4), grid=2, in_specs=[spec], out_specs=spec, interpret=True
    )
    np.testing.assert_array_equal(call(np.arange(4.0)), [0, 1, 4, 9])
    assert seen == [(0, 0.0), (1, 2.0)]


def test_disable_jit_interprets_what_would_be_compiled():
    with jax.disable_jit():
        np.testing.assert_array_equal(jax.jit(sums)(X), SUMS)


def test_what_lies_beyond_an_array_is_nan_and_is_not_written():
    spec = pl.BlockSpec((3,), lambda i: (i,))
    seen = []

    def kernel(x_ref, o_ref):
        seen.append(np.asarray(x_ref[...]))
        o_ref[...] = x_ref[...] + 1

    args = (kernel, struct(4))
    specs = {"grid": 2, "in_specs": [spec], "out_specs": spec}
    out = pl.pallas_call(*args, **specs, interpret=True)(np.arange(4, dtype=np.float32))
    np.testing.assert_array_equal(seen, [[0, 1, 2], [3, np.nan, np.nan]])
    np.testing.assert_array_equal(out, [1, 2, 3, 4])


def test_a_jvp_has_the_blocks_of_the_call():
    out, tangent = jax.jvp(sums, (X,), (2 * X,))
    np.testing.assert_array_equal(out, SUMS)
    np.testing.assert_array_equal(tangent, 2 * SUMS)


def test_reverse_mode_asks_for_custom_vjp():
    with pytest.raises(ValueError, match="no reverse mode.*custom_vjp"):
        jax.grad(lambda x: sums(x).sum())(X)

    @jax.custom_vjp
    def f(x):
        return sums(x)

    f.defvjp(lambda x: (sums(x), None), lambda _, ct: (jnp.tile(ct, (1, 4)),))
    np.testing.assert_array_equal(jax.grad(lambda x: f(x)[0, 1])(X)[0], [0, 1] * 4)


def test_a_scratch_array_is_kept_from_program_to_program():
    def kernel(x_ref, y_ref, o_ref, sum_ref):
        k = pl.program_id(2)

        @pl.when(k == 0)
        def _():
            sum_ref[...] = jnp.zeros_like(sum_ref)

        sum_ref[...] += x_ref[...] @ y_ref[...]

        @pl.when(k == pl.num_programs(2) - 1)
        def _():
            o_ref[...] = sum_ref[...]

    call = pl.pallas_call(
        kernel,
        struct(4, 4),
        grid=(2, 2, 4),
        in_specs=[
            pl.BlockSpec((2, 2), lambda i, j, k: (i, k)),
            pl.BlockSpec((2, 2), lambda i, j, k: (k, j)),
        ],
        out_specs=pl.BlockSpec((2, 2), lambda i, j, k: (i, j)),
        scratch_shapes=[pl.ANY((2, 2), jnp.float32)],
    )
    np.testing.assert_array_equal(call(X, X.reshape(8, 4)), X @ X.reshape(8, 4))


def test_the_kernel_is_a_parameter_of_the_equation():
    text = str(jax.make_jaxpr(sums)(X))
    assert "pallas_call[" in text
    assert ":i32[] = program_id[axis=1]" in text
    assert (
        "grid_mapping=GridMapping(grid=(4, 4), block_mappings=(BlockMapping(block_shape=(Squeezed(), Bl"
        in text
    )
