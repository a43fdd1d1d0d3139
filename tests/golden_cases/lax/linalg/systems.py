"""Recorded cases of cholesky, lu, systems of equations, determinants."""

import numpy as np
from golden_cases.codec import Group


def names(jax, jnp, lax):
    general = np.random.default_rng(0).standard_normal((4, 4)).astype(np.float32)
    positive = np.array(  # general @ general.T + 1, whose last bits would depend on the processor
        [
            [1.454405, 0.8193417, -0.31613642, -1.1381477],
            [0.8193417, 4.015071, -0.8542116, -1.1518506],
            [-0.31613642, -0.8542116, 3.486714, 2.6593525],
            [-1.1381477, -1.1518506, 2.6593525, 8.542148],
        ],
        np.float32,
    )
    z = (general + 0.5j * general.T).astype(np.complex64)
    return {
        "la": lax.linalg,
        "nl": jnp.linalg,
        "sl": jax.scipy.linalg,
        "g": general,
        "p": positive,
        "b": general[:, 1:3] * 2,
        "gs": np.stack([general, general.T + 1]),
        "ps": np.stack([positive, 2 * positive + np.diag([1, 2, 3, 4]).astype(np.float32)]),
        "bs": np.stack([general[:, 1:3], general[:, :2]]),
        "z": z,
        "zp": (z @ z.conj().T + 2 * np.eye(4)).astype(np.complex64),
        "singular": np.array([[1, 2, 3, 4], [2, 4, 6, 8], [1, 0, 1, 0], [0, 1, 0, 1]], np.float32),
        "small": np.array([[2, 1], [1, 3]], np.float32),
        "pivots": np.array([1, 2, 2], np.int32),
        "same": lambda f: f,
        "solve_t": lambda **params: lambda a, b: lax.linalg.triangular_solve(a, b, **params),
        "weights": np.arange(16, dtype=np.float32).reshape(4, 4) / 7,
    }


# ---- jaxprs ----


def jaxprs(jax, jnp, lax):
    jaxpr, nl, la, sl = jax.make_jaxpr, jnp.linalg, lax.linalg, jax.scipy.linalg
    g = np.eye(3, dtype=np.float32)
    gs, b, z = np.stack([g, g]), g[:, :2], (g + 0j).astype(np.complex64)
    order = np.array([2, 1, 0], np.int32)

    def forward(f, *args):
        return lambda: jaxpr(lambda *xs: jax.jvp(f, xs, xs))(*args)

    def backward(f, *args):
        return lambda: jaxpr(lambda *xs: jax.vjp(f, *xs)[1](f(*xs)))(*args)

    def triangular(**params):
        return lambda a, b: la.triangular_solve(a, b, **params)

    on_the_left = triangular(left_side=True, lower=True)
    adjoint = triangular(left_side=True, transpose_a=True, conjugate_a=True)
    return {
        "lax.linalg.cholesky": lambda: jaxpr(la.cholesky)(g),
        "lax.linalg.cholesky as it is": lambda: jaxpr(
            lambda a: la.cholesky(a, symmetrize_input=False)
        )(g),
        "lax.linalg.cholesky of complex": lambda: jaxpr(la.cholesky)(z),
        "lax.linalg.cholesky of a stack": lambda: jaxpr(la.cholesky)(gs),
        "lax.linalg.cholesky, jvp": forward(la.cholesky, g),
        "lax.linalg.cholesky, jvp of complex": forward(la.cholesky, z),
        "lax.linalg.cholesky, vmap": lambda: jaxpr(jax.vmap(la.cholesky))(gs),
        "jnp.linalg.cholesky": lambda: jaxpr(nl.cholesky)(g),
        "jnp.linalg.cholesky, upper": lambda: jaxpr(lambda a: nl.cholesky(a, upper=True))(g),
        "triangular_solve": lambda: jaxpr(la.triangular_solve)(g, g),
        "triangular_solve of a vector": lambda: jaxpr(on_the_left)(g, g[0]),
        "triangular_solve, jvp": forward(on_the_left, g, b),
        "triangular_solve, jvp, many columns": forward(on_the_left, g, np.ones((3, 5), np.float32)),
        "triangular_solve, jvp, right side": forward(triangular(unit_diagonal=True), g, b.T),
        "triangular_solve, jvp, adjoint": forward(adjoint, z, z),
        "triangular_solve, jvp, stack": forward(on_the_left, gs, gs),
        "triangular_solve, vjp": backward(on_the_left, g, b),
        "triangular_solve, vjp, adjoint": backward(adjoint, z, z),
        "triangular_solve, vmap": lambda: jaxpr(jax.vmap(on_the_left))(gs, gs),
        "triangular_solve, vmap over a": lambda: jaxpr(jax.vmap(on_the_left, (0, None)))(gs, g),
        "triangular_solve, vmap over b": lambda: jaxpr(jax.vmap(on_the_left, (None, 0)))(g, gs),
        "triangular_solve, vmap over b, right side": lambda: jaxpr(
            jax.vmap(la.triangular_solve, (None, 0))
        )(g, gs),
        "lu": lambda: jaxpr(la.lu)(g),
        "lu, jvp": forward(lambda a: la.lu(a)[0], g),
        "lu, jvp, wide": forward(lambda a: la.lu(a)[0], g[:2]),
        "lu, jvp, tall": forward(lambda a: la.lu(a)[0], g[:, :2]),
        "lu, jvp, stack": forward(lambda a: la.lu(a)[0], gs),
        "lu_pivots_to_permutation": lambda: jaxpr(lambda p: la.lu_pivots_to_permutation(p, 5))(
            order
        ),
        "jnp.linalg.solve of a vector": lambda: jaxpr(nl.solve)(g, g[0]),
        "jnp.linalg.solve": lambda: jaxpr(nl.solve)(g, b),
        "jnp.linalg.inv": lambda: jaxpr(nl.inv)(g),
        "jnp.linalg.det 2 x 2": lambda: jaxpr(nl.det)(g[:2, :2]),
        "jnp.linalg.det 3 x 3": lambda: jaxpr(nl.det)(g),
        "scipy.linalg.cholesky": lambda: jaxpr(sl.cholesky)(g),
        "scipy.linalg.cholesky of complex": lambda: jaxpr(sl.cholesky)(z),
        "scipy.linalg.cholesky, lower": lambda: jaxpr(lambda a: sl.cholesky(a, lower=True))(g),
        "scipy.linalg.cho_solve": lambda: jaxpr(lambda a, b: sl.cho_solve((a, True), b))(g, b),
        "scipy.linalg.cho_solve of a vector": lambda: jaxpr(
            lambda a, b: sl.cho_solve((a, False), b)
        )(g, g[0]),
        "scipy.linalg.solve_triangular": lambda: jaxpr(sl.solve_triangular)(g, b),
        "scipy.linalg.solve_triangular, adjoint": lambda: jaxpr(
            lambda a, b: sl.solve_triangular(a, b, trans="C", lower=True)
        )(z, z[0]),
        "scipy.linalg.solve_triangular, stack": lambda: jaxpr(sl.solve_triangular)(gs, b),
        "scipy.linalg.lu": lambda: jaxpr(sl.lu)(g),
        "scipy.linalg.lu, permute_l": lambda: jaxpr(lambda a: sl.lu(a, permute_l=True))(g[:2]),
        "scipy.linalg.lu_factor": lambda: jaxpr(sl.lu_factor)(g),
        "scipy.linalg.lu_solve": lambda: jaxpr(lambda *ab: sl.lu_solve(ab[:2], ab[2]))(g, order, b),
        "scipy.linalg.lu_solve, transposed": lambda: jaxpr(
            lambda *ab: sl.lu_solve(ab[:2], ab[2], trans=1)
        )(g, order, g[0]),
        "scipy.linalg.solve, positive definite": lambda: jaxpr(
            lambda a, b: sl.solve(a, b, assume_a="pos")
        )(g, g[0]),
    }


# ---- values ----

VALUES = [
    *(f"la.cholesky({x})" for x in ("p", "ps", "zp", "i32([[2, 1], [1, 3]])", "-p", "p[:0, :0]")),
    "la.cholesky(np.stack([p, -p]))",
    "la.cholesky(g, symmetrize_input=False)",
    "la.cholesky(weak(2.0) * jnp.ones((1, 1)))",
    "nl.cholesky(p, upper=True)",
    "nl.cholesky(zp, upper=True)",
    "nl.cholesky(b8([[1, 0], [0, 1]]))",
    "la.triangular_solve(g, g)",
    "la.triangular_solve(g, b, left_side=True)",
    "la.triangular_solve(g, b, left_side=True, lower=True)",
    "la.triangular_solve(g, b.T, lower=True, unit_diagonal=True)",
    "la.triangular_solve(g, b, left_side=True, transpose_a=True, unit_diagonal=True)",
    "la.triangular_solve(z, z, left_side=True, lower=True, conjugate_a=True)",
    "la.triangular_solve(z, z, transpose_a=True, conjugate_a=True)",
    "la.triangular_solve(gs, bs, left_side=True)",
    "la.triangular_solve(g, g[0], left_side=True)",
    "la.triangular_solve(g, g[0])",
    "la.triangular_solve(0 * g, b, left_side=True, unit_diagonal=True)",
    "la.triangular_solve(g, b[:, :0], left_side=True)",
    "[x.dtype for x in [la.triangular_solve(bf16(p), bf16(p)), la.triangular_solve(f16(p), f16(p))]]",
    *(f"la.lu({x})" for x in ("g", "gs", "g[:3]", "g[:, :2]", "z", "singular * 0", "g[:0]", "g * nan")),
    "la.lu(weak(2.0) * jnp.ones((1, 1)))",
    "la.lu_pivots_to_permutation(pivots, 3)",
    "la.lu_pivots_to_permutation(pivots, 5)",
    "jax.vmap(lambda p: la.lu_pivots_to_permutation(p, 4))(np.stack([pivots, pivots[::-1]]))",
    *(f"nl.solve({x})" for x in ("g, b", "g, b[:, 0]", "gs, bs", "g, bs", "gs, b", "gs, b[:, 0]")),
    *(f"nl.solve({x})" for x in ("z, z", "g, z", "i32([[2, 1], [1, 3]]), i32([1, 2])", "g[:0, :0], g[:0]")),
    *(f"nl.inv({x})" for x in ("g", "gs", "z", "i32([[2, 1], [1, 3]])", "g * 0", "np.eye(2) > 0")),
    *(f"nl.det({x})" for x in ("small", "g[:1, :1]", "g[:3, :3]", "g", "gs", "gs[:, :3, :3]", "z")),
    *(f"nl.det({x})" for x in ("i32([[2, 1], [1, 3]])", "singular", "g[:0, :0]", "gs[:0]", "hm[:, :2]")),
    *(f"nl.slogdet({x})" for x in ("g", "-g[:3, :3]", "gs", "z", "singular", "i32([[2, 1], [1, 3]])")),
    "nl.slogdet(g[:0, :0])",
    "nl.slogdet(z * 0)",
    "nl.slogdet(g, method='qr')",
    "nl.slogdet(g).logabsdet",
    "nl.slogdet(100 * np.eye(40, dtype=np.float32))",
    "nl.tensorinv(np.arange(36, dtype=np.float32).reshape(2, 3, 6) + np.eye(6).reshape(2, 3, 6) * 9)",
    "nl.tensorinv(g.reshape(4, 2, 2), ind=1)",
    "nl.tensorsolve(g.reshape(2, 2, 4), b.T.reshape(4, 2)[:2])",
    "nl.tensorsolve(g.reshape(2, 2, 2, 2), b.T.reshape(4, 2)[:2], axes=(0,))",
    *(f"nl.matrix_power({x})" for x in ("g, -1", "g, -3", "small, 5", "i32([[2, 1], [1, 3]]), 3", "gs, -2")),
    "nl.matrix_power(i32([[2, 1], [1, 3]]), -1)",
    *(f"sl.cholesky({x})" for x in ("p", "p, lower=True", "ps", "zp", "[[2.0, 1.0], [1.0, 3.0]]", "-p")),
    "sl.cho_factor(p)",
    "sl.cho_factor(p, lower=True)",
    *(f"sl.cho_solve({x})" for x in ("sl.cho_factor(p), b", "sl.cho_factor(p, lower=True), b[:, 0]")),
    *(f"sl.cho_solve({x})" for x in ("sl.cho_factor(zp), z", "sl.cho_factor(ps), bs")),
    "sl.cho_solve(sl.cho_factor(ps), b)",
    *(f"sl.solve_triangular({x})" for x in ("g, b", "g, b, trans=1", "z, z, trans='C', lower=True")),
    *(f"sl.solve_triangular({x})" for x in ("z, z, 'T'", "gs, bs", "gs, b", "g, bs")),
    "sl.solve_triangular(g, b, unit_diagonal=True)",
    *(f"sl.solve_triangular({x})" for x in ("[[1.0, 2], [3, 4]], [1.0, 2]", "i32([[2, 1], [0, 3]]), [1, 2]")),
    *(f"sl.lu({x})" for x in ("g", "g[:2]", "g[:, :2]", "gs", "z", "g, permute_l=True")),
    "sl.lu([[1.0, 2], [3, 4]])",
    *(f"sl.lu_factor({x})" for x in ("g", "gs", "[[1.0, 2], [3, 4]]")),
    *(f"sl.lu_solve(sl.lu_factor({x})" for x in ("g), b", "g), b, trans=1", "z), z, trans=2", "gs), b")),
    "sl.lu_solve(sl.lu_factor(g), b[:, 0])",
    *(f"sl.solve({x}, assume_a='pos')" for x in ("p, b", "p, b[:, 0]", "ps, bs", "zp, z")),
    "sl.solve(small, small.tolist(), assume_a='pos')",
    "sl.solve(g + g.T, b, assume_a='sym')",
    "sl.solve(np.triu(p), b, assume_a='pos')",
    "sl.solve(np.tril(p), b, assume_a='pos', lower=True)",
    "sl.det(g)",
    "sl.inv(g)",
]  # fmt: skip


def _weighted(function, matrix):
    """The gradient of a weighted sum of what a function gives, its jit, and its second derivative."""
    scalar = f"(lambda a: jnp.sum(jnp.real({function}) * weights[: len(a), : len(a)]))"
    return [
        f"jax.grad({scalar})({matrix})",
        f"jax.jit(jax.grad({scalar}))({matrix})",
        f"jax.hessian({scalar})({matrix})[1, 2]",
    ]


OF_POSITIVE = "la.cholesky(a)", "sl.cholesky(a)", "sl.solve(a, g, assume_a='pos')"
OF_GENERAL = (
    "la.lu(a)[0]", "nl.solve(a, p)", "nl.inv(a)", "nl.det(a)", "nl.slogdet(a)[1]",
    "nl.matrix_power(a, -2)", "sl.lu(a)[1]", "sl.lu_solve(sl.lu_factor(a), p, trans=1)",
    "sl.solve_triangular(a, p)", "sl.solve_triangular(a, p, trans=1, lower=True)",
    "la.triangular_solve(a, p, unit_diagonal=True)",
)  # fmt: skip

DERIVATIVES = [
    *(call for f in OF_POSITIVE for call in _weighted(f, "p")),
    *(call for f in OF_GENERAL for call in _weighted(f, "g")),
    *_weighted("nl.det(a)", "g[:2, :2]"),
    *_weighted("nl.det(a)", "g[:3, :3]"),
    "jax.grad(lambda b: jnp.sum(nl.solve(g, b) * weights[:, :2]))(b)",
    "jax.grad(lambda b: jnp.sum(nl.solve(g, b) * weights[0]))(b[:, 0])",
    "jax.grad(lambda b: jnp.sum(sl.cho_solve(sl.cho_factor(p), b) ** 2))(b)",
    "jax.jacfwd(lambda b: sl.solve_triangular(g, b))(b[:, 0])",
    "jax.jvp(nl.slogdet, (z,), (z + 1,))",
    "jax.jvp(nl.det, (z,), (z + 1,))",
    "jax.jvp(nl.inv, (z,), (z + 1,))",
    "jax.jvp(la.cholesky, (zp,), (z,))",
    "jax.jvp(lambda a: la.lu(a)[0], (g[:3],), (g[1:],))",
    "jax.jvp(lambda a: la.lu(a)[0], (g[:, :3],), (g[:, 1:],))",
    "jax.jvp(lambda a: la.lu(a)[0], (gs,), (gs + 1,))",
    "jax.vjp(la.lu, g)[0]",
    "jax.grad(lambda a: jnp.abs(nl.det(a)))(z)",
    "jax.grad(lambda a: jnp.abs(nl.inv(a)).sum())(z)",
    "jax.grad(lambda a: jnp.abs(la.cholesky(a)).sum())(zp)",
    "jax.grad(nl.det)(np.diag(f32([1, 2, 3, 0])))",
    "jax.grad(nl.det)(g * 0)",
    "jax.grad(lambda a: nl.slogdet(a)[1])(np.diag(f32([1, 2, 0])))",
    "jax.vmap(jax.grad(nl.det))(gs)",
    "jax.vmap(jax.grad(lambda a: la.cholesky(a).sum()))(ps)",
    "jax.vmap(jax.grad(lambda a, b: nl.solve(a, b).sum()), (0, None))(gs, b)",
    "jax.vmap(nl.solve, (None, 0))(g, bs)",
    "jax.vmap(nl.solve, (0, None))(gs, b[:, 0])",
    "jax.vmap(nl.slogdet)(gs)",
    "jax.jit(jax.vmap(nl.inv))(gs)",
    "jax.jit(nl.slogdet)(g)",
    "jax.jit(sl.lu)(g)",
    "jax.vmap(sl.cho_solve, ((0, None), None))((ps, False), b)",
]

GROUPS = [
    Group("linear systems", VALUES, ulps=64, scaled=True),
    Group("linear systems: derivatives", DERIVATIVES, ulps=512, scaled=True),
    Group(
        "linear systems: double precision",
        ["la.cholesky(p.astype(float))", "nl.solve(g.astype(float), b)", "nl.det(g.astype(float))"],
        ulps=64,
        scaled=True,
        config={"jax_enable_x64": True},
    ),
]

# ---- errors ----

ERRORS = {
    "linear systems": [
        ("la.cholesky(g[:2])", ["(2, 4)"]),
        ("la.cholesky(g[:2], symmetrize_input=False)", ["cholesky", "(2, 4)"]),
        ("nl.cholesky(g[0])", ["(4,)"]),
        ("nl.cholesky([[1.0]])", ["jnp.linalg.cholesky", "list"]),
        ("nl.cholesky(f16(p))", ["cholesky", "float16"]),
        ("jax.jit(nl.cholesky)(bf16(p))", ["cholesky", "bfloat16"]),
        ("la.triangular_solve(g, b)", ["triangular_solve", "(4, 4)", "(4, 2)"]),
        ("la.triangular_solve(g, b[:2], left_side=True)", ["triangular_solve", "(4, 4)", "(2, 2)"]),
        ("la.triangular_solve(g[:2], b, left_side=True)", ["square", "(2, 4)"]),
        ("la.triangular_solve(g[0], b)", ["triangular_solve", "rank", "(4,)"]),
        ("la.triangular_solve(g, 1.0)", ["triangular_solve", "rank"]),
        ("la.triangular_solve(g, gs)", ["triangular_solve", "batch"]),
        ("la.triangular_solve(g, np.eye(4, dtype=np.int32))", ["triangular_solve", "int32"]),
        ("la.triangular_solve(g, z)", ["triangular_solve", "float32", "complex64"]),
        ("la.lu(np.eye(3, dtype=np.int32))", ["lu", "int32"]),
        ("la.lu(g[0])", ["lu", "rank", "(4,)"]),
        ("la.lu(f16(g))", ["lu", "float16"]),
        ("la.lu_pivots_to_permutation(pivots, 2)", ["permutation", "2", "3"]),
        ("la.lu_pivots_to_permutation(f32([1, 2]), 2)", ["lu_pivots_to_permutation", "float32"]),
        ("la.lu_pivots_to_permutation(i32(1), 2)", ["rank", "()"]),
        ("nl.solve(g, b[:3])", ["4|m", "3"]),
        ("nl.solve(g[0], b)", ["two dimensional", "(4,)"]),
        ("nl.solve(g, 1.0)", ["()"]),
        ("nl.solve(gs, g[:2])", ["solve", "(2, 4, 4)", "(2, 4)"]),
        ("nl.solve([[1.0]], [1.0])", ["jnp.linalg.solve", "list"]),
        ("nl.inv(g[:2])", ["inv", "(2, 4)"]),
        ("nl.inv(f16(g))", ["float16"]),
        ("nl.det(g[:2])", ["det", "(2, 4)"]),
        ("nl.det(1.0)", ["det", "()"]),
        ("nl.slogdet(g[:2])", ["slogdet", "(2, 4)"]),
        ("nl.slogdet(g, method='svd')", ["method", "svd"]),
        ("nl.tensorinv(g, ind=0)", ["ind", "0"]),
        ("nl.tensorinv(g[:2])", ["ind", "(2, 4)"]),
        ("nl.tensorsolve(g, b)", ["(4, 4)", "(4, 2)"]),
        ("nl.tensorsolve(t, v[:2])", ["(2, 3, 4)"]),
        ("nl.matrix_power(g[:2], -1)", ["square"]),
        ("nl.matrix_power(g, 1.5)", ["integer", "1.5"]),
        ("sl.cholesky(g[:2])", ["(2, 4)|(4, 2)"]),
        ("sl.cholesky(1.0)", ["()|ndim=0"]),
        ("sl.cho_solve((p, True), b[:2])", ["4", "2"]),
        ("sl.solve_triangular(g, b, trans='X')", ["trans", "X"]),
        ("sl.solve_triangular(g, b[:2])", ["4", "2"]),
        ("sl.lu_solve(sl.lu_factor(g), b, trans=3)", ["trans", "3"]),
        ("sl.lu_solve(sl.lu_factor(g), b[:2])", ["4", "2"]),
        ("sl.solve(g, b, assume_a='positive')", ["assume_a", "positive"]),
        ("sl.solve(g, b[:2], assume_a='pos')", ["2"]),
    ],
}
