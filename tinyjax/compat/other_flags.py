"""JAX's flags without effect in tinyjax, accepted so that programs that set them run.

`jax.config.update("jax_use_shardy_partitioner", False)` is accepted: the flag is stored and can be read.
Flags for checks that tinyjax does not have give a warning.

Source: the names and first values of jax.config.values in JAX 0.12
"""

from __future__ import annotations

import functools
import warnings
from typing import Any

from tinyjax.core.config import define, when_set

# XLA's compilation and its dumps; other compilers' flags; machines and devices that tinyjax doesn't have;
# JAX's internals.
WITHOUT_EFFECT: dict[str, Any] = {
    "jax_accurate_erf_inv": False,
    "jax_allow_f16_reductions": True,
    "jax_array_garbage_collection_guard": None,
    "jax_auto_pcast": True,
    "jax_backend_target": "",
    "jax_bcoo_cusparse_lowering": False,
    "jax_captured_constants_report_frames": 0,
    "jax_captured_constants_warn_bytes": 2_000_000_000,
    "jax_check_proxy_envs": True,
    "jax_compilation_cache_check_contents": False,
    "jax_compilation_cache_expect_pgle": False,
    "jax_compilation_cache_include_metadata_in_key": False,
    "jax_compilation_cache_max_size": -1,
    "jax_compiler_detailed_logging_min_ops": 10,
    "jax_compiler_enable_remat_pass": True,
    "jax_cpu_collectives_implementation": "gloo",
    "jax_cpu_enable_async_dispatch": True,
    "jax_cpu_get_global_topology_timeout_minutes": 5,
    "jax_cpu_get_local_topology_timeout_minutes": 2,
    "jax_cross_host_transfer_socket_address": "",
    "jax_cross_host_transfer_timeout_seconds": None,
    "jax_cross_host_transfer_transfer_size": None,
    "jax_cross_host_transport_addresses": "",
    "jax_cuda_visible_devices": "all",
    "jax_custom_jvp3": False,
    "jax_custom_vjp3": False,
    "jax_debug_leaked_clients_on_clear_backends": False,
    "jax_debug_log_modules": "",
    "jax_default_matmul_precision": None,
    "jax_disable_bwd_checks": False,
    "jax_disable_most_optimizations": False,
    "jax_disable_vmap_shmap_error": False,
    "jax_disallow_mesh_context_manager": False,
    "jax_distributed_debug": False,
    "jax_distributed_verify_secure_credentials": False,
    "jax_dump_ir_modes": "stablehlo",
    "jax_dump_ir_to": "",
    "jax_embedded_constants_max_bytes": 32,
    "jax_enable_pgle": False,
    "jax_enable_preemption_service": True,
    "jax_enable_recoverability": False,
    "jax_experimental_unsafe_xla_runtime_errors": False,
    "jax_explicit_x64_dtypes": "warn",
    "jax_export_calling_convention_version": 10,
    "jax_export_deserialize_expired_versions": False,
    "jax_export_ignore_forward_compatibility": False,
    "jax_force_dcn_cross_host_transfers": False,
    "jax_hlo_source_file_canonicalization_regex": None,
    "jax_include_debug_info_in_dumps": True,
    "jax_include_full_tracebacks_in_locations": True,
    "jax_log_checkpoint_residuals": False,
    "jax_logging_level": "NOTSET",
    "jax_memory_fitting_level": "O2",
    "jax_mock_gpu_topology": "",
    "jax_mosaic_allow_hlo": False,
    "jax_mosaic_unzip_debug_locations": True,
    "jax_mtls_ca_file": None,
    "jax_mtls_cert_file": None,
    "jax_mtls_key_file": None,
    "jax_mtls_peer_uri_prefix": None,
    "jax_mutable_array_checks": True,
    "jax_oneapi_visible_devices": "all",
    "jax_optimization_level": "UNKNOWN",
    "jax_pallas_auto_assign_collective_ids": "no",
    "jax_pallas_auto_assign_collective_ids_limit": 25,
    "jax_pallas_enable_debug_checks": False,
    "jax_pallas_poison_buffers": False,
    "jax_pallas_verbose_errors": False,
    "jax_persistent_cache_enable_xla_caches": "xla_gpu_per_fusion_autotune_cache_dir",
    "jax_pgle_aggregation_percentile": 90,
    "jax_pgle_profiling_runs": 3,
    "jax_pjrt_client_create_options": None,
    "jax_pprint_use_color": True,
    "jax_ragged_dot_use_ragged_dot_instruction": True,
    "jax_raise_on_ppermute_sort_diff": True,
    "jax_remat3": False,
    "jax_remat_barrier_no_cotangents": False,
    "jax_remove_custom_partitioning_ptr_from_cache_key": False,
    "jax_remove_size_one_mesh_axis_from_type": False,
    "jax_rocm_visible_devices": "all",
    "jax_scan3": False,
    "jax_send_traceback_to_runtime": "off",
    "jax_serialization_version": 0,
    "jax_share_binary_between_hosts": False,
    "jax_share_binary_between_hosts_timeout_ms": 1200000,
    "jax_softmax_custom_jvp": False,
    "jax_sort_devices_by_process_index": True,
    "jax_source_url_schema": None,
    "jax_threefry_gpu_kernel_lowering": False,
    "jax_traceback_in_locations_limit": 100,
    "jax_tracer_error_num_traceback_frames": 5,
    "jax_use_cpp_shard_args": False,
    "jax_use_direct_linearize": True,
    "jax_use_emit_pipeline_primitive": False,
    "jax_use_hlo_logistic_lowering": None,
    "jax_use_magma": "auto",
    "jax_use_rgv3": True,
    "jax_use_shardy_partitioner": True,
    "jax_use_simplified_jaxpr_constants": False,
    "jax_xla_backend": "",
    "jax_xla_profile_version": 0,
}

# Checks that tinyjax lacks: (default value, errors that stay undetected).
WITHOUT_CHECK: dict[str, tuple[Any, str]] = {
    "jax_check_static_indices": (False, "indices out of bounds"),
    "jax_error_checking_behavior_divide": ("ignore", "divisions by zero"),
    "jax_error_checking_behavior_nan": ("ignore", "NaNs (see jax_debug_nans)"),
    "jax_error_checking_behavior_oob": ("ignore", "indices out of bounds"),
    "jax_legacy_prng_key": ("allow", "uses of jax.random.PRNGKey"),
    "jax_thread_guard": (False, "uses by several threads"),
    "jax_transfer_guard": (None, "transfers between host and device"),
    "jax_transfer_guard_device_to_device": (None, "transfers between devices"),
    "jax_transfer_guard_device_to_host": (None, "transfers from a device"),
    "jax_transfer_guard_host_to_device": (None, "transfers to a device"),
}

# Flags for which tinyjax has only one behaviour: (default value, accepted values, reason).
ONE_WAY: dict[str, tuple[Any, tuple[Any, ...], str]] = {
    "jax_enable_custom_prng": (False, (False,), "nothing else: PRNGKey gives uint32s"),
    "jax_high_dynamic_range_gumbel": (False, (False,), "nothing else: one way of random.gumbel"),
    "jax_no_execution": (False, (False,), "nothing else: what is called runs"),
    "jax_random_seed_offset": (0, (0,), "nothing else: seeds are as they are given"),
}


def _warn(name: str, value: Any) -> None:
    first, what = WITHOUT_CHECK[name]
    if value not in (first, "allow"):
        warnings.warn(
            f"{name}={value!r} has no effect in tinyjax: {what} are not found", stacklevel=5
        )


for _name, _default in WITHOUT_EFFECT.items():
    define(_name, _default, (False, True) if isinstance(_default, bool) else None, "no effect here")
for _name, _flag in ONE_WAY.items():
    define(_name, *_flag)
for _name, (_default, _what) in WITHOUT_CHECK.items():
    define(_name, _default, None, f"no effect here: {_what} are not looked for")
    when_set(_name, functools.partial(_warn, _name))
