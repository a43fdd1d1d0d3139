"""Keys for steps and layers, and dropout."""

from importlib.util import find_spec

import numpy as np
import pytest
from drawn import drawn, shown
from judged import SMALL_FLOAT, unchanged
from practice.dropout import dropout, key_for

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import random

KEY = random.key(7)


def words(key):
    return tuple(np.asarray(random.key_data(key)).tolist())


# ---- keys ----


def test_each_step_and_each_layer_has_a_key_of_its_own():
    near = [(step, layer) for step in range(12) for layer in range(12)]
    far = [(0, 99), (0, 100), (0, 1000), (99, 0), (100, 0), (1000, 0), (1000, 1000)]
    for large in (2**16, 100_000, 2**20, 2**31 - 1):
        far += [(0, large), (1, large)]
    made = {}
    for step, layer in near + far:
        where = made.setdefault(words(key_for(KEY, step, layer)), (step, layer))
        assert where == (step, layer), (
            f"step {step}, layer {layer} has the key of step {where[0]}, layer {where[1]}: equal draws"
        )


def test_no_key_is_that_of_the_run_or_one_that_its_numbers_make():
    plain = {words(KEY), *(words(random.fold_in(KEY, n)) for n in range(12))}
    for pair in [(0, 0), (0, 3), (3, 0), (2, 2)]:
        assert words(key_for(KEY, *pair)) not in plain, (
            f"the key of step {pair[0]}, layer {pair[1]} is the run's own, or that of one number alone"
        )


def keys_differ(numbers):
    """Expects another key for each pair of a step and a layer among these numbers."""
    pairs = np.array([(step, layer) for step in numbers for layer in numbers], np.int32)
    keys = jax.vmap(lambda pair: random.key_data(key_for(KEY, *pair)))(pairs)
    first = {}
    for pair, key in zip(pairs.tolist(), map(tuple, np.asarray(keys).tolist())):
        other = first.setdefault(key, pair)
        assert other == pair, f"step and layer {pair} have the key of {other}"


def test_numbers_up_to_the_largest_int32_have_keys_of_their_own():
    """Also those whose products and sums would be too large, or equal: 2 ** n, and one less."""
    numbers = sorted({2**n - less for n in range(32) for less in (0, 1)} - {2**31})
    keys_differ(numbers)


def test_another_run_has_other_keys():
    one, other = (words(key_for(random.key(seed), 3, 2)) for seed in (0, 1))
    assert one != other, f"the runs of seeds 0 and 1 have one key in step 3, layer 2: {one}"


def test_a_key_does_not_depend_on_those_that_were_made_before():
    alone = words(key_for(KEY, 5, 2))
    [key_for(KEY, step, layer) for step in range(3) for layer in range(3)]
    assert words(key_for(KEY, 5, 2)) == alone, "after other keys were made, it is another"


def test_the_numbers_may_be_traced():
    keys = jax.vmap(lambda step: key_for(KEY, step, 1))(jnp.arange(3))
    got = [words(key) for key in keys]
    want = [words(key_for(KEY, step, 1)) for step in range(3)]
    assert got == want, f"under vmap, steps 0 to 2 have the keys {got}, not {want}"
    layers = jax.vmap(lambda layer: key_for(KEY, 2, layer))(jnp.arange(3))
    assert [words(key) for key in layers] == [words(key_for(KEY, 2, layer)) for layer in range(3)]


# ---- dropout ----

ONES = jnp.ones((40, 50))


def test_about_so_many_elements_are_left_out():
    share = float((dropout(KEY, 0.25, ONES) == 0).mean())
    assert 0.21 < share < 0.29, f"of 2000 elements about a quarter is 0, not {share:.2f}"


def test_what_is_left_is_made_larger_so_that_the_mean_stays():
    got = set(np.unique(np.asarray(dropout(KEY, 0.25, ONES))).tolist())
    assert got == {0.0, float(np.float32(1 / 0.75))}, f"ones become 0 or 1.3333, not {got}"
    for rate, left in [(0.0625, 1 / 0.9375), (0.9375, 16.0)]:
        got = set(np.unique(np.asarray(dropout(KEY, rate, ONES))).tolist())
        assert got == {0.0, float(np.float32(left))}, f"at a rate of {rate}: {got}"
    found = np.asarray(dropout(KEY, 1 - 2.0**-12, jnp.ones(40_000)))
    assert set(found.tolist()) == {0.0, 4096.0}, "at a rate of 4095/4096"
    assert 2 < (found > 0).sum() < 25, "of 40,000 about ten are left"
    with jax.enable_x64():
        got = np.unique(np.asarray(dropout(KEY, 0.3, jnp.ones(50, "float64"))))
    np.testing.assert_allclose(got, [0, 1 / 0.7], 1e-15, err_msg="of float64s")


def test_each_element_is_decided_by_itself():
    left_out = np.asarray(dropout(KEY, 0.5, ONES)) == 0
    assert 0 < left_out.all(axis=0).sum() + left_out.any(axis=0).sum() < 100, "no column differs"
    assert not (left_out == left_out[:1]).all(), "all rows are left out alike"
    assert not (left_out == left_out[:, :1]).all(), "all columns are left out alike"
    cube = np.asarray(dropout(KEY, 0.5, jnp.ones((2, 2, 50))))
    assert not (cube[0] == cube[1]).all(), "of three axes, too"


def test_equal_keys_leave_out_the_same_and_others_do_not():
    once, again = dropout(KEY, 0.5, ONES), dropout(KEY, 0.5, ONES)
    other = dropout(random.fold_in(KEY, 1), 0.5, ONES)
    assert (once == again).all(), "the same key, and something else was left out"
    assert not (once == other).all(), "another key, and the same was left out"


@pytest.mark.parametrize("rate, what", [(0.0, 1.0), (1.0, 0.0)])
def test_nothing_or_everything_is_left_out(rate, what):
    some = jax.vmap(lambda rate: dropout(KEY, rate, ONES))(jnp.array([0.5, rate]))
    assert (np.asarray(some[1]) == what).all(), f"so does a traced rate of {rate}, not {some[1]}"
    got = dropout(KEY, rate, ONES)
    assert (np.asarray(got) == what).all(), f"a rate of {rate} makes {what} of ones, not {got}"


def test_the_gradient_goes_where_something_is_left():
    slopes = jax.grad(lambda x: dropout(KEY, 0.5, x).sum())(ONES)
    want = np.asarray(dropout(KEY, 0.5, ONES))
    assert (np.asarray(slopes) == want).all(), "the slope is 2 where an element is left, else 0"


@pytest.mark.skipif(not find_spec("ml_dtypes"), reason="ml_dtypes, which has bfloat16, is missing")
def test_the_dtype_stays():
    got = dropout(KEY, 0.5, ONES.astype(jnp.bfloat16)).dtype
    assert got == jnp.bfloat16, f"of bfloat16, bfloat16, not {got}"


def test_at_a_rate_of_0_nothing_is_left_out_whatever_is_drawn(monkeypatch):
    """A draw may be 0 itself: of 40 million, seven are."""
    zeros = lambda key, shape=(), *args, **kwargs: jnp.zeros(shape)  # noqa: E731
    monkeypatch.setattr(random, "uniform", zeros)
    x = jnp.arange(1.0, 5.0)
    np.testing.assert_array_equal(dropout(KEY, 0.0, x), x)


@pytest.mark.parametrize("shape", [(), (0,), (1,), (2, 1, 3)])
@pytest.mark.parametrize("dtype", ["float16", SMALL_FLOAT.name, "float32", "complex64"])
def test_arrays_of_any_rank_and_dtype_keep_them_and_stay_as_they_are(shape, dtype):
    x = np.ones(shape, jnp.dtype(dtype))
    with unchanged(x=x):
        found = dropout(KEY, 0.5, jnp.asarray(x))
    assert (found.shape, found.dtype.name) == (shape, dtype)
    assert set(np.asarray(found).reshape(-1).tolist()) <= {0.0, 2.0}


def test_what_is_nan_or_infinite_is_left_out_like_any_other_number():
    for value in (jnp.nan, jnp.inf):
        found = np.asarray(dropout(KEY, 0.5, jnp.full(1000, value)))
        assert 400 < (found == 0).sum() < 600, f"about half of 1000 times {value} becomes 0"


# ---- that are drawn ----


@drawn(6, most=31)
def test_drawn_pairs_of_numbers_have_keys_of_their_own(rng, most):
    """Among a thousand pairs, of numbers up to 2 ** most."""
    numbers = rng.integers(0, 2**most, 40)
    some = np.unique(np.concatenate([numbers, numbers // 2, numbers + 1]) % 2**most)[:32]
    keys_differ(some)


@drawn(8, most=4)
def test_of_drawn_arrays_each_element_is_left_out_by_itself(rng, most):
    """No two slices along any axis have the same pattern; at least 64 elements decide that."""
    shape = [int(n) for n in rng.integers(2, 4, most)]
    shape += [int(-(-64 // max(1, np.prod(shape) // max(shape)))) + 1]
    x = rng.choice([1.5, -2.0, 1e-3, 77.0, np.inf, -np.inf], shape).astype("float32")
    rate = float(rng.choice([0.4, 0.5, 0.6]))
    with shown(shape=shape, rate=rate):
        got = np.asarray(dropout(random.key(most), rate, x))
        kept = got != 0
        want = np.where(kept, x / np.float32(1 - rate), np.float32(0))
        np.testing.assert_allclose(got, want, rtol=1e-6, err_msg="what is kept, or 0")
        for axis, size in enumerate(shape):
            patterns = {np.take(kept, i, axis).tobytes() for i in range(size)}
            assert axis == most or len(patterns) == size, f"along axis {axis} patterns are repeated"
