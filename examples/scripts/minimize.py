"""jax.scipy.optimize.minimize: BFGS with gradients by JAX, for many starts by vmap."""

import jax
import jax.numpy as jnp
from jax.scipy.optimize import minimize


def himmelblau(p):
    x, y = p
    return (x**2 + y - 11.0) ** 2 + (x + y**2 - 7.0) ** 2


result = minimize(himmelblau, jnp.array([1.0, 1.0]), method="BFGS", tol=1e-5)
print("x =", jnp.round(result.x, 3), "f =", jnp.round(result.fun, 6))
print("gradient is zero:", bool(jnp.linalg.norm(result.jac) < 1e-2))

starts = jnp.array([[3.0, 1.0], [-3.0, 3.0], [-4.0, -3.0], [4.0, -2.0]])
minima = jax.jit(jax.vmap(lambda x: minimize(himmelblau, x, method="BFGS", tol=1e-5).x))(starts)
print(jnp.round(minima, 3))


def fit(params, ts, ys):
    amplitude, rate, offset = params
    return jnp.mean((amplitude * jnp.exp(-rate * ts) + offset - ys) ** 2)


ts = jnp.linspace(0.0, 4.0, 30)
ys = 2.5 * jnp.exp(-1.3 * ts) + 0.5
found = minimize(fit, jnp.ones(3), args=(ts, ys), method="BFGS")
print("decay:", jnp.round(found.x, 2))
