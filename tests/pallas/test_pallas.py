"""Custom kernels: interpreted, compiled and transformed."""

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
    """Adds up the blocks of two elements of each row."""
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


def doubled(x, **options):
    """x, and a kernel that doubles it, with other options."""

    def kernel(x_ref, o_ref):
        o_ref[...] = 2 * x_ref[...]

    return pl.pallas_call(kernel, struct(*x.shape), **options)(x)


ROW = pl.BlockSpec((None, 8), lambda i: (i, 0))


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"in_specs": [ROW, ROW]}, ValueError, "Pytree for `in_specs` and `inputs` do not match"),
        ({"in_specs": ROW}, ValueError, "`in_specs` must be a tuple or a list"),
        (
            {"in_specs": [pl.BlockSpec((2,), lambda i: (i,))]},
            ValueError,
            r"Block shape for args\[0\] .* same",
        ),
        (
            {"out_specs": pl.BlockSpec((4, 8), lambda i: i)},
            ValueError,
            "for outputs must return 2 values",
        ),
        (
            {"out_specs": pl.BlockSpec((4, 8), lambda i: (i, 0.5))},
            ValueError,
            r"integer scalars. Output\[1\]",
        ),
        ({"grid": (2.5,)}, ValueError, "Grid must be a tuple of integers"),
        ({"grid": 2.5}, ValueError, "Grid must be a tuple of integers"),
        ({"grid": (-1,)}, ValueError, "sizes of 0 or more"),
        (
            {"grid_spec": pl.GridSpec(grid=(2,))},
            ValueError,
            "`grid_spec` is specified, then `grid`",
        ),
        ({"input_output_aliases": {0: 1}}, ValueError, "output index 1 outside the range"),
        ({"in_specs": [ROW]}, ValueError, "Invalid shape for `swap`"),
    ],
)
def test_what_does_not_match_is_named(options, error, match):
    for interpret in (True, False):
        with pytest.raises(error, match=match):
            doubled(X, **{"grid": (4,)} | options, interpret=interpret)


def test_a_kernel_returns_nothing_and_takes_no_array_from_outside():
    def returns(x_ref, o_ref):
        return x_ref[...]

    outer = jnp.ones(8)

    def captures(x_ref, o_ref):
        o_ref[...] = x_ref[...] + outer

    for interpret in (True, False):
        with pytest.raises(ValueError, match="returns at .* should return None"):
            pl.pallas_call(returns, struct(4, 8), interpret=interpret)(X)
        with pytest.raises(ValueError, match=r"captures constants \[f32\[8\]\]"):
            pl.pallas_call(captures, struct(4, 8), interpret=interpret)(X)


def test_programs_between_two_that_write_to_one_block_are_a_race():
    ones = lambda o_ref: o_ref.__setitem__(..., jnp.ones_like(o_ref))  # noqa: E731
    out = pl.BlockSpec((None, 8), lambda k, i: (i, 0))
    call = pl.pallas_call(ones, struct(4, 8), grid=(2, 4), out_specs=out, interpret=True)
    np.testing.assert_array_equal(call(), np.ones((4, 8)))
    with pytest.raises(
        ValueError, match=r"race: programs \(0, 0\) and \(1, 0\) .* block \(0, 0\) of outputs"
    ):
        pl.pallas_call(ones, struct(4, 8), grid=(2, 4), out_specs=out)()
    windows = pl.BlockSpec((pl.Element(2), 8), lambda i: (i, 0))
    with pytest.raises(ValueError, match=r"programs \(0,\) and \(1,\) .* element \(1, 0\)"):
        pl.pallas_call(ones, struct(4, 8), grid=3, out_specs=windows)()


def test_what_jax_refuses_in_other_words_is_explained():
    with pytest.raises(TypeError, match="block_shape first, then index_map"):
        pl.BlockSpec(lambda i: (i,), (4,))
    with pytest.raises(ValueError, match="read it first"):
        pl.pallas_call(lambda x, o: x[:, None], jax.ShapeDtypeStruct((8,), jnp.float32))(
            jnp.ones(8)
        )


def test_a_block_beyond_the_array_is_an_error_when_compiled():
    beyond = pl.BlockSpec((None, 8), lambda i: (i + 1, 0))
    options = {"grid": (4,), "in_specs": [beyond], "out_specs": ROW}
    np.testing.assert_array_equal(doubled(X, **options, interpret=True)[-1], 2 * X[3])
    with pytest.raises(
        ValueError, match=r"index map of args\[0\] gives \(4, 0\) for program \(3,\)"
    ):
        doubled(X, **options)


def test_an_output_begins_as_the_input_that_is_its_alias():
    def kernel(x_ref, o_ref):
        o_ref[0] = x_ref[1] + 1

    for interpret in (True, False):
        call = pl.pallas_call(
            kernel,
            struct(4, 8),
            grid=(4,),
            in_specs=[ROW],
            out_specs=ROW,
            input_output_aliases={0: 0},
            interpret=interpret,
        )
        expected = X.copy()
        expected[:, 0] = X[:, 1] + 1
        np.testing.assert_array_equal(call(X), expected)


def test_what_is_for_other_machines_says_so():
    with pytest.raises(ImportError, match="is for TPUs"):
        from tinyjax.experimental.pallas import tpu  # noqa: F401
    with pytest.raises(AttributeError, match="for the cores and memories of TPUs and GPUs"):
        pl.semaphore_wait  # noqa: B018
    with pytest.raises(AttributeError, match="JAX has removed it: read by ref"):
        pl.load  # noqa: B018


def test_scalars_and_arrays_without_elements_have_blocks():
    def kernel(x_ref, o_ref):
        o_ref[...] = x_ref[...]

    for interpret in (True, False):
        options = {"interpret": interpret}
        assert pl.pallas_call(kernel, struct(), **options)(2.0) == 2
        assert pl.pallas_call(kernel, struct(0, 8), **options)(X[:0]).shape == (0, 8)
        out = pl.pallas_call(kernel, struct(4, 8), grid=(0,), **options)(X)
        assert np.isnan(out).all()


def test_shard_map_runs_a_kernel_where_it_checks_no_types():
    mesh = jax.make_mesh((1,), ("i",), axis_types=(jax.sharding.AxisType.Auto,))
    specs = {"mesh": mesh, "in_specs": jax.P("i"), "out_specs": jax.P("i")}
    np.testing.assert_array_equal(jax.shard_map(sums, **specs, check_vma=False)(X), SUMS)
    with pytest.raises(
        ValueError, match=r"args\[0\] of a pallas_call has the type .* check_vma=False"
    ):
        jax.shard_map(sums, **specs)(X)


def test_a_loop_of_a_kernel_counts_in_steps():
    def kernel(x_ref, o_ref):
        o_ref[...] = jnp.zeros_like(o_ref)

        @pl.loop(0, 4, step=2)
        def _(i):
            o_ref[i] = x_ref[i]

    expected = X * np.array([1, 0, 1, 0], np.float32)[:, None]
    for interpret in (True, False):
        call = pl.pallas_call(kernel, struct(4, 8), interpret=interpret)
        np.testing.assert_array_equal(call(X), expected)
