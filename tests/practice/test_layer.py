"""A user-defined class as a node."""

import numpy as np
import pytest
from judged import unchanged
from practice.layer import Layer

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.tree_util import tree_flatten, tree_map, tree_structure, tree_unflatten


def test_its_leaves_are_weight_and_bias():
    layer = Layer(2, 3)
    leaves, _ = tree_flatten(layer)
    assert len(leaves) == 2 and leaves[0] is layer.weight and leaves[1] is layer.bias


def test_a_layer_that_is_put_together_again_is_what_it_was():
    layer = Layer(2, 3, "sin")
    again = tree_unflatten(*reversed(tree_flatten(layer)))
    assert type(again) is Layer and again.activation == "sin"
    assert again.weight is layer.weight and again.bias is layer.bias


def test_anything_may_stand_in_the_leaves_places(monkeypatch):
    structure = tree_structure(Layer(2, 3, "sin"))
    monkeypatch.setattr(Layer, "__init__", lambda *args: pytest.fail("a new layer was made"))
    layer = tree_unflatten(structure, ["a text", None])
    assert (layer.weight, layer.bias, layer.activation) == ("a text", None, "sin")


def test_layers_of_different_activations_have_different_structures():
    assert tree_structure(Layer(2, 3, "sin")) == tree_structure(Layer(4, 5, "sin"))
    assert tree_structure(Layer(2, 3, "sin")) != tree_structure(Layer(2, 3, "cos")), (
        "the activation is aux data: jit must compile again if it is another"
    )


def test_two_layers_are_averaged_leaf_by_leaf():
    a, b = Layer(2, 3), Layer(2, 3)
    b.bias = jnp.full(3, 4.0)
    mean = tree_map(lambda x, y: (x + y) / 2, a, b)
    np.testing.assert_array_equal(mean.bias, [2.0, 2.0, 2.0])
    np.testing.assert_array_equal(mean.weight, a.weight)


def test_the_tangent_of_a_layer_is_a_layer():
    layer, x = Layer(2, 1, "sin"), jnp.array([1.0, 3.0])
    moving = tree_map(jnp.zeros_like, layer)
    moving.bias = jnp.ones(1)
    out, moved = jax.jvp(lambda layer: layer(x), (layer,), (moving,))
    np.testing.assert_allclose(out, np.sin([2.0]), rtol=1e-6)
    np.testing.assert_allclose(moved, np.cos([2.0]), rtol=1e-6)


def test_each_layer_that_is_put_together_is_a_new_one():
    layer = Layer(2, 3, "sin")
    leaves, structure = tree_flatten(layer)
    with unchanged(layer=vars(layer), leaves=leaves):
        first, second = tree_unflatten(structure, [1, 2]), tree_unflatten(structure, [3, 4])
    assert first is not second and first is not layer
    assert (first.weight, first.bias, first.activation) == (1, 2, "sin")
    assert (second.weight, second.bias, second.activation) == (3, 4, "sin")


@pytest.mark.parametrize("activation", ["", " tanh"])
def test_a_layer_is_flattened_as_it_is_now_and_its_activation_may_be_any_text(activation):
    layer = Layer(2, 3, "sin")
    tree_flatten(layer)
    layer.weight, layer.bias, layer.activation = 1, None, activation
    leaves, structure = tree_flatten(layer)
    again = tree_unflatten(structure, leaves)
    assert (again.weight, again.bias, again.activation) == (1, None, activation)


def test_layers_in_a_list_keep_their_own_activations_and_gradients():
    layers, x = [Layer(1, 1, "sin"), Layer(1, 1, "cos"), Layer(1, 1, "tanh")], jnp.array([0.5])
    doubled = tree_map(lambda x: 2 * x, layers)
    assert [layer.activation for layer in doubled] == ["sin", "cos", "tanh"]
    grads = jax.grad(lambda layers: sum(layer(x).sum() for layer in layers))(layers)
    want = [np.cos(0.5), -np.sin(0.5), 1 - np.tanh(0.5) ** 2]
    np.testing.assert_allclose([float(g.bias[0]) for g in grads], want, rtol=1e-6)
