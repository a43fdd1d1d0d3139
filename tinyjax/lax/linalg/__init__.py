"""`jax.lax.linalg`: decompositions of matrices as primitives, a file each. This file re-exports them.

All work on matrices in the last two axes, and on each matrix alone. They are host steps, computed by
LAPACK through NumPy or SciPy; SciPy is imported on first use. Kernels decompose small matrices
(in_kernels.py).

Source: https://docs.jax.dev/en/latest/jax.lax.html#module-jax.lax.linalg
"""

# ruff: noqa: F401
# ruff: isort: skip_file
# fmt: off

from tinyjax.core.missing_names import getattr_of
from tinyjax.lax.linalg import in_kernels as _in_kernels  # fills expansions
from tinyjax.lax.linalg.cholesky import cholesky, cholesky_p
from tinyjax.lax.linalg.eig import EigImplementation, eig, eig_p
from tinyjax.lax.linalg.eigh import EighImplementation, eigh, eigh_p
from tinyjax.lax.linalg.lu import lu, lu_p, lu_pivots_to_permutation, lu_pivots_to_permutation_p
from tinyjax.lax.linalg.qr import (
    householder_product, householder_product_p, ormqr, ormqr_p, qr, qr_p,
)
from tinyjax.lax.linalg.schur import hessenberg, hessenberg_p, schur, schur_p
from tinyjax.lax.linalg.svd import SvdAlgorithm, svd, svd_p
from tinyjax.lax.linalg.triangular_solve import triangular_solve, triangular_solve_p
from tinyjax.lax.linalg.tridiagonal import (
    tridiagonal, tridiagonal_p, tridiagonal_solve, tridiagonal_solve_p,
)
from tinyjax.lax.linalg.updates import (
    cholesky_update, cholesky_update_p, symmetric_product, symmetric_product_p,
)

__getattr__ = getattr_of(__name__)
