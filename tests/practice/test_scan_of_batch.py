"""One scan for a batch: what the loop is given, and what comes out."""

import numpy as np
import pytest
from practice.scan_of_batch import scan_of_batch

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax


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


@pytest.mark.parametrize("dims", [(None, None, 0), (0, None, None), (None, 0, 0), (0, 0, 0)])
def test_results_are_those_of_a_loop_for_each_example(dims):
    states, ys = scan_of_batch(step, operands(dims), dims, 3)
    for i in range(3):
        w, h, xs = (x[i if dim == 0 else 0] for x, dim in zip((W, H, XS), dims))
        want_state, want_ys = lax.scan(lambda h, x: step(w, h, x), h, xs)  # noqa: B023
        assert np.shape(states) == (3, 2), (
            f"three last states of two numbers, not {np.shape(states)}"
        )
        assert np.shape(ys) == (3, 4), f"for each example a y a step: (3, 4), not {np.shape(ys)}"
        assert np.allclose(states[i], want_state, atol=1e-6), f"example {i}: {states[i]}"
        assert np.allclose(ys[i], want_ys, atol=1e-6), f"ys of example {i}: {ys[i]}, not {want_ys}"


def test_the_loop_is_one_and_goes_over_steps_not_over_examples(monkeypatch):
    given = []

    def noting(step, init, xs, *args, **kwargs):
        given.append((np.shape(init), np.shape(xs)))
        return scan(step, init, xs, *args, **kwargs)

    scan = lax.scan
    monkeypatch.setattr(lax, "scan", noting)
    scan_of_batch(step, operands((None, None, 0)), (None, None, 0), 3)
    assert given == [((3, 2), (4, 3))], (
        "one lax.scan, whose state has the shape (3, 2) and whose xs (4, 3): the examples behind the "
        f"steps; it was called with {given}"
    )


def test_what_is_the_same_for_all_is_not_repeated(monkeypatch):
    given = []

    def noting(step, init, xs, *args, **kwargs):
        given.append((np.shape(init), np.shape(xs)))
        return scan(step, init, xs, *args, **kwargs)

    scan = lax.scan
    monkeypatch.setattr(lax, "scan", noting)
    scan_of_batch(step, operands((0, 0, None)), (0, 0, None), 3)
    assert given == [((3, 2), (4,))], f"xs that are the same for all stay (4,): {given}"


def test_in_the_program_there_is_one_scan():
    dims = (None, 0, 0)
    jaxpr = jax.make_jaxpr(lambda *xs: scan_of_batch(step, xs, dims, 3))(*operands(dims))
    names = [eqn.primitive.name for eqn in jaxpr.eqns]
    assert names.count("scan") == 1, f"one scan for all examples; the equations are {names}"
