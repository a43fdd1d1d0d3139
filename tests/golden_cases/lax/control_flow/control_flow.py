"""Each kind of control flow and of user-defined derivative, under each transformation.

The rows are functions from a scalar to a scalar, written so that a batch of arguments takes
different branches and different numbers of rounds; the columns are what is done to them.
"""

from golden_cases.codec import Group

REVERSIBLE = (
    "a_cond a_switch a_static_fori a_scan a_map an_associative_scan a_custom_jvp a_custom_vjp "
    "a_checkpoint"
).split()
FORWARD_ONLY = ["a_while", "a_dynamic_fori"]

ANY_ROW = ["eager", "jitted", "vmapped", "jit_of_vmap", "in_scan", "in_cond", "jit_of_in_scan"]
FORWARD = ["pushed_forward", "jit_of_jvp", "vmap_of_jvp", "jvp_of_in_scan"]
REVERSE = [
    "gradient",
    "jit_of_grad",
    "vmap_of_grad",
    "jit_of_vmap_of_grad",
    "grad_of_jit",
    "grad_of_in_scan",
    "grad_of_in_cond",
    "jit_of_vmap_of_grad_of_in_scan",
    "grad_of_grad",
]


def _calls(columns, rows):
    return [f"{column}({row})" for row in rows for column in columns]


GROUPS = [
    Group("control flow: values", _calls(ANY_ROW, REVERSIBLE + FORWARD_ONLY), ulps=32, scaled=True),
    Group(
        "control flow: forward mode",
        _calls(FORWARD, [row for row in REVERSIBLE + FORWARD_ONLY if row != "a_custom_vjp"]),
        ulps=64,
        scaled=True,
    ),
    Group("control flow: reverse mode", _calls(REVERSE, REVERSIBLE), ulps=128, scaled=True),
]

ERRORS = {
    "control flow: reverse mode through a while_loop": [
        ("gradient(a_while)", ["while_loop|fori_loop"]),
        *((f"grad_of_jit({row})", ["while_loop|fori_loop"]) for row in FORWARD_ONLY),
        *((f"jit_of_vmap_of_grad({row})", ["while_loop|fori_loop"]) for row in FORWARD_ONLY),
    ],
    "control flow: forward mode through a custom_vjp": [
        ("pushed_forward(a_custom_vjp)", ["custom_vjp"]),
    ],
}


def names(jax, jnp, lax):
    return rows(jax, jnp, lax) | columns(jax, jnp, lax)


def rows(jax, jnp, lax):
    def a_cond(x):
        return lax.cond(x > 0.5, lambda x: jnp.sin(x) * x, lambda x: x * x - 1, x)

    def a_switch(x):
        index = jnp.floor(2 * x).astype(int)
        return lax.switch(index, [jnp.sin, lambda x: x**3, lambda x: jnp.exp(-x) + x], x)

    def a_while(x):
        def body(state):
            i, y = state
            return i + 1, y * 1.5 + jnp.sin(x)

        return lax.while_loop(lambda s: (s[1] < 4) & (s[0] < 10), body, (0, x))[1]

    def a_static_fori(x):
        return lax.fori_loop(0, 4, lambda i, y: jnp.sin(y) * x + i, x)

    def a_dynamic_fori(x):
        stop = 3 + jnp.floor(x).astype(int)
        return lax.fori_loop(0, stop, lambda i, y: jnp.cos(y) + x * i, x)

    def a_scan(x):
        def body(carry, w):
            carry = jnp.tanh(carry * w + x)
            return carry, carry * x

        last, all_of_them = lax.scan(body, 0.1, jnp.array([0.5, -1.0, 2.0]), reverse=True)
        return last + jnp.sum(all_of_them)

    def a_map(x):
        return jnp.sum(lax.map(lambda w: jnp.sin(w * x), jnp.array([1.0, 2.0, 3.0])))

    def an_associative_scan(x):
        return lax.associative_scan(jnp.multiply, x + jnp.arange(1.0, 6.0))[3]

    @jax.custom_jvp
    def a_custom_jvp(x):
        return jnp.sin(x)

    @a_custom_jvp.defjvp
    def a_custom_jvp_rule(primals, tangents):
        (x,), (x_dot,) = primals, tangents
        return a_custom_jvp(x), 2 * jnp.cos(x) * x_dot

    @jax.custom_vjp
    def a_custom_vjp(x):
        return jnp.sin(x) * x

    a_custom_vjp.defvjp(lambda x: (a_custom_vjp(x), jnp.cos(x)), lambda cos, ct: (3 * cos * ct,))

    @jax.checkpoint
    def a_checkpoint(x):
        return jnp.sin(jnp.sin(x) * x)

    return {name: f for name, f in locals().items() if name.startswith(("a_", "an_"))}


def columns(jax, jnp, lax):
    point, points = 0.7, jnp.array([-0.4, 0.2, 0.7, 1.3])

    def scanned(f):
        def body(carry, w):
            y = f(carry * w)
            return jnp.tanh(y), y + carry

        def loop(x):
            last, ys = lax.scan(body, x, points)
            return last + jnp.sum(ys)

        return loop

    def conditional(f):
        return lambda x: lax.cond(x > 0.5, f, lambda x: x - f(x), x)

    def tangent(f):
        return lambda x: jax.jvp(f, (x,), (1.0,))

    grad, jit, vmap = jax.grad, jax.jit, jax.vmap
    return {
        "eager": lambda f: f(point),
        "jitted": lambda f: jit(f)(point),
        "vmapped": lambda f: vmap(f)(points),
        "jit_of_vmap": lambda f: jit(vmap(f))(points),
        "in_scan": lambda f: scanned(f)(point),
        "jit_of_in_scan": lambda f: jit(scanned(f))(point),
        "in_cond": lambda f: [conditional(f)(x) for x in (0.3, point)],
        "pushed_forward": lambda f: tangent(f)(point),
        "jit_of_jvp": lambda f: jit(tangent(f))(point),
        "vmap_of_jvp": lambda f: vmap(tangent(f))(points),
        "jvp_of_in_scan": lambda f: tangent(scanned(f))(point),
        "gradient": lambda f: grad(f)(point),
        "jit_of_grad": lambda f: jit(grad(f))(point),
        "vmap_of_grad": lambda f: vmap(grad(f))(points),
        "jit_of_vmap_of_grad": lambda f: jit(vmap(grad(f)))(points),
        "grad_of_jit": lambda f: grad(jit(f))(point),
        "grad_of_in_scan": lambda f: grad(scanned(f))(point),
        "grad_of_in_cond": lambda f: [grad(conditional(f))(x) for x in (0.3, point)],
        "jit_of_vmap_of_grad_of_in_scan": lambda f: jit(vmap(grad(scanned(f))))(points),
        "grad_of_grad": lambda f: grad(grad(f))(point),
    }
