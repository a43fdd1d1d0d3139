"""Recorded cases of functions of lax that few programs use."""

from golden_cases.codec import Group


def jaxprs(jax, jnp, lax):
    x = jnp.arange(6.0).reshape(2, 3)

    def jaxpr(f):
        return lambda: jax.make_jaxpr(f)(x)

    barrier = lax.optimization_barrier
    return {
        "optimization_barrier of two": jaxpr(lambda x: barrier((x, x + 1))),
        "optimization_barrier in grad": jaxpr(jax.grad(lambda x: barrier(x * x).sum())),
        "optimization_barrier in vmap": jaxpr(jax.vmap(lambda x: barrier((x, 2.0)))),
        "optimization_barrier in jvp": jaxpr(lambda x: jax.jvp(barrier, (x,), (x,))),
        "approx_max_k": jaxpr(lambda x: lax.approx_max_k(x, 2)),
        "approx_min_k along an axis": jaxpr(lambda x: lax.approx_min_k(x, 2, 0)),
        "grad of approx_max_k": jaxpr(jax.grad(lambda x: lax.approx_max_k(x, 2)[0].sum())),
    }


GROUPS = [
    Group(
        "approx_max_k and approx_min_k",
        [
            "lax.approx_max_k(f32([[1, 5, 2], [3, 4, 0]]), 2)",
            "lax.approx_min_k(f32([[1, 5, 2], [3, 4, 0]]), 2)",
            "lax.approx_min_k(f32([[1, 5, 2], [3, 4, 0]]), 1, reduction_dimension=0)",
            "jax.vmap(lambda r: lax.approx_max_k(r, 1))(f32([[1, 5, 2], [3, 4, 0]]))",
            "jax.jit(lambda x: lax.approx_max_k(x, 2))(f32([[1, 5, 2], [3, 4, 0]]))",
            "jax.grad(lambda x: lax.approx_min_k(x, 2)[0].sum())(f32([[1, 5, 2], [3, 4, 0]]))",
        ],
    ),
    Group(
        "optimization_barrier and platform_dependent",
        [
            "lax.optimization_barrier((1, 2.0, None, f32([1, 2])))",
            "jax.jit(lambda x: lax.optimization_barrier(x * 2) + 1)(f32([1, 2]))",
            "lax.platform_dependent(f32([1, 2]), cpu=jnp.sin, default=jnp.cos)",
            "jax.jit(lambda x: lax.platform_dependent(x, tpu=jnp.sin, default=jnp.cos))(f32([1, 2]))",
            "jax.grad(lambda x: lax.platform_dependent(x, cpu=jnp.sin))(2.0)",
        ],
    ),
]

ERRORS = {
    "approx_max_k": [
        ("lax.approx_max_k(jnp.arange(3), 2)", ["float"]),
        ("lax.approx_max_k(jnp.ones(3), 4)", ["k"]),
        ("lax.approx_max_k(jnp.ones(3), -1)", ["k"]),
        ("lax.approx_max_k(1.0, 1)", ["dimension"]),
    ],
    "platform_dependent": [("lax.platform_dependent(2.0, tpu=jnp.sin)", ["platform"])],
}
