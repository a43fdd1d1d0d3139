"""Recorded cases of Schur forms and what stands on them, polar, tridiagonal."""

import numpy as np
from golden_cases.codec import Group

GROUPS = [
    Group(
        "Schur, Hessenberg, tridiagonal",
        [
            "ll.schur(square), ll.schur(c), ll.schur(stack), ll.schur(nan * square)",
            "ll.schur(turning, compute_schur_vectors=False)",
            "jsl.schur(turning), jsl.schur(turning, 'complex'), jsl.schur(c)",
            "jsl.rsf2csf(*jsl.schur(turning)), jsl.rsf2csf(*jsl.schur(square))",
            "ll.hessenberg(square), ll.hessenberg(c), ll.hessenberg(stack)",
            "jsl.hessenberg(square), jsl.hessenberg(c, calc_q=True), jsl.hessenberg(stack, calc_q=True)",
            "ll.tridiagonal(square), ll.tridiagonal(c, lower=False), ll.tridiagonal(stack)",
            "ll.tridiagonal_solve(square[0], square[1] + 2, square[2], square)",
            "jax.vmap(lambda b: ll.tridiagonal_solve(square[0], square[1], square[2], b))(stack)",
            "jsl.eigh_tridiagonal(square[0], square[1, :2], eigvals_only=True)",
            "abs(jsl.eigh_tridiagonal(square[0], square[1, :2], select='i', select_range=(0, 1))[1])",
            "jax.jit(ll.schur)(square), jax.vmap(ll.hessenberg, 2)(stack.T)",
        ],
        ulps=64,
        scaled=True,
    ),
    Group(
        "functions of matrices",
        [
            "jsl.sqrtm(square), jsl.sqrtm(spd), jsl.sqrtm(turning), jsl.sqrtm(jnp.zeros((2, 2)))",
            "jsl.sqrtm(jnp.array([[0.0, 1], [0, 0]])), jax.jit(jsl.sqrtm)(c)",
            "jsl.funm(square, jnp.exp), jsl.funm(spd, jnp.sin, disp=False), jsl.funm(turning, jnp.cos)",
            "jsl.funm(jnp.eye(2), jnp.exp, disp=False)",
            "jsl.solve_sylvester(square, spd, turning)",
            "jsl.solve_sylvester(square, spd[:2, :2], turning[:, :2])",
            "jsl.solve_sylvester(square, spd, turning, method='eigen'), jsl.solve_sylvester(c, spd, spd)",
            "jsl.solve_sylvester(square, -square, spd), jsl.solve_sylvester(stack, stack + 2, stack)",
            "jsl.polar(a), jsl.polar(a.T, side='left'), jsl.polar(square, method='svd'), jsl.polar(stack)",
            "jsl.polar(a, side='left', method='svd'), jsl.polar(a.T, method='svd'), jsl.polar(c)",
            "jsl.eigh(square), jsl.eigh(c, eigvals_only=True), jsl.eigh(square, lower=False)",
            "jsl.eigh(square, spd)[0], jsl.eigh(c, spd, True, True), jsl.eigh(stack, spd, type=2)[0]",
            "jsl.eigh(square, spd, type=3, eigvals_only=True)",
            "jsl.svd(a), jsl.svd(c, full_matrices=False), jsl.svd(a, compute_uv=False)",
            "jsl.qr_multiply(a, a.T), jsl.qr_multiply(a, square, mode='left', pivoting=True)",
            "jsl.qr_multiply(c, c[0], conjugate=True), jsl.qr_multiply(a, a[0], mode='left')",
        ],
        ulps=256,
        scaled=True,
    ),
    Group(
        "derivatives of polar and tridiagonal_solve",
        [
            "jax.grad(lambda a: (jsl.polar(a, method='svd')[0] ** 3).sum())(square)",
            "jax.grad(lambda a: ll.tridiagonal_solve(a[0], a[1] + 2, a[2], spd).sum())(square)",
            "jax.grad(lambda b: ll.tridiagonal_solve(*square, b).sum())(spd)",
            "jax.jvp(ll.tridiagonal_solve, (*square, spd), (*spd, square))",
        ],
        ulps=1024,
        scaled=True,
    ),
]

ERRORS = {
    "Schur, Hessenberg, tridiagonal": [
        ("ll.schur(a)", ["schur", "square", "(4, 3)"]),
        ("ll.schur(square, sort_eig_vals=True)", ["sort"]),
        ("jsl.schur(square, 'foo')", ["foo"]),
        ("jax.grad(lambda a: jsl.schur(a)[0].sum())(square)", ["schur"]),
        ("jsl.rsf2csf(square, square[:2])", ["Z", "square"]),
        ("jsl.rsf2csf(square, square[:2, :2])", ["(2, 2)", "(3, 3)"]),
        ("jsl.hessenberg(a)", ["(4, 3)"]),
        ("jsl.hessenberg(square.astype(int))", ["hessenberg", "int32"]),
        ("ll.tridiagonal(a)", ["tridiagonal", "(4, 3)"]),
        ("ll.tridiagonal_solve(*square, square[0])", ["tridiagonal_solve", "(3,)"]),
        ("ll.tridiagonal_solve(square[0], square[1], square[2, :2], square)", ["same shape"]),
        ("ll.tridiagonal_solve(square[0], square[1], c[2], square)", ["float32", "complex64"]),
        ("ll.tridiagonal_solve(*square, a)", ["tridiagonal_solve"]),
        ("jsl.eigh_tridiagonal(square[0], square[1])", ["(3,)"]),
        ("jsl.eigh_tridiagonal(square[0], square[1, :2], select='x')", ["select"]),
        ("jsl.eigh_tridiagonal(square[0], square[1, :2], select='i')", ["select_range"]),
        (
            "jsl.eigh_tridiagonal(square[0], square[1, :2], select='v', select_range=(0, 1))",
            ["'v'"],
        ),
        ("jsl.eigh_tridiagonal(square[0], c[1, :2])", ["float32", "complex64"]),
    ],
    "functions of matrices": [
        ("jsl.sqrtm(a)", ["square", "(4, 3)"]),
        ("jsl.sqrtm(square, blocksize=2)", ["Blocked"]),
        ("jsl.funm(a, jnp.exp)", ["square"]),
        ("jsl.solve_sylvester(square, square, a)", ["(3, 3)", "(4, 3)"]),
        ("jsl.solve_sylvester(square, square, square, method='foo')", ["foo"]),
        ("jsl.polar(a.T)", ["qdwh", "right"]),
        ("jsl.polar(a, side='foo')", ["side"]),
        ("jsl.polar(a, method='foo')", ["foo"]),
        ("jsl.polar(a[0])", ["2-D"]),
        ("jsl.eigh(square, type=4)", ["type"]),
        ("jsl.eigh(square, b=square[0])", ["b", "(3,)|(4,)"]),
        ("jsl.eigh(square, eigvals=(0, 1))", ["eigvals=None"]),
        ("jsl.qr_multiply(a, a)", ["c @ Q", "3"]),
        ("jsl.qr_multiply(a, a, mode='left')", ["Q @ c", "4"]),
        ("jsl.qr_multiply(a, a, mode='foo')", ["foo"]),
    ],
}


def names(jax, jnp, lax):
    a = np.sin(np.arange(12, dtype=np.float32) ** 2).reshape(4, 3)
    b = np.cos(np.arange(12, dtype=np.float32)).reshape(4, 3)
    square = a[:3] + np.eye(3, dtype=np.float32)
    return {
        "ll": lax.linalg,
        "jsl": jax.scipy.linalg,
        "a": jnp.array(a),
        "c": jnp.array((a + 1j * b)[:3]),
        "square": jnp.array(square),
        "spd": jnp.array(square @ square.T),
        "stack": jnp.array([square, (b + a * a)[:3]]),
        "turning": jnp.array([[0.5, -2, 0], [2, 1, 0.25], [0, 1, -1]], jnp.float32),
    }


def jaxprs(jax, jnp, lax):
    jaxpr, given = jax.make_jaxpr, names(jax, jnp, lax)
    linalg, jsl = lax.linalg, jax.scipy.linalg
    a, square = given["a"], given["square"]
    return {
        "schur, lax": lambda: jaxpr(linalg.schur)(square),
        "schur": lambda: jaxpr(jsl.schur)(square),
        "schur, complex": lambda: jaxpr(lambda a: jsl.schur(a, "complex"))(square),
        "hessenberg, lax": lambda: jaxpr(linalg.hessenberg)(square),
        "tridiagonal": lambda: jaxpr(linalg.tridiagonal)(square),
        "tridiagonal_solve": lambda: jaxpr(linalg.tridiagonal_solve)(*square, a[:3]),
        "svd, scipy": lambda: jaxpr(lambda a: jsl.svd(a, full_matrices=False))(a),
        "svdvals, scipy": lambda: jaxpr(lambda a: jsl.svd(a, compute_uv=False))(a),
        "eigh, scipy": lambda: jaxpr(jsl.eigh)(square),
        "eigvalsh, scipy": lambda: jaxpr(lambda a: jsl.eigh(a, eigvals_only=True))(square),
    }
