"""What vmap makes of an all_gather."""

import numpy as np
import pytest
from drawn import drawn, same, shape_of_rank, shown

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax

TABLE = np.arange(6.0, dtype=np.float32).reshape(3, 2)


def gathered(x, in_axes=0, **options):
    """What all examples get, which is one for all."""
    gather = jax.vmap(
        lambda x: lax.all_gather(x, "i", **options), in_axes, out_axes=None, axis_name="i"
    )
    return np.asarray(gather(x))


def test_each_example_gets_all_of_them():
    each = jax.vmap(lambda x: lax.all_gather(x, "i"), axis_name="i")(TABLE)
    np.testing.assert_array_equal(each, [TABLE] * 3)


def test_what_is_gathered_is_one_for_all():
    np.testing.assert_array_equal(gathered(TABLE), TABLE, "out_axes=None: it is not mapped")


def test_examples_are_stacked_along_the_axis_that_is_asked_for():
    np.testing.assert_array_equal(gathered(TABLE, axis=1), TABLE.T)
    np.testing.assert_array_equal(gathered(TABLE, axis=-1), TABLE.T)


def test_examples_along_any_axis_are_gathered():
    np.testing.assert_array_equal(gathered(TABLE, in_axes=1), TABLE.T, "the batch dim is 1")
    np.testing.assert_array_equal(gathered(TABLE, in_axes=1, axis=1), TABLE, "the batch dim is 1")


@pytest.mark.parametrize("axis", [0, 1])
def test_tiled_they_are_put_together_along_it(axis):
    cube = np.arange(24.0, dtype=np.float32).reshape(3, 2, 4)
    want = np.concatenate(list(cube), axis)
    np.testing.assert_array_equal(gathered(cube, axis=axis, tiled=True), want, "as concatenated")


@pytest.mark.parametrize("axis", [0, 1])
def test_what_all_examples_share_is_repeated(axis):
    def of_shared(**options):
        program = jax.vmap(
            lambda _: lax.all_gather(jnp.asarray(TABLE), "i", **options),
            out_axes=None,
            axis_name="i",
        )
        return np.asarray(program(np.zeros(4)))

    np.testing.assert_array_equal(of_shared(axis=axis), np.stack([TABLE] * 4, axis))
    want = np.concatenate([TABLE] * 4, axis)
    np.testing.assert_array_equal(of_shared(axis=axis, tiled=True), want, "as concatenated")
    share = lambda y: jax.vmap(lambda _: lax.all_gather(y, "i"), axis_name="i")(np.zeros(4))  # noqa: E731
    numbers = share(jnp.array([1, 2], "int8"))
    assert numbers.dtype == np.int8 and numbers.shape == (4, 4, 2)
    np.testing.assert_array_equal(share(jnp.float32(2)), np.full((4, 4), 2))
    assert jax.make_jaxpr(share)(TABLE).out_avals[0].shape == (4, 4, 3, 2), "it may be traced"


@pytest.mark.parametrize("tiled", [False, True])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("dim", [0, 1, 2])
def test_over_another_name_each_example_is_gathered_by_itself(dim, axis, tiled):
    """Two devices "j", each with five examples, which are matrices of 3 times 2."""
    x = np.arange(60.0, dtype=np.float32).reshape(2, 5, 3, 2)
    put_together = np.concatenate if tiled else np.stack
    want = np.stack([put_together(list(x[:, i]), axis) for i in range(5)])

    def of_device(matrices):
        gather = lambda m: lax.all_gather(m, "j", axis=axis, tiled=tiled)  # noqa: E731
        return jax.vmap(gather, in_axes=dim)(matrices)

    got = jax.vmap(of_device, out_axes=None, axis_name="j")(np.moveaxis(x, 1, dim + 1))
    np.testing.assert_array_equal(got, want, f"examples along axis {dim}, {axis=}, {tiled=}")


@pytest.mark.parametrize("in_axes", [0, 1, 2, 3])
@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("dtype", ["float16", "int8", "bool"])
def test_arrays_of_any_rank_and_dtype_are_gathered_wherever_their_examples_are(
    in_axes, axis, dtype
):
    x = np.arange(48).reshape(2, 3, 1, 8).astype(dtype)
    parts = [np.take(x, i, in_axes) for i in range(x.shape[in_axes])]
    for tiled in (False, True):
        got = gathered(x, in_axes, axis=axis, tiled=tiled)
        want = np.concatenate(parts, axis) if tiled else np.stack(parts, axis)
        assert got.dtype == x.dtype
        np.testing.assert_array_equal(got, want, f"axis {axis}, batch dim {in_axes}, tiled={tiled}")


@pytest.mark.parametrize("outer", [0, 1, 2])
@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("tiled", [False, True])
def test_over_another_name_examples_may_be_along_any_axis(outer, axis, tiled):
    x = np.arange(48.0, dtype=np.float32).reshape(2, 3, 2, 4)
    axis = min(axis, 1) if tiled else axis

    def inner(x):
        return jax.vmap(lambda x: lax.all_gather(x, "i", axis=axis, tiled=tiled), axis_name="i")(x)

    got = jax.vmap(inner, outer, axis_name="j")(x)
    want = np.stack([inner(np.take(x, i, outer)) for i in range(x.shape[outer])])
    np.testing.assert_array_equal(got, want)


@drawn(90, most=5)
def test_drawn_examples_are_gathered_as_numpy_does(rng, most):
    """Over the name of one of two vmaps; along the other there are examples, or all have one x."""
    sizes, tiled = rng.integers(1, 4, 2).tolist(), bool(rng.integers(2))
    own = list(shape_of_rank(rng, int(rng.integers((most + 1) // 2, most + 1))))
    mapped, over = rng.random(2) < 0.6, int(rng.integers(2))
    axis = int(rng.integers(len(own) + (not tiled)))
    if rng.integers(2) and axis < len(own):
        own[axis] = sizes[over]
    whole = rng.integers(0, 99, [*(n for n, m in zip(sizes, mapped) if m), *own])
    axis -= int(rng.integers(2)) * (len(own) + (not tiled))  # counted from the end
    given, dims, place = whole.astype("int16"), [None, None], int(mapped.sum())
    for n in (1, 0):
        if mapped[n]:
            place -= 1
            dims[n] = int(rng.integers(given.ndim - place))
            given = np.moveaxis(given, place, place + dims[n])
    with shown(sizes=sizes, shape=own, dims=dims, over="ij"[over], axis=axis, tiled=tiled):
        fun = lambda x, _: lax.all_gather(x, "ij"[over], axis=axis, tiled=tiled)  # noqa: E731
        for name, dim in (("j", dims[1]), ("i", dims[0])):
            fun = jax.vmap(fun, (dim, 0), axis_name=name)
        shape = [n if m else 1 for n, m in zip(sizes, mapped)]
        full = np.broadcast_to(whole.astype("int16").reshape([*shape, *own]), [*sizes, *own])
        put_together = np.concatenate if tiled else np.stack
        each = np.stack([put_together(list(xs), axis) for xs in np.moveaxis(full, over, 1)])
        want = np.stack([each] * sizes[over], over)
        same(fun(given, np.zeros(sizes)), want, "what each example gets", rtol=0)
