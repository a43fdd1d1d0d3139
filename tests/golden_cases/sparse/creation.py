"""Recorded cases of jax.experimental.sparse: empty, identity and random arrays, linear systems."""

from golden_cases.codec import Group
from golden_cases.sparse.coordinates import names  # noqa: F401

GROUPS = [
    Group(
        "sparse, creation",
        [
            "parts(BCOO._empty((2,3)))",
            "parts(sparse.empty((2,3)))",
            "parts(sparse.empty((2,3), dtype='int32', sparse_format='bcoo', nse=2))",
            "parts(sparse.empty((2,3,4), n_batch=1, n_dense=1))",
            "parts(sparse.eye(3))",
            "parts(sparse.eye(3, 4, k=1))",
            "parts(sparse.eye(3, 4, k=-1, dtype=int))",
            "parts(sparse.eye(3, n_batch=1))",
            "parts(sparse.eye(3, n_dense=1))",
            "parts(sparse.eye(3, k=10))",
            "parts(BCOO.fromdense(M > 0))",
            "parts(BCOO.fromdense(M > 0, nse=6, n_batch=1))",
            "parts(BCSR.fromdense(M > 0))",
            "BCOO.fromdense(M > 0).todense()",
            "BCOO.fromdense(M > 0) @ jnp.ones((4, 2), int)",
            "parts(BCOO.fromdense(M.astype('uint8')).sum(0))",
            "BCOO.fromdense(M.astype('int8')).sum()",
            "parts(BCOO.fromdense(M + 1j * M).T)",
            "BCOO.fromdense(M + 1j * M) @ jnp.array([1, 1j, 0, 2])",
            "parts(BCOO.fromdense(M * 0))",
            "BCOO.fromdense(M * 0) @ jnp.ones(4)",
            "parts(BCOO.fromdense(jnp.zeros((0, 4))).T)",
            "BCOO.fromdense(jnp.zeros((3, 0))) @ jnp.zeros((0, 2))",
            "parts(BCSR.fromdense(jnp.zeros((0, 4))))",
            "sparse.grad(lambda a, v: (a @ v).sum() ** 2, argnums=1)(BCOO.fromdense(M * 0), jnp.ones(4))",
            "parts(sparse.sparsify(lambda a: a * a)(S))",
            "parts(jax.jit(sparse.sparsify(lambda a: a + jnp.sin(a) - 2 * a))(S))",
            "parts(sparse.todense(S))",
            "parts(sparse.todense(M))",
            "parts(sparse.random_bcoo(jax.random.key(0), (4,5)))",
            "parts(sparse.random_bcoo(jax.random.key(0), (4,5), nse=0.5))",
            "parts(sparse.random_bcoo(jax.random.key(0), (4,5), unique_indices=False))",
            "parts(sparse.linalg.spsolve(jnp.array([2.,1,3]), jnp.array([0,0,1]), "
            "jnp.array([0,1,3]), jnp.array([1.,2])))",
            "parts(jax.scipy.sparse.linalg.cg(BCOO.fromdense(jnp.array([[4.,1],[1,3]])), "
            "jnp.array([1.,2])))",
        ],
        ulps=8,
        scaled=True,
    )
]

ERRORS = {
    "sparse, creation": [
        ("sparse.empty((2,3), sparse_format='xxx')", []),
        ("sparse.eye(3, nse=5)", []),
    ]
}
