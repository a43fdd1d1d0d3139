"""Newton's method: the Hessian by jax.hessian, on Rosenbrock's function."""

import jax
import jax.numpy as jnp

jax.config.update("jax_enable_x64", True)  # in the valley, the Hessian is nearly singular


def rosenbrock(x):
    return jnp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


gradient = jax.jit(jax.grad(rosenbrock))
hessian = jax.jit(jax.hessian(rosenbrock))
print(hessian(jnp.array([-1.2, 1.0])))

x = jnp.array([-1.2, 1.0])
for i in range(7):
    print(i, x, rosenbrock(x))
    x = x - jnp.linalg.solve(hessian(x), gradient(x))
print("minimum at", jnp.round(x, 3))
print(
    "forward over reverse is the same:",
    jnp.allclose(hessian(x), jax.jacfwd(jax.jacrev(rosenbrock))(x)),
)
