"""Arrays that store only what is not 0. base.py and bcoo.py are the beginning."""

from tinyjax.sparse import linalg as linalg
from tinyjax.sparse.arithmetic import bcoo_reduce_sum as bcoo_reduce_sum
from tinyjax.sparse.base import JAXSparse as JAXSparse
from tinyjax.sparse.base import SparseEfficiencyError as SparseEfficiencyError
from tinyjax.sparse.base import SparseEfficiencyWarning as SparseEfficiencyWarning
from tinyjax.sparse.bcoo import BCOO as BCOO
from tinyjax.sparse.bcsr import BCSR as BCSR
from tinyjax.sparse.bcsr import bcsr_broadcast_in_dim as bcsr_broadcast_in_dim
from tinyjax.sparse.bcsr import bcsr_concatenate as bcsr_concatenate
from tinyjax.sparse.bcsr import bcsr_dot_general as bcsr_dot_general
from tinyjax.sparse.bcsr import bcsr_extract as bcsr_extract
from tinyjax.sparse.bcsr import bcsr_fromdense as bcsr_fromdense
from tinyjax.sparse.bcsr import bcsr_sum_duplicates as bcsr_sum_duplicates
from tinyjax.sparse.bcsr import bcsr_todense as bcsr_todense
from tinyjax.sparse.coordinates import bcoo_extract as bcoo_extract
from tinyjax.sparse.coordinates import bcoo_fromdense as bcoo_fromdense
from tinyjax.sparse.coordinates import bcoo_sort_indices as bcoo_sort_indices
from tinyjax.sparse.coordinates import bcoo_sum_duplicates as bcoo_sum_duplicates
from tinyjax.sparse.coordinates import bcoo_todense as bcoo_todense
from tinyjax.sparse.creation import empty as empty
from tinyjax.sparse.creation import eye as eye
from tinyjax.sparse.creation import random_bcoo as random_bcoo
from tinyjax.sparse.creation import todense as todense
from tinyjax.sparse.creation import todense_p as todense_p
from tinyjax.sparse.gradients import grad as grad
from tinyjax.sparse.gradients import jacfwd as jacfwd
from tinyjax.sparse.gradients import jacobian as jacobian
from tinyjax.sparse.gradients import jacrev as jacrev
from tinyjax.sparse.gradients import value_and_grad as value_and_grad
from tinyjax.sparse.layout import bcoo_broadcast_in_dim as bcoo_broadcast_in_dim
from tinyjax.sparse.layout import bcoo_concatenate as bcoo_concatenate
from tinyjax.sparse.layout import bcoo_reshape as bcoo_reshape
from tinyjax.sparse.layout import bcoo_rev as bcoo_rev
from tinyjax.sparse.layout import bcoo_squeeze as bcoo_squeeze
from tinyjax.sparse.layout import bcoo_transpose as bcoo_transpose
from tinyjax.sparse.layout import bcoo_update_layout as bcoo_update_layout
from tinyjax.sparse.methods import attach as _attach
from tinyjax.sparse.products import bcoo_dot_general as bcoo_dot_general
from tinyjax.sparse.products import (
    bcoo_dot_general_sampled as bcoo_dot_general_sampled,
)
from tinyjax.sparse.products import bcoo_multiply_dense as bcoo_multiply_dense
from tinyjax.sparse.products import bcoo_multiply_sparse as bcoo_multiply_sparse
from tinyjax.sparse.slicing import bcoo_dynamic_slice as bcoo_dynamic_slice
from tinyjax.sparse.slicing import bcoo_gather as bcoo_gather
from tinyjax.sparse.slicing import bcoo_slice as bcoo_slice
from tinyjax.sparse.sparsify import sparsify as sparsify

_attach()
