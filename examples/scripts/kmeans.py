"""k-means: distances by broadcasting, new centres by segment sums, until nothing moves."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np


@partial(jax.jit, static_argnames=["k"])
def kmeans(points, k, key):
    first = jax.random.choice(key, points, (k,), replace=False)

    def assign(centers):
        d2 = jnp.sum((points[:, None, :] - centers[None, :, :]) ** 2, axis=-1)
        return jnp.argmin(d2, axis=1), jnp.min(d2, axis=1).mean()

    def body(state):
        centers, _, _, i = state
        labels, cost = assign(centers)
        sums = jax.ops.segment_sum(points, labels, num_segments=k)
        counts = jax.ops.segment_sum(jnp.ones(len(points)), labels, num_segments=k)
        new = jnp.where(counts[:, None] > 0, sums / jnp.maximum(counts, 1)[:, None], centers)
        return new, centers, cost, i + 1

    def cond(state):
        new, old, _, i = state
        return jnp.any(jnp.abs(new - old) > 1e-5) & (i < 100)

    centers, _, cost, steps = jax.lax.while_loop(cond, body, (first, first + 1, jnp.inf, 0))
    return centers, assign(centers)[0], cost, steps


rng = np.random.RandomState(0)
true = np.array([[0.0, 0.0], [5.0, 1.0], [2.0, 6.0]])
points = jnp.array(np.concatenate([rng.randn(50, 2) + c for c in true]), dtype=jnp.float32)
centers, labels, cost, steps = kmeans(points, 3, jax.random.PRNGKey(2))
order = jnp.argsort(centers[:, 0])
print(centers[order])
print(f"cost {cost:.4f} after {steps.item():d} steps")
print("sizes", sorted(jnp.bincount(labels, length=3).tolist()))
