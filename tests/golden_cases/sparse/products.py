"""Recorded cases of jax.experimental.sparse: matrix products, and those of elements."""

from golden_cases.codec import Group
from golden_cases.sparse.coordinates import names  # noqa: F401

GROUPS = [
    Group(
        "sparse, products",
        [
            "(outside @ outside.T).todense()",
            "parts(S @ z)",
            "parts(S @ S.T)",
            "parts((S @ S.T).todense())",
            "parts(y @ S)",
            "parts(S @ jnp.ones((4,2)))",
            "parts(S.T @ y)",
            "parts(jnp.ones((2,3)) @ S)",
            "parts(S @ np.ones(4))",
            "parts(B @ z)",
            "parts(B @ jnp.ones((2,4,1)))",
            "parts(B @ jnp.ones((4,2)))",
            "parts(sparse.bcoo_dot_general(S, z, dimension_numbers=(((1,),(0,)),((),()))))",
            "parts(sparse.bcoo_dot_general(S, S, dimension_numbers=(((1,),(1,)),((),()))))",
            "parts(sparse.bcoo_dot_general(M, S, dimension_numbers=(((1,),(1,)),((),()))))",
            "parts(sparse.bcoo_dot_general(B, jnp.ones((2,4)), "
            "dimension_numbers=(((2,),(1,)),((0,),(0,)))))",
            "parts(sparse.bcoo_dot_general(B, B, dimension_numbers=(((2,),(2,)),((0,),(0,)))))",
            "parts(sparse.bcoo_dot_general(T3, z, dimension_numbers=(((2,),(0,)),((),()))))",
            "parts(sparse.bcoo_dot_general(B, y, dimension_numbers=(((1,),(0,)),((),()))))",
            "parts(sparse.bcoo_dot_general(D, y, dimension_numbers=(((1,),(0,)),((),()))))",
            "parts(sparse.bcoo_dot_general(B, jnp.ones((2,3)), dimension_numbers=(((0,1),(0,1)),((),()))))",
            "parts(sparse.bcoo_dot_general_sampled(M, M.T, jnp.array([[0,1],[2,2]]), "
            "dimension_numbers=(((1,),(0,)),((),()))))",
            "parts(sparse.bcoo_multiply_dense(S, M))",
            "parts(sparse.bcoo_multiply_dense(S, jnp.float32(2)))",
            "dense(S * S)",
            "S * S",
            "dense(sparse.bcoo_multiply_sparse(S, S[:1]))",
            "dense(sparse.bcoo_multiply_sparse(B, B))",
            "dense(sparse.bcoo_multiply_sparse(D, D))",
        ],
        ulps=8,
        scaled=True,
    )
]

ERRORS = {
    "sparse, products": [
        ("S @ y", []),
        ("D @ z", []),
        ("S @ 2", []),
        ("sparse.bcoo_dot_general(S, M, dimension_numbers=(((1,),(1,)),((0,),(0,))))", []),
        ("sparse.bcoo_dot_general(T3, T3, dimension_numbers=(((2,),(2,)),((0,),(0,))))", []),
        ("sparse.bcoo_dot_general(D, z, dimension_numbers=(((2,),(0,)),((),())))", []),
        ("sparse.bcoo_multiply_dense(S, jnp.ones((2,3,4)))", []),
        ("jnp.dot(S.T, y)", []),
    ]
}
