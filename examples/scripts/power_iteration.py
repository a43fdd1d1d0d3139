"""The largest eigenvalue by power iteration, with fori_loop and while_loop, and its derivative."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

a = np.random.RandomState(3).randn(6, 6).astype(np.float32)
a = jnp.asarray(a @ a.T)


def normalize(v):
    return v / jnp.linalg.norm(v)


@partial(jax.jit, static_argnums=1)
def largest(a, iterations):
    v = lax.fori_loop(0, iterations, lambda i, v: normalize(a @ v), normalize(jnp.ones(len(a))))
    return v @ a @ v, v


@jax.jit
def until_it_stands(a, tolerance=1e-6):
    def moves(state):
        v, old, count = state
        return (jnp.linalg.norm(v - old) > tolerance) & (count < 1000)

    def step(state):
        v, _, count = state
        return normalize(a @ v), v, count + 1

    start = normalize(jnp.ones(len(a)))
    v, _, count = lax.while_loop(moves, step, (normalize(a @ start), start, 1))
    return v @ a @ v, count


value, vector = largest(a, 100)
print(f"largest eigenvalue {value:.4f}")
other, count = until_it_stands(a)
print(f"again {other:.4f}, in fewer than 200 steps: {count < 200}")
print("numpy agrees:", np.allclose(value, np.linalg.eigvalsh(np.asarray(a))[-1], rtol=1e-4))

# The derivative of an eigenvalue by the matrix is v v^T.
g = jax.grad(lambda a: largest(a, 100)[0])(a)
print("gradient is the outer product:", jnp.allclose(g, jnp.outer(vector, vector), atol=1e-3))
