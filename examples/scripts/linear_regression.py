"""Linear regression by gradient descent."""

import jax.numpy as jnp
import numpy as np
from jax import grad, jit

rng = np.random.default_rng(0)
x = rng.normal(size=(100, 3)).astype(np.float32)
true_w = np.array([1.5, -2.0, 0.5], np.float32)
y = x @ true_w + 0.7 + 0.1 * rng.normal(size=100).astype(np.float32)


def predict(w, b):
    return jnp.dot(x, w) + b


def mse(w, b):
    return jnp.mean((predict(w, b) - y) ** 2)


@jit
def update(w, b, lr=0.1):
    dw, db = grad(mse, argnums=(0, 1))(w, b)
    return w - lr * dw, b - lr * db


w, b = jnp.zeros(3), 0.0
for i in range(101):
    if i % 25 == 0:
        print(f"step {i:3d}  loss {mse(w, b):.6f}")
    w, b = update(w, b)
print("w =", w)
print("b =", b)
exact = jnp.array(np.linalg.lstsq(np.c_[x, np.ones(100)], y, rcond=None)[0].astype(np.float32))
print("close to the exact solution:", jnp.allclose(jnp.append(w, b), exact, atol=1e-3))
