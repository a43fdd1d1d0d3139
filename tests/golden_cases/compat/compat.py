"""Recorded cases of names of `jax` itself that few programs use."""

from golden_cases.codec import Group


def names(jax, jnp, lax):
    def of_constants(x):
        with jax.ensure_compile_time_eval():
            y = jnp.sum(jnp.arange(3.0))
            if y > 2:  # known
                return x * y
        return x

    def of_argument(x):
        with jax.ensure_compile_time_eval():
            return jnp.cos(x)

    def product(x, y):
        return x * jnp.sin(y)

    def with_aux(x, y):
        return product(x, y), x + 1

    def both(*args, argnums=0, fun=product, **options):
        """The results of both halves, but for the residuals."""
        fwd, bwd = jax.fwd_and_bwd(fun, argnums, **options)
        out, residuals, *aux = fwd(*args)
        return out, aux, bwd(residuals, jax.tree.map(jnp.ones_like, out))

    return {
        "of_constants": of_constants,
        "of_argument": of_argument,
        "with_aux": with_aux,
        "both": both,
    }


def jaxprs(jax, jnp, lax):
    given = names(jax, jnp, lax)
    return {
        "ensure_compile_time_eval of an argument": lambda: jax.make_jaxpr(given["of_argument"])(
            1.0
        ),
        "ensure_compile_time_eval in grad": lambda: jax.make_jaxpr(jax.grad(given["of_argument"]))(
            1.0
        ),
    }


VALUES = """
of_constants(1.0)
jax.jit(of_constants)(1.0)
jax.grad(of_constants)(1.0)
jax.vmap(of_constants)(jnp.ones(2))
jax.jit(of_argument)(1.0)
jax.jit(jax.grad(of_argument))(1.0)
jax.vmap(of_argument)(jnp.ones(2))
jax.jacobian(lambda x: x**2)(jnp.arange(3.0))
jax.jacobian(lambda x, y: x * y, argnums=(0, 1))(2.0, 3.0)
both(2.0, 3.0)
both(2.0, 3.0, argnums=1)
both(2.0, 3.0, argnums=(0, 1))
both(2.0, 3.0, argnums=(0, 1), jitted=False)
both(2.0, 3.0, argnums=0, fun=with_aux, has_aux=True)
both({'a': 2.0}, fun=lambda tree: tree['a'] ** 2)
str(np.dtype(jax.float0)), np.zeros(2, jax.float0)
jax.copy_to_host_async({'a': jnp.ones(3)})
jax.version.__version__, jax.version.__version_info__, jax.lib.__version__
"""

GROUPS = [Group("root_names", VALUES.strip().split("\n"))]

ERRORS = {
    "root_names": [
        ("jax.jit(lambda x: both(x, 3.0, argnums=2))(2.0)", ["argnums"]),
    ]
}
