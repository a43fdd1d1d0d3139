"""Recorded cases of jax.experimental.sparse: dense to sparse and back, sorting, duplicates.

All chapters of this folder use the names here."""

import importlib

import scipy.sparse
from golden_cases.codec import Group


def names(jax, jnp, lax):
    sparse = importlib.import_module(f"{jax.__name__}.experimental.sparse")
    importlib.import_module(f"{jax.__name__}.scipy.sparse.linalg")
    BCOO, BCSR = sparse.BCOO, sparse.BCSR  # noqa: N806

    def parts(tree):
        """What sparse arrays in a tree are made of."""

        def of(x):
            if not isinstance(x, (BCOO, BCSR)):
                return x
            more = [x.indptr] if isinstance(x, BCSR) else []
            return [repr(x), x.data, x.indices, *more, x.indices_sorted, x.unique_indices]

        return jax.tree.map(of, tree, is_leaf=lambda x: isinstance(x, (BCOO, BCSR)))

    M = jnp.array([[0.0, 1, 0, 2], [3, 0, 0, 0], [0, 0, 4, 0]])  # noqa: N806
    both = jnp.stack([M, M * (M > 1)])
    pairs = jnp.array([[0, 0], [1, 1], [0, 0]])
    return {
        "twice": BCOO((jnp.ones(3), pairs), shape=(2, 2)),
        "cancels": BCOO((jnp.array([1.0, 2, -1]), pairs), shape=(2, 2)),
        "outside": BCOO(
            (jnp.array([1.0, 2, 3]), jnp.array([[0, 1], [3, 0], [1, 9]])), shape=(3, 4)
        ),
        "sparse": sparse,
        "BCOO": BCOO,
        "BCSR": BCSR,
        "ss": scipy.sparse,
        "parts": parts,
        "dense": lambda x: x.todense(),
        "M": M,
        "S": BCOO.fromdense(M),
        "R": BCSR.fromdense(M),
        "B": BCOO.fromdense(both, n_batch=1),
        "D": BCOO.fromdense(both, n_dense=1),
        "T3": BCOO.fromdense(both),
        "y": jnp.array([3.0, 6, 5]),
        "z": jnp.arange(4.0),
    }


GROUPS = [
    Group(
        "sparse, coordinates",
        [
            "parts(S)",
            "parts(B)",
            "parts(D)",
            "parts(BCOO.fromdense(M, nse=6))",
            "parts(BCOO.fromdense(M, nse=2))",
            "parts(BCOO.fromdense(M, index_dtype=jnp.int8))",
            "parts(BCOO.fromdense(M, n_batch=1, n_dense=1))",
            "parts(BCOO.fromdense(M, n_batch=2))",
            "parts(BCOO.fromdense(jnp.float32(3)))",
            "parts(BCOO.fromdense(np.arange(3)))",
            "parts(twice.todense())",
            "parts(BCOO((jnp.ones(3), jnp.array([[0,0],[1,1],[2,5]])), shape=(2,2)).todense())",
            "parts(BCOO((jnp.ones(3), jnp.array([[0,0],[1,1],[-1,0]])), shape=(2,2)).todense())",
            "parts(twice)",
            "parts(twice.sum_duplicates())",
            "parts(twice.sum_duplicates(nse=4))",
            "parts(twice.sum_duplicates(nse=1))",
            "parts(twice.sum_duplicates(remove_zeros=False))",
            "parts(cancels.sum_duplicates())",
            "parts(cancels.sum_duplicates(remove_zeros=False))",
            "parts(BCOO((jnp.array([1.,2,-1]), jnp.array([[1,0],[1,1],[0,0]])), "
            "shape=(2,2)).sort_indices())",
            "parts(BCOO((jnp.array([1.,2,-1]), jnp.array([[1,0],[5,5],[0,0]])), "
            "shape=(2,2)).sort_indices())",
            "parts(BCOO((jnp.ones((3,4)), jnp.array([[0],[1],[2]])), shape=(3,4)))",
            "parts(BCOO((jnp.ones((1,3)), jnp.array([[[0],[1],[2]]])), shape=(4,3)).todense())",
            "parts((S+S).todense())",
            "(S.size, S.ndim, S.nse, S.dtype, S.n_batch, S.n_sparse, S.n_dense, S.shape)",
            "parts(BCOO.from_scipy_sparse(ss.csr_matrix(M)))",
            "parts(BCOO.from_scipy_sparse(ss.coo_matrix(M)))",
            "parts(BCOO.from_scipy_sparse(ss.csr_matrix(M), index_dtype='int16'))",
            "parts(sparse.bcoo_fromdense(M))",
            "parts(sparse.bcoo_todense(S))",
            "parts(sparse.bcoo_extract(S, M))",
            "parts(sparse.bcoo_extract(S, 10*M))",
            "parts(sparse.bcoo_sum_duplicates(S))",
            "parts(BCOO((S.data, S.indices), shape=(3,4), indices_sorted=True, unique_indices=True))",
        ],
        ulps=8,
        scaled=True,
    )
]

ERRORS = {
    "sparse, coordinates": [
        ("BCOO.fromdense(M, n_batch=1, n_dense=2)", []),
        ("BCOO.fromdense(M, n_batch=3)", []),
        ("BCOO((jnp.ones(3), jnp.array([[0,0],[1,1]])), shape=(2,2))", []),
        ("BCOO((jnp.ones(3), jnp.array([0,1,2])), shape=(3,))", []),
        ("BCOO((jnp.ones(3), jnp.array([[0],[1],[2]])), shape=(3,4))", []),
        ("BCOO((jnp.ones((3,4)), jnp.array([[0],[1],[2]])), shape=(3,5))", []),
        ("BCOO((jnp.ones((3)), jnp.array([[0],[1],[2]])), shape=(2,3))", []),
        ("BCOO.from_scipy_sparse(ss.csr_matrix(M), n_batch=1)", []),
        ("BCOO.from_scipy_sparse(M)", []),
    ]
}
