"""A gradient that may not become too long."""

import numpy as np
import pytest
from drawn import draws, equal
from judged import SMALL_FLOAT
from practice.limit_gradient import limit_gradient

import tinyjax as jax
import tinyjax.numpy as jnp

tree = {"a": 3.0, "b": np.array([1.0, 2.0], np.float32)}


def limited(weights, limit):
    """The gradient of a function whose gradient would be `weights`."""

    def fun(tree):
        same = limit_gradient(tree, limit)
        return weights["a"] * same["a"] + jnp.sum(weights["b"] * same["b"])

    found = jax.grad(fun)(tree)
    return [float(found["a"]), *np.asarray(found["b"]).tolist()]


def weights(a, *b):
    return {"a": a, "b": np.array(b, np.float32)}


def test_forwards_nothing_happens():
    same = limit_gradient(tree, 0.1)
    assert jax.tree.structure(same) == jax.tree.structure(tree)
    assert float(same["a"]) == 3.0 and np.asarray(same["b"]).tolist() == [1.0, 2.0]
    zero, _ = jax.vjp(lambda x: limit_gradient(x, 0.1), np.float32(-0.0))
    assert np.signbit(zero), "what is given comes back bit for bit, -0.0 too"


def test_a_long_gradient_keeps_its_direction_and_has_the_limit_as_length():
    np.testing.assert_allclose(
        limited(weights(2.0, 3.0, 6.0), 1.0), [2 / 7, 3 / 7, 6 / 7], rtol=1e-5
    )
    one = jax.grad(lambda x: limit_gradient(x, 1.0) * 2.0)(1.0)
    assert float(one) == 1.0, f"its length must be the limit, 1, and not {float(one)}"
    np.testing.assert_allclose(limited(weights(2.0, 3.0, 6.0), 3.5), [1.0, 1.5, 3.0], rtol=1e-5)


def test_the_length_is_that_of_all_arrays_together():
    np.testing.assert_allclose(limited(weights(3.0, 4.0, 0.0), 4.5), [2.7, 3.6, 0.0], rtol=1e-5)


@pytest.mark.parametrize("limit", [7.0, 8.0, 100.0])
def test_a_gradient_that_is_short_enough_goes_on_unchanged(limit):
    np.testing.assert_allclose(limited(weights(2.0, -3.0, 6.0), limit), [2.0, -3.0, 6.0], rtol=1e-6)
    pull = jax.vjp(lambda x: limit_gradient(x, 1.0), jnp.zeros(2))[1]
    (found,) = pull(jnp.array([1e-12, -0.0]))
    assert found[0] == np.float32(1e-12) and np.signbit(found[1]), "however short it is"


def test_a_gradient_of_zero_stays_zero():
    assert limited(weights(0.0, 0.0, 0.0), 1.0) == [0.0, 0.0, 0.0]


def test_each_use_has_its_own_limit():
    of_limit = lambda limit: jax.grad(lambda x: limit_gradient(x, limit) * 5.0)(1.0)  # noqa: E731
    found = jax.vmap(of_limit)(jnp.array([0.0, 2.0, 9.0]))
    np.testing.assert_allclose(found, [0.0, 2.0, 5.0], rtol=1e-6, err_msg="limits are traced")
    found = jax.grad(lambda x: limit_gradient(x, 1.0) * 5.0 + limit_gradient(x, 2.0) * 5.0)(1.0)
    np.testing.assert_allclose(found, 3.0, rtol=1e-6)


def test_only_what_comes_through_it_is_limited():
    np.testing.assert_allclose(jax.grad(lambda x: 9.0 * x + limit_gradient(x, 1.0))(2.0), 10.0)


def test_what_is_done_with_it_before_is_differentiated_as_ever():
    np.testing.assert_allclose(jax.grad(lambda x: limit_gradient(x * x, 1.0) * 5.0)(3.0), 6.0)


@pytest.mark.parametrize("dtype", ["float16", SMALL_FLOAT.name, "float32"])
def test_a_gradient_keeps_its_dtype_and_shape(dtype):
    x, ct = jnp.ones((2, 1, 2), dtype), jnp.full((2, 1, 2), 3, dtype)
    for limit, want in ((3.0, 1.5), (100.0, 3.0)):
        (found,) = jax.vjp(lambda x: limit_gradient(x, limit), x)[1](ct)  # noqa: B023
        assert (found.dtype, found.shape) == (ct.dtype, ct.shape), f"of {dtype}, not {found.dtype}"
        np.testing.assert_allclose(np.asarray(found, float), np.full((2, 1, 2), want), rtol=1e-2)
        for slope, limit, want in ((1.0, 0.01, 0.01), (1.05, 1.0, 1.0), (0.95, 1.0, 0.95)):
            pull = jax.vjp(lambda x: limit_gradient(x, limit), jnp.ones((), dtype))[1]  # noqa: B023
            (found,) = pull(jnp.asarray(slope, dtype))
            np.testing.assert_allclose(float(found), want, rtol=1e-2)
    many = jax.vjp(lambda xs: limit_gradient(xs, 3.0), [np.float32(0)] * 9)[1]([np.float32(2)] * 9)
    np.testing.assert_allclose(many[0], np.ones(9), rtol=1e-6, err_msg="all of nine count")


def test_trees_may_be_deep_and_values_go_through_whatever_they_are():
    empty = np.zeros((0, 2), np.float32)
    deep = {"0": empty, "a": [1.0, (np.nan, np.inf)], "b": {}, "c": empty}
    nested = (None, {"a": {"b": np.float32([3.0, 4.0])}}, [(), empty])
    (found,) = jax.vjp(lambda t: limit_gradient(t, 1.0), nested)[1](nested)
    assert jax.tree.structure(found) == jax.tree.structure(nested), "None may come first"
    np.testing.assert_allclose(found[1]["a"]["b"], [0.6, 0.8], rtol=1e-6)
    same = limit_gradient(deep, 1.0)
    assert jax.tree.structure(same) == jax.tree.structure(deep)
    assert np.isnan(same["a"][1][0]) and np.isinf(same["a"][1][1])
    found = jax.grad(
        lambda t: 3.0 * limit_gradient(t, 1.0)["a"][0] + 4.0 * limit_gradient(t, 2.0)["a"][1][1]
    )(deep)
    assert [float(x) for x in jax.tree.leaves(found["a"])] == [1.0, 0.0, 2.0]


def test_of_any_tree_and_batch_the_length_of_the_whole_is_limited():
    for draw in draws(10):
        dtype = draw.choice([np.float32, np.float32, np.float16])
        leaves = [draw.whole(draw.shape(2), dtype) for _ in range(draw.count(1))]
        form = draw.choice([list, lambda xs: {"b": xs[0], "a": (xs[1:],)}])
        cts = [draw.whole(x.shape, dtype) for x in leaves]
        length = np.sqrt(sum((ct.astype(np.float64) ** 2).sum() for ct in cts))
        limit = draw.choice([0.5, 1, 3.0, 100.0, float(length) + 1])
        factor = 1 if length <= limit else limit / length
        tree, structure = form(leaves), jax.tree.structure(form(leaves))
        pull = lambda ct, tree=tree, limit=limit: (  # noqa: E731
            jax.vjp(lambda t: limit_gradient(t, limit), tree)[1](ct)[0]
        )
        about = {"tree": tree, "ct": cts, "limit": limit}
        rtol = 1e-5 if dtype is np.float32 else 3e-3
        found = pull(form(cts))
        assert jax.tree.structure(found) == structure, f"of {about}: found {found}"
        expected = [ct * factor for ct in jax.tree.leaves(form(cts))]
        equal(jax.tree.leaves(found), expected, rtol, dtype, **about)
        if factor == 1:
            equal(jax.tree.leaves(found), jax.tree.leaves(form(cts)), **about)
        batch = form([np.stack([ct, 0 * ct, 4 * ct]) for ct in cts])  # each has a length of its own
        found = jax.vmap(pull)(batch)
        for i, times in enumerate((1, 0, 4)):
            factor = min(1, limit / (times * length)) if times * length else 1
            expected = [ct * times * factor for ct in jax.tree.leaves(form(cts))]
            equal([x[i] for x in jax.tree.leaves(found)], expected, rtol, **about, in_batch=i)


def test_of_leaves_of_several_dtypes_each_is_as_exact_as_its_own():
    tree = {"a": jnp.zeros(3, "float16"), "b": jnp.zeros(3, "float32")}
    pull = jax.vjp(lambda t: limit_gradient(t, 0.3), tree)[1]
    (found,) = pull(jax.tree.map(lambda x: x + 7, tree))
    np.testing.assert_allclose(found["b"], np.full(3, 0.3 / np.sqrt(6)), rtol=1e-5)
    np.testing.assert_allclose(np.asarray(found["a"], float), found["b"], rtol=1e-3)


def test_its_derivative_by_the_gradient_is_that_of_the_limited_one():
    """The gradient 2 * x, limited to 1, is x / |x|: it turns with x, and is no longer for a longer x."""
    x = jnp.array([3.0, 4.0])
    limited_gradient = jax.grad(lambda x: jnp.sum(limit_gradient(x, 1.0) ** 2))
    for direction, want in (([3.0, 4.0], [0.0, 0.0]), ([-4.0, 3.0], [-0.8, 0.6])):
        (moved,) = jax.vjp(limited_gradient, x)[1](jnp.array(direction))
        np.testing.assert_allclose(moved, want, atol=1e-6)
    short = jax.grad(lambda x: jnp.sum(limit_gradient(x, 100.0) ** 2))
    (moved,) = jax.vjp(short, x)[1](jnp.array([1.0, -1.0]))
    np.testing.assert_allclose(moved, [2.0, -2.0], rtol=1e-6)


def test_limits_have_any_scale_and_64_bits_stay_exact():
    with jax.enable_x64(True):
        for scale in (1e-20, 1e-8, 1e-3, 1e8):
            pull = jax.vjp(lambda x: limit_gradient(x, scale), jnp.zeros(2))[1]  # noqa: B023
            for times in (1 + 1e-7, 5.0, 1e3):
                (found,) = pull(times * scale * jnp.array([0.6, 0.8]))
                np.testing.assert_allclose(found, [0.6 * scale, 0.8 * scale], rtol=1e-12)
            (found,) = pull(scale * jnp.array([0.1, 0.7]))
            np.testing.assert_allclose(found, [0.1 * scale, 0.7 * scale], rtol=1e-12)
        one = jax.vjp(lambda x: limit_gradient(x, 1.0), jnp.zeros(2))[1]
        (found,) = one(jnp.array([np.nan, 5.0]))
        assert np.isnan(found[0]) and found[1] != 0, (
            "where a length is no number, nothing is set to 0"
        )
