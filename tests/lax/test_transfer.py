"""Values on devices and back."""

import numpy as np
import pytest

import tinyjax as jax
import tinyjax.numpy as jnp


def test_device_put_makes_arrays_of_a_trees_leaves():
    out = jax.device_put({"x": np.ones(3, np.float32), "n": 2})
    assert all(isinstance(leaf, jax.Array) for leaf in jax.tree.leaves(out))


def test_an_array_put_on_a_device_is_committed_to_it():
    device = jax.devices()[0]
    x = jax.device_put(np.ones(3, np.float32), device)
    assert x.devices() == {device} and x.committed
    assert jax.jit(lambda x: x + 1)(x).devices() == {device}


def test_device_put_copies_so_that_the_array_stays_what_it_was():
    source = np.ones(3, np.float32)
    x = jax.device_put(source)
    source[0] = 7
    np.testing.assert_array_equal(x, [1, 1, 1])


def test_device_put_takes_memory_that_may_be_shared_as_it_is():
    source = np.ones(100_000, np.float32)
    x = jax.device_put(source, may_alias=True)
    assert np.may_share_memory(np.asarray(x), source)
    assert not np.asarray(x).flags.writeable and source.flags.writeable
    jax.jit(lambda x: x + 1, donate_argnums=0)(x)
    assert (source == 1).all()  # a copy of it was given away
    assert jax.device_put(np.arange(3.0), may_alias=True).dtype == np.float32  # float64: a copy


def test_device_get_gives_numpy():
    out = jax.device_get({"x": jnp.ones(3), "y": 2})
    assert type(out["x"]) is np.ndarray and out["y"] == 2


def test_device_put_can_be_differentiated_and_mapped():
    assert float(jax.grad(lambda x: jax.device_put(x) * 3)(1.0)) == 3.0
    assert jax.vmap(jax.device_put)(jnp.ones(3)).shape == (3,)


def test_block_until_ready_waits_for_a_tree():
    out = jax.block_until_ready({"x": jax.jit(lambda x: x * 2)(3.0), "note": "text"})
    assert float(out["x"]) == 6.0


def test_device_put_takes_a_device():
    with pytest.raises(ValueError, match="only accepts .* A device is jax.devices"):
        jax.device_put(1.0, "cpu")


def test_live_arrays_are_those_that_somebody_refers_to():
    mine = jnp.ones(3) + 1
    assert any(x is mine for x in jax.live_arrays())
    mine.delete()
    assert not any(x is mine for x in jax.live_arrays())


def test_a_deleted_array_cannot_be_put():
    x = jnp.ones(3) + 1
    x.delete()
    with pytest.raises(RuntimeError, match="has been deleted"):
        jax.device_put(x, jax.devices()[0])
