"""Recorded cases of jax.experimental.sparse: BCSR."""

from golden_cases.codec import Group
from golden_cases.sparse.coordinates import names  # noqa: F401

GROUPS = [
    Group(
        "sparse, bcsr",
        [
            "parts(sparse.empty((2,3), sparse_format='bcsr'))",
            "parts(R)",
            "parts(BCSR.from_scipy_sparse(ss.csr_matrix(M)))",
            "parts(BCSR.from_scipy_sparse(ss.coo_matrix(M)))",
            "parts(R.to_bcoo())",
            "parts(BCSR.from_bcoo(S))",
            "parts(BCSR.from_bcoo(S.T))",
            "parts(BCSR.from_bcoo(B))",
            "parts(BCSR.from_bcoo(D))",
            "parts(R.todense())",
            "parts(R @ z)",
            "parts(R @ jnp.ones((4,2)))",
            "parts(R.sum_duplicates())",
            "parts(BCSR((jnp.ones(3), jnp.array([0,1,0]), jnp.array([0,1,3])), shape=(2,2)))",
            "parts(BCSR((jnp.ones(3), jnp.array([0,1,0]), jnp.array([0,1,3])), shape=(2,2)).todense())",
            "parts(BCSR((jnp.ones(3), jnp.array([0,0,0]), jnp.array([0,1,3])), shape=(2,2)).todense())",
            "parts(BCSR((jnp.ones(3), jnp.array([0,0,0]), jnp.array([0,1,3])), "
            "shape=(2,2)).sum_duplicates())",
            "parts(BCSR.fromdense(M, nse=6))",
            "parts(BCSR.fromdense(M, nse=2))",
            "parts(BCSR.fromdense(jnp.stack([M,M]), n_batch=1))",
            "parts(BCSR.fromdense(jnp.stack([M,M]), n_dense=1))",
            "(R.shape, R.dtype, R.ndim, R.nse, R.n_batch, R.n_sparse, R.n_dense)",
            "parts(sparse.bcsr_fromdense(M))",
            "parts(sparse.bcsr_todense(R))",
            "parts(sparse.bcsr_extract(R.indices, R.indptr, M))",
            "parts(sparse.bcsr_dot_general(R, z, dimension_numbers=(((1,),(0,)),((),()))))",
            "parts(sparse.bcsr_sum_duplicates(R))",
            "parts(sparse.bcsr_broadcast_in_dim(R, shape=(2,3,4), broadcast_dimensions=(1,2)))",
            "parts(sparse.bcsr_concatenate([R,R], dimension=0))",
        ],
        ulps=8,
        scaled=True,
    )
]

ERRORS = {
    "sparse, bcsr": [
        ("BCSR.from_scipy_sparse(M)", []),
        ("y @ R", []),
        ("R @ R", []),
        ("R.T", []),
        ("R.transpose((1,0))", []),
        ("R.sum()", []),
        ("R + R", []),
        ("R * 2", []),
        ("R * M", []),
        ("-R", []),
        ("BCSR((jnp.ones(3), jnp.array([0,1,0]), jnp.array([0,1])), shape=(2,2))", []),
        ("BCSR.fromdense(jnp.stack([M,M]))", []),
        ("BCSR.fromdense(y)", []),
    ]
}
