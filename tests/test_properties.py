"""What holds for every shape, dtype and tree: hypothesis looks for one for which it does not."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import tinyjax as jax
import tinyjax.numpy as jnp

DTYPES = ["bool", "int8", "uint8", "int32", "uint32", "float16", "float32"]
sizes = st.integers(0, 5)
shapes = st.lists(sizes, max_size=4).map(tuple)
leaves = st.integers(-5, 5) | st.none()
trees = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text("abc", max_size=2), inner, max_size=3)
    ),
    max_leaves=8,
)
# Compiling takes time, and how long is no property of the program.
few = settings(max_examples=25, deadline=None)
many = settings(max_examples=100, deadline=None)


def values(shape, dtype, seed=0):
    """Small integers: exact in every dtype, so that results can be compared for equality."""
    return np.random.default_rng(seed).integers(0, 4, shape).astype(dtype)


@many
@given(trees)
def test_a_tree_is_what_its_leaves_and_structure_make(tree):
    flat, treedef = jax.tree.flatten(tree)
    assert jax.tree.unflatten(treedef, flat) == tree


@many
@given(shapes, st.sampled_from(DTYPES), st.sampled_from(DTYPES))
def test_promotion_does_not_depend_on_order_or_transformation(shape, a, b):
    x, y = values(shape, a), values(shape, b, 1)
    out, swapped = jnp.add(x, y), jnp.add(y, x)
    traced = jax.eval_shape(jnp.add, x, y)
    assert out.dtype == swapped.dtype == traced.dtype == jnp.result_type(x, y)
    np.testing.assert_array_equal(out, swapped)


@few
@given(shapes, st.data(), st.sampled_from(["int32", "float32", "bool"]))
def test_compiled_broadcasting_is_numpys(shape, data, dtype):
    other = tuple(data.draw(st.sampled_from([1, size])) for size in shape)
    x, y = values(shape, dtype), values(other, dtype, 1)
    got = jax.jit(lambda x, y: jnp.where(x > y, x, y))(x, y)
    np.testing.assert_array_equal(got, np.where(x > y, x, y))


@few
@given(shapes, st.data(), st.booleans())
def test_compiled_reductions_are_numpys(shape, data, keepdims):
    axes = data.draw(st.sets(st.integers(0, len(shape) - 1)) if shape else st.just(set()))
    x = values(shape, "float32")
    got = jax.jit(lambda x: jnp.sum(x, tuple(axes), keepdims=keepdims))(x)
    np.testing.assert_array_equal(got, np.sum(x, tuple(axes), keepdims=keepdims))


@many
@given(shapes, st.data())
def test_indexing_is_numpys_within_bounds(shape, data):
    index = tuple(
        data.draw(st.slices(size) | (st.integers(-size, size - 1) if size else st.slices(size)))
        for size in shape
    )
    x = values(shape, "int32")
    np.testing.assert_array_equal(jnp.asarray(x)[index], x[index])


@many
@given(st.lists(st.integers(1, 4), min_size=1, max_size=3).map(tuple), st.data())
def test_vmap_over_any_axis_is_a_loop_over_it(shape, data):
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    out_axis = data.draw(st.integers(0, len(shape) - 1))
    x = values(shape, "float32")
    f = lambda row: row * 2 + jnp.sum(row)  # noqa: E731
    looped = np.stack([np.asarray(f(row)) for row in np.moveaxis(x, axis, 0)], out_axis)
    np.testing.assert_array_equal(jax.vmap(f, in_axes=axis, out_axes=out_axis)(x), looped)


@few
@given(st.lists(st.integers(1, 3), max_size=3).map(tuple))
def test_a_gradient_has_the_shape_and_dtype_of_its_argument(shape):
    x = values(shape, "float16")
    gradient = jax.grad(lambda x: jnp.sum(jnp.sin(x) * 2, dtype="float32"))(x)
    assert gradient.shape == shape and gradient.dtype == x.dtype
