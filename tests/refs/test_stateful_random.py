"""A generator that counts its draws; the numbers are JAX's."""

import pytest

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.experimental import random


def test_draws_are_those_of_jax():
    rng = random.stateful_rng(42)
    draws = [rng.uniform(), rng.uniform(), jax.jit(rng.uniform)(), jax.jit(rng.uniform)()]
    assert [round(float(x), 6) for x in draws] == [0.530261, 0.727664, 0.667241, 0.389012]
    assert jax.random.key_data(rng.key()).tolist() == [2954079971, 3276725750]


def test_a_split_generator_is_mapped_over():
    rng = random.stateful_rng(123)
    got = jax.vmap(lambda rng, x: x + rng.uniform())(rng.split(3), jnp.zeros(3))
    assert [round(float(x), 6) for x in got] == [0.35526, 0.219379, 0.533696]
    with pytest.raises(ValueError, match="split"):
        rng.split(2).key()


def test_shapes_and_ranges():
    rng = random.stateful_rng(0)
    assert rng.normal(jnp.zeros(3), 2.0).shape == (3,)
    assert rng.random((2, 3)).shape == (2, 3)
    assert 0 <= rng.integers(10) < 10
    assert len(rng.spawn(2)) == 2
