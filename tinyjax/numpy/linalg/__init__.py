"""`jnp.linalg`: which file has which name. Each file is imported on first use.

Sources: https://docs.jax.dev/en/latest/jax.numpy.html#module-jax.numpy.linalg, and for each function
https://docs.jax.dev/en/latest/_autosummary/jax.numpy.linalg.<name>.html
"""

from typing import Any as _Any

# {file: its names}
_LAZY_NAMES = {
    "decompositions": ("eig", "eigh", "eigvals", "eigvalsh", "qr", "svd", "svdvals"),
    "determinants": ("det", "slogdet"),
    "least_squares": ("cond", "lstsq", "matrix_rank", "pinv"),
    "norms_and_products": (
        *("cross", "diagonal", "matmul", "matrix_norm", "matrix_power", "matrix_transpose"),
        *("multi_dot", "norm", "outer", "tensordot", "trace", "vecdot", "vector_norm"),
    ),
    "solving": ("cholesky", "inv", "solve", "tensorinv", "tensorsolve"),
}

norm: _Any  # for mypy: tinyjax itself uses jnp.linalg.norm
