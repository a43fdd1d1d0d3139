"""Conway's game of life by rolls, a glider that comes back, and a hundred steps in one scan."""

import jax
import jax.numpy as jnp
from jax import lax


@jax.jit
def step(world):
    neighbours = sum(
        jnp.roll(world, (dy, dx), axis=(0, 1))
        for dy in (-1, 0, 1)
        for dx in (-1, 0, 1)
        if (dy, dx) != (0, 0)
    )
    return ((neighbours == 3) | ((world == 1) & (neighbours == 2))).astype(jnp.uint8)


def show(world):
    for row in world.tolist():
        print("".join("#" if cell else "." for cell in row))


glider = jnp.array([[0, 1, 0], [0, 0, 1], [1, 1, 1]], dtype=jnp.uint8)
world = jnp.zeros((12, 12), jnp.uint8).at[1:4, 1:4].set(glider)
show(world)
for _ in range(4):
    world = step(world)
print("after four steps")
show(world)
around = lax.fori_loop(0, 4 * 12 - 4, lambda i, w: step(w), world)
print("around the world:", bool(jnp.array_equal(around[1:4, 1:4], glider)))

soup = jax.random.bernoulli(jax.random.PRNGKey(5), 0.35, (32, 32)).astype(jnp.uint8)
_, alive = lax.scan(lambda w, _: (step(w), w.sum(dtype=jnp.int32)), soup, None, length=100)
print("alive:", alive[::10])
