"""Roots by bisection and by Newton's method in while_loops; a derivative by the implicit function theorem."""

import jax
import jax.numpy as jnp
from jax import lax


def bisect(f, low, high, tolerance=1e-6):
    def wide(state):
        low, high = state
        return high - low > tolerance

    def halve(state):
        low, high = state
        middle = (low + high) / 2
        same_side = jnp.sign(f(middle)) == jnp.sign(f(low))
        return lax.cond(same_side, lambda: (middle, high), lambda: (low, middle))

    low, high = lax.while_loop(wide, halve, (jnp.float32(low), jnp.float32(high)))
    return (low + high) / 2


def newton(f, x):
    def step(state):
        x, _, n = state
        dx = f(x) / jax.grad(f)(x)
        return x - dx, jnp.abs(dx), n + 1

    x, _, n = lax.while_loop(lambda s: (s[1] > 1e-6) & (s[2] < 50), step, (x, jnp.inf, 0))
    return x, n


@jax.custom_jvp
def kepler(mean_anomaly, eccentricity):
    """The E for which E - e sin(E) = M."""
    return newton(lambda e: e - eccentricity * jnp.sin(e) - mean_anomaly, mean_anomaly)[0]


@kepler.defjvp
def kepler_jvp(primals, tangents):
    m, e = primals
    m_dot, e_dot = tangents
    x = kepler(m, e)
    return x, (m_dot + jnp.sin(x) * e_dot) / (1 - e * jnp.cos(x))


print("cos(x) = x:", bisect(lambda x: jnp.cos(x) - x, 0.0, 1.0))
print("x^3 = 2:   ", newton(lambda x: x**3 - 2, 1.0)[0])
anomalies = jnp.linspace(0.1, 3.0, 5)
solve = jax.jit(jax.vmap(kepler, in_axes=(0, None)))
print("Kepler:    ", solve(anomalies, 0.4))
print("dE/dM:     ", jax.vmap(jax.grad(kepler), in_axes=(0, None))(anomalies, 0.4))
print("dE/de:     ", jax.vmap(jax.grad(kepler, argnums=1), (0, None))(anomalies, 0.4))
