"""Recorded cases of the distributions of jax.scipy.stats.

Each function meets points in and outside of its support, at its ends, infinite and NaN ones, all with
several parameters at once, good and bad ones; its cotangents; integers, and a Python number."""

import importlib

import numpy as np
from golden_cases.codec import Group


def names(jax, jnp, lax):
    def floats(*values):
        return jnp.array(np.array(values, np.float32))

    def cotangents(fun, *args):
        """Those of all arguments, for a cotangent of ones."""
        out, vjp = jax.vjp(fun, *args)
        return vjp(jnp.ones_like(out))

    return {
        "stats": importlib.import_module(f"{jax.__name__}.scipy.stats"),
        "cotangents": cotangents,
        "x": floats(-np.inf, -2, -1, -0.5, 0, 0.25, 0.5, 0.75, 1, 1.5, 2, 3, 7, np.inf, np.nan)[
            :, None
        ],
        "k": floats(-1, 0, 1, 2, 3, 4.5, 5, 6, np.nan)[:, None],
        "q": floats(-0.5, 0, 0.1, 0.5, 0.9, 1, 1.5, np.nan)[:, None],
        "loc": floats(0, 0.5, 0, 0),
        "scale": floats(1, 2, -1, 0),
        "loc1": floats(0, 0, 0.5, 0),
        "scale1": floats(1, 1, 2, 1),
        "zero_one": floats(0, 0, 0, 1),
        "far": floats(-1e4, -100, -30, -10, 10, 30, 100, 1e4),
        "inner": floats(-1, 0.25, 0.75, 1.5),
        "beyond": floats(1.25, 1.5, 2.5, 7),
        "within": floats(0.25, 0.5, 0.75),
        "counts": floats(1, 2, 3),
    }


ALL = ("logpdf", "pdf", "logcdf", "cdf", "logsf", "sf", "ppf")
# Those that JAX does not differentiate: betainc in a and b, and Gumbel's, which raise an error of float0.
NO_COTANGENTS = {("beta", f) for f in ("cdf", "logcdf", "sf", "logsf")}
NO_COTANGENTS |= {(g, f) for g in ("gumbel_l", "gumbel_r") for f in ALL}
# JAX gives a number for NaN; and in functions of truncnorm.
NO_NAN = {"stats.uniform.cdf"}
# distribution: (its functions, parameters, one set of them, integers for them, a name of points inside)
LOC_SCALE = "loc, scale"
DISTRIBUTIONS = {
    "norm": ((*ALL, "isf"), LOC_SCALE, "0.5, 2.0", "1, 2", "inner"),
    "uniform": (("logpdf", "pdf", "cdf", "ppf"), LOC_SCALE, "0.0, 2.0", "1, 2", "inner"),
    "laplace": (("logpdf", "pdf", "cdf"), LOC_SCALE, "0.5, 2.0", "1, 2", "inner"),
    "cauchy": ((*ALL, "isf"), LOC_SCALE, "0.5, 2.0", "1, 2", "inner"),
    "logistic": (("logpdf", "pdf", "cdf", "sf", "ppf", "isf"), LOC_SCALE, "0.5, 2.0", "1, 2", "inner"),
    "expon": (ALL, LOC_SCALE, "0.0, 2.0", "1, 2", "inner"),
    "gumbel_l": (ALL, LOC_SCALE, "0.5, 2.0", "1, 2", "inner"),
    "gumbel_r": (ALL, LOC_SCALE, "0.5, 2.0", "1, 2", "inner"),
    "pareto": (ALL, f"f32([1.5, 1, 2, -1]), {LOC_SCALE}", "1.5, 0.25, 1.0", "2, 0, 1", "beyond"),
    "gamma": (ALL[:-1], "f32([2.5, 1, 0.5, 2]), loc1, scale1", "2.5, 0.25, 2.0", "2", "beyond"),
    "chi2": (ALL[:-1], "f32([3, 2, 0.5, 4]), loc1, scale1", "3.0, 0.25, 2.0", "2", "beyond"),
    "beta": (
        ALL[:-1], "f32([2, 0.5, 2, 1]), f32([3, 0.5, 3, 1]), loc1, scale1",
        "2.0, 3.0, 0.0, 2.0", "2, 3", "within",
    ),
    "t": (("logpdf", "pdf"), f"f32([4, 0.5, 1, 4]), {LOC_SCALE}", "4.0, 0.5, 2.0", "2, 0, 1", "inner"),
    "truncnorm": (
        ALL[:-1], "f32([-1, 1, -3, 2]), f32([2, 3, -1, 1]), loc1, scale1",
        "-1.0, 2.0, 0.5, 2.0", "-1, 2", "inner",
    ),
    "gennorm": (("logpdf", "pdf", "cdf"), "f32([1.5, 0.5, 2, 1])", "1.5", "2", "beyond"),
    "vonmises": (("logpdf", "pdf"), "f32([2, 0.5, -1, 0])", "2.0", "2", "inner"),
    "wrapcauchy": (("logpdf", "pdf"), "f32([0.5, 0.1, 1.5, 0])", "0.5", "0", "beyond"),
    "bernoulli": (("logpmf", "pmf"), "f32([0.3, 0, 1, 1.5]), zero_one", "0.3, 0.0", "1", "within"),
    "binom": (
        ("logpmf", "pmf"), "f32([5, 5, 3, 5]), f32([0.3, 0, 1, 0.5]), zero_one",
        "5.0, 0.3, 0.0", "5, 1", "counts",
    ),
    "nbinom": (
        ("logpmf", "pmf"), "f32([3, 0.5, 2, 3]), f32([0.4, 0.5, 1, 0.5]), zero_one",
        "3.0, 0.4, 0.0", "3, 1", "counts",
    ),
    "geom": (("logpmf", "pmf"), "f32([0.3, 1, 0.1, 0.5]), zero_one", "0.3, 0.0", "1", "beyond"),
    "poisson": (("logpmf", "pmf", "cdf"), "f32([2.5, 0, 1, 4]), zero_one", "2.5, 0.0", "2", "counts"),
    "betabinom": (
        ("logpmf", "pmf"),
        "f32([5, -1, 3, 5]), f32([2, 1, -1, 3]), f32([3, 1, 1, 2]), zero_one",
        "5.0, 2.0, 3.0, 0.0", "5, 2, 3", "counts",
    ),
}  # fmt: skip


def _calls(name):
    functions, parameters, some, integers, inside = DISTRIBUTIONS[name]
    for function in functions:
        f = f"stats.{name}.{function}"
        inverse = function in ("ppf", "isf")
        points = "q" if inverse else "k" if "logpmf" in functions else "x"
        if f in NO_NAN or name == "truncnorm":
            points = "x[:-1]"
        yield f"{f}({points}, {parameters})"
        if (name, function) not in NO_COTANGENTS:
            yield f"cotangents({f}, {'within' if inverse else inside}, {some})"
        if not inverse:
            yield f"{f}(i32([0, 1, 2]), {integers})"
    yield f"{f}({0.25 if inverse else 1}, {some})"


CALLS = [call for name in DISTRIBUTIONS for call in _calls(name)]
CALLS += [
    "stats.bernoulli.cdf(k, f32([0.3, 0, 1, 1.5]))",
    "stats.bernoulli.cdf(1, 0)",
    "stats.bernoulli.ppf(q, f32([0.3, 0, 1, 1.5]))",
    "stats.norm.logpdf(f16([0.5, 1]))",
    "stats.gamma.logpdf(f16([0.5, 1]), 2.5)",
    "stats.poisson.logpmf(f16([0, 1]), 2.5)",
    *[f"jax.vmap(jax.grad(stats.{g}.logpdf))(inner)" for g in ("gumbel_l", "gumbel_r")],
    "jax.jit(stats.norm.logpdf)(v, w, 2.0)",
    "jax.vmap(stats.norm.logcdf, (0, None))(v, 2.0)",
    "jax.hessian(stats.norm.logpdf, (1, 2))(2.0, 0.5, 1.5)",
    "jax.grad(jax.grad(stats.gamma.logpdf))(2.0, 1.5)",
]
FAR = (
    "norm.logpdf",
    "norm.logcdf",
    "norm.logsf",
    "cauchy.logpdf",
    "logistic.logpdf",
    "laplace.logpdf",
)
TAILS = [f"stats.{f}(far)" for f in FAR]
TAILS += [f"cotangents(stats.{f}, far)" for f in FAR]
TAILS += ["stats.norm.pdf(far)", "stats.expon.logcdf(f32([1e-6, 1e-3, 10, 30]))"]

COTANGENTS = [call for call in CALLS if call.startswith("cotangents")]
CALLS = [call for call in CALLS if call not in COTANGENTS]

GROUPS = [
    Group("densities", CALLS, ulps=32, scaled=True),
    Group("densities, cotangents", COTANGENTS, ulps=512, scaled=True),
    Group("densities, far out", TAILS, ulps=32),
]

ERRORS = {
    "densities": [
        *[(f"stats.{n}.{d[0][0]}([1.0], {d[2]})", ["list"]) for n, d in DISTRIBUTIONS.items()],
        ("stats.norm.logpdf(v, x5)", ["(3,)", "(5,)"]),
        ("stats.norm.logpdf('a')", ["str"]),
        ("stats.bernoulli.cdf([1], 0.5)", ["list"]),
        ("stats.gamma.logpdf(v)", ["a"]),
    ],
}
