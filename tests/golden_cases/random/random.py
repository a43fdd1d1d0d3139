"""Recorded cases of random numbers that have JAX's bits, to the last one."""

import inspect

import numpy as np
from golden_cases.codec import Group


def _parameters(function):
    """Names, kinds and defaults, as text: "key, shape=(), *, out_sharding=None"."""
    parameters = inspect.signature(function).parameters.values()
    return str(
        inspect.Signature(
            [
                p.replace(
                    annotation=p.empty,
                    default=p.default.item() if isinstance(p.default, np.generic) else p.default,
                )
                for p in parameters
            ]
        )
    )


def names(jax, jnp, lax):
    return {"key": jax.random.key(7), "init": jax.nn.initializers, "parameters": _parameters}


# All public functions of jax.random.
_FUNCTIONS = """
    PRNGKey ball bernoulli beta binomial bits categorical cauchy chisquare choice clone dirichlet
    double_sided_maxwell exponential f fold_in gamma generalized_normal geometric gumbel key
    key_data key_dtype key_impl laplace loggamma logistic lognormal maxwell multinomial
    multivariate_normal normal orthogonal pareto permutation poisson rademacher randint rayleigh
    split t triangular truncated_normal uniform wald weibull_min wrap_key_data
"""

GROUPS = [
    Group(
        "parameters of random functions",
        [f"parameters(jax.random.{name})" for name in _FUNCTIONS.split()],
        ulps=0,
    ),
    Group(
        "bits of draws",
        [
            "jax.random.normal(key, (200,))",
            "jax.random.normal(key, (3, 5, 7))",
            "jax.random.normal(key, (100,), jnp.bfloat16)",
            "jax.random.normal(key, (100,), jnp.float16)",
            "jax.jit(lambda key: jax.random.normal(key, (200,)))(key)",
            "jax.vmap(lambda k: jax.random.normal(k, (20,)))(jax.random.split(key, 5))",
            "jax.random.uniform(key, (200,))",
            "jax.random.uniform(key, (100,), minval=-1)",
            "lax.erf_inv(f32([-0.99999, -0.9, -0.5, -1e-20, 0, 0.1, 0.645, 0.99, 1, 2]))",
        ],
        ulps=0,
    ),
    Group(
        "bits of initializers",
        [
            "init.normal()(key, (20, 10))",
            "init.uniform()(key, (20, 10))",
            "init.glorot_uniform()(key, (20, 10))",
            "init.he_uniform()(key, (20, 10))",
            "init.lecun_uniform()(key, (20, 10))",
            "init.variance_scaling(2.0, 'fan_out', 'normal')(key, (20, 10))",
            "init.variance_scaling(2.0, 'fan_avg', 'uniform')(key, (3, 3, 4, 5))",
        ],
        ulps=0,
    ),
]
