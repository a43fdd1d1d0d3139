"""`jax.scipy.linalg`: linear algebra that jax.numpy.linalg has not, or has with other arguments.

This file re-exports it. Each file's functions are imported when they are first asked for.

Sources: https://docs.jax.dev/en/latest/jax.scipy.html#module-jax.scipy.linalg, and for each function
https://docs.jax.dev/en/latest/_autosummary/jax.scipy.linalg.<name>.html
"""

from tinyjax.core.missing_names import dir_of, getattr_of

# {file: its names}
_LAZY_NAMES = {
    "decompositions": (
        "eigh", "eigh_tridiagonal", "hessenberg", "polar", "qr", "qr_multiply", "rsf2csf", "schur", "svd",
    ),
    "matrix_functions": ("funm", "sqrtm"),
    "factors": ("cho_factor", "cho_solve", "cholesky", "solve_triangular"),
    "exponentials": ("expm", "expm_frechet"),
    "named_matrices": (
        "dft", "hadamard", "helmert", "hilbert", "invhilbert", "invpascal", "pascal",
    ),
    "special_matrices": (
        "block_diag", "circulant", "companion", "convolution_matrix", "fiedler", "fiedler_companion",
        "hankel", "leslie", "toeplitz",
    ),
    "sylvester": ("solve_sylvester",),
    "systems": ("det", "inv", "lu", "lu_factor", "lu_solve", "solve"),
}  # fmt: skip

__getattr__ = getattr_of(__name__)
__dir__ = dir_of(__name__)
