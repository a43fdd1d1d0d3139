"""Recorded cases of exponentials, matrices made of few numbers, updates."""

import numpy as np
from golden_cases.codec import Group


def names(jax, jnp, lax):
    a = np.array([[4, 1, 0.5], [1, 3, 0.2], [-0.5, 0.2, 2]], np.float32)
    return {
        "la": lax.linalg,
        "sl": jax.scipy.linalg,
        "a": a,
        "stack": np.stack([a, a / 20, -a.T]),
        "ints2": np.array([[3, 1], [0, 2]], np.int32),
        "w2": np.array([[1, 2], [3, 5]], np.float32),
    }


def jaxprs(jax, jnp, lax):
    jaxpr, la, sl = jax.make_jaxpr, lax.linalg, jax.scipy.linalg
    a = np.eye(3, dtype=np.float32)
    return {
        "block_diag": lambda: jaxpr(sl.block_diag)(a, a[0], 2.0),
        "cholesky_update": lambda: jaxpr(la.cholesky_update)(a, a[0]),
        "symmetric_product": lambda: jaxpr(la.symmetric_product)(a, a),
        "symmetric_product, symmetrized": lambda: jaxpr(
            lambda a, c: la.symmetric_product(a, c, alpha=2, symmetrize_output=True)
        )(a, a),
    }


EXPONENTIALS = [
    *(f"sl.expm({x})" for x in ("a", "a / 10", "stack", "7 * a", "-a", "a * 0", "a + 1j * a.T")),
    *(f"sl.expm({x})" for x in ("100 * a", "30 * a, max_squarings=2", "a * inf", "a[:1, :1]")),
    *(f"sl.expm({x})" for x in ("i32([[1, 0], [2, 1]])", "np.triu(a), upper_triangular=True")),
    "sl.expm(np.zeros((0, 2, 2)))",
    "sl.expm(a[:0, :0])",
    "jax.jit(sl.expm)(a)",
    "jax.vmap(sl.expm)(stack)",
    "jax.grad(lambda x: sl.expm(x)[0, 1])(a)",
    "jax.jit(jax.grad(lambda x: sl.expm(x)[0, 1]))(a)",
    "jax.hessian(lambda x: sl.expm(x)[0, 1])(a[:2, :2] / 5)",
    "sl.expm_frechet(a, a.T)",
    "sl.expm_frechet(a, a.T, compute_expm=False)",
    "sl.expm_frechet(stack, stack[::-1], method='SPS')",
]

OF_VECTORS = [
    *(f"sl.block_diag({x})" for x in ("a, v, 2.0", "", "ints[:2], v", "complexes, ints", "True", "1.0")),
    "sl.block_diag(np.ones((0, 2)), ints)",
    "jax.jit(sl.block_diag)(a, v)",
    "jax.grad(lambda x: (sl.block_diag(x, x) ** 2).sum())(v)",
    *(f"sl.toeplitz({x})" for x in ("v", "ints[:3], v", "complexes", "complexes, v", "m", "m, w2", "1.0")),
    *(f"sl.toeplitz({x})" for x in ("v[:0]", "v[:2], x5", "v, m", "bools")),
    "jax.grad(lambda x: (sl.toeplitz(x) @ x).sum())(v)",
    "jax.vmap(sl.toeplitz)(m)",
    *(f"sl.circulant({x})" for x in ("v", "ints[:4]", "m", "1.0", "v[:0]", "complexes")),
    *(f"sl.hankel({x})" for x in ("v", "v, x5", "m", "ints[:2], x5", "complexes", "v[:0]", "m, w2")),
    *(f"sl.convolution_matrix({x})" for x in ("v, 4", "v, 2, 'same'", "v, 4, 'valid'", "m, 2", "ints, 3")),
    *(f"sl.convolution_matrix({x})" for x in ("v, 4, 'same'", "v, 2, 'valid'", "x5, 1")),
    *(f"sl.companion({x})" for x in ("v", "ints[:3]", "m", "complexes", "v[:2]", "v * 0")),
    *(f"sl.fiedler({x})" for x in ("v", "ints[:3]", "m", "complexes", "1.0", "v[:0]")),
    *(f"sl.fiedler_companion({x})" for x in ("x5", "v", "v[:2]", "v[:1]", "m", "reals[:7]", "ints[:6]")),
    *(f"sl.leslie({x})" for x in ("v, v[:2]", "m, v[:2]", "v, w2", "ints[:3], v[:2]")),
]  # fmt: skip

OF_A_SIZE = [
    *(f"sl.{f}({n})" for f in ("hilbert", "invhilbert", "helmert", "dft") for n in (1, 2, 5)),
    *(f"sl.{f}({n})" for f in ("pascal", "invpascal") for n in ("0", "4", "4, 'lower'", "4, kind='upper'")),
    *(f"sl.hadamard({x})" for x in ("1", "2", "8", "4, np.float32", "2, dtype=complex")),
    *(f"sl.dft({x})" for x in ("0", "3, 'sqrtn'", "3, scale='n'")),
    "sl.hilbert(0)",
    "sl.helmert(4, full=True)",
    "sl.pascal(12)[-1]",
    "jax.jit(lambda: sl.hilbert(3))()",
]  # fmt: skip

UPDATES = [
    "la.cholesky_update(np.triu(a), v)",
    "la.cholesky_update(jnp.linalg.cholesky(a @ a.T, upper=True), v)",
    "la.cholesky_update(np.eye(2, dtype=np.float32), v[:2] * 0)",
    "la.symmetric_product(a[:, :2], a, alpha=2.0, beta=3.0)",
    "la.symmetric_product(n, a, symmetrize_output=True)",
    "la.symmetric_product(m, w2, beta=1.0, symmetrize_output=True)",
    "la.symmetric_product(stack, stack)",
]

SYLVESTER = [
    *(f"sl.solve_sylvester({x})" for x in ("a, 2 * a, a", "a, w2, n", "a, w2, n, method='eigen'")),
    *(
        f"sl.solve_sylvester({x})"
        for x in ("a + 1j, w2 + 0j, n + 0j", "stack, w2, n", "ints2, ints2, ints2")
    ),
    "sl.solve_sylvester(np.diag(v), -np.diag(v), a)",
    "jax.jit(sl.solve_sylvester)(a, w2, n)",
]

GROUPS = [
    Group("matrix exponentials", EXPONENTIALS, ulps=512, scaled=True),
    Group("matrices of vectors", OF_VECTORS, ulps=4, scaled=True),
    Group("matrices of a size", OF_A_SIZE, ulps=256, scaled=True),
    Group("Sylvester's equation", SYLVESTER, ulps=64, scaled=True),
    Group("matrix updates", UPDATES, ulps=16, scaled=True),
]

ERRORS = {
    "matrices": [
        ("sl.expm(m)", ["(2, 3)"]),
        ("sl.expm(v)", ["(3,)"]),
        ("sl.expm(f16(a))", ["float16"]),
        ("sl.expm_frechet(m, a)", ["A", "(2, 3)"]),
        ("sl.expm_frechet(a, m)", ["E", "(2, 3)"]),
        ("sl.solve_sylvester(a, a, n)", ["(3, 3)", "(3, 2)"]),
        ("sl.solve_sylvester(a, a, a, method='lu')", ["method", "lu"]),
        ("sl.block_diag(a, stack)", ["block_diag", "2", "argument 1"]),
        ("sl.toeplitz([1, 2])", ["toeplitz", "list"]),
        ("sl.circulant([1, 2])", ["circulant", "list"]),
        ("sl.hankel(1.0)", ["hankel", "scalar"]),
        ("sl.convolution_matrix(v, 0)", ["n", "0"]),
        ("sl.convolution_matrix(v, 4, 'all')", ["mode", "all"]),
        ("sl.convolution_matrix(v[:0], 4)", ["(0,)"]),
        ("sl.convolution_matrix(v, 2.5)", []),
        ("sl.companion(v[:1])", ["2", "(1,)"]),
        ("sl.fiedler_companion(v[:0])", ["fiedler_companion", "(0,)"]),
        ("sl.leslie(v, v)", ["(3,)"]),
        ("sl.leslie(v[:1], v[:0])", ["(1,)"]),
        ("sl.hilbert(-1)", ["-1"]),
        ("sl.hilbert(2.5)", ["2.5"]),
        ("sl.hadamard(6)", ["power", "6"]),
        ("sl.helmert(0)", ["positive", "0"]),
        ("sl.pascal(3, kind='left')", ["kind", "left"]),
        ("sl.invpascal(3, kind='left')", ["kind", "left"]),
        ("sl.dft(3, scale='m')", ["scale", "m"]),
        ("sl.dft(3, dtype=np.float32)", ["complex", "float32"]),
        ("la.cholesky_update(a, v[:2])", ["(3, 3)", "(2,)"]),
        ("la.cholesky_update(a, a)", ["cholesky_update", "rank", "(3, 3)"]),
        ("la.cholesky_update(i32(a), i32(v))", ["cholesky_update", "int32"]),
        ("la.symmetric_product(a, w2)", ["symmetric_product", "(3, 3)", "(2, 2)"]),
        ("la.symmetric_product(complexes[:3, None], a)", ["symmetric_product", "complex64"]),
        ("jax.grad(lambda a: la.symmetric_product(a, a).sum())(a)", ["symmetric_product"]),
    ],
}
