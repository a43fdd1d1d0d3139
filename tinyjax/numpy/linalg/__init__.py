"""`jnp.linalg`: this file re-exports it. What needs a decomposition is imported when it is asked for.

Source: https://docs.jax.dev/en/latest/jax.numpy.html#module-jax.numpy.linalg
"""

# ruff: noqa: F401

from tinyjax.numpy.linalg.norms_and_products import (
    cross,
    diagonal,
    matmul,
    matrix_norm,
    matrix_power,
    matrix_transpose,
    multi_dot,
    norm,
    outer,
    tensordot,
    trace,
    vecdot,
    vector_norm,
)

# {file: its names}
_LAZY_NAMES = {
    "decompositions": ("eig", "eigh", "eigvals", "eigvalsh", "qr", "svd", "svdvals"),
    "determinants": ("det", "slogdet"),
    "least_squares": ("cond", "lstsq", "matrix_rank", "pinv"),
    "solving": ("cholesky", "inv", "solve", "tensorinv", "tensorsolve"),
}
