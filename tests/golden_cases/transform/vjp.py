"""Recorded cases of derivatives where JAX has conventions: complex numbers, stop_gradient, has_aux."""

import numpy as np
from golden_cases.codec import Group


def jaxprs(jax, jnp, lax):
    jaxpr, stop = jax.make_jaxpr, lax.stop_gradient
    z = np.complex64(1 + 2j)
    zs = np.ones(3, np.complex64)
    v = np.ones(3, np.float32)

    def scoped(x):
        with jax.named_scope("inner"):
            return jnp.sin(x)

    return {
        "complex, grad of abs": lambda: jaxpr(jax.grad(jnp.abs))(z),
        "complex, grad of real part": lambda: jaxpr(jax.grad(lambda z: jnp.real(z * z)))(z),
        "complex, grad through a complex product": lambda: jaxpr(
            jax.grad(lambda x: jnp.real(jnp.exp(1j * x)))
        )(1.0),
        "complex, holomorphic jacfwd": lambda: jaxpr(jax.jacfwd(jnp.sin, holomorphic=True))(z),
        "complex, vjp of conj": lambda: jaxpr(lambda z: jax.vjp(jnp.conj, z)[1](z)[0])(z),
        "complex, jvp of a sum of squares": lambda: jaxpr(
            lambda z: jax.jvp(lambda z: jnp.sum(jnp.abs(z) ** 2), (z,), (z,))
        )(zs),
        "stop_gradient, jvp": lambda: jaxpr(lambda x: jax.jvp(lambda x: stop(x) * x, (x,), (x,)))(
            1.0
        ),
        "stop_gradient, vmap": lambda: jaxpr(jax.vmap(stop))(v),
        "stop_gradient, vmap of grad": lambda: jaxpr(jax.vmap(jax.grad(lambda x: stop(x) * x)))(v),
        "stop_gradient, grad of jit": lambda: jaxpr(jax.grad(jax.jit(lambda x: stop(x) * x)))(1.0),
        "stop_gradient, of a tree and an integer": lambda: jaxpr(stop)({"a": v, "b": 1}),
        "stop_gradient, complex": lambda: jaxpr(jax.grad(lambda z: jnp.abs(stop(z) * z)))(z),
        "has_aux, vjp": lambda: jaxpr(
            lambda x: jax.vjp(lambda x: (x * x, jnp.sin(x)), x, has_aux=True)[::2]
        )(1.0),
        "has_aux, linearize": lambda: jaxpr(
            lambda x: jax.linearize(lambda x: (x * x, jnp.sin(x)), x, has_aux=True)[::2]
        )(1.0),
        "has_aux, jvp": lambda: jaxpr(
            lambda x: jax.jvp(lambda x: (x * x, jnp.sin(x)), (x,), (x,), has_aux=True)
        )(1.0),
        "named_call": lambda: jaxpr(jax.named_call(scoped, name="outer"))(1.0),
        "named_scope, grad of vmap": lambda: jaxpr(
            jax.grad(lambda x: jax.vmap(jax.named_scope("f")(scoped))(x).sum())
        )(v),
    }


_HOLOMORPHIC = (
    "jnp.sin jnp.cos jnp.tan jnp.exp jnp.log jnp.sqrt jnp.tanh jnp.sinh jnp.cosh jnp.square "
    "jnp.reciprocal jnp.arcsinh jnp.expm1 jnp.log1p"
).split()
_REAL_VALUED = (
    "jnp.real(z)",
    "jnp.imag(z)",
    "jnp.abs(z)",
    "jnp.abs(z) ** 2",
    "jnp.real(z * jnp.conj(z))",
    "jnp.real(z ** 3)",
    "jnp.imag(jnp.exp(z))",
    "jnp.angle(z)",
    "jnp.real(jnp.log(z)) * jnp.imag(z)",
    "jnp.abs(jnp.sin(z) - z)",
    "jnp.real(z) ** 2 + 3 * jnp.imag(z)",
    "jnp.where(jnp.real(z) > 0, jnp.abs(z), 0.0)",
)
_COMPLEX_INSIDE = (
    "jnp.real(jnp.exp(1j * x))",
    "jnp.abs(x + 2j)",
    "jnp.imag(lax.complex(x, x * x) ** 2)",
    "jnp.real(jnp.conj(1j * x) * (x + 1j))",
    "(1j * x * (1 - 1j)).real",
)

GROUPS = [
    Group(
        "complex derivatives",
        [
            *(
                f"jax.{transformation}({f}, holomorphic=True)(0.5 + 0.25j)"
                for f in _HOLOMORPHIC
                for transformation in ("grad", "jacfwd", "jacrev")
            ),
            *(f"jax.grad(lambda z: {body})(c64(0.5 - 1.5j))" for body in _REAL_VALUED),
            *(f"jax.vjp(lambda z: {body}, 0.5 - 1.5j)[1](f32(2))" for body in _REAL_VALUED),
            *(
                f"jax.jvp(lambda z: {body}, (c64(0.5 - 1.5j),), (c64(2 + 1j),))"
                for body in _REAL_VALUED
            ),
            *(f"jax.grad(lambda x: {body})(0.7)" for body in _COMPLEX_INSIDE),
            "jax.grad(lambda z: jnp.sum(jnp.abs(z) ** 2))(complexes)",
            "jax.grad(lambda z: jnp.abs(jnp.sum(z)))(complexes)",
            "jax.grad(lambda z: jnp.real(jnp.vdot(z, z)))(complexes)",
            "jax.grad(lambda z: jnp.real(z @ z))(complexes)",
            "jax.grad(lambda z: jnp.linalg.norm(z))(complexes)",
            "jax.grad(lambda x, z: jnp.real(x * z), (0, 1))(2.0, 1 + 2j)",
            "jax.grad(lambda d: jnp.abs(d['x'] * d['z']))({'x': 2.0, 'z': 1 + 2j})",
            "jax.vjp(lambda z: z * z, 1 + 2j)[1](c64(1j))",
            "jax.vjp(jnp.conj, 1 + 2j)[1](c64(1 + 1j))",
            "jax.vjp(lambda z: z.real, 1 + 2j)[1](f32(3))",
            "jax.vjp(lambda x: x * 1j, 2.0)[1](c64(1 + 1j))",
            "jax.vjp(lambda x: lax.complex(x, 2 * x), 2.0)[1](c64(1 + 1j))",
            "jax.linearize(lambda z: jnp.abs(z), 3 + 4j)[1](c64(1j))",
            "jax.linear_transpose(lambda z: z * (1 + 2j), c64(1))(c64(1j))",
            "jax.linear_transpose(lambda x: x * (1 + 2j), c64(1))(c64(1))",
            "jax.jacfwd(lambda z: z * jnp.conj(z), holomorphic=True)(1 + 2j)",
            "jax.jacrev(lambda z: z * jnp.conj(z), holomorphic=True)(1 + 2j)",
            "jax.jacrev(jnp.abs)(complexes)",
            "jax.jacrev(lambda z: jnp.real(z) * jnp.imag(z))(complexes)",
            "jax.jacfwd(lambda x: jnp.exp(1j * x))(v)",
            "jax.jacrev(lambda z: z ** 2, holomorphic=True)(complexes)",
            "jax.hessian(lambda z: z ** 3, holomorphic=True)(1 + 2j)",
            "jax.grad(jax.grad(lambda z: z ** 3, holomorphic=True), holomorphic=True)(1 + 2j)",
            "jax.grad(lambda x: jax.grad(lambda z: jnp.abs(z) ** 2)(lax.complex(x, x)).real)(2.0)",
            "jax.vmap(jax.grad(jnp.abs))(complexes)",
            "jax.jit(jax.vmap(jax.grad(jnp.abs)))(complexes)",
            "jax.value_and_grad(jnp.abs)(c64(3 + 4j))",
            "jax.grad(jnp.abs)(c64(0))",
            "jax.jvp(jnp.abs, (c64(0),), (c64(1),))",
        ],
        ulps=32,
        scaled=True,
    ),
    Group(
        "stop_gradient",
        [
            "jax.grad(lambda x: lax.stop_gradient(x) * x)(3.0)",
            "jax.grad(jax.grad(lambda x: lax.stop_gradient(x) * x ** 2))(3.0)",
            "jax.grad(lambda x: jax.grad(lambda y: lax.stop_gradient(x * y) * y)(x))(3.0)",
            "jax.jvp(lambda x: lax.stop_gradient(x) * x, (3.0,), (1.0,))",
            "jax.jvp(lax.stop_gradient, (v,), (v,))",
            "jax.jvp(lax.stop_gradient, (complexes,), (complexes,))",
            "jax.vjp(lax.stop_gradient, v)[1](v)",
            "jax.linearize(lax.stop_gradient, v)[1](v)",
            "jax.vmap(jax.grad(lambda x: lax.stop_gradient(x) * x))(v)",
            "jax.jit(jax.grad(lambda x: lax.stop_gradient(x) * x))(3.0)",
            "jax.grad(jax.jit(lambda x: lax.stop_gradient(x) * x))(3.0)",
            "jax.grad(lambda z: jnp.abs(lax.stop_gradient(z) * z))(c64(1 + 1j))",
            "lax.stop_gradient({'a': v, 'b': ints, 'c': complexes})",
            "lax.stop_gradient(ints)",
            "lax.stop_gradient(bools)",
            "lax.stop_gradient(f16(2))",
            "jax.jacfwd(lambda x: lax.stop_gradient(x[:1]) * x)(v)",
            "jax.grad(lambda x: (lax.stop_gradient(x.astype(int)) * x).sum())(v)",
        ],
    ),
    Group(
        "has_aux",
        [
            "jax.jvp(lambda x: (x * x, jnp.sin(x)), (2.0,), (1.0,), has_aux=True)",
            "jax.jvp(lambda x: (x * x, {'n': ints, 's': x + 1}), (v,), (v,), has_aux=True)",
            "jax.vjp(lambda x: (x * x, jnp.sin(x)), 2.0, has_aux=True)[::2]",
            "jax.vjp(lambda x: (x * x, jnp.sin(x)), 2.0, has_aux=True)[1](1.0)",
            "jax.linearize(lambda x: (x * x, jnp.sin(x)), 2.0, has_aux=True)[::2]",
            "jax.linearize(lambda x: (x * x, jnp.sin(x)), 2.0, has_aux=True)[1](1.0)",
            "jax.grad(lambda x: (x * x, jnp.sin(x)), has_aux=True)(2.0)",
            "jax.grad(lambda x, y: (x * y, {'y': y * 2}), (0, 1), has_aux=True)(2.0, 3.0)",
            "jax.value_and_grad(lambda x: (x * x, jnp.sin(x)), has_aux=True)(2.0)",
            "jax.jacfwd(lambda x: (x * x, jnp.sin(x)), has_aux=True)(v)",
            "jax.jacrev(lambda x: (x * x, jnp.sin(x)), has_aux=True)(v)",
            "jax.hessian(lambda x: (x @ x, jnp.sin(x)), has_aux=True)(v)",
            "jax.jit(jax.grad(lambda x: (x * x, jnp.sin(x)), has_aux=True))(2.0)",
            "jax.vmap(jax.grad(lambda x: (x * x, jnp.sin(x)), has_aux=True))(v)",
            "jax.grad(lambda x: jax.grad(lambda y: (x * y * y, x * y), has_aux=True)(x)[1])(2.0)",
            "jax.grad(lambda x: (x * x, 'text'), has_aux=True)(2.0)[0]",
        ],
        ulps=16,
    ),
    Group(
        "named scopes",
        [
            "jax.named_call(jnp.sin, name='f')(1.0)",
            "jax.named_call(lambda x, *, k: x * k)(2.0, k=3.0)",
            "jax.named_scope('f')(jnp.sin)(1.0)",
            "jax.grad(jax.named_call(jnp.sin))(0.5)",
            "jax.jit(jax.named_scope('f')(jnp.sin))(0.5)",
            "jax.named_call(lambda x: x).__name__",
        ],
    ),
]

ERRORS = {
    "complex derivatives": [
        ("jax.grad(jnp.sin)(1j)", ["holomorphic"]),
        ("jax.grad(jnp.sin, holomorphic=True)(1.0)", ["holomorphic", "float32"]),
        ("jax.grad(jnp.abs, holomorphic=True)(1j)", ["holomorphic", "float32"]),
        ("jax.grad(lambda x: x + 1j)(1.0)", ["complex64"]),
        ("jax.jacrev(jnp.sin)(1j)", ["holomorphic"]),
        ("jax.jacrev(jnp.sin, holomorphic=True)(v)", ["holomorphic", "float32"]),
        ("jax.jacrev(jnp.abs, holomorphic=True)(complexes)", ["holomorphic", "float32"]),
        ("jax.jacfwd(jnp.abs)(complexes)", ["holomorphic|complex64"]),
        ("jax.jacfwd(jnp.abs, holomorphic=True)(complexes)", ["holomorphic", "float32"]),
        ("jax.hessian(jnp.abs)(1j)", []),
        ("jax.jvp(jnp.sin, (c64(1j),), (f32(1),))", ["complex64", "float32"]),
        ("jax.jvp(jnp.sin, (f32(1),), (c64(1j),))", ["complex64", "float32"]),
        ("jax.vjp(jnp.abs, c64(1j))[1](c64(1))", ["complex64", "float32"]),
        ("jax.vjp(jnp.sin, c64(1j))[1](f32(1))", ["complex64", "float32"]),
        ("jax.linear_transpose(jnp.conj, f32(1))(c64(1))", []),
    ],
    "has_aux": [
        ("jax.jvp(lambda x: x, (1.0,), (1.0,), has_aux=True)", ["two-element|has_aux"]),
        ("jax.vjp(lambda x: x, 1.0, has_aux=True)", ["two-element|has_aux"]),
        ("jax.vjp(lambda x: (x, x, x), 1.0, has_aux=True)", ["two-element|has_aux"]),
        ("jax.linearize(lambda x: x, 1.0, has_aux=True)", ["two-element|has_aux"]),
        ("jax.jacfwd(lambda x: x, has_aux=True)(1.0)", ["two-element|has_aux"]),
        ("jax.jacrev(lambda x: x, has_aux=True)(1.0)", ["two-element|has_aux"]),
    ],
    "named scopes": [
        ("jax.named_scope(1)", ["named_scope", "string|str"]),
        ("jax.named_scope(None)", ["string|str"]),
    ],
}
