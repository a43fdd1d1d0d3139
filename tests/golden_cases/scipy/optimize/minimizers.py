"""Recorded cases of jax.scipy.optimize."""

import importlib

from golden_cases.codec import Group


def names(jax, jnp, lax):
    minimize = importlib.import_module(f"{jax.__name__}.scipy.optimize").minimize

    def himmelblau(p):
        x, y = p
        return (x**2 + y - 11) ** 2 + (x + y**2 - 7) ** 2

    def found(fun, x0, *args, **options):
        """Where the search ended, and whether it says that this is a minimum."""
        results = minimize(fun, x0, args, method="BFGS", options=options)
        return results.x, results.success, results.status

    def counted(fun, x0):
        results = minimize(fun, x0, method="BFGS")
        return results.nit, results.nfev, results.njev

    def limited(fun, x0, **options):
        """What L-BFGS finds."""
        return minimize(fun, x0, method="l-bfgs-experimental-do-not-rely-on-this", options=options)

    def valley(x):
        return jnp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)

    return {
        "minimize": minimize,
        "limited": limited,
        "valley": valley,
        "found": found,
        "counted": counted,
        "himmelblau": himmelblau,
        "matyas": lambda p: 0.26 * (p[0] ** 2 + p[1] ** 2) - 0.48 * p[0] * p[1],
        "bowl": lambda x: jnp.sum((x - jnp.arange(1.0, x.size + 1)) ** 2),
        "scaled": lambda x, a, b: jnp.sum((x - a) ** 2) * b,
    }


CALLS = [
    "found(himmelblau, f32([1, 1]))",
    "found(bowl, jnp.zeros(3))",
    "found(bowl, v)",
    "found(bowl, jnp.zeros(3), norm=2)",
    "found(scaled, jnp.zeros(2), 1.0, 2.0)",
    "found(lambda x: jnp.sum(jnp.cos(x)), f32([0.1, 2]))",
    "found(lambda x: jnp.sum(jnp.cosh(x - 3)), f32([20]))",
    "found(lambda x: -jnp.sum(x**2), f32([1, 2]))",
    "found(lambda x: jnp.sum(jnp.cosh(x - 3)), f32([20]), maxiter=5)",
    "counted(bowl, jnp.zeros(3))",
    "counted(bowl, v)",
    "counted(matyas, f32([1, 2]))",
    "counted(lambda x: jnp.sum(jnp.cosh(x - 3)), f32([20]))",
    "counted(lambda x: -jnp.sum(x**2), f32([1, 2]))",
    "minimize(scaled, jnp.zeros(2), (1.0, 2.0), method='bfgs')",
    "minimize(scaled, jnp.zeros(2), (1.0, 2.0), method='BFGS', tol=1.0)._fields",
    "jax.jit(lambda x: found(himmelblau, x))(f32([1, 1]))",
    "jax.vmap(lambda x: found(bowl, x))(m)",
    "jax.jvp(lambda a: found(scaled, jnp.zeros(2), a, 2.0)[0], (1.0,), (1.0,))",
]

# The end is so flat that the rounding of the way shows; the counts are JAX's anyway.
LIMITED = [
    "limited(himmelblau, f32([1, 1]))",
    "limited(bowl, jnp.zeros(3))",
    "limited(bowl, v)",
    "limited(valley, jnp.zeros(8), maxcor=3, maxiter=2)",
    "limited(valley, jnp.zeros(8), maxfun=6)",
    "limited(valley, jnp.zeros(8), maxgrad=6)",
    "limited(valley, jnp.zeros(8), ftol=0.1)",
    "limited(valley, jnp.zeros(8), gtol=10.0, norm=2)",
    "limited(lambda x: -jnp.sum(x**2), f32([1, 2]))[1:3]",
    "jax.jit(lambda x: limited(himmelblau, x))(f32([1, 1]))",
    "jax.vmap(lambda x: limited(bowl, x))(m)",
    "jax.jvp(lambda a: limited(lambda x: jnp.sum((x - a) ** 2), jnp.zeros(2)).x, (1.0,), (1.0,))",
]

GROUPS = [
    Group("minimize", CALLS, ulps=64, scaled=True),
    Group("limited memory", LIMITED, ulps=64, scaled=True),
]

ERRORS = {
    "minimize": [
        ("minimize(bowl, v, method='Newton-CG')", ["Newton-CG", "not recognized"]),
        ("minimize(bowl, v)", ["method"]),
        ("limited(bowl, v, steps=3)", ["steps"]),
        ("minimize(scaled, v, [1.0, 2.0], method='BFGS')", ["args", "tuple", "[1.0, 2.0]"]),
        ("minimize(bowl, v, method='BFGS', options={'steps': 3})", ["steps"]),
        ("minimize(lambda x: x**2, f32([1]), method='BFGS')", ["scalar", "(1,)"]),
        ("minimize(lambda x: (x**2).sum(), i32([1]), method='BFGS')", ["int32"]),
        ("minimize(lambda x: (x**2).sum(), m, method='BFGS')", []),
        ("jax.grad(lambda a: found(scaled, jnp.zeros(2), a, 2.0)[0].sum())(1.0)", ["Reverse-mode"]),
    ],
}
