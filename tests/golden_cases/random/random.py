"""Recorded cases of random numbers that have JAX's bits, to the last one."""

from golden_cases.codec import Group


def names(jax, jnp, lax):
    return {"key": jax.random.key(7), "init": jax.nn.initializers}


GROUPS = [
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
