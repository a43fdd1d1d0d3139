"""tinyjax: JAX that you can read. `import tinyjax as jax` and step through every layer.

This file only gives the public names their places; tinyjax.steps has the order to read the rest in.
"""

from importlib.util import find_spec as _find_spec
from typing import TYPE_CHECKING

from tinyjax import core as core
from tinyjax import custom_derivatives as custom_derivatives
from tinyjax import dtypes as dtypes
from tinyjax import errors as errors
from tinyjax import sharding as sharding
from tinyjax import stages as stages
from tinyjax import tree as tree
from tinyjax import tree_util as tree_util
from tinyjax.array import Array as Array
from tinyjax.config import check_tracer_leaks as check_tracer_leaks
from tinyjax.config import checking_leaks as checking_leaks
from tinyjax.config import config as config
from tinyjax.config import debug_infs as debug_infs
from tinyjax.config import debug_key_reuse as debug_key_reuse
from tinyjax.config import debug_nans as debug_nans
from tinyjax.config import default_device as default_device
from tinyjax.config import default_matmul_precision as default_matmul_precision
from tinyjax.config import default_prng_impl as default_prng_impl
from tinyjax.config import disable_jit as disable_jit
from tinyjax.config import enable_checks as enable_checks
from tinyjax.config import enable_x64 as enable_x64
from tinyjax.config import explain_cache_misses as explain_cache_misses
from tinyjax.config import log_compiles as log_compiles
from tinyjax.config import no_tracing as no_tracing
from tinyjax.config import numpy_dtype_promotion as numpy_dtype_promotion
from tinyjax.config import numpy_rank_promotion as numpy_rank_promotion
from tinyjax.config import softmax_custom_jvp as softmax_custom_jvp
from tinyjax.config import threefry_partitionable as threefry_partitionable
from tinyjax.config import transfer_guard as transfer_guard
from tinyjax.core import typeof as typeof
from tinyjax.custom_derivatives.closures import closure_convert as closure_convert
from tinyjax.custom_derivatives.closures import custom_gradient as custom_gradient
from tinyjax.custom_derivatives.forward_rules import custom_jvp as custom_jvp
from tinyjax.custom_derivatives.reverse_rules import custom_vjp as custom_vjp
from tinyjax.devices import Device as Device
from tinyjax.devices import default_backend as default_backend
from tinyjax.devices import device_count as device_count
from tinyjax.devices import devices as devices
from tinyjax.devices import local_device_count as local_device_count
from tinyjax.devices import local_devices as local_devices
from tinyjax.devices import process_count as process_count
from tinyjax.devices import process_index as process_index
from tinyjax.devices import process_indices as process_indices
from tinyjax.interpreters import jit_rules as _jit_rules  # noqa: F401  (fills the rule tables)
from tinyjax.interpreters import pmap_rules as _pmap_rules  # noqa: F401
from tinyjax.interpreters.batching import vmap as vmap
from tinyjax.interpreters.jacobian import hessian as hessian
from tinyjax.interpreters.jacobian import jacfwd as jacfwd
from tinyjax.interpreters.jacobian import jacrev as jacrev
from tinyjax.interpreters.jit import clear_caches as clear_caches
from tinyjax.interpreters.jit import jit as jit
from tinyjax.interpreters.jvp import jvp as jvp
from tinyjax.interpreters.partial_eval import linearize as linearize
from tinyjax.interpreters.pmap import pmap as pmap
from tinyjax.interpreters.tracing import ShapeDtypeStruct as ShapeDtypeStruct
from tinyjax.interpreters.tracing import eval_shape as eval_shape
from tinyjax.interpreters.tracing import make_jaxpr as make_jaxpr
from tinyjax.interpreters.transposition import linear_transpose as linear_transpose
from tinyjax.interpreters.vjp import grad as grad
from tinyjax.interpreters.vjp import value_and_grad as value_and_grad
from tinyjax.interpreters.vjp import vjp as vjp
from tinyjax.jaxpr import Atom, eval_jaxpr
from tinyjax.steps import STEPS as STEPS
from tinyjax.transfer import block_until_ready as block_until_ready
from tinyjax.transfer import device_get as device_get
from tinyjax.transfer import device_put as device_put
from tinyjax.transfer import live_arrays as live_arrays

# The breadth comes last: its modules register into the rule tables of the steps above.
# isort: split
from tinyjax import ad_checkpoint as ad_checkpoint
from tinyjax import custom_batching as custom_batching
from tinyjax import experimental as experimental
from tinyjax import lax as lax
from tinyjax import nn as nn
from tinyjax import numpy as numpy
from tinyjax import random as random
from tinyjax.ad_checkpoint import checkpoint as checkpoint
from tinyjax.ad_checkpoint import checkpoint_policies as checkpoint_policies
from tinyjax.ad_checkpoint import remat as remat
from tinyjax.as_jax import install_as_jax as install_as_jax
from tinyjax.callback import pure_callback as pure_callback
from tinyjax.debugging import effects_barrier as effects_barrier
from tinyjax.named_scopes import named_call as named_call
from tinyjax.named_scopes import named_scope as named_scope
from tinyjax.opencl import lax_rules as _lax_rules  # noqa: F401  (fills lowering_rules)
from tinyjax.opencl import product_rules as _product_rules  # noqa: F401
from tinyjax.opencl import random_rules as _random_rules  # noqa: F401  (fills word_rules)
from tinyjax.opencl import window_rules as _window_rules  # noqa: F401

if _find_spec("tinyjax.fast"):  # the folder can be deleted
    from tinyjax import fast as fast

# isort: split
from tinyjax import missing_names as _missing_names  # noqa: F401  (of all modules above)

if TYPE_CHECKING:  # else imported when they are first asked for
    from tinyjax import debug as debug
    from tinyjax import profiler as profiler
    from tinyjax import viz as viz

# jax.core has a few names of later steps.
core.Atom = Atom  # type: ignore[attr-defined]
core.eval_jaxpr = eval_jaxpr  # type: ignore[attr-defined]

# Where what is imported when it is first asked for stands.
_LAZY_NAMES = {
    "compile_time": ("ensure_compile_time_eval",),
    "dtypes": ("float0",),
    "environment": ("print_environment_info",),
    "interpreters.fwd_and_bwd": ("fwd_and_bwd",),
    "interpreters.jacobian": ("jacobian",),
    "mesh": ("NamedSharding", "P"),
    "older_functions": ("host_count", "host_id", "host_ids"),
    "settings": (
        "allow_f16_reductions",
        "array_garbage_collection_guard",
        "auto_pcast",
        "enable_custom_prng",
        "legacy_prng_key",
        "no_execution",
        "remove_size_one_mesh_axis_from_type",
        "thread_guard",
        "transfer_guard_device_to_device",
        "transfer_guard_device_to_host",
        "transfer_guard_host_to_device",
    ),
    "sharding": ("Shard",),
    "transfer": ("copy_to_host_async",),
}

__version__ = "0.1.0"
