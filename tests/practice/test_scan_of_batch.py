"""One scan for a batch: what the loop is given, and what comes out."""

import numpy as np
import pytest
from drawn import drawn, floats, same, shape_of_rank, shown
from judged import Thrown, error_passes, raises, stays_a_loop, unchanged
from practice.scan_of_batch import scan_of_batch

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.transform.batching import axis_batch_rules


def step(w, h, x):
    """Two states, from a matrix and one x; y is their sum."""
    h = jnp.tanh(w @ h) + x
    return h, h.sum()


W = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 2, 2)
H = np.linspace(0, 1, 6, dtype=np.float32).reshape(3, 2)
XS = np.linspace(-1, 2, 12, dtype=np.float32).reshape(3, 4)


def operands(dims):
    """Weights, state and xs: of three examples where the dim is 0, else those of the first alone."""
    return tuple(x if dim == 0 else x[0] for x, dim in zip((W, H, XS), dims))


class Mapped(Exception):
    """lax.scan is called within vmap."""


@pytest.fixture
def run(monkeypatch):
    """`scan_of_batch` of three examples, whose lax.scan is not to be mapped over."""

    def refuse(*args, **params):
        raise Mapped

    monkeypatch.setitem(axis_batch_rules, lax.scan_p, refuse)

    def run(dims, *given):
        try:
            return scan_of_batch(step, given or operands(dims), dims, 3)
        except Mapped:
            pass
        raise AssertionError("lax.scan itself is mapped over: map over the step, within one loop")

    return run


def many_steps(run):
    """The program of a hundred steps of each example."""
    given = W, H, np.zeros((3, 100), np.float32)
    return jax.make_jaxpr(lambda *given: run((0, 0, 0), *given))(*given)


def loops(run, dims):
    """The shapes of states and xs of each scan in the program."""
    program = jax.make_jaxpr(lambda *given: run(dims, *given))(*operands(dims))
    stays_a_loop(many_steps(run))
    found = []
    for eqn in program.eqns:
        if eqn.primitive is lax.scan_p:
            shapes = [v.aval.shape for v in eqn.invars[eqn.params["num_consts"] :]]
            found.append((shapes[: eqn.params["num_carry"]], shapes[eqn.params["num_carry"] :]))
    return found


@pytest.mark.parametrize("dims", [(None, None, 0), (0, None, None), (None, 0, 0), (0, 0, 0)])
def test_results_are_those_of_a_loop_for_each_example(run, dims):
    states, ys = run(dims)
    for i in range(3):
        w, h, xs = (x[i if dim == 0 else 0] for x, dim in zip((W, H, XS), dims))
        want_state, want_ys = lax.scan(lambda h, x: step(w, h, x), h, xs)  # noqa: B023
        assert np.shape(states) == (3, 2), (
            f"three last states of two numbers, not {np.shape(states)}"
        )
        assert np.shape(ys) == (3, 4), f"for each example a y a step: (3, 4), not {np.shape(ys)}"
        assert np.allclose(states[i], want_state, atol=1e-6), f"example {i}: {states[i]}"
        assert np.allclose(ys[i], want_ys, atol=1e-6), f"ys of example {i}: {ys[i]}, not {want_ys}"


def test_the_loop_is_one_and_goes_over_steps_not_over_examples(run):
    found = loops(run, (None, None, 0))
    assert found == [([(3, 2)], [(4, 3)])], (
        "one scan, whose state has the shape (3, 2) and whose xs (4, 3), the examples behind the steps; "
        f"the program has scans with these states and xs: {found}"
    )


def test_what_is_the_same_for_all_is_not_repeated(run):
    found = loops(run, (0, 0, None))
    assert found == [([(3, 2)], [(4,)])], f"xs that are the same for all stay (4,): {found}"


def test_in_the_program_there_is_one_scan(run):
    found = len(loops(run, (None, 0, 0)))
    assert found == 1, f"one scan for all examples; there are {found}"


def test_an_error_of_the_step_goes_on():
    for dims in [(0, 0, 0), (None, None, 0)]:
        with error_passes(Thrown()) as error:
            scan_of_batch(raises(error), operands(dims), dims, 3)
        for wrong in (lambda w, h, x: jnp.stack([h, h]), lambda w, h, x: (h, x, x)):
            with pytest.raises(TypeError):
                got = scan_of_batch(wrong, operands(dims), dims, 3)
                pytest.fail(f"a step gives a pair of a state and a y, not {got}")


@pytest.mark.parametrize("dtype", ["int32", "float16", "bool"])
def test_a_state_of_any_dtype_that_is_the_same_for_all_keeps_it(dtype):
    state, xs = np.ones(2, dtype), np.zeros((3, 4), np.float32)
    states, _ = scan_of_batch(lambda w, h, x: (h, x), (1.0, state, xs), (None, None, 0), 3)
    assert (states.dtype, states.shape) == (state.dtype, (3, 2))
    weights, xs = np.array([1, 2]), np.arange(2)  # as many steps, and states, as examples
    states, ys = scan_of_batch(
        lambda w, h, x: (h * w.astype(dtype), x * w), (weights, state, xs), (0, None, None), 2
    )
    assert states.tolist() == (state * weights.astype(dtype)[:, None] ** 2).tolist()
    assert ys.tolist() == [[0, 1], [0, 2]] and ys.dtype == np.int32
    with jax.enable_x64():
        first, xs = np.array([1 / 3]), np.arange(6.0).reshape(2, 3) / 7
        states, ys = scan_of_batch(lambda w, h, x: (h + x, x), (1.0, first, xs), (None, None, 0), 2)
    same(states, first + xs.sum(1)[:, None], "states of float64", 1e-14)
    same(ys, xs, "ys of float64", 0)
    none = np.zeros((2, 0), dtype), np.zeros((3, 4, 2), np.float32)
    states, ys = scan_of_batch(lambda w, h, x: (h, x[:0]), (1.0, *none), (None, None, 0), 3)
    assert (states.shape, ys.shape) == ((3, 2, 0), (3, 4, 0)), "axes may have no numbers"
    whole = np.arange(6, dtype=np.int32).reshape(2, 3)
    _, ys = scan_of_batch(lambda w, h, x: (h, x), (1.0, state, whole), (None, None, 0), 2)
    assert ys.dtype == np.int32 and ys.tolist() == whole.tolist()


EACH_DIMS = [(w, h, x) for w in (0, None) for h in (0, None) for x in (0, None)]


@pytest.mark.parametrize("dims", EACH_DIMS[:-1])  # of one for all, nothing is a batch
def test_operands_of_any_rank_are_one_for_all_or_one_for_each_and_stay_as_they_are(dims):
    def step(w, h, x):
        return h * w + x.sum(), (x - h.sum()).astype("float16")

    full = (
        np.ones(2, np.float32),
        np.arange(6, dtype=np.float32).reshape(2, 3),
        np.arange(40.0, dtype=np.float32).reshape(2, 5, 2, 2),
    )
    given = tuple(x if dim == 0 else x[1] for x, dim in zip(full, dims))
    with unchanged(given=given):
        states, ys = scan_of_batch(step, given, dims, 2)
    assert states.shape == (2, 3) and ys.shape == (2, 5, 2, 2) and ys.dtype == np.float16
    for i in range(2):
        w, h, xs = (x[i] if dim == 0 else x[1] for x, dim in zip(full, dims))
        state, y = lax.scan(lambda h, x: step(w, h, x), h, xs)  # noqa: B023
        np.testing.assert_allclose(states[i], state)
        np.testing.assert_array_equal(ys[i], y)


@drawn(24, most=4)
def test_drawn_batches_are_loops_of_each_example(rng, most):
    """Against Python's `for`; there may be no steps, one example, and any rank."""
    size, steps = int(rng.integers(1, most + 1)), int(rng.integers(0, most + 1))
    steps = size if rng.integers(2) else steps
    shapes = [shape_of_rank(rng, rank) for rank in rng.integers(0, 4, size=2)]
    dims = tuple(rng.choice([0, None], size=3))
    dims = (0, *dims[1:]) if dims == (None,) * 3 else dims
    dtype = rng.choice(["float32", "int32"])
    start = (9 * floats(rng, *shapes[1])).astype(dtype)
    wholes = floats(rng, *shapes[0]), start, rng.integers(9, size=(steps, 2)[: rng.integers(1, 3)])
    given = [np.stack([x * (i + 1) for i in range(size)]) for x in wholes]
    given = tuple(x if dim == 0 else x[0] for x, dim in zip(given, dims))

    def step(w, h, x):
        return (h * w.sum() + x.sum()).astype(h.dtype), h + x.sum() if rank_of_y else x.astype(
            "int16"
        )

    rank_of_y = bool(rng.integers(2))
    with shown(dims=dims, size=size, shapes=[x.shape for x in given]):
        states, ys = scan_of_batch(step, given, dims, size)
        assert len(states) == len(ys) == size, (
            f"{len(states)} states, {len(ys)} ys, {size} examples"
        )
        for i in range(size):
            w, h, xs = (jnp.array(x[i] if dim == 0 else x) for x, dim in zip(given, dims))
            kept = []
            for x in xs:
                h, y = step(w, h, x)
                kept.append(np.asarray(y))
            same(states[i], h, f"the last state of example {i}")
            y = jax.eval_shape(step, w, h, xs[0] if steps else jnp.zeros(xs.shape[1:], xs.dtype))[1]
            want = np.stack(kept) if steps else np.zeros((0, *y.shape), y.dtype)
            same(ys[i], want, f"the ys of example {i}")
