"""Custom rules: gradients clipped on their way, rounding that lets them through, log(1 + e^x)."""

import jax
import jax.numpy as jnp


@jax.custom_vjp
def clip_gradient(lo, hi, x):
    return x


def clip_gradient_fwd(lo, hi, x):
    return x, (lo, hi)


def clip_gradient_bwd(residuals, g):
    lo, hi = residuals
    return None, None, jnp.clip(g, lo, hi)


clip_gradient.defvjp(clip_gradient_fwd, clip_gradient_bwd)


@jax.custom_jvp
def log1pexp(x):
    return jnp.log(1.0 + jnp.exp(x))


@log1pexp.defjvp
def log1pexp_jvp(primals, tangents):
    (x,), (x_dot,) = primals, tangents
    return log1pexp(x), (1 - 1 / (1 + jnp.exp(x))) * x_dot


def straight_through_round(x):
    return x + jax.lax.stop_gradient(jnp.round(x) - x)


def loss(x):
    return jnp.sum(clip_gradient(-0.75, 0.75, jnp.sin(x)) * jnp.array([3.0, 0.5, -2.0]))


x = jnp.array([0.1, 0.2, 0.3])
print("clipped  ", jax.grad(loss)(x))
print("unclipped", jnp.cos(x) * jnp.array([3.0, 0.5, -2.0]))
print("log1pexp'", jax.vmap(jax.grad(log1pexp))(jnp.array([-50.0, 0.0, 100.0])))
print("jitted   ", jax.jit(jax.grad(log1pexp))(3.0))
print("rounded  ", jax.value_and_grad(lambda x: straight_through_round(x) ** 2)(1.7))
try:
    jax.jvp(clip_gradient, (0.0, 1.0, 2.0), (0.0, 0.0, 1.0))
except TypeError as error:
    print("forward mode:", type(error).__name__)
