"""Heat that spreads on a plate: stencils by slices, fori_loop in time, and where the source was by grad."""

from functools import partial

import jax
import jax.numpy as jnp
from jax import lax

N = 32
ys, xs = jnp.mgrid[0:N, 0:N] / (N - 1)


def laplacian(u):
    inner = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]
    return jnp.pad(inner, 1)


@partial(jax.jit, static_argnames="steps")
def diffuse(u, steps):
    return lax.fori_loop(0, steps, lambda _, u: u + 0.2 * laplacian(u), u)


def source(place):
    return jnp.exp(-((xs - place[0]) ** 2 + (ys - place[1]) ** 2) / 0.01)


measured = diffuse(source(jnp.array([0.7, 0.35])), 60)
print(
    f"total {measured.sum():.3f}, hottest {measured.max():.4f} at",
    divmod(int(measured.argmax()), N),
)


@jax.jit
def misfit(place):
    return jnp.sum((diffuse(source(place), 60) - measured) ** 2)


place = jnp.array([0.5, 0.5])
velocity = jnp.zeros(2)
for i in range(80):
    velocity = 0.7 * velocity - 0.01 * jax.grad(misfit)(place)
    place = place + velocity
    if i % 20 == 0:
        print(f"{i:3d} misfit {misfit(place):.5f} at {place[0]:.3f} {place[1]:.3f}")
print("found near (0.70, 0.35):", bool(jnp.all(jnp.abs(place - jnp.array([0.7, 0.35])) < 0.02)))
