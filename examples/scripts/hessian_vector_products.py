"""Hessian-vector products in four ways, and conjugate gradients that need nothing else."""

import jax
import jax.numpy as jnp
from jax import grad, jvp, lax, vjp


def f(x):
    return jnp.sum(jnp.log(jnp.cosh(x))) + 0.5 * jnp.prod(jnp.cos(x)) + 0.5 * jnp.sum(x**2)


def forward_over_reverse(x, v):
    return jvp(grad(f), (x,), (v,))[1]


def reverse_over_reverse(x, v):
    return grad(lambda x: jnp.vdot(grad(f)(x), v))(x)


def reverse_over_forward(x, v):
    return grad(lambda x: jvp(f, (x,), (v,))[1])(x)


def by_vjp(x, v):
    _, pullback = vjp(grad(f), x)
    return pullback(v)[0]


x = jnp.array([0.3, -0.8, 1.1, 0.5])
v = jnp.array([1.0, 0.0, -1.0, 2.0])
for hvp in forward_over_reverse, reverse_over_reverse, reverse_over_forward, by_vjp:
    print(f"{hvp.__name__:22s}", jax.jit(hvp)(x, v))
print("hessian @ v           ", jax.hessian(f)(x) @ v)


@jax.jit
def conjugate_gradients(x, b, steps=8):
    """Solves hessian(x) @ s = b."""

    def body(_, state):
        s, r, p = state
        hp = forward_over_reverse(x, p)
        alpha = jnp.vdot(r, r) / jnp.maximum(jnp.vdot(p, hp), 1e-12)
        s, r_new = s + alpha * p, r - alpha * hp
        beta = jnp.vdot(r_new, r_new) / jnp.maximum(jnp.vdot(r, r), 1e-12)
        return s, r_new, r_new + beta * p

    return lax.fori_loop(0, steps, body, (jnp.zeros_like(b), b, b))[0]


s = conjugate_gradients(x, v)
print("solution", s)
print("solved:", jnp.allclose(jax.hessian(f)(x) @ s, v, atol=1e-4))
