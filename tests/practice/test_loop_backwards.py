"""The way back through a loop: order, sums, and whose cotangent goes where."""

import numpy as np
import pytest
from drawn import drawn, shown
from judged import each_error, error_passes, raises, unchanged
from practice.loop_backwards import backwards, forwards

import tinyjax as jax
import tinyjax.numpy as jnp


def step(weights, state, x):
    """A small recurrent network; weights are a dict."""
    state = jnp.tanh(weights["state"] * state + weights["x"] * x)
    return state, weights["y"] * state


WEIGHTS = {"state": jnp.float32(0.5), "x": jnp.float32(2.0), "y": jnp.float32(-1.5)}
NONE = {name: jnp.float32(0) for name in WEIGHTS}
STATE, XS = jnp.float32(0.25), [jnp.float32(x) for x in (0.5, -0.25, 1.0)]


def by_grad(ct_state, ct_ys):
    """The same by jax.grad of the loop, written out."""

    def weighted(weights, state, xs):
        total = 0.0
        for x, ct_y in zip(xs, ct_ys):
            state, y = step(weights, state, x)
            total = total + ct_y * y
        return ct_state * state + total

    return jax.grad(weighted, argnums=(0, 1, 2))(WEIGHTS, STATE, XS)


@pytest.fixture
def ways_back():
    return forwards(step, WEIGHTS, STATE, XS)[2]


def test_steps_are_gone_through_from_the_last_to_the_first():
    order = []

    def way_back(i):
        return lambda cts: (order.append(i), (0.0, cts[0], 0.0))[1]

    backwards([way_back(i) for i in range(3)], 1.0, [0.0, 0.0, 0.0], 0.0)
    assert order == [2, 1, 0], (
        f"the way back goes over steps 2, 1, 0, each once; it went over {order}"
    )
    backwards([way_back(i) for i in range(3)], 0.0, [0.0, 0.0, 0.0], 0.0)
    assert order == [2, 1, 0] * 2, "so it does where all cotangents are 0"


def test_what_a_step_is_given_is_the_cotangent_of_its_state_and_of_its_y():
    given = []

    def way_back(i):
        return lambda cts: (given.append(cts), (0.0, 10.0 * i, 0.0))[1]

    backwards([way_back(i) for i in range(3)], 1.0, [0.5, 0.6, 0.7], 0.0)
    assert given == [(1.0, 0.7), (20.0, 0.6), (10.0, 0.5)], (
        "step 2 gets the last state's cotangent 1.0 and its y's 0.7; step 1 what step 2 gave for the "
        f"state, 20.0; step 0 what step 1 gave: they got {given}"
    )


def test_cotangents_of_the_weights_add_up_upon_what_comes_in():
    ways_back = [lambda cts, i=i: ((1.0 * i,), cts[0], 0.0) for i in range(3)]
    ct_weights, _, _ = backwards(ways_back, 1.0, [0.0] * 3, (100.0,))
    assert ct_weights == (103.0,), f"100 came in, and 0 + 1 + 2 of the steps: 103, not {ct_weights}"


def test_the_cotangents_of_xs_stand_in_the_order_of_xs():
    ways_back = [lambda cts, i=i: (0.0, cts[0], f"x{i}") for i in range(3)]
    ct_xs = backwards(ways_back, 1.0, [0.0] * 3, 0.0)[2]
    assert ct_xs == ["x0", "x1", "x2"], f"one for each x, the first first: {ct_xs}"


def test_the_state_s_cotangent_is_what_the_first_step_gives():
    ways_back = [lambda cts, i=i: (0.0, f"before step {i}", 0.0) for i in range(3)]
    ct_state = backwards(ways_back, 1.0, [0.0] * 3, 0.0)[1]
    assert ct_state == "before step 0", f"the first state stands before step 0, not {ct_state}"


def test_gradients_are_those_of_the_loop_written_out(ways_back):
    ct_ys = [jnp.float32(ct) for ct in (1.0, -2.0, 0.5)]
    ct_weights, ct_state, ct_xs = backwards(ways_back, jnp.float32(3.0), ct_ys, NONE)
    want_weights, want_state, want_xs = by_grad(jnp.float32(3.0), ct_ys)
    for name, want in want_weights.items():
        got = ct_weights[name]
        assert np.allclose(got, want, rtol=1e-5), f"by the weight {name}: {got}, not {want}"
    assert np.allclose(ct_state, want_state, rtol=1e-5), f"by the state: {ct_state}"
    assert np.allclose(ct_xs, want_xs, rtol=1e-5), f"by xs: {ct_xs}, not {want_xs}"


def test_a_step_may_be_a_loop_itself():
    """Each outer step goes back through its own inner loop."""

    def inner(n):
        return lambda cts: ({"w": cts[1] * n}, cts[0] + n, cts[1] * 10 + n)

    def outer(k):
        def way_back(cts):
            ct_weights, ct_state, ct_xs = backwards(
                [inner(0), inner(k)], cts[0], [cts[1]] * 2, {"w": 0}
            )
            return ct_weights, ct_state, ct_xs

        return way_back

    weights, state, ct_xs = backwards([outer(1), outer(2)], 0, [3, 4], {"w": 0})
    assert (weights, state, ct_xs) == ({"w": 11}, 3, [[30, 31], [40, 42]]), (weights, state, ct_xs)


def test_no_steps_give_back_what_came_in():
    assert backwards([], 2.0, [], 7.0) == (7.0, 2.0, []), "weights, state, and no xs"
    weights, state, ct_xs = backwards([lambda cts: (1, cts[0] + 1, cts[1])] * 30, 0, range(30), 5)
    assert (weights, state, ct_xs) == (35, 30, [*range(30)]), "30 steps"
    assert type(weights) is int, "whole numbers stay whole"


def test_what_is_given_stays_as_it_is(ways_back):
    ct_ys = [1.0, 2.0, 3.0]
    ct_weights = {"state": 1.0, "x": np.ones((), np.float32), "y": 3.0}
    with unchanged(ct_weights=ct_weights, ct_ys=ct_ys, ways_back=ways_back):
        first = backwards(ways_back, 1.0, ct_ys, ct_weights)
        second = backwards(ways_back, 1.0, ct_ys, ct_weights)
    assert jax.tree.all(jax.tree.map(np.array_equal, first, second)), "a second call gives the same"
    none = {"weights": np.zeros(2)}
    with unchanged(none=none):
        backwards([lambda cts: ({"weights": np.ones(2)}, 0.0, 0.0)], 1.0, [0.0], none)


@each_error
def test_an_error_of_a_way_back_goes_on(error):
    with error_passes(error()) as raised:
        steps = [lambda cts: (0.0, cts[0], 0.0), raises(raised), lambda cts: (0.0, cts[0], 0.0)]
        backwards(steps, 1.0, [0.0] * 3, 0.0)


def test_weights_and_states_may_be_trees_of_any_depth():
    def way_back(cts):
        (state, _), y = cts
        return {"a": [y, (state,)], "b": {}}, (state * 2, None), {"x": y}

    weights, state, xs = backwards(
        [way_back] * 3, (1.0, None), (5.0, 6.0, 7.0), {"a": [0.5, (10.0,)], "b": {}}
    )
    assert weights == {"a": [18.5, (17.0,)], "b": {}} and state == (8.0, None)
    assert xs == [{"x": 5.0}, {"x": 6.0}, {"x": 7.0}]
    pairs = backwards([lambda cts: (0, cts[0], (cts[1], [None]))] * 2, 0, (1, 2), 0)[2]
    assert pairs == [(1, [None]), (2, [None])], "the cotangent of an x is what its step gives"
    assert backwards([lambda cts: (None, *cts)] * 2, 3, [None, 5], None) == (None, 3, [None, 5])


@drawn(20, most=7)
def test_drawn_ways_back_give_what_a_loop_over_numbers_gives(rng, most):
    """Step i takes a times the state and adds b times x; its y is c times the state. Whole numbers."""
    numbers = [tuple(map(int, row)) for row in rng.integers(-3, 4, (int(rng.integers(0, most)), 3))]
    ct_state, *ct_ys = map(int, rng.integers(-4, 5, len(numbers) + 1))

    def way_back(a, b, c):
        def back(cts):
            state, (y,) = cts
            total = state["h"] + c * y
            return (total, {"n": y}), {"h": a * total}, [b * total]

        return back

    with shown(a_b_c=numbers, ct_state=ct_state, ct_ys=ct_ys):
        ways_back = tuple(way_back(*row) for row in numbers)
        got = backwards(ways_back, {"h": ct_state}, [(y,) for y in ct_ys], (1, {"n": 2}))
        last = len(numbers)
        effect = [ct_state, *[0] * last]  # on the loss, of each state, from the last one
        for i in range(last):
            a, _, c = numbers[last - 1 - i]
            total = effect[i] + c * ct_ys[last - 1 - i]
            effect[i], effect[i + 1] = total, a * total
        xs = [[numbers[i][1] * effect[last - 1 - i]] for i in range(last)]
        weights = 1 + sum(effect[:last]), {"n": 2 + sum(ct_ys)}
        want = weights, {"h": effect[last]}, xs
        assert got == want, f"the cotangents should be {want}, and are {got}"
