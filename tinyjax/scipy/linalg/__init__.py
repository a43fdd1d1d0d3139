"""`jax.scipy.linalg`: linear algebra that jax.numpy.linalg has not, or has with other arguments.

This file re-exports it. Each file's functions are imported when they are first asked for.

Source: https://docs.jax.dev/en/latest/jax.scipy.html#module-jax.scipy.linalg
"""

from tinyjax.missing_names import dir_of, getattr_of

# {file: its names}
_LAZY_NAMES = {
    "decompositions": ("qr",),
    "factors": ("cho_factor", "cho_solve", "cholesky", "solve_triangular"),
    "systems": ("det", "inv", "lu", "lu_factor", "lu_solve", "solve"),
}

__getattr__ = getattr_of(__name__)
__dir__ = dir_of(__name__)
