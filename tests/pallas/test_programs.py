"""Whole kernels, as one writes them: interpreted and compiled they give what jax.numpy gives."""

import numpy as np
import pytest

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.experimental import pallas as pl
from tinyjax.pallas.call import lowered_call

RNG = np.random.default_rng(0)
both_ways = pytest.mark.parametrize("interpret", [True, False], ids=["interpreted", "compiled"])


def floats(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def attention_kernel(q_ref, k_ref, v_ref, o_ref, max_ref, sum_ref, acc_ref):
    """Attention without its matrix: a softmax that is corrected with each block of keys."""
    j = pl.program_id(1)

    @pl.when(j == 0)
    def _():
        max_ref[...] = jnp.full_like(max_ref, -jnp.inf)
        sum_ref[...] = jnp.zeros_like(sum_ref)
        acc_ref[...] = jnp.zeros_like(acc_ref)

    scores = q_ref[...] @ k_ref[...].T
    new_max = jnp.maximum(max_ref[...], scores.max(1))
    weights = jnp.exp(scores - new_max[:, None])
    correction = jnp.exp(max_ref[...] - new_max)
    sum_ref[...] = sum_ref[...] * correction + weights.sum(1)
    acc_ref[...] = acc_ref[...] * correction[:, None] + weights @ v_ref[...]
    max_ref[...] = new_max

    @pl.when(j == pl.num_programs(1) - 1)
    def _():
        o_ref[...] = acc_ref[...] / sum_ref[...][:, None]


def attention(q, k, v, interpret=False):
    queries = pl.BlockSpec((8, 4), lambda i, j: (i, 0))
    keys = pl.BlockSpec((6, 4), lambda i, j: (j, 0))
    return pl.pallas_call(
        attention_kernel,
        jax.ShapeDtypeStruct(q.shape, q.dtype),
        grid=(2, 3),
        in_specs=[queries, keys, keys],
        out_specs=queries,
        scratch_shapes=[pl.ANY(shape, q.dtype) for shape in [(8,), (8,), (8, 4)]],
        interpret=interpret,
    )(q, k, v)


@both_ways
def test_attention_block_by_block(interpret):
    q, k, v = floats(16, 4), floats(18, 4), floats(18, 4)
    expected = jax.nn.softmax(q @ k.T, axis=1) @ v
    np.testing.assert_allclose(attention(q, k, v, interpret), expected, rtol=1e-5, atol=1e-6)


def test_blocks_of_queries_are_parallel_and_blocks_of_keys_a_loop():
    (eqn,) = jax.make_jaxpr(attention)(floats(16, 4), floats(18, 4), floats(18, 4)).eqns
    (loop,) = [e for e in lowered_call(eqn.params).eqns if e.primitive.name == "scan"]
    assert loop.params["length"] == 3
    assert [v.aval.shape for v in loop.outvars] == [(2, 8, 4), (2, 8), (2, 8), (2, 8, 4)]


@both_ways
def test_a_stencil_reads_blocks_that_overlap(interpret):
    def kernel(x_ref, o_ref):
        o_ref[...] = x_ref[pl.ds(0, 6)] + 2 * x_ref[pl.ds(1, 6)] + x_ref[pl.ds(2, 6)]

    x = floats(20)
    call = pl.pallas_call(
        kernel,
        jax.ShapeDtypeStruct((18,), x.dtype),
        grid=3,
        in_specs=[pl.BlockSpec((pl.Element(8),), lambda i: (6 * i,))],
        out_specs=pl.BlockSpec((6,), lambda i: (i,)),
        interpret=interpret,
    )
    np.testing.assert_allclose(call(x), x[:-2] + 2 * x[1:-1] + x[2:], rtol=1e-6)


@both_ways
def test_a_histogram_is_one_block_of_all_programs(interpret):
    def kernel(x_ref, o_ref):
        @pl.when(pl.program_id(0) == 0)
        def _():
            o_ref[...] = jnp.zeros_like(o_ref)

        jax.ref.addupdate(o_ref, x_ref[...], jnp.ones(x_ref.shape, o_ref.dtype))

    x = RNG.integers(0, 5, 24).astype(np.int32)
    call = pl.pallas_call(
        kernel,
        jax.ShapeDtypeStruct((5,), np.int32),
        grid=4,
        in_specs=[pl.BlockSpec((6,), lambda i: (i,))],
        interpret=interpret,
    )
    np.testing.assert_array_equal(call(x), np.bincount(x, minlength=5))


@both_ways
def test_refs_for_a_while_and_parts_of_refs(interpret):
    def kernel(x_ref, o_ref):
        def body(turned_ref):
            @pl.loop(0, 6)
            def _(i):
                turned_ref[i] = x_ref[5 - i]

            part = o_ref.at[pl.ds(1, 4)]
            part[...] = turned_ref[pl.ds(1, 4)]
            part.at[0].set(jnp.float32(7))

        pl.run_scoped(body, pl.ANY((6,), jnp.float32))

    x, nan = np.arange(6, dtype=np.float32), np.nan
    call = pl.pallas_call(kernel, jax.ShapeDtypeStruct((6,), x.dtype), interpret=interpret)
    np.testing.assert_array_equal(call(x), [nan, 7, 3, 2, 1, nan])
