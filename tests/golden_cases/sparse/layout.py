"""Recorded cases of jax.experimental.sparse: transposes, reshapes, broadcasts, other layouts."""

from golden_cases.codec import Group
from golden_cases.sparse.coordinates import names  # noqa: F401

GROUPS = [
    Group(
        "sparse, layout",
        [
            "parts(S.T)",
            "parts(B.transpose((0,2,1)))",
            "parts(D.transpose((1,0,2)))",
            "parts(S.reshape(4,3))",
            "parts(S.reshape((12,)))",
            "parts(S.reshape(-1))",
            "parts(S.reshape(2,-1))",
            "parts(B.reshape(2,12))",
            "parts(B.reshape(1,2,3,4))",
            "parts(D.reshape(6,4))",
            "parts(S.astype(int))",
            "parts(S.astype(jnp.float16))",
            "parts(S.update_layout(n_batch=1, on_inefficient=None))",
            "parts(B.update_layout(n_batch=0))",
            "parts(D.update_layout(n_dense=0))",
            "parts(B.update_layout(n_batch=0, n_dense=1, on_inefficient=None))",
            "parts(BCOO.from_scipy_sparse(ss.csr_matrix(np.asarray(M).astype(float))))",
            "parts(sparse.bcoo_transpose(S, permutation=(1,0)))",
            "parts(sparse.bcoo_sort_indices(S.T))",
            "parts(sparse.bcoo_reshape(S, new_sizes=(2,6)))",
            "parts(sparse.bcoo_concatenate([S, S], dimension=0))",
            "parts(sparse.bcoo_concatenate([S, S], dimension=1))",
            "parts(sparse.bcoo_concatenate([B, B], dimension=0))",
            "parts(sparse.bcoo_concatenate([B, B], dimension=1))",
            "parts(sparse.bcoo_broadcast_in_dim(S, shape=(2,3,4), broadcast_dimensions=(1,2)))",
            "parts(sparse.bcoo_squeeze(S[:1], dimensions=(0,)))",
            "parts(sparse.bcoo_rev(S, dimensions=(0,)))",
            "parts(sparse.bcoo_update_layout(S, n_batch=1, on_inefficient=None))",
            "(S.unique_indices, S.T.indices_sorted)",
        ],
        ulps=8,
        scaled=True,
    )
]

ERRORS = {
    "sparse, layout": [
        ("B.transpose((1,0,2))", []),
        ("B.T", []),
        ("D.transpose((0,2,1))", []),
        ("S.transpose((0,0))", []),
        ("S.reshape(5,2)", []),
        ("B.reshape(6,4)", []),
        ("S.update_layout(n_batch=1)", []),
        ("S.update_layout(n_dense=1)", []),
        ("S.update_layout(n_batch=1, on_inefficient='error')", []),
        ("sparse.bcoo_extract(S, M.T)", []),
        ("sparse.bcoo_concatenate([D, D], dimension=2)", []),
        ("sparse.bcoo_broadcast_in_dim(S, shape=(3,2,4), broadcast_dimensions=(0,2))", []),
        ("sparse.bcoo_broadcast_in_dim(S, shape=(3,4,2), broadcast_dimensions=(0,1))", []),
        ("sparse.bcoo_broadcast_in_dim(S[:1], shape=(3,4), broadcast_dimensions=(0,1))", []),
    ]
}
