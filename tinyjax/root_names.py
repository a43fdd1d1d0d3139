"""The names of `jax` itself, each from the file that defines it.

First come those of the steps, then the breadth, whose modules register into the steps' rule tables.

Source: https://docs.jax.dev/en/latest/jax.html
"""

from typing import TYPE_CHECKING

from tinyjax import api_util as api_util
from tinyjax import core as core
from tinyjax import custom_derivatives as custom_derivatives
from tinyjax import distributed as distributed
from tinyjax import dtypes as dtypes
from tinyjax import errors as errors
from tinyjax import stages as stages
from tinyjax import tree as tree
from tinyjax import tree_util as tree_util
from tinyjax.core import array as _array
from tinyjax.core import origins as _origins  # noqa: F401  (gives tracers their origin)
from tinyjax.core.array import Array as Array
from tinyjax.core.avals import typeof as typeof
from tinyjax.core.config import config as config
from tinyjax.core.config_blocks import check_tracer_leaks as check_tracer_leaks
from tinyjax.core.config_blocks import checking_leaks as checking_leaks
from tinyjax.core.config_blocks import debug_infs as debug_infs
from tinyjax.core.config_blocks import debug_nans as debug_nans
from tinyjax.core.config_blocks import default_device as default_device
from tinyjax.core.config_blocks import default_prng_impl as default_prng_impl
from tinyjax.core.config_blocks import disable_jit as disable_jit
from tinyjax.core.config_blocks import enable_checks as enable_checks
from tinyjax.core.config_blocks import enable_x64 as enable_x64
from tinyjax.core.config_blocks import explain_cache_misses as explain_cache_misses
from tinyjax.core.config_blocks import log_compiles as log_compiles
from tinyjax.core.config_blocks import no_tracing as no_tracing
from tinyjax.core.config_blocks import numpy_dtype_promotion as numpy_dtype_promotion
from tinyjax.core.config_blocks import numpy_rank_promotion as numpy_rank_promotion
from tinyjax.core.config_blocks import threefry_partitionable as threefry_partitionable
from tinyjax.core.eval_shape import eval_shape as eval_shape
from tinyjax.core.structs import ShapeDtypeStruct as ShapeDtypeStruct
from tinyjax.core.tracing import make_jaxpr as make_jaxpr
from tinyjax.lax.jacobian import hessian as hessian
from tinyjax.lax.jacobian import jacfwd as jacfwd
from tinyjax.lax.jacobian import jacrev as jacrev
from tinyjax.lax.transfer import block_until_ready as block_until_ready
from tinyjax.lax.transfer import device_get as device_get
from tinyjax.lax.transfer import device_put as device_put
from tinyjax.lax.transfer import live_arrays as live_arrays
from tinyjax.runtime.client import device_count as device_count
from tinyjax.runtime.client import local_device_count as local_device_count
from tinyjax.runtime.devices import Device as Device
from tinyjax.runtime.devices import default_backend as default_backend
from tinyjax.runtime.devices import devices as devices
from tinyjax.runtime.devices import local_devices as local_devices
from tinyjax.transform.batching import vmap as vmap
from tinyjax.transform.custom.closures import closure_convert as closure_convert
from tinyjax.transform.custom.closures import custom_gradient as custom_gradient
from tinyjax.transform.custom.forward_rules import custom_jvp as custom_jvp
from tinyjax.transform.custom.reverse_rules import custom_vjp as custom_vjp
from tinyjax.transform.jit import rules as _jit_rules  # noqa: F401  (fills the rule tables)
from tinyjax.transform.jit.api import clear_caches as clear_caches
from tinyjax.transform.jit.api import jit as jit
from tinyjax.transform.jit.primitive import Inline as Inline
from tinyjax.transform.jvp import jvp as jvp
from tinyjax.transform.linear_transpose import linear_transpose as linear_transpose
from tinyjax.transform.linearize import linearize as linearize
from tinyjax.transform.vjp import grad as grad
from tinyjax.transform.vjp import value_and_grad as value_and_grad
from tinyjax.transform.vjp import vjp as vjp

# The breadth comes last: its modules register into the rule tables of the steps above.
# isort: split
from tinyjax import ad_checkpoint as ad_checkpoint
from tinyjax import custom_batching as custom_batching
from tinyjax import experimental as experimental
from tinyjax import lax as lax
from tinyjax import nn as nn
from tinyjax import numpy as numpy
from tinyjax import random as random
from tinyjax.lax.callback import pure_callback as pure_callback
from tinyjax.lax.debugging import effects_barrier as effects_barrier
from tinyjax.lax.lowering import complex_sums as _complex_sums  # noqa: F401
from tinyjax.lax.lowering import convolution as _convolution_rules  # noqa: F401
from tinyjax.lax.lowering import elementwise as _lax_rules  # noqa: F401  (fills lowering_rules)
from tinyjax.lax.lowering import fourier as _fourier_rules  # noqa: F401
from tinyjax.lax.lowering import products as _product_rules  # noqa: F401
from tinyjax.lax.lowering import scan_products as _scan_rules  # noqa: F401
from tinyjax.lax.lowering import sorting as _sorting_rules  # noqa: F401
from tinyjax.lax.lowering import updates as _update_rules  # noqa: F401
from tinyjax.lax.lowering import windows as _window_rules  # noqa: F401
from tinyjax.random import lowering as _random_rules  # noqa: F401  (fills word_rules)
from tinyjax.transform.remat.api import checkpoint as checkpoint
from tinyjax.transform.remat.api import remat as remat
from tinyjax.transform.remat.named_policies import checkpoint_policies as checkpoint_policies

if TYPE_CHECKING:  # else imported when they are first asked for
    from tinyjax import debug as debug
    from tinyjax import profiler as profiler
    from tinyjax import sharding as sharding
    from tinyjax.compat.as_jax import install_as_jax as install_as_jax
    from tinyjax.compat.named_scopes import named_call as named_call
    from tinyjax.compat.named_scopes import named_scope as named_scope
    from tinyjax.studio import viz as viz

# Where what is imported when it is first asked for stands.
LAZY_NAMES = {
    "studio": ("viz",),
    "studio.steps": ("STEPS",),
    "core.compile_time": ("ensure_compile_time_eval",),
    "dtypes": ("float0",),
    "numpy.slices": ("ds",),
    "ref": ("Ref", "empty_ref", "free_ref", "freeze", "new_ref"),
    "refs.into_refs": ("ad",),
    "studio.environment": ("print_environment_info",),
    "transform.fwd_and_bwd": ("fwd_and_bwd",),
    "lax.jacobian": ("jacobian",),
    "many_devices.constraints": ("reshard",),
    "many_devices.distributed.processes": ("process_count", "process_index", "process_indices"),
    "many_devices.sharding.arrays": (
        "make_array_from_callback",
        "make_array_from_process_local_data",
        "make_array_from_single_device_arrays",
    ),
    "many_devices.sharding.current_mesh": (
        "get_abstract_mesh",
        "get_mesh",
        "set_mesh",
        "use_abstract_mesh",
    ),
    "many_devices.sharding.mesh": ("make_mesh",),
    "many_devices.sharding.named_sharding": ("NamedSharding",),
    "many_devices.sharding.partition_spec": ("P",),
    "compat.as_jax": ("install_as_jax",),
    "compat.named_scopes": ("named_call", "named_scope"),
    "compat.older_functions": ("host_count", "host_id", "host_ids"),
    "compat.settings": (
        "allow_f16_reductions",
        "array_garbage_collection_guard",
        "auto_pcast",
        "debug_key_reuse",
        "default_matmul_precision",
        "enable_custom_prng",
        "legacy_prng_key",
        "no_execution",
        "remove_size_one_mesh_axis_from_type",
        "softmax_custom_jvp",
        "thread_guard",
        "transfer_guard",
        "transfer_guard_device_to_device",
        "transfer_guard_device_to_host",
        "transfer_guard_host_to_device",
    ),
    "many_devices.sharding.shards": ("Shard",),
    "lax.transfer": ("copy_to_host_async",),
    "many_devices.pmap.api": ("pmap",),
    "many_devices.shard_map.api": ("shard_map", "smap"),
}

# Attributes that a feature's module gives to classes: {class: {the module: their names}}.
LAZY_ATTRIBUTES: dict[type, dict[str, tuple[str, ...]]] = {
    _array.ArrayImpl: {
        "many_devices.sharding.shards": (
            "addressable_data",
            "addressable_shards",
            "devices",
            "global_shards",
            "is_fully_addressable",
            "is_fully_replicated",
            "on_device_size_in_bytes",
            "platform",
            "sharding",
        )
    },
    _array.ShapedArray: {
        "many_devices.avals": ("_sharding", "vma"),
        "many_devices.sharding.shards": ("sharding",),
    },
}
