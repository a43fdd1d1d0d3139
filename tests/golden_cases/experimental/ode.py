"""Recorded cases of jax.experimental.ode.odeint.

Both solvers choose their own steps. In float32 rounding decides about them, so that results agree to
the solver's accuracy; in float64 the steps are the same ones, and the results nearly so.
"""

import importlib

import numpy as np
from golden_cases.codec import Group


def names(jax, jnp, lax):
    ode = importlib.import_module(f"{jax.__name__}.experimental.ode")

    def odeint(func, y0, t, *args, **options):
        return ode.odeint(func, y0, jnp.asarray(t), *args, **options)

    def decay(y, t, rate):
        return -rate * y

    def pendulum(y, t, g):
        return jnp.stack([y[1], -g * jnp.sin(y[0])])

    def lotka_volterra(state, t, rates):
        prey, predators = state["prey"], state["predators"]
        return {
            "prey": rates[0] * prey - rates[1] * prey * predators,
            "predators": rates[2] * prey * predators - rates[3] * predators,
        }

    def forced(y, t, a):
        return jnp.sin(a * t) - y

    def last(func):
        """The sum of the solution at the last time, as a function of y0, t and args."""
        return lambda y0, t, *args: odeint(func, y0, t, *args)[-1].sum()

    def closing_over(rate):
        return odeint(lambda y, t: -rate * y, jnp.ones_like(rate), np.array([0.0, 1.0]))[-1]

    return locals() | {
        "times": np.linspace(0.0, 2.0, 5),
        "upright": np.array([1.0, 0.5]),
        "rates": np.array([1.1, 0.4, 0.1, 0.4]),
        "animals": {"prey": 10.0, "predators": 5.0},
    }


FLOAT32 = [
    "odeint(decay, 1.0, times, 0.5)",
    "odeint(decay, f32([1, 2]), times, f32([0.5, 1]))",
    "odeint(decay, f32([[1, 2], [3, 4]]), times, 0.5)",
    "odeint(decay, c64([1, 2j]), times, c64(0.5 + 1j))",
    "odeint(pendulum, upright, times, 9.8)",
    "odeint(lotka_volterra, animals, times, rates)",
    "odeint(forced, 0.0, times, 3.0)",
    "odeint(forced, 0.0, times + 1, 3.0)",
    "odeint(decay, 1.0, times[:1], 0.5)",
    "odeint(lambda y, t: 0 * y, f32([1, 2]), times)",
    "jax.jit(lambda y: odeint(pendulum, y, times, 9.8))(upright)",
    "jax.vmap(lambda y: odeint(pendulum, y, times, 9.8))(f32([[1, 0], [0.5, 2]]))",
    "jax.vmap(lambda g: odeint(pendulum, upright, times, g), 0, 1)(f32([1, 3, 9]))",
    "jax.grad(last(decay), 2)(1.0, times, 0.5)",
    "jax.grad(closing_over)(0.5)",
    "jax.vmap(jax.grad(closing_over))(v)",
]

FLOAT64 = [
    "odeint(decay, 1.0, times, 0.5)",
    "odeint(decay, 1.0, times, 0.5, rtol=1e-3, atol=1e-3)",
    "odeint(decay, 1.0, times, 0.5, rtol=1e-3, atol=1e-3, hmax=0.01)",
    "odeint(pendulum, upright, times, 9.8)",
    "odeint(pendulum, upright, times, 9.8, rtol=1e-4, atol=1e-6)",
    "odeint(lotka_volterra, animals, times, rates)",
    "odeint(forced, 0.0, times, 3.0)",
    "odeint(decay, c64([1, 2j]), times, c64(0.5 + 1j), rtol=1e-4, atol=1e-4)",
    "jax.vmap(lambda y: odeint(pendulum, y, times, 9.8))(np.array([[1, 0], [0.5, 2]]))",
    "jax.grad(last(pendulum), (0, 1, 2))(upright, times, 9.8)",
    "jax.jit(jax.grad(last(pendulum), (0, 1, 2)))(upright, times, 9.8)",
    "jax.grad(last(forced), (0, 1, 2))(0.5, times + 1, 3.0)",
    "jax.jacrev(odeint, (1, 2))(decay, np.array([1.0, 2.0]), times, 0.5)",
    "jax.jacrev(lambda *a: odeint(lotka_volterra, *a))(animals, times, rates)",
    "jax.vmap(jax.grad(last(pendulum), (0, 2)), (0, None, None))(np.eye(2), times, 9.8)",
    "jax.grad(lambda y: odeint(decay, y + 0j, times, 1j)[-1].real)(1.0)",
    "jax.grad(jax.grad(last(lambda y, t: -y * y)))(1.0, times)",
    "jax.grad(closing_over)(0.5)",
]

GROUPS = [
    Group("odeint", FLOAT32, ulps=100, scaled=True),
    Group("odeint in float64", FLOAT64, ulps=1e5, scaled=True, config={"jax_enable_x64": True}),
]

ERRORS = {
    "ode": [
        ("odeint(decay, 1.0, i32([0, 1]), 0.5)", ["t", "array of floats"]),
        ("odeint(decay, 1.0, times, 'fast')", ["*args", "arrays", "fast"]),
        ("odeint(decay, f32([1, 2]), times, f32([1, 2, 3]))", ["(2,)", "(3,)"]),
        ("odeint(lambda y, t: (y, y), 1.0, times)", ["derivative", "(*, *)"]),
        ("odeint(lambda y, t: -0.5 * y, i32(1), times)", ["y0", "floats"]),
        ("jax.jvp(lambda y: odeint(decay, y, times, 0.5), (1.0,), (1.0,))", ["forward-mode"]),
        ("odeint(3, 1.0, times)", ["callable"]),
    ],
}
