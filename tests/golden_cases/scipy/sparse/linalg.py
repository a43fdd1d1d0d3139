"""Recorded cases of cg, bicgstab and gmres of jax.scipy.sparse.linalg."""

import importlib

from golden_cases.codec import Group


def names(jax, jnp, lax):
    solvers = importlib.import_module(f"{jax.__name__}.scipy.sparse.linalg")
    a = jnp.array([[4.0, 1, 0], [-1, 3, 1], [0.5, 1, 2]])
    complex_a = a + 1j * jnp.array([[2.0, 1, 0], [-1, 0, 1], [0, 1, -2]])
    return {
        "cg": solvers.cg,
        "bicgstab": solvers.bicgstab,
        "gmres": solvers.gmres,
        "a": a,
        "complex_a": complex_a,
        "hermitian": complex_a @ complex_a.conj().T,
        "jacobi": jnp.diag(1 / jnp.diag(a)),
        "tree": {"x": jnp.array([1.0, 2, 3]), "y": jnp.ones((2, 2))},
        "tree_operator": lambda t: {"x": 3 * t["x"], "y": 2 * t["y"] + t["y"][::-1] + t["x"][0]},
        "tree_symmetric": lambda t: {"x": 3 * t["x"], "y": 2 * t["y"] + t["y"][::-1]},
    }


def _calls(name, matrix, complex_matrix, tree):
    return [
        f"{name}({matrix}, v)",
        f"{name}(lambda x: {matrix} @ x, v)",
        f"{name}({matrix}, v, w)",
        f"{name}({matrix}, v, maxiter=1)",
        f"{name}({matrix}, v, M=jacobi)",
        f"{name}({matrix}, v, M=lambda x: x / 3, tol=1e-3)",
        f"{name}({matrix}, v, tol=0.5)",
        f"{name}({matrix}, v, tol=0.0, atol=0.6)",
        f"{name}({matrix}, v, maxiter=0)",
        f"{name}({matrix}, 0 * v)",
        f"{name}(0 * {matrix}, v)",
        f"{name}({complex_matrix}, v + 1j)",
        f"{name}({matrix}, v.astype('complex64'))",
        f"{name}({tree}, tree)",
        f"{name}(lambda x: 2 * x, f32(1))",
        f"{name}(np.array({matrix}), np.array(v))",
        f"jax.jit({name})({matrix}, v)",
        f"jax.vmap(lambda b: {name}({matrix}, b)[0])(m)",
        f"jax.vmap(lambda d: {name}({matrix} + jnp.diag(d), v)[0])(m)",
        f"jax.grad(lambda b: {name}({matrix}, b)[0] @ w)(v)",
        f"jax.grad(lambda a: {name}(a, v)[0] @ w)({matrix})",
        f"jax.jacfwd(lambda b: {name}({matrix}, b)[0])(v)",
        f"jax.jacrev(lambda s: {name}(lambda x: s * ({matrix} @ x), v)[0])(2.0)",
    ]


CALLS = [
    *_calls("cg", "sq", "hermitian", "tree_symmetric"),
    *_calls("bicgstab", "a", "complex_a", "tree_operator"),
    *_calls("gmres", "a", "complex_a", "tree_operator"),
    *[f"gmres(a, v, restart={n}, maxiter={k})" for n in (1, 2) for k in (1, 2)],
    *[f"gmres(a, v, restart={n}, solve_method='incremental')" for n in (1, 2, 20)],
    "gmres(jnp.eye(3), v)",
    "gmres(complex_a, v + 1j, solve_method='incremental')",
    "jax.jit(gmres, static_argnames='solve_method')(a, v, solve_method='incremental')",
]

GROUPS = [Group("iterative solvers", CALLS, ulps=64, scaled=True)]


def _errors(name):
    return [
        (f"{name}(a[:2], v)", ["square matrix", "(2, 3)"]),
        (f"{name}(a, v[:2])", ["(3,)", "(2,)"]),
        (f"{name}([[1.0]], v)", ["function", "[[1.0]]"]),
        (f"{name}(a, v, M=3.0)", ["function", "3.0"]),
        (f"{name}(a, v, x0=[1, 2, 3])", ["x0", "[*, *, *]"]),
        (f"{name}(lambda x: x[:2], v)", ["shapes", "(2,)", "(3,)"]),
        (f"{name}(lambda x: (x,), v)", ["tree structure", "PyTreeDef((*,))"]),
        (f"{name}(a, i32([1, 2, 3]))", ["int32[3]", "float32[3]"]),
        (f"{name}(a, [1.0, 2.0])", ["list"]),
    ]


ERRORS = {
    "iterative solvers": [
        *[case for name in ("cg", "bicgstab", "gmres") for case in _errors(name)],
        ("cg(sq, v, v[:2])", ["x0", "(2,)", "(3,)"]),
        ("gmres(a, v, solve_method='x')", ["solve_method", "x", "incremental", "batched"]),
    ],
}
