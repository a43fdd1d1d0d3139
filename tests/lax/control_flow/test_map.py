"""map: a function applied to one slice after the other, or to a batch of slices at a time."""

import numpy as np
import pytest

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax


def test_it_gives_what_vmap_gives():
    xs = np.arange(6, dtype=np.float32).reshape(3, 2)
    np.testing.assert_array_equal(lax.map(jnp.sum, xs), jax.vmap(jnp.sum)(xs))


def test_but_sees_one_slice_at_a_time():
    seen = []
    lax.map(lambda x: seen.append(x.shape) or x, jnp.ones((5, 2)))
    assert seen == [(2,)]


def test_slices_and_results_may_be_trees():
    out = lax.map(lambda x: {"sum": x[0] + x[1]}, (np.arange(3), np.arange(3)))
    np.testing.assert_array_equal(out["sum"], [0, 2, 4])


@pytest.mark.parametrize("batch_size", [0, 1, 2, 3, 7, 8])
def test_a_batch_size_changes_no_result(batch_size):
    xs = np.arange(14, dtype=np.float32).reshape(7, 2)
    got = lax.map(lambda x: x * 2, xs, batch_size=batch_size)
    np.testing.assert_array_equal(got, xs * 2)


def test_with_a_batch_size_it_is_a_loop_over_batches_and_one_smaller_batch():
    jaxpr = jax.make_jaxpr(lambda xs: lax.map(jnp.sin, xs, batch_size=3))(jnp.ones(7))
    lengths = [eqn.params["length"] for eqn in jaxpr.eqns if eqn.primitive is lax.scan_p]
    rests = [eqn.outvars[0].aval.shape for eqn in jaxpr.eqns if eqn.primitive is lax.sin_p]
    assert (lengths, rests) == ([2], [(1,)])


def test_it_has_a_gradient():
    xs = np.arange(3, dtype=np.float32)
    gradient = jax.grad(lambda xs: lax.map(lambda x: x**2, xs, batch_size=2).sum())(xs)
    np.testing.assert_array_equal(gradient, 2 * xs)
