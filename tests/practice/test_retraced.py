import numpy as np
import pytest
from drawn import draws, equal
from judged import SMALL_FLOAT, Thrown, donates_nothing, error_passes, raises, unchanged
from practice.retraced import fit, fit_slowly, step

import tinyjax as jax
import tinyjax.numpy as jnp

W = np.zeros(3, np.float32)
RATES = [1, 0.5, 0.25, 0.125]


def batches(*sizes):
    rng = np.random.default_rng(0)
    return [
        (rng.standard_normal((n, 3)).astype(np.float32), rng.standard_normal(n).astype(np.float32))
        for n in sizes
    ]


class Counted:
    """step, and how often it was traced."""

    count = 0

    def __call__(self, w, x, y, rate):
        self.count += 1
        return step(w, x, y, rate)


def traces(fit, sizes, rates=RATES, counted=None, w=W):
    counted = counted or Counted()
    before = counted.count
    jax.eval_shape(lambda w: fit(counted, w, batches(*sizes), rates), w)
    return counted.count - before


@pytest.mark.parametrize("sizes", [(8, 8, 8, 5), (4, 8, 2, 8), (6, 6), (5,)])
def test_it_computes_the_same(sizes):
    given = batches(*sizes)
    rates = [0.03 * rate for rate in RATES]
    with jax.disable_jit():
        wanted = fit_slowly(step, W, given, rates)
        np.testing.assert_allclose(fit(step, W, given, rates), wanted, rtol=1e-4, atol=1e-6)


def test_the_slow_one_is_traced_in_each_round():
    assert traces(fit_slowly, (8, 8, 8, 5)) == 4


def test_equal_batches_need_one_trace():
    found = traces(fit, (8, 8, 8, 8), [0.5, 0.25, 0.125, 0.1])
    assert found == 1, f"for four batches of 8 rows, step was traced {found} times"


def test_so_do_rates_of_which_some_are_integers():
    found = traces(fit, (8, 8, 8, 8), [1, 0.5, 2, 0.25])
    assert found == 1, f"at rates 1, 0.5, 2 and 0.25, step was traced {found} times"


@pytest.mark.parametrize("sizes", [(8, 8, 8, 5), (3, 8, 8, 8)])
def test_so_do_batches_of_which_one_is_shorter(sizes):
    found = traces(fit, sizes, [0.5, 0.25, 0.125, 0.1])
    assert found == 1, f"for batches of {sizes} rows, step was traced {found} times"


def test_so_does_a_w_that_is_weakly_typed_at_first():
    found = traces(fit, (8, 8, 8), [0.5, 0.25, 0.125], w=jnp.full(3, 0.0))
    assert found == 1, (
        f"for w = jnp.full(3, 0.0), step was traced {found} times: w is strong after a step"
    )


def test_called_again_it_traces_nothing():
    counted = Counted()
    first, second = (traces(fit, (8, 8, 5), counted=counted) for _ in range(2))
    assert (first, second) == (1, 0), f"traced {first} times, and {second} times when called again"


def test_step_is_jitted():
    closed = jax.make_jaxpr(lambda w: fit(step, w, batches(8, 8), RATES))(W)
    calls = [eqn for eqn in closed.eqns if eqn.primitive.name == "jit"]
    assert len(calls) >= 2, "each step is a call of a jitted function"
    donates_nothing(closed)


@pytest.mark.parametrize("dtype", ["complex64", "float16", SMALL_FLOAT.name, "int32"])
def test_w_keeps_its_dtype_and_may_have_any_rank(dtype):
    def add(w, x, y, rate):
        return w + w.dtype.type(y.shape[0] > 0)

    w = jnp.ones((2, 1), dtype) * (1j if dtype == "complex64" else 1)
    with jax.disable_jit():
        found = fit(add, w, batches(3, 2), RATES[:2])
    assert found.dtype == w.dtype
    np.testing.assert_array_equal(np.asarray(found), np.asarray(w + 2))

    def scaled(w, x, y, rate):
        return w * rate + w.dtype.type(1)

    with jax.disable_jit():
        found = fit(scaled, w, batches(3, 2), [1, 0])
    assert found.dtype == (w * 1.0).dtype, (
        "a rate is a number of Python, and has no dtype of its own"
    )
    np.testing.assert_array_equal(np.asarray(found), np.ones((2, 1)), "also a rate of 0 is a step")
    with jax.disable_jit():
        back = fit(scaled, w, batches(3, 2), [-1, -0.5])
    np.testing.assert_array_equal(np.asarray(back), np.asarray((w * -1 + 1) * -0.5 + 1))


def test_rates_are_as_exact_as_w_is():
    with jax.enable_x64(), jax.disable_jit():
        w = jnp.ones(2, "float64")
        found = fit(lambda w, x, y, rate: w * rate, w, batches(3, 2), [0.1, 0.7])
    np.testing.assert_allclose(np.asarray(found), [0.1 * 0.7] * 2, rtol=1e-14)


def test_w_and_batches_and_rates_are_left_as_they_are():
    w, given, rates = np.ones(3, np.float32), batches(4, 2), [0, 0.5]
    with unchanged(w=w, given=given, rates=rates), jax.disable_jit():
        fit(step, jnp.asarray(w), given, rates)


def test_batches_of_whole_numbers_stay_whole_numbers():
    seen = []

    def add(w, x, y, rate):
        seen.append((x.dtype.name, y.dtype.name))
        return w + x.dtype.type(y.sum())

    given = [(np.ones((n, 3), np.int16), np.full(n, 2, np.int8)) for n in (3, 2)]
    with jax.disable_jit():
        found = fit(add, jnp.zeros(2, "int16"), given, [1, 1])
    assert set(seen) == {("int16", "int8")} and found.tolist() == [10, 10]


def test_an_error_of_the_step_goes_on():
    with error_passes(Thrown()) as error:
        fit(raises(error), W, batches(3), [1.0])


def test_each_call_is_of_its_own_step_and_sizes():
    first, second = Counted(), Counted()
    assert [traces(fit, (4, 2), counted=c) for c in (first, second, first)] == [1, 1, 0]
    assert traces(fit, (9, 2), counted=first) == 1, "batches of other sizes"
    assert traces(fit, (2, 3, 1, 8)) == 1, "the last batch may be the largest"


def test_of_any_batches_the_steps_are_those_of_the_loop_and_traced_once():
    for draw in draws(16):
        columns = draw.randint(1, 4)
        given = [
            (draw.whole((n, columns)), draw.whole((n,)))
            for n in [draw.randint(1, 5) for _ in range(draw.size)]
        ]
        rates = [draw.choice([0, 1, 2, 0.5, 0.25]) / 16 for _ in given]
        rates[-1] = draw.choice([0, 1]) if draw.random() < 0.3 else rates[-1]
        w = draw.whole((columns,))
        expected = w.astype(np.float64)
        for (x, y), rate in zip(given, rates):
            expected = expected - rate * 2 * x.T.astype(np.float64) @ (x @ expected - y)
        weak = jnp.full(columns, 1.0) * w  # a start of another kind
        for start in (w, weak):
            counted = Counted()
            for _ in range(2):
                jax.eval_shape(lambda w, c=counted, g=given, r=rates: fit(c, w, g, r), start)
            about = f"rates {rates}, rows {[len(y) for _, y in given]}, w {start!r}"
            assert counted.count == 1, f"{about}: traced {counted.count} times"
        with jax.disable_jit(), unchanged(given=given, w=w):
            found = fit(step, w, given, rates)
        equal(found, expected, 1e-4, dtype=np.float32, batches=given, rates=rates, w=w)
