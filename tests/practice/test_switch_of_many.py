"""A function for each example: chosen results, and gradients that no other function spoils."""

import numpy as np
from drawn import drawn, same, shown
from judged import Thrown, error_passes, raises, unchanged
from practice.switch_of_many import switch_of_many

import tinyjax as jax
import tinyjax.numpy as jnp

XS = np.array([2.0, 0.0, 4.0, 0.0], np.float32)
FUNCTIONS = [jnp.log, lambda x: 2 * x, lambda x: -x]
INDICES = jnp.array([0, 1, 2, 1])


def test_each_example_gets_the_result_of_its_own_function():
    got = switch_of_many(INDICES, FUNCTIONS, XS).tolist()
    want = [float(np.log(np.float32(2))), 0.0, -4.0, 0.0]
    assert np.allclose(got, want), f"log of 2, twice 0, minus 4, twice 0 are {want}, not {got}"


def test_two_functions_and_one_are_enough():
    two = switch_of_many(jnp.array([1, 0, 1, 0]), [jnp.cos, lambda x: -x], XS)
    one = switch_of_many(jnp.array([0, 0, 0, 0]), [lambda x: x + 1], XS)
    assert np.allclose(two, [-2, 1, -4, 1]), f"-2, cos(0), -4, cos(0), not {two}"
    assert np.allclose(one, XS + 1), f"the only function adds 1: {XS + 1}, not {one}"


def test_an_index_that_is_out_of_range_means_the_nearest_function():
    got = switch_of_many(jnp.array([-1, 3, 99, 2]), FUNCTIONS[1:], XS)
    assert np.allclose(got, [4, 0, -4, 0]), f"the first, then the last three times, not {got}"


def test_nor_has_it_another_gradient_than_the_nearest_function():
    indices = jnp.array([-1, 3, 4, 2])
    slopes = jax.grad(lambda xs: switch_of_many(indices, FUNCTIONS[1:], xs).sum())(XS)
    assert slopes.tolist() == [2, -1, -1, -1], f"of 2x, and three times of -x, not {slopes}"


def test_a_function_is_called_once_with_all_numbers():
    shapes = []

    def noting(x):
        shapes.append(x.shape)
        return x

    switch_of_many(INDICES, [noting, noting, noting], XS)
    assert shapes == [(4,), (4,), (4,)], f"each function once, with 4 numbers; called with {shapes}"
    seen = []
    switch_of_many(INDICES, [lambda x: seen.append(np.asarray(x)) or x] * 3, XS)
    for x in seen:
        np.testing.assert_array_equal(x, XS, "with the xs of all examples")


def test_an_infinite_slope_of_another_function_does_not_spoil_the_gradient():
    slopes = jax.grad(lambda xs: switch_of_many(INDICES, FUNCTIONS, xs).sum())(XS)
    assert np.allclose(slopes, [0.5, 2, -1, 2]), (
        f"the slopes of log at 2, of 2x, of -x and of 2x are [0.5, 2, -1, 2], not {slopes}"
    )


def test_nor_a_slope_that_is_nan_after_more_than_one_operation():
    functions = [lambda x: jnp.sqrt(x) * jnp.log(x), lambda x: 3 * x]
    slopes = jax.grad(lambda xs: switch_of_many(jnp.array([1, 1, 1, 1]), functions, xs).sum())(XS)
    assert slopes.tolist() == [3, 3, 3, 3], f"all examples take 3x, whose slope is 3, not {slopes}"
    for place in range(5):
        functions = [lambda x: 3 * x] * 5
        functions[place] = jnp.log
        indices = jnp.full(8, (place + 1) % 5)
        xs = np.zeros(8, np.float32)
        slopes = jax.grad(lambda xs: switch_of_many(indices, functions, xs).sum())(xs)  # noqa: B023
        assert slopes.tolist() == [3] * 8, f"function {place} of 5 is log, which none takes"
    many = [lambda x, k=k: x + k for k in range(40)]
    assert switch_of_many(jnp.array([39, 20, -7, 5]), many, XS).tolist() == [41, 20, 4, 5]


def test_tangents_are_those_of_the_example_s_own_function():
    _, tangents = jax.jvp(lambda xs: switch_of_many(INDICES, FUNCTIONS, xs), (XS,), (XS + 1,))
    assert np.allclose(tangents, [1.5, 2, -5, 2]), f"[1.5, 2, -5, 2], not {tangents}"


def test_it_can_be_traced_with_indices_that_are_not_known():
    jaxpr = jax.make_jaxpr(lambda i, xs: switch_of_many(i, FUNCTIONS, xs))(INDICES, XS)
    assert [v.aval.shape for v in jaxpr.jaxpr.outvars] == [(4,)]


def test_an_error_of_a_function_goes_on_whichever_it_is():
    for i in range(3):
        functions = list(FUNCTIONS)
        with error_passes(Thrown()) as error:
            functions[i] = raises(error)
            switch_of_many(INDICES, functions, XS)


def test_what_is_given_stays_and_examples_may_be_one_none_or_nan():
    indices, xs, functions = (
        np.array([2, 0, 1], np.int32),
        np.array([np.nan, 1.0, np.inf], np.float32),
        [*FUNCTIONS],
    )
    with unchanged(indices=indices, xs=xs, functions=functions):
        got = switch_of_many(indices, functions, xs)
    np.testing.assert_array_equal(got, [np.nan, 0, np.inf])
    assert switch_of_many(indices[:1], functions, xs[1:2]).tolist() == [-1.0]
    assert switch_of_many(indices[:0], functions, xs[:0]).shape == (0,)


def test_of_many_functions_each_may_be_chosen_and_the_dtype_is_kept():
    functions = [lambda x, k=k: x * k for k in range(6)]
    indices = jnp.array([5, 3, 0, 4, 1, 2, -9, 99])
    xs = jnp.ones(8, jnp.float16)
    got = switch_of_many(indices, functions, xs)
    assert got.dtype == jnp.float16 and got.tolist() == [5, 3, 0, 4, 1, 2, 0, 5]


def test_results_of_several_dtypes_become_one_that_holds_them_all():
    is_large, whole, third = lambda x: x > 1, lambda x: x.astype("int32"), lambda x: x / 3
    for functions in ([is_large, whole, third], [whole, third, is_large], [third, is_large, whole]):
        xs = jnp.array([2.5, 2.5, 2.5])
        got = switch_of_many(jnp.arange(3), functions, xs)
        same(got, np.float32([f(2.5 * jnp.ones(())) for f in functions]), "the results")
    got = switch_of_many(jnp.array([0, 1]), [is_large, whole], jnp.array([2.5, 7.5]))
    same(got, np.int32([1, 7]), "the results")
    for dtype in ("bool", "int8"):
        got = switch_of_many(jnp.array([0, 1]), [lambda x: x.astype(dtype)] * 2, jnp.ones(2))  # noqa: B023
        same(got, np.ones(2, dtype), "the results")
    large = 2**24 + 1  # which no float32 is
    sizes = [lambda x, n=n: jnp.full(x.shape, n, "int32") for n in (large, -large)]
    got = switch_of_many(jnp.array([1, 0]), sizes, jnp.ones(2))
    same(got, np.int32([-large, large]), "the results")
    with jax.enable_x64():
        got = switch_of_many(jnp.array([0, 1]), [third, whole], np.array([1.0, 2.5]))
    same(got, np.array([1 / 3, 2]), "the results", 1e-12)


ALL = [jnp.log, jnp.sqrt, lambda x: 1 / x, lambda x: x * jnp.exp(200 * x), jnp.sin, lambda x: -x]


@drawn(12, most=8)
def test_drawn_examples_have_the_results_and_slopes_of_their_own_functions(rng, most):
    numbers, seen, count = rng.integers(len(ALL), size=most).tolist(), [], most + 2
    functions = [ALL[i] for i in numbers]
    noting = [lambda x, f=f: seen.append(x) or f(x) for f in functions]
    indices = rng.integers(-2, len(functions) + 2, count).astype(np.int32)
    dtype = str(rng.choice(["float16", "float32", "float32"]))
    xs = rng.choice([0, 1, 2, -1, 0.25, 3, np.inf, np.nan], count).astype(dtype)
    own = [functions[np.clip(i, 0, len(functions) - 1)] for i in indices]
    with shown(functions=numbers, indices=indices.tolist(), xs=xs.tolist(), dtype=dtype):
        got = switch_of_many(jnp.array(indices), noting, xs)
        for x in seen:
            same(x, xs, "what each function is given", 0)
        same(got, jnp.stack([f(jnp.array(x)) for f, x in zip(own, xs)]), "the results", 1e-2)
        slopes = jax.grad(lambda xs: switch_of_many(jnp.array(indices), functions, xs).sum())(xs)
        same(slopes, jnp.stack([jax.grad(f)(x) for f, x in zip(own, xs)]), "the slopes", 1e-2)
