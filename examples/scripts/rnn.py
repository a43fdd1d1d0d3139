"""A recurrent network that learns to continue a sine wave: lax.scan over time, vmap over waves."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax, random


class Params(NamedTuple):
    w_in: jax.Array
    w_hidden: jax.Array
    w_out: jax.Array


def init(key, hidden=16):
    k1, k2, k3 = random.split(key, 3)
    return Params(
        random.normal(k1, (hidden,)),
        random.normal(k2, (hidden, hidden)) / jnp.sqrt(hidden),
        random.normal(k3, (hidden,)) / jnp.sqrt(hidden),
    )


def run(params, xs):
    def cell(h, x):
        h = jnp.tanh(params.w_in * x + params.w_hidden @ h)
        return h, params.w_out @ h

    _, ys = lax.scan(cell, jnp.zeros_like(params.w_in), xs)
    return ys


def loss(params, waves):
    predictions = jax.vmap(run, in_axes=(None, 0))(params, waves[:, :-1])
    return jnp.mean((predictions - waves[:, 1:]) ** 2)


@jax.jit
def update(params, waves):
    value, grads = jax.value_and_grad(loss)(params, waves)
    norm = jnp.sqrt(sum(jnp.vdot(g, g) for g in jax.tree.leaves(grads)))
    scale = jnp.minimum(1.0, 1.0 / norm)
    return jax.tree.map(lambda p, g: p - 0.1 * scale * g, params, grads), value


phases = jnp.linspace(0, 2 * jnp.pi, 8, endpoint=False)
waves = jnp.sin(0.4 * jnp.arange(40) + phases[:, None])
params = init(random.key(7))
for i in range(201):
    params, value = update(params, waves)
    if i % 50 == 0:
        print(f"{i:4d} {value:.4f}")
print("last loss below 0.02:", bool(value < 0.02))
