"""Arrays that store only what is not 0. base.py and bcoo.py are the beginning."""

# ruff: noqa: F401  (re-exports)
# ruff: isort: skip_file
# fmt: off

from tinyjax.sparse import linalg
from tinyjax.sparse.arithmetic import bcoo_reduce_sum
from tinyjax.sparse.base import JAXSparse, SparseEfficiencyError, SparseEfficiencyWarning
from tinyjax.sparse.bcoo import BCOO
from tinyjax.sparse.bcsr import (
    BCSR, bcsr_broadcast_in_dim, bcsr_concatenate, bcsr_dot_general, bcsr_extract, bcsr_fromdense,
    bcsr_sum_duplicates, bcsr_todense,
)
from tinyjax.sparse.coordinates import (
    bcoo_extract, bcoo_fromdense, bcoo_sort_indices, bcoo_sum_duplicates, bcoo_todense,
)
from tinyjax.sparse.creation import empty, eye, random_bcoo, todense, todense_p
from tinyjax.sparse.gradients import grad, jacfwd, jacobian, jacrev, value_and_grad
from tinyjax.sparse.layout import (
    bcoo_broadcast_in_dim, bcoo_concatenate, bcoo_reshape, bcoo_rev, bcoo_squeeze, bcoo_transpose,
    bcoo_update_layout,
)
from tinyjax.sparse.methods import attach as _attach
from tinyjax.sparse.products import (
    bcoo_dot_general, bcoo_dot_general_sampled, bcoo_multiply_dense, bcoo_multiply_sparse,
)
from tinyjax.sparse.slicing import bcoo_dynamic_slice, bcoo_gather, bcoo_slice
from tinyjax.sparse.sparsify import sparsify

_attach()
