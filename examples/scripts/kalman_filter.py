"""A Kalman filter by scan, and the same in parallel by associative_scan."""

import jax
import jax.numpy as jnp
from jax import lax, random

A, Q, H, R = 0.95, 0.1, 1.0, 0.5  # a number that decays, seen through noise


def simulate(key, steps):
    def step(x, keys):
        x = A * x + jnp.sqrt(Q) * random.normal(keys[0])
        return x, (x, H * x + jnp.sqrt(R) * random.normal(keys[1]))

    keys = random.split(key, (steps, 2))
    return lax.scan(step, 0.0, keys)[1]


def filter_by_scan(ys):
    def step(carry, y):
        mean, var = carry
        mean, var = A * mean, A * A * var + Q  # predict
        gain = var * H / (H * H * var + R)
        mean, var = mean + gain * (y - H * mean), (1 - gain * H) * var  # update
        return (mean, var), (mean, var)

    return lax.scan(step, (0.0, 1.0), ys)[1]


def filter_in_parallel(ys):
    """Sarkka and Garcia-Fernandez 2021, https://arxiv.org/abs/1905.13002."""

    def element(y, first):
        s = H * H * Q + R
        k = Q * H / s
        a, b, c = (1 - k * H) * A, k * y, (1 - k * H) * Q
        eta, j = A * H * y / s, A * A * H * H / s
        var = A * A * 1.0 + Q  # what is known before the first
        k1 = var * H / (H * H * var + R)
        return tuple(
            jnp.where(first, p, q)
            for p, q in zip((0.0, k1 * y, (1 - k1 * H) * var, eta, j), (a, b, c, eta, j))
        )

    def combine(left, right):
        a1, b1, c1, eta1, j1 = left
        a2, b2, c2, eta2, j2 = right
        d = 1 / (1 + c1 * j2)
        return (
            a2 * a1 * d,
            a2 * d * (b1 + c1 * eta2) + b2,
            a2 * a2 * c1 * d + c2,
            a1 * d * (eta2 - j2 * b1) + eta1,
            a1 * a1 * j2 * d + j1,
        )

    elements = jax.vmap(element)(ys, jnp.arange(len(ys)) == 0)
    _, means, variances, _, _ = lax.associative_scan(jax.vmap(combine), elements)
    return means, variances


xs, ys = simulate(random.key(4), 128)
means, variances = jax.jit(filter_by_scan)(ys)
parallel_means, parallel_variances = jax.jit(filter_in_parallel)(ys)
print("first means", means[:4])
print(f"last variance {variances[-1]:.5f}")
print(
    f"error of what is seen {jnp.mean((ys - xs) ** 2):.4f}, of the filter {jnp.mean((means - xs) ** 2):.4f}"
)
print("in parallel the same:", jnp.allclose(means, parallel_means, atol=1e-4))
print("variances too:", jnp.allclose(variances, parallel_variances, atol=1e-4))
