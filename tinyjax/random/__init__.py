"""`jax.random`: draws that are functions of a key. This file only re-exports.

Read threefry (bits from a key), keys, distributions, continuous, choices, in this order.

Source: https://docs.jax.dev/en/latest/jax.random.html
"""

# ruff: noqa: F401
# ruff: isort: skip_file
# fmt: off

from tinyjax.random.choices import categorical, choice, permutation
from tinyjax.random.continuous import (
    cauchy, double_sided_maxwell, exponential, gumbel, laplace, logistic, lognormal, maxwell,
    pareto, rayleigh, triangular, wald, weibull_min,
)
from tinyjax.random.distributions import (
    bernoulli, bits, normal, rademacher, randint, truncated_normal, uniform,
)
from tinyjax.random.keys import (
    Key, PRNGKey, clone, fold_in, key, key_data, key_dtype, key_impl, split, wrap_key_data,
)

# Imported on first access.
_LAZY_NAMES = {
    "binomials": ("binomial", "multinomial"),
    "counts": ("geometric", "poisson"),
    "gamma_family": (
        "ball", "beta", "chisquare", "dirichlet", "f", "gamma", "generalized_normal", "loggamma", "t",
    ),
    "gamma_sampler": ("random_gamma_p",),
    "multivariate": ("multivariate_normal", "orthogonal"),
}
