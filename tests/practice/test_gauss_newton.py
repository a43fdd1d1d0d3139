"""A Jacobian, there and back, that is never made."""

import math

import numpy as np
import pytest
from drawn import draws, equal
from judged import SMALL_FLOAT, each_error, error_passes, raises, unchanged
from practice.gauss_newton import gauss_newton_product, gauss_newton_step

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.core.jaxpr import all_jaxprs

matrix = np.arange(12, dtype=np.float32).reshape(4, 3) - 5.0


def apply(x):
    return jnp.sum(matrix * x, axis=1)


def test_a_linear_function_is_its_own_jacobian():
    x, direction = np.ones(3, np.float32), np.array([1.0, -2.0, 0.5], np.float32)
    found = gauss_newton_product(apply, x, direction)
    np.testing.assert_allclose(found, matrix.T @ (matrix @ direction), rtol=1e-5)


def test_the_jacobian_is_that_of_the_point():
    x, direction = np.array([0.5, 2.0], np.float32), np.array([1.0, 1.0], np.float32)
    slopes = np.array([[2.0, 0.5], [np.cos(0.5), 0.0]])
    found = gauss_newton_product(lambda x: jnp.stack([x[0] * x[1], jnp.sin(x[0])]), x, direction)
    np.testing.assert_allclose(found, slopes.T @ slopes @ direction, rtol=1e-5)


def test_second_derivatives_of_the_function_are_left_out():
    """It is not the Hessian of sum(fun(x) ** 2) / 2, which would be 6 x**2 here."""
    assert float(gauss_newton_product(lambda x: x * x, 3.0, 1.0)) == (2 * 3.0) ** 2


def test_trees_go_in_and_a_tree_comes_out():
    nested = (None, {"a": {"b": np.float32([1.0, 2.0])}}, [(), np.zeros((4, 0), np.float32)])
    fun = lambda t: (None, {"a": t[1]["a"]["b"] * 2 - 3}, jnp.zeros(0))  # noqa: E731
    for found, want in (
        (gauss_newton_product(fun, nested, nested), [4.0, 8.0]),
        (gauss_newton_step(fun, nested), [1.5, 1.5]),
    ):
        assert jax.tree.structure(found) == jax.tree.structure(nested), "None may come first"
        np.testing.assert_allclose(found[1]["a"]["b"], want, rtol=1e-5)
        assert found[2][1].shape == (4, 0)
    x = {"a": 2.0, "b": np.arange(3, dtype=np.float32)}
    direction = {"a": 1.0, "b": np.ones(3, np.float32)}

    def fun(x):
        return {"product": x["a"] * x["b"]}, jnp.sum(x["b"])

    # moved: product = 1 * b + 2 * 1, and the sum by 3
    moved = np.arange(3) + 2.0
    found = gauss_newton_product(fun, x, direction)
    assert sorted(found) == ["a", "b"]
    np.testing.assert_allclose(found["a"], moved @ np.arange(3), rtol=1e-5)
    np.testing.assert_allclose(found["b"], 2.0 * moved + 3.0, rtol=1e-5)


def test_a_linear_problem_is_solved_in_one_step():
    wanted = np.array([1.0, -2.0, 0.5], np.float32)
    rows = np.array([[2, 0, 1], [0, 3, 0], [1, 0, 2], [1, 1, 1]], np.float32)
    found = gauss_newton_step(
        lambda x: jnp.sum(rows * (x - wanted), axis=1), np.ones(3, np.float32)
    )
    np.testing.assert_allclose(found, wanted, atol=1e-3)
    wanted = np.arange(1.0, 9.0, dtype=np.float32)
    found = gauss_newton_step(lambda x: jnp.sqrt(wanted) * (x - wanted), np.ones(8, np.float32))
    np.testing.assert_allclose(found, wanted, rtol=1e-4, err_msg="of eight unknowns")


def test_what_cannot_be_zero_becomes_least():
    """The number that is nearest to three others is their mean."""
    found = gauss_newton_step(lambda x: x - np.array([1.0, 2.0, 6.0], np.float32), 10.0)
    np.testing.assert_allclose(found, 3.0, rtol=1e-4)


def test_damping_makes_the_step_shorter():
    """2 * (x - 5) is 8 at x = 9: 4 d = -16 without damping, and (4 + 12) d = -16 with 12."""
    found = [
        float(gauss_newton_step(lambda x: 2.0 * (x - 5.0), 9.0, damping)) for damping in (0.0, 12.0)
    ]
    np.testing.assert_allclose(found, [5.0, 8.0], rtol=1e-4)
    two = lambda x: {"a": 2.0 * x["a"] - 10.0, "b": (x["b"],)}  # noqa: E731
    start = {"a": np.float32(9.0), "b": np.ones(2, np.float32)}
    for damping in (-0.5, 0.0, 12.0, 1, np.float32(-0.5), jnp.float32(12.0)):
        want = [9.0 - 16.0 / (4.0 + damping), *[1.0 - 1.0 / (1.0 + damping)] * 2]
        found = gauss_newton_step(two, start, damping)
        found = [found["a"], *found["b"]]
        np.testing.assert_allclose(found, want, 1e-4, 1e-5, err_msg=f"damping {damping!r}")
    found = jax.jit(gauss_newton_step, static_argnums=0)(two, start, -0.5)
    np.testing.assert_allclose(found["a"], 9 - 16 / 3.5, 1e-4, err_msg="by jit")
    found = jax.vmap(lambda k: gauss_newton_step(two, start, k))(jnp.array([-0.5, 0.0, 12.0]))
    np.testing.assert_allclose(found["a"], [9 - 16 / 3.5, 5.0, 8.0], 1e-4, err_msg="by vmap")
    tiny = gauss_newton_step(lambda x: 0.05 * x, 1.0, damping=0.0025)
    np.testing.assert_allclose(tiny, 0.5, rtol=1e-3, err_msg="damping may be small")
    far = gauss_newton_step(lambda x: x - 1e4, 1.0)
    np.testing.assert_allclose(far, 1e4, rtol=1e-4, err_msg="a step may be long")


def test_a_circle_is_found_through_points_in_a_few_steps():
    angles = np.arange(6, dtype=np.float32)
    points = np.stack([3.0 + 2.0 * np.cos(angles), 1.0 + 2.0 * np.sin(angles)])

    def distances(circle):
        across, up = points[0] - circle["centre"][0], points[1] - circle["centre"][1]
        return jnp.sqrt(across * across + up * up) - circle["radius"]

    circle = {"centre": np.array([2.0, 0.5], np.float32), "radius": np.float32(1.0)}
    for _ in range(6):
        circle = gauss_newton_step(distances, circle)
    np.testing.assert_allclose(circle["centre"], [3.0, 1.0], atol=1e-2)
    np.testing.assert_allclose(circle["radius"], 2.0, atol=1e-2)


def test_no_table_is_made():
    def fun(x):
        return jnp.sin(x[:20]) * jnp.sum(x)  # from 30 numbers to 20

    x = np.ones(30, np.float32)
    for program in (
        lambda x: gauss_newton_product(fun, x, x),
        lambda x: gauss_newton_step(fun, x, 1.0),
    ):
        jaxprs = all_jaxprs(jax.make_jaxpr(program)(x).jaxpr)
        made = [v.aval.shape for jaxpr in jaxprs for eqn in jaxpr.eqns for v in eqn.outvars]
        largest = max(map(math.prod, made))
        assert largest <= 30, f"an array of {largest} numbers is made"


@each_error
def test_an_error_of_the_function_goes_on(error):
    with error_passes(error()) as raised:
        gauss_newton_product(raises(raised), 1.0, 1.0)
    with error_passes(error()) as raised:
        gauss_newton_step(raises(raised), 1.0)


def test_what_is_given_stays_as_it_was():
    x = {"a": np.float32([1.0, 2.0]), "b": [np.float32(3.0), np.ones((2, 1), np.float32)]}
    fun = lambda x: [x["a"] * 2.0, x["b"][1] - 4.0, {"c": x["b"][0]}]  # noqa: E731
    with unchanged(x=x):
        product = gauss_newton_product(fun, x, x)
        step = gauss_newton_step(fun, x)
    np.testing.assert_array_equal(product["a"], [4.0, 8.0])
    np.testing.assert_array_equal(product["b"][1], [[1.0], [1.0]])
    np.testing.assert_allclose(step["b"][1], [[4.0], [4.0]], rtol=1e-5)
    np.testing.assert_allclose([*step["a"], step["b"][0]], [0.0, 0.0, 0.0], atol=1e-5)


@pytest.mark.parametrize("dtype", ["float16", SMALL_FLOAT.name])
def test_arrays_of_16_bits_stay_that(dtype):
    x = {"a": jnp.ones(2, dtype), "b": jnp.ones((), dtype)}
    fun = lambda x: [x["a"] * 2 - 1, x["b"]]  # noqa: E731
    for damping, want in ((0.0, 0.5), (0.5, 0.5556)):
        for name, found in (
            ("step", gauss_newton_step(fun, x, damping)),
            ("product", gauss_newton_product(fun, x, x)),
        ):
            assert {k: v.dtype for k, v in found.items()} == {k: dtype for k in "ab"}, name
        found = np.asarray(gauss_newton_step(fun, x, damping)["a"], float)
        np.testing.assert_allclose(found, [want, want], rtol=1e-2)


def test_of_any_trees_the_step_is_that_of_the_matrix():
    with jax.enable_x64(True):
        for draw in draws(16, 3):
            starts = [
                draw.whole(draw.shape(2, (1, 2, 3)), np.float64) for _ in range(draw.count(1))
            ]
            tree = draw.choice([tuple(starts), {"b": starts[0], "a": starts[1:]}])
            leaves, structure = jax.tree.flatten(tree)
            x = np.concatenate([np.ravel(leaf) for leaf in leaves])
            n, m = len(x), len(x) + draw.randint(1, 3)
            linear, curved = (
                np.array([[draw.uniform(-1, 1) for _ in range(n)] for _ in range(m)])
                for _ in range(2)
            )
            curved *= draw.choice([0.0, 0.3])

            def vector(tree):
                return jnp.concatenate([jnp.ravel(leaf) for leaf in jax.tree.leaves(tree)])

            def fun(tree, linear=linear, curved=curved):
                out = linear @ vector(tree) + (curved @ vector(tree)) ** 2 - 1.0
                return {"first": out[0], "rest": [out[1:2], out[2:]]}

            direction = [draw.whole(leaf.shape, np.float64) for leaf in leaves]
            jacobian = linear + 2 * (curved @ x)[:, None] * curved
            curvature = jacobian.T @ jacobian
            with unchanged(tree=tree, direction=direction):
                found = gauss_newton_product(fun, tree, structure.unflatten(direction))
            assert jax.tree.structure(found) == structure, f"of {tree}: found {found}"
            expected = curvature @ np.concatenate([np.ravel(d) for d in direction])
            about = {"x": tree, "linear": linear, "curved": curved}
            equal(vector(found), expected, 1e-9, **about, direction=direction)

            if draw.number % 2:  # each second one, as a step takes long
                continue
            damping = draw.choice([0.5, 2, 10.0, jnp.array(0.5), 0])
            value = linear @ x + (curved @ x) ** 2 - 1.0
            expected = x - np.linalg.solve(curvature + damping * np.eye(n), jacobian.T @ value)
            with unchanged(tree=tree):
                found = gauss_newton_step(fun, tree, damping)
            assert jax.tree.structure(found) == structure, f"of {tree}: found {found}"
            equal(vector(found), expected, 1e-4, dtype=np.float64, **about, damping=damping)


def test_a_problem_may_have_any_scale_and_many_unknowns():
    with jax.enable_x64(True):
        rows = np.array([[2.0, 0.5, 0.0], [0.0, 1.0, 0.5], [1.0, 0.0, 1.5], [1.0, 1.0, 1.0]])
        right, start = np.array([0.7, -2.1, 0.3, 3.0]), np.array([0.5, 0.0, -1.0])
        for damping in (0.0, 0.7):
            matrix = rows.T @ rows + damping * np.eye(3)
            expected = start - np.linalg.solve(matrix, rows.T @ (rows @ start - right))
            for scale in (1e-9, 1e-3, 1e6):  # of the slopes, and of the unknowns the other way
                found = gauss_newton_step(
                    lambda x: (scale * rows) @ x - right,  # noqa: B023
                    start / scale,
                    damping * scale**2,
                )
                np.testing.assert_allclose(found * scale, expected, rtol=1e-3, atol=1e-4)
        found = gauss_newton_step(lambda x: 2.0 * x - right, np.zeros(4))
        np.testing.assert_allclose(found, right / 2, rtol=1e-12, err_msg="found in one direction")
        slopes = np.logspace(0, 1.5, 60)
        found = gauss_newton_step(lambda x: slopes * x - 1.0, np.zeros(60))
        np.testing.assert_allclose(found, 1 / slopes, rtol=5e-3, err_msg="of 60 unknowns")
