"""Networks of stax: what its functions do that a recorded number does not show."""

import numpy as np
import pytest

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.example_libraries import stax

KEY = jax.random.key(0)


def test_a_batch_size_that_is_not_known_goes_through():
    network = stax.serial(stax.Conv(2, (3, 3), padding="SAME"), stax.Flatten, stax.Dense(3))
    assert network[0](KEY, (-1, 4, 4, 1))[0] == (-1, 3)


def test_each_layer_gets_a_key_of_its_own():
    _, (first, second) = stax.serial(stax.Dense(2), stax.Dense(2))[0](KEY, (1, 2))
    assert not np.array_equal(first[0], second[0])


def test_the_last_layers_can_be_left_out():
    init_fun, apply_fun = stax.serial(stax.Dense(3), stax.Relu, stax.Dense(1))
    _, params = init_fun(KEY, (2, 4))
    assert apply_fun(params[:-1], jnp.ones((2, 4))).shape == (2, 3)


def test_dropout_drops_other_elements_with_another_key():
    _, apply_fun = stax.Dropout(0.5)
    ones = jnp.ones(100)
    drops = [apply_fun((), ones, rng=jax.random.key(seed)) for seed in (0, 1)]
    assert not np.array_equal(*drops)
    assert set(np.unique(drops)) == {0.0, 2.0}


def test_a_whole_network_is_jitted_and_differentiated():
    init_fun, apply_fun = stax.serial(
        stax.Conv(2, (3, 3)), stax.Relu, stax.AvgPool((2, 2), (2, 2)), stax.Flatten, stax.Dense(1)
    )
    _, params = init_fun(KEY, (1, 6, 6, 1))
    image = jnp.arange(36.0).reshape(1, 6, 6, 1) / 36

    def loss(params):
        return jnp.sum(apply_fun(params, image) ** 2)

    eager, compiled = jax.grad(loss)(params), jax.jit(jax.grad(loss))(params)
    for a, b in zip(jax.tree.leaves(eager), jax.tree.leaves(compiled), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5)


@pytest.mark.parametrize(
    "call, error, named",
    [
        (lambda: stax.serial(stax.Dense), TypeError, "Dense.*call it"),
        (lambda: stax.GeneralConv(("NHC", "HIO", "NHC"), 1, (2, 2)), ValueError, "filter_shape"),
        (lambda: stax.Conv(1, (2, 2))[0](KEY, (3, 4, 1)), IndexError, "NHWC"),
        (lambda: stax.MaxPool((2, 2))[0](KEY, (3, 4, 1)), ValueError, "4 axes"),
    ],
)
def test_errors_say_what_to_do(call, error, named):
    with pytest.raises(error, match=named):
        call()
