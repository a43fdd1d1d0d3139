"""Recorded cases of qr, eigh, svd, eig."""

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

GROUPS += [
    Group(
        "eigh, svd, eig",
        [
            "ll.eigh(square), ll.eigh(hermitian), ll.eigh(square, lower=False, symmetrize_input=False)",
            "jnp.linalg.eigh(square), jnp.linalg.eigh(hermitian, 'U', symmetrize_input=False)",
            "jnp.linalg.eigvalsh(squares), jnp.linalg.eigvalsh(jnp.arange(9).reshape(3, 3), 'U')",
            "jnp.linalg.eigh(square * nan), jnp.linalg.eigvalsh(squares[:0])",
            "jnp.linalg.svd(a), jnp.linalg.svd(a.T, full_matrices=False), jnp.linalg.svd(squares)",
            "jnp.linalg.svd(c, full_matrices=False), ll.svd(a), ll.svd(a, compute_uv=False)",
            "jnp.linalg.svd(square, hermitian=True), jnp.linalg.svd(a[:0])",
            "jnp.linalg.svd(square, hermitian=True, compute_uv=False), jnp.linalg.svdvals(stack)",
            "jnp.linalg.svd(a * nan, full_matrices=False), jnp.linalg.svdvals(squares.at[0].set(nan))",
            "ll.eig(turning), ll.eig(hermitian), ll.eig(turning, compute_left_eigenvectors=False)",
            "jnp.linalg.eig(turning), jnp.linalg.eig(squares), jnp.linalg.eigvals(c[:3])",
            "jnp.linalg.eigvals(square * nan), jnp.linalg.eigvals(jnp.arange(4).reshape(2, 2))",
            "jax.jit(jnp.linalg.eigh)(square), jax.vmap(jnp.linalg.svd, 2)(stack)",
            "jax.jit(jax.vmap(jnp.linalg.eigvals))(squares)",
        ],
        ulps=32,
        scaled=True,
    ),
    Group(
        "derivatives of eigh, svd, eig",
        [
            "jax.jvp(jnp.linalg.eigh, (square,), (b[:3],))",
            "jax.jvp(ll.eigh, (hermitian,), ((1j * c + b)[:3],))",
            "jax.grad(lambda a: jnp.linalg.eigvalsh(a)[0])(square)",
            "jax.grad(lambda a: (jnp.linalg.eigh(a).eigenvectors ** 3).sum())(square)",
            "jax.hessian(lambda a: jnp.linalg.eigvalsh(a)[0])(square)",
            "jax.jit(jax.vmap(jax.grad(lambda a: jnp.linalg.eigvalsh(a)[1])))(squares)",
            "jax.jvp(usv, (a,), (b,)), jax.jvp(usv, (a.T,), (b.T,)), jax.jvp(usv, (squares,), (squares**2,))",
            "jax.jvp(usv, (c,), (1j * c + b,)), jax.jvp(jnp.linalg.svd, (square,), (b[:3],))",
            "jax.jvp(usv, (jnp.diag(jnp.array([3.0, 2.0, 0.0])),), (square,))",
            "jax.grad(lambda a: jnp.linalg.svdvals(a).sum())(a), jax.grad(lambda a: abs(usv(a)[0]).sum())(c)",
            "jax.hessian(lambda a: (usv(a)[2] ** 3).sum())(square)",
            "jax.jvp(jnp.linalg.eigvals, (turning,), (a[:3],))",
            "jax.grad(lambda a: abs(jnp.linalg.eigvals(a)).max())(turning)",
            "jax.jvp(lambda a: ll.eig(a, enable_eigvec_derivs=True), (turning,), (a[:3],))",
        ],
        ulps=512,
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
    "eigh, svd, eig": [
        ("ll.eigh(a)", ["(4, 3)"]),
        ("ll.eigh(a[:2], symmetrize_input=False)", ["(2, 3)"]),
        ("ll.eigh(square.astype(jnp.float16))", ["float16"]),
        ("ll.eigh(square, subset_by_index=(0, 2))", ["subset_by_index"]),
        ("ll.eigh(square, implementation=ll.EighImplementation.JACOBI)", ["Jacobi|JACOBI"]),
        ("jnp.linalg.eigh(square, 'X')", ["UPLO", "X"]),
        ("jnp.linalg.eigh([[1.0]])", ["eigh", "list"]),
        ("jnp.linalg.eigvalsh(a)", ["(4, 3)"]),
        ("jnp.linalg.svd(a[0])", ["svd", "(3,)"]),
        ("jnp.linalg.svd(a.astype(jnp.float16))", ["float16"]),
        ("jnp.linalg.svd(a, subset_by_index=(0, 2), full_matrices=False)", ["subset_by_index"]),
        ("jnp.linalg.svd(a, subset_by_index=(0, 2))", ["subset_by_index", "full_matrices"]),
        ("ll.svd(a, algorithm=ll.SvdAlgorithm.POLAR)", ["Polar|POLAR"]),
        ("jax.jvp(jnp.linalg.svd, (a,), (a,))", ["full matrices"]),
        ("jnp.linalg.eig(a)", ["eig", "square", "(4, 3)"]),
        ("jnp.linalg.eigvals(square.astype(jnp.float16))", ["float16"]),
        ("ll.eig(square.astype(int))", ["eig", "int32"]),
        ("ll.eig(square, implementation=ll.EigImplementation.CUSOLVER)", ["lapack"]),
        ("jax.jvp(jnp.linalg.eig, (square,), (square,))", ["enable_eigvec_derivs"]),
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
        "hermitian": jnp.array((a + 1j * b)[:3]),  # what eigh makes of it is
        "turning": jnp.array([[0.5, -2, 0], [2, 1, 0.25], [0, 1, -1]], jnp.float32),
        "squares": jnp.array([a[:3], (b + a * a)[:3]]),
        "usv": lambda a: jnp.linalg.svd(a, full_matrices=False),
    }


def jaxprs(jax, jnp, lax):
    jaxpr, given = jax.make_jaxpr, names(jax, jnp, lax)
    a, c, stack, square = (given[name] for name in ("a", "c", "stack", "square"))
    linalg, qr = jnp.linalg, jnp.linalg.qr

    def tangent(a):
        return jax.jvp(qr, (a,), (a,))

    def tangent_of_eigh(a):
        return jax.jvp(lambda a: linalg.eigh(a, symmetrize_input=False), (a,), (a,))

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
        "eigh, lax": lambda: jaxpr(lax.linalg.eigh)(square),
        "eigh": lambda: jaxpr(linalg.eigh)(square),
        "eigvalsh": lambda: jaxpr(lambda a: linalg.eigvalsh(a, "U"))(square),
        "eigh, jvp": lambda: jaxpr(lambda a: jax.jvp(linalg.eigh, (a,), (a,)))(square),
        "eigh, jvp of complex": lambda: jaxpr(tangent_of_eigh)(given["hermitian"][None]),
        "eigvalsh, grad": lambda: jaxpr(jax.grad(lambda a: linalg.eigvalsh(a).sum()))(square),
        "svd": lambda: jaxpr(linalg.svd)(a),
        "svd, reduced": lambda: jaxpr(lambda a: linalg.svd(a, full_matrices=False))(a),
        "svdvals": lambda: jaxpr(linalg.svdvals)(a),
        "svdvals, jvp": lambda: jaxpr(lambda a: jax.jvp(linalg.svdvals, (a,), (a,)))(a),
        "eig": lambda: jaxpr(linalg.eig)(square),
        "eigvals": lambda: jaxpr(linalg.eigvals)(square),
    }
