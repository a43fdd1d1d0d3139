"""A scan in segments: the same results, and a gradient that keeps little."""

import numpy as np
import pytest
from drawn import draw_body, drawn, floats, same, shape_of_rank, shown
from judged import Thrown, error_passes, raises, stays_a_loop, unchanged
from practice.scan_in_segments import scan_in_segments

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.ad_checkpoint import checkpoint_name
from tinyjax.core.jaxpr import subjaxprs


def step(h, x):
    h = jnp.sin(h) * h + x
    return h, h * h


H, XS = jnp.float32(0.5), jnp.linspace(-1, 1, 12)


def last(h, xs, length):
    return scan_in_segments(step, h, xs, length)[0]


def kept(fun, *args):
    """How many numbers the forward loop of a gradient keeps, its last state apart."""
    eqns = jax.make_jaxpr(jax.grad(fun))(*args).eqns
    forward = next(eqn for eqn in eqns if eqn.primitive is lax.scan_p)
    return sum(v.aval.size for v in forward.outvars[1:])


@pytest.mark.parametrize("length", [1, 3, 12])
def test_results_are_those_of_a_scan(length):
    h, ys = scan_in_segments(step, H, XS, length)
    want_h, want_ys = lax.scan(step, H, XS)
    assert np.shape(ys) == (12,), f"ys of 12 steps have the shape (12,), not {np.shape(ys)}"
    assert np.allclose(h, want_h), f"the last state is {want_h}, not {h}"
    assert np.allclose(ys, want_ys), f"ys are {want_ys}, not {ys}"


def test_trees_are_gone_through_as_arrays_are():
    def step(h, x):
        return {"h": h["h"] + x["a"].sum() * x["b"]}, (h["h"], x["a"])

    def as_it_is(h, x):
        return h, x

    nested = {"a": {"b": jnp.arange(4.0)}}, (None, jnp.ones(4)), [(), {"n": [jnp.zeros((4, 0))]}]
    for xs in (*nested, ({}, nested), [[jnp.ones((4, 2, 0))], None]):
        for state in ((), {"h": (None, jnp.zeros((0, 2)))}):
            got, want = scan_in_segments(as_it_is, state, xs, 2), (state, xs)
            assert jax.tree.structure(got) == jax.tree.structure(want), f"{got}, not {want}"
            assert all(map(np.array_equal, jax.tree.leaves(got), jax.tree.leaves(want))), f"{got}"
    xs = {"a": jnp.arange(12.0).reshape(6, 2), "b": jnp.arange(6.0)}
    got = scan_in_segments(step, {"h": 1.0}, xs, 2)
    want = lax.scan(step, {"h": 1.0}, xs)
    shapes = jax.tree.map(np.shape, got)
    assert shapes == jax.tree.map(np.shape, want), f"another tree, or other shapes: {shapes}"
    assert all(map(np.allclose, jax.tree.leaves(got), jax.tree.leaves(want))), f"{got}, not {want}"


def test_the_gradient_is_that_of_a_scan():
    got = jax.grad(last, argnums=(0, 1))(H, XS, 4)
    want = jax.grad(lambda h, xs: lax.scan(step, h, xs)[0], argnums=(0, 1))(H, XS)
    assert np.allclose(got[0], want[0], rtol=1e-4), f"by the state: {got[0]}, not {want[0]}"
    assert np.allclose(got[1], want[1], rtol=1e-4), f"by xs: {got[1]}, not {want[1]}"


@pytest.mark.parametrize("length, states", [(3, 4), (4, 3)])
def test_the_gradient_keeps_a_state_for_each_segment(length, states):
    numbers = kept(lambda h: last(h, XS, length), H)
    assert numbers == 12 + states, (
        f"in segments of {length}, 12 xs and {states} states are kept for the way back: {12 + states} "
        f"numbers. Here it is {numbers}"
    )


def mixed(h, x):
    """A step of products, a sum, and functions: none of their results may be kept for each step."""
    h = checkpoint_name(jnp.exp(jnp.sin(W @ h) / 2), "h") * x
    return jax.nn.relu(h - h.mean()) + jnp.einsum("i,ij->j", h, W), None


W = jnp.array([[0.5, -0.25], [0.125, 0.75]])


def test_whatever_a_step_computes_is_computed_again_and_not_kept():
    def of_segments(h, xs):
        return scan_in_segments(mixed, h, xs, 4)[0].sum()

    numbers = kept(lambda h: of_segments(h, XS), jnp.ones(2))
    assert numbers <= 12 + 3 * 2 + W.size, (
        f"12 xs and 3 states of 2 numbers are kept, and a matrix perhaps, not {numbers} numbers"
    )


def test_arrays_of_other_lengths_are_refused_as_by_a_scan():
    for others in (16, 8):
        xs = {"a": jnp.zeros(12), "b": jnp.zeros((others, 2))}
        with pytest.raises((TypeError, ValueError)):
            got = scan_in_segments(lambda h, x: (h + x["a"], x["b"]), 0.0, xs, 4)
            pytest.fail(
                f"there are 12 xs and {others}, but {jax.tree.map(np.shape, got)} was given"
            )


def test_the_program_does_not_grow_with_the_number_of_steps():
    stays_a_loop(jax.make_jaxpr(lambda xs: last(H, xs, 64))(jnp.zeros(4096)))


def test_a_number_of_steps_that_is_no_multiple_is_refused():
    with pytest.raises(ValueError) as caught:
        scan_in_segments(step, H, XS, 5)
    said = str(caught.value)
    assert "12" in said and "5" in said, f"the error is to name both numbers, 12 and 5: {said}"


def test_an_error_of_the_step_goes_on():
    with error_passes(Thrown()) as error:
        scan_in_segments(raises(error), H, XS, 3)
    no_pairs = lambda h, x: jnp.stack([h, x]), lambda h, x: (h, x, x)
    for wrong in (*no_pairs, lambda h, x: ((h, h), x), lambda h, x: (jnp.stack([h, h]), x)):
        with pytest.raises(TypeError):
            got = scan_in_segments(wrong, H, XS, 3)
            pytest.fail(f"a step gives a pair of a state, as the one before, and a y: {got}")


def test_what_is_given_stays_and_each_call_is_of_its_own_steps():
    for steps, length in [(12, 4), (4, 2), (6, 1), (5, 5)]:
        xs = {
            "x": np.arange(2.0 * steps, dtype=np.float32).reshape(steps, 1, 2),
            "n": np.arange(steps, dtype=np.int8),
            "empty": np.zeros((steps, 0), np.float32),
        }
        with unchanged(xs=xs):
            got = scan_in_segments(
                lambda h, x: (h + x["x"], (h, x["n"], None)),
                np.zeros((1, 2), np.float32),
                xs,
                length,
            )
        want = lax.scan(
            lambda h, x: (h + x["x"], (h, x["n"], None)), np.zeros((1, 2), np.float32), xs
        )
        assert jax.tree.structure(got) == jax.tree.structure(want)
        assert all(map(np.array_equal, jax.tree.leaves(got), jax.tree.leaves(want)))
        assert got[1][1].dtype == np.int8
    count, _ = scan_in_segments(lambda n, x: (n + 1, None), np.int16(0), np.zeros(4), 2)
    assert count == 4 and count.dtype == np.int16, "a state keeps its dtype"


@pytest.mark.parametrize("length", [5, 13, 24])
def test_a_length_that_does_not_fit_is_named_with_the_number_of_steps(length):
    with pytest.raises(ValueError, match=rf"(?s)(\b12\b.*\b{length}\b|\b{length}\b.*\b12\b)"):
        got = scan_in_segments(step, H, XS, length)
        pytest.fail(f"12 steps cannot be cut into segments of {length}, but {got} was given")


def equations(jaxpr, name):
    inner = (equations(sub, name) for eqn in jaxpr.eqns for sub in subjaxprs(eqn.params))
    return sum(eqn.primitive.name == name for eqn in jaxpr.eqns) + sum(inner)


def test_each_step_is_computed_twice_not_more_and_one_segment_keeps_one_state():
    for length in (1, 4, 12):
        slope = jax.make_jaxpr(jax.grad(lambda h: last(h, XS, length)))(H)  # noqa: B023
        found = equations(slope.jaxpr, "sin")
        assert found <= 2, f"the sine of a step is computed once, and once more, not {found} times"
        numbers = kept(lambda h: last(h, XS, length), H)  # noqa: B023
        assert numbers <= 12 + 12 // length, (
            f"{12 + 12 // length} numbers may be kept at most, and {numbers} are"
        )


@drawn(10, most=6)
def test_drawn_loops_in_segments_are_loops(rng, most):
    steps, length = map(int, rng.integers(1, most + 1, size=2))
    xs = {
        "x": floats(rng, steps * length, *shape_of_rank(rng, 2)),
        "n": np.arange(steps * length, dtype=np.int32),
    }
    body, empty = draw_body(rng, 3, 4), int(rng.integers(3))
    pick = ({"a": {"b": 0}}, (None, [0]), [(), {}, 0])[int(rng.integers(3))]

    def step(carry, x):
        (n,) = jax.tree.leaves(x["n"])
        *state, ys = body(*carry["h"], x["x"].sum())
        return {"h": state[:2], "n": carry["n"] + n}, (ys, x, jnp.zeros((2, empty)))

    first = {"h": list(jnp.array(floats(rng, 2))), "n": 3}
    xs["n"] = jax.tree.map(lambda _: xs["n"], pick)
    with shown(body=body, xs=jax.tree.map(np.shape, xs), length=length):
        got = scan_in_segments(step, first, xs, length)
        want = lax.scan(step, first, xs)
        assert jax.tree.structure(got) == jax.tree.structure(want)
        for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(want)):
            same(a, b, "the last state, or ys")
