"""Recorded cases of the chapter decompositions: qr."""

import numpy as np

from golden_cases.codec import Group

GROUPS = [
    Group(
        "qr",
        [
            "ll.qr(a), ll.qr(a, full_matrices=False), ll.qr(a.T), ll.qr(stack)",
            "ll.qr(c), ll.qr(c, full_matrices=False)",
            "ll.qr(a, pivoting=True), ll.qr(a.T, pivoting=True, full_matrices=False)",
            "jnp.linalg.qr(a), jnp.linalg.qr(a, 'complete'), jnp.linalg.qr(a, 'r')",
            "jnp.linalg.qr(a, 'raw'), jnp.linalg.qr(jnp.arange(6).reshape(3, 2)).R",
            "jnp.linalg.qr(a[:0]), jnp.linalg.qr(stack[:0])",
            "jsl.qr(a), jsl.qr(a, mode='economic', pivoting=True), jsl.qr(a, mode='r')",
            "ll.householder_product(a, a[0]), ll.householder_product(c, c[0, :2])",
            "ll.ormqr(a, a[0], a), ll.ormqr(c, c[0], c.T, left=False, transpose=True)",
            "jax.jit(jnp.linalg.qr)(a), jax.vmap(jnp.linalg.qr, 2, 1)(stack)",
        ],
        ulps=32,
        scaled=True,
    ),
    Group(
        "derivatives of qr",
        [
            "jax.jvp(jnp.linalg.qr, (a,), (b,)), jax.jvp(jnp.linalg.qr, (c,), (1j * c + b,))",
            "jax.jvp(ll.qr, (a,), (b,)), jax.jvp(ll.qr, (a.T,), (b.T,))",
            "jax.jvp(lambda a: ll.qr(a, pivoting=True), (square,), (a[:3],))",
            "jax.grad(lambda a: (jnp.linalg.qr(a).Q ** 3).sum())(a)",
            "jax.jit(jax.vmap(jax.grad(lambda a: (jnp.linalg.qr(a).R ** 2).sum())))(stack)",
            "jax.hessian(lambda a: (jnp.linalg.qr(a).Q ** 3).sum())(square)",
        ],
        ulps=256,
        scaled=True,
    ),
]

ERRORS = {
    "qr": [
        ("ll.qr(a[0])", ["qr", "(3,)"]),
        ("ll.qr(a.astype(jnp.float16))", ["float16"]),
        ("ll.qr(a.astype(int))", ["qr", "int32"]),
        ("jnp.linalg.qr(a, 'foo')", ["foo"]),
        ("jnp.linalg.qr([[1.0]])", ["qr", "list"]),
        ("jsl.qr(a, mode='raw')", ["raw"]),
        ("ll.householder_product(a.T, a[0])", ["householder_product", "(3, 4)"]),
        ("ll.householder_product(a, a[0].astype(jnp.float16))", ["float32", "float16"]),
        ("ll.householder_product(a, jnp.ones(4))", ["householder_product"]),
        ("ll.ormqr(a, a[0], a.T)", ["ormqr", "(4, 3)", "(3, 4)"]),
        ("jax.grad(lambda a: jnp.linalg.qr(a, 'raw')[0].sum())(a)", ["geqrf"]),
    ],
}


def names(jax, jnp, lax):
    a = np.sin(np.arange(12, dtype=np.float32) ** 2).reshape(4, 3)
    b = np.cos(np.arange(12, dtype=np.float32)).reshape(4, 3)
    return {
        "ll": lax.linalg,
        "jsl": jax.scipy.linalg,
        "a": jnp.array(a),
        "b": jnp.array(b),
        "c": jnp.array(a + 1j * b),
        "stack": jnp.array([a, b + a * a]),
        "square": jnp.array(a[:3] + np.eye(3, dtype=np.float32)),
    }


def jaxprs(jax, jnp, lax):
    jaxpr, given = jax.make_jaxpr, names(jax, jnp, lax)
    a, c, stack = given["a"], given["c"], given["stack"]
    qr, tangent = jnp.linalg.qr, lambda a: jax.jvp(jnp.linalg.qr, (a,), (a,))
    return {
        "qr, lax": lambda: jaxpr(lambda a: lax.linalg.qr(a, full_matrices=False))(a),
        "qr, reduced": lambda: jaxpr(qr)(a),
        "qr, raw": lambda: jaxpr(lambda a: qr(a, "raw"))(a),
        "qr, r": lambda: jaxpr(lambda a: qr(a, "r"))(a),
        "qr, pivoting": lambda: jaxpr(lambda a: jax.scipy.linalg.qr(a, pivoting=True))(a),
        "qr, householder_product": lambda: jaxpr(lax.linalg.householder_product)(a, a[0]),
        "qr, jvp": lambda: jaxpr(tangent)(a),
        "qr, jvp of complex": lambda: jaxpr(tangent)(c),
        "qr, jvp of a stack": lambda: jaxpr(tangent)(stack),
        "qr, vmap": lambda: jaxpr(jax.vmap(qr))(stack),
    }
