"""Recorded cases of jax.experimental.sparse: slices and gathers."""

from golden_cases.codec import Group
from golden_cases.sparse.coordinates import names  # noqa: F401

GROUPS = [
    Group(
        "sparse, slicing",
        [
            "parts(S[0])",
            "parts(S[0, 1])",
            "parts(S[:2])",
            "parts(S[:, 1:3])",
            "parts(S[::2])",
            "parts(S[::-1])",
            "parts(S[-1])",
            "parts(S[None])",
            "parts(S[...])",
            "parts(S[jnp.array([0,2])])",
            "parts(S[M>1])",
            "parts(S[:, jnp.array([0,1])])",
            "parts(S[5])",
            "parts(B[0])",
            "parts(B[:, 1])",
            "parts(B[:, :, 1:])",
            "parts(D[0])",
            "parts(D[..., 1])",
            "parts(D[:, 1:, :2])",
            "parts(len(S))",
            "parts(list(S))",
            "parts(sparse.bcoo_slice(S, start_indices=(0,1), limit_indices=(2,4)))",
            "parts(sparse.bcoo_slice(S, start_indices=(0,1), limit_indices=(3,4), strides=(2,2)))",
            "parts(sparse.bcoo_slice(B, start_indices=(0,1,0), limit_indices=(1,3,4)))",
            "parts(sparse.bcoo_dynamic_slice(S, (0,1), (2,2)))",
            "parts(sparse.bcoo_dynamic_slice(S, (jnp.int32(2),jnp.int32(1)), (2,2)))",
        ],
        ulps=8,
        scaled=True,
    )
]
