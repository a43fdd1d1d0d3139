"""Operands of two types: masks, and weakly typed operands in all transformations and both orders of x64."""

from golden_cases.codec import Group

_OPERANDS = ["True", "2", "0.5", "1 + 2j"]
_OPERATIONS = [
    "-0.5 * t",
    "t + 1j",
    "2 - t",
    "True * t",
    "t / 3",
    "t**2 * 0.5",
    "2.0**t",
    "jnp.power(t, 0.5)",
    "jnp.where(jnp.bool_(True), t, 0.5)",
    "jnp.where(jnp.bool_(True), 1j, t)",
    "jnp.exp(-1j * t * 0.5)",
]
_OF_ORDERED = ["t // 2", "t % 0.75", "jnp.clip(t, 0, 0.25)", "jnp.maximum(t, 1)"]

_ALL = [
    f"lambda t: {operation}, {operand}"
    for operand in _OPERANDS
    for operation in _OPERATIONS + ([] if "j" in operand else _OF_ORDERED)
]

_MASKED = [
    "b8([0, 1]) * f32([nan, 2])",
    "jax.jit(lambda mask, x: mask * x)(b8([0, 1]), f32([inf, 2]))",
    "b8([0, 1]).astype('float32') * f32([-inf, 2])",
    "jnp.float32(0) * f32([nan, 2])",
    "jnp.where(b8([0, 1]), f32([nan, 2]), 0)",
    "jax.grad(lambda x: jnp.sum(b8([0, 1]) * x * x))(f32([nan, 2]))",
]

GROUPS = [
    Group("products with a mask", _MASKED),
    Group("weak operands, jitted", [f"jitted({call})" for call in _ALL], ulps=8),
    Group(
        "weak operands, transformed",
        [
            f"{transformation}(lambda t: {operation}, {operand})"
            for transformation in ("branch", "loop", "derivative", "gradient", "linear", "mapped")
            for operation in ("-0.5 * t", "jnp.exp(-1j * t * 0.5)", "t**2 * 0.5", "2.0**t")
            for operand in ("0.5", "1 + 2j")
        ],
        ulps=8,
    ),
    Group(
        "weak operands, made before x64",
        [
            f"made_before(lambda t: {operation}, {operand})"
            for operation in _OPERATIONS
            for operand in _OPERANDS
        ],
        ulps=8,
    ),
    Group(
        "weak operands, made with x64",
        [
            f"made_with(lambda t: {operation}, {operand})"
            for operation in _OPERATIONS
            for operand in _OPERANDS
        ],
        ulps=8,
    ),
]


def names(jax, jnp, lax):
    """Functions of f and a Python scalar: the array of it goes through f in some transformation."""

    def jitted(f, x):
        return jax.jit(f)(x), jax.jit(f)(jnp.asarray(x)), f(jnp.asarray(x))

    def branch(f, x):
        return jax.jit(lambda t: lax.cond(True, f, f, t))(jnp.asarray(x))

    def loop(f, x):
        t = jnp.asarray(x)
        return lax.scan(lambda i, _: (i + 1, f(t)), 0, None, length=2)

    def derivative(f, x):
        t = jnp.asarray(x)
        return jax.jvp(f, (t,), (jnp.ones_like(t),))

    def gradient(f, x):
        real = lambda t: jnp.sum(jnp.real(f(t)))  # noqa: E731
        t = jnp.asarray(x)
        return jax.grad(real)(t), jax.jit(jax.grad(jax.checkpoint(real)))(t)

    def linear(f, x):
        t = jnp.asarray(x)
        out, f_linear = jax.linearize(f, t)
        return f_linear(jnp.ones_like(t)), jax.vjp(f, t)[1](jnp.ones_like(out))

    def mapped(f, x):
        return jax.vmap(f)(jnp.stack([jnp.asarray(x)] * 2))

    def made_before(f, x):
        t = jnp.asarray(x)
        with jax.enable_x64(True):
            return jax.jit(f)(t), f(t)

    def made_with(f, x):
        with jax.enable_x64(True):
            t = jnp.asarray(x)
        return jax.jit(f)(t), f(t)

    return {name: value for name, value in locals().items() if callable(value)}
