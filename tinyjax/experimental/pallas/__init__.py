"""The names of jax.experimental.pallas, from the folder pallas: custom kernels."""

from __future__ import annotations

from typing import Any

from tinyjax.core.missing_names import check_folder, dir_of, getattr_of

for _folder in ("pallas", "refs"):
    check_folder(_folder, __name__)

_LAZY_NAMES = {
    "tinyjax.pallas.call": ("pallas_call", "pallas_call_p"),
    "tinyjax.pallas.helpers": tuple(
        """align_to cdiv debug_print empty empty_like empty_ref_like loop multiple_of next_power_of_2
        run_scoped run_state strides_from_shape when with_scoped""".split()
    ),
    "tinyjax.pallas.programs": ("num_programs", "program_id"),
    "tinyjax.pallas.specs": tuple(
        """ANY BlockDim Blocked BlockSpec BoundedSlice Buffered CompilerParams CostEstimate Element GridSpec
        Indirect MemoryRef MemorySpace RevisitMode Squeezed no_block_spec squeezed""".split()
    ),
    "tinyjax.numpy.slices": ("Slice", "ds", "dslice"),
    "tinyjax.numpy.util": ("broadcast_to",),
}

# {why: the names that JAX has}
_REASONS = {
    "it is for the cores and memories of TPUs and GPUs: pallas_call runs a kernel here": (
        "core_map delay DeviceIdType get_global HOST kernel pallas_export_experimental select_ref semaphore "
        "semaphore_read semaphore_signal semaphore_wait"
    ),
    "it writes MLIR, and here is none: jax.jit(f).lower(x).as_text() shows what is compiled": (
        "lower_as_mlir"
    ),
    "jax.jit(f).lower(x).cost_analysis() counts the same": "estimate_cost",
    "use checkify.check, or jax.debug.print": (
        "debug_check enable_debug_checks enable_poison_buffers"
    ),
    "it is jax.experimental.pallas.tpu's: write 1 / x": "reciprocal",
    "JAX has removed it: read by ref[...], write by ref[...] = x, and use jnp.where for masks": (
        "load store swap"
    ),
    "JAX has removed it: write jnp.dot": "dot",
}
_lazy = getattr_of(__name__)
__dir__ = dir_of(__name__)


def __getattr__(name: str) -> Any:
    for why, names in _REASONS.items():
        if name in names.split():
            raise AttributeError(f"tinyjax has no jax.experimental.pallas.{name}: {why}", name=name)
    return _lazy(name)
