"""Recorded cases of jax.experimental.sparse: sums, differences, quotients, powers."""

from golden_cases.codec import Group
from golden_cases.sparse.coordinates import names  # noqa: F401

GROUPS = [
    Group(
        "sparse, arithmetic",
        [
            "parts(S.sum())",
            "parts(S.sum(0))",
            "parts(S.sum(1))",
            "parts(S.sum((0,1)))",
            "parts(B.sum(0))",
            "parts(B.sum(1))",
            "parts(B.sum((1,2)))",
            "parts(D.sum(2))",
            "parts(D.sum(0))",
            "parts(S + S)",
            "parts(S - S)",
            "parts(S + M)",
            "parts(M + S)",
            "parts(S * 2)",
            "parts(2 * S)",
            "parts(S * M)",
            "parts(M * S)",
            "parts(S * z)",
            "parts(S * y[:,None])",
            "parts(S / 2)",
            "parts(S / M)",
            "parts(S ** 2)",
            "parts(-S)",
            "parts(abs(S))",
            "parts(+S)",
            "parts(sparse.bcoo_reduce_sum(S, axes=(0,)))",
            "parts(sparse.bcoo_reduce_sum(S, axes=[0, 1]))",
            "parts(sparse.bcoo_reduce_sum(B, axes=(0,)))",
            "parts(sparse.bcoo_reduce_sum(D, axes=(2,)))",
            "outside.sum(0).todense()",
            "outside.sum()",
        ],
        ulps=8,
        scaled=True,
    )
]

ERRORS = {
    "sparse, arithmetic": [
        ("S + 1", []),
        ("2 / S", []),
        ("S ** 2.5", []),
        ("S - M", []),
        ("S == S", []),
        ("S > 1", []),
        ("S // 2", []),
        ("S % 2", []),
        ("S & S", []),
        ("S * jnp.ones((2,3,4))", []),
        ("jnp.sin(S)", []),
    ]
}
