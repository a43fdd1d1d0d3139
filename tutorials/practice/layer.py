"""A user-defined class as a node: a layer of a network.

grad, vmap and jit then take such objects, and return them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import tinyjax as jax
import tinyjax.numpy as jnp


class Layer:
    """Weights, biases, and the name of the function that is applied to what they make of the input."""

    weight: Any
    bias: Any
    activation: str

    def __init__(self, inputs: int, outputs: int, activation: str = "tanh"):
        self.weight = jnp.asarray(np.full((outputs, inputs), 1 / inputs, np.float32))
        self.bias = jnp.zeros(outputs)
        self.activation = activation

    def __call__(self, x: Any) -> Any:
        return getattr(jnp, self.activation)(self.weight @ x + self.bias)

    def flatten(self) -> tuple[tuple[Any, ...], Any]:
        """The children, weight and bias, and the aux data: what is no leaf, and must be known to build the
        layer again."""
        return (self.weight, self.bias), self.activation

    @staticmethod
    def unflatten(aux: Any, children: tuple[Any, ...]) -> Layer:
        """A layer with these children, whatever they are: arrays, tracers, None, texts. Makes no arrays."""
        layer = object.__new__(Layer)
        layer.weight, layer.bias = children
        layer.activation = aux
        return layer


jax.tree_util.register_pytree_node(Layer, Layer.flatten, Layer.unflatten)
