"""Roots, fixed points, minima and least squares by its solvers, and derivatives of solutions."""

import jax
import jax.numpy as jnp
import optax
import optimistix as optx

# ---- the README's: one step of implicit Euler ----


def f(y):
    return y[0] * jnp.tanh(y[1]) + 1, jnp.sin(y[0]) - y[1] / 2


y0 = jnp.array([1.0, 0.0])


def fn(y, args):
    dy0, dy1 = f(y)
    return y - (y0 + 0.1 * jnp.array([dy0, dy1]))


for solver in (optx.Newton(rtol=1e-5, atol=1e-5), optx.Chord(1e-5, 1e-5), optx.Dogleg(1e-5, 1e-5)):
    solution = optx.root_find(fn, solver, y0)
    print(f"root_find by {type(solver).__name__}:", solution.value, solution.stats["num_steps"])
print(
    "fixed point:",
    optx.fixed_point(
        lambda y, a: jnp.cos(a * y), optx.FixedPointIteration(1e-5, 1e-5), 0.5, 0.9
    ).value,
)
bisection = optx.Bisection(rtol=1e-5, atol=1e-5)
print(
    "bisection:",
    optx.root_find(
        lambda x, c: x**3 - c, bisection, 1.0, 2.0, options={"lower": 0.0, "upper": 2.0}
    ).value,
)

# ---- minimise ----


def rosenbrock(y, args):
    return jnp.sum(100 * (y[1:] - y[:-1] ** 2) ** 2 + (1 - y[:-1]) ** 2)


for solver in (
    optx.BFGS(rtol=1e-4, atol=1e-4),
    optx.NelderMead(rtol=1e-4, atol=1e-4),
    optx.OptaxMinimiser(optax.adam(3e-2), rtol=1e-5, atol=1e-5),
):
    solution = optx.minimise(rosenbrock, solver, jnp.array([0.5, 0.2]), max_steps=2000)
    print(f"minimise by {type(solver).__name__}:", jnp.round(solution.value, 2))
cg = optx.NonlinearCG(rtol=1e-4, atol=1e-4)
print(
    "bowl:",
    jnp.round(
        optx.minimise(
            lambda y, a: jnp.sum((y - a) ** 4 + (y - a) ** 2), cg, jnp.zeros(2), jnp.arange(2.0)
        ).value,
        3,
    ),
)

# ---- least squares: the rate of a decay ----

t = jnp.linspace(0, 1, 10)
data = 3 * jnp.exp(-2 * t)


def residuals(p, data):
    return p["scale"] * jnp.exp(-p["rate"] * t) - data


start = {"scale": jnp.array(1.0), "rate": jnp.array(1.0)}
for solver in (
    optx.LevenbergMarquardt(1e-5, 1e-5),
    optx.GaussNewton(1e-5, 1e-5),
    optx.Dogleg(1e-5, 1e-5),
):
    print(
        f"least squares by {type(solver).__name__}:",
        optx.least_squares(residuals, solver, start, data).value,
    )

# ---- derivatives of the solution, jit, vmap, failures ----


def cube_root(c):
    return optx.root_find(lambda x, c: x**3 - c, optx.Newton(1e-6, 1e-6), jnp.array(1.5), c).value


print("gradient:", cube_root(8.0), jax.grad(cube_root)(8.0), jax.jit(jax.grad(cube_root))(27.0))
print(
    "vmap:",
    jax.vmap(cube_root)(jnp.array([1.0, 2.0, 3.0])),
    jax.vmap(jax.grad(cube_root))(jnp.array([1.0, 2.0])),
)


def fitted_rate(data):
    return optx.least_squares(residuals, optx.LevenbergMarquardt(1e-6, 1e-6), start, data).value[
        "rate"
    ]


print("fit's gradient:", jax.grad(fitted_rate)(data))
failed = optx.root_find(
    lambda x, a: x**2 + 1, optx.Newton(1e-6, 1e-6), jnp.array(1.0), max_steps=20, throw=False
)
print("failed:", failed.result == optx.RESULTS.successful)
