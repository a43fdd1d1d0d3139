"""Classes as pytrees: a model that is a dataclass goes through jit, grad and vmap."""

from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jax.tree_util import register_pytree_node_class, tree_flatten, tree_map, tree_structure


@register_pytree_node_class
@dataclass
class Polynomial:
    coefficients: jax.Array
    name: str = "p"

    def __call__(self, x):
        return jnp.polyval(self.coefficients, x)

    def tree_flatten(self):
        return (self.coefficients,), self.name

    @classmethod
    def tree_unflatten(cls, name, children):
        return cls(*children, name)


@partial(jax.tree_util.register_dataclass, data_fields=["scale", "inner"], meta_fields=["power"])
@dataclass
class Scaled:
    scale: float
    inner: Polynomial
    power: int = 2

    def __call__(self, x):
        return self.scale * self.inner(x) ** self.power


model = Scaled(0.5, Polynomial(jnp.array([1.0, -2.0, 3.0])))
print(jax.jit(lambda m, x: m(x))(model, 2.0))
gradient = jax.grad(lambda m: m(2.0))(model)
print(gradient.scale, gradient.inner.coefficients, gradient.power)
leaves, structure = tree_flatten(model)
print(len(leaves), "leaves", structure == tree_structure(gradient))
doubled = tree_map(lambda p: 2 * p, model)
print(doubled.scale, doubled.inner.coefficients, doubled.inner.name)
flat, unravel = ravel_pytree(model)
print(flat, unravel(flat + 1).inner.coefficients)
many = jax.vmap(lambda s: Scaled(s, model.inner))(jnp.arange(3.0))
print(many.scale, many.inner.coefficients.shape)
print(jax.tree.map(jnp.shape, {"a": model.inner.coefficients, "b": (1.0, [jnp.ones((2, 3))])}))
