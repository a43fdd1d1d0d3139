"""The `with` blocks that set a flag of `config`, such as `jax.enable_x64(True)`."""

from __future__ import annotations

import contextlib
from typing import Any

from tinyjax.core.config import config


def disable_jit(disable: bool = True) -> contextlib.AbstractContextManager[None]:
    """Within the block jit runs Python functions eagerly, so that print and pdb see values."""
    return config.set("jax_disable_jit", disable)


def enable_x64(new_val: bool = True) -> contextlib.AbstractContextManager[None]:
    """Within the block 64-bit types are kept."""
    return config.set("jax_enable_x64", new_val)


def debug_nans(new_val: bool = True) -> contextlib.AbstractContextManager[None]:
    """Within the block a NaN raises FloatingPointError where it is made."""
    return config.set("jax_debug_nans", new_val)


def debug_infs(new_val: bool = True) -> contextlib.AbstractContextManager[None]:
    """Within the block an inf raises FloatingPointError where it is made."""
    return config.set("jax_debug_infs", new_val)


def enable_checks(new_val: bool = True) -> contextlib.AbstractContextManager[None]:
    """Within the block every jaxpr that is made is checked."""
    return config.set("jax_enable_checks", new_val)


def numpy_rank_promotion(new_val: str) -> contextlib.AbstractContextManager[None]:
    """Within the block, operands of unequal ranks are allowed ("allow"), warn ("warn") or raise
    ("raise").

    Source: https://docs.jax.dev/en/latest/rank_promotion_warning.html"""
    return config.set("jax_numpy_rank_promotion", new_val)


def numpy_dtype_promotion(new_val: str) -> contextlib.AbstractContextManager[None]:
    """Within the block operands of unequal dtypes promote ("standard") or are refused ("strict").

    Source: https://docs.jax.dev/en/latest/type_promotion.html"""
    return config.set("jax_numpy_dtype_promotion", new_val)


def default_prng_impl(new_val: str) -> contextlib.AbstractContextManager[None]:
    """Within the block keys are made for this generator. Only "threefry2x32" exists."""
    return config.set("jax_default_prng_impl", new_val)


def no_tracing(new_val: bool = True) -> contextlib.AbstractContextManager[None]:
    """Within the block a jitted function that would have to be traced raises RuntimeError."""
    return config.set("jax_no_tracing", new_val)


def default_device(device: Any) -> contextlib.AbstractContextManager[None]:
    """Within the block new arrays are put on `device`: a Device, or a platform such as "cpu".

    Raises ValueError for anything else."""
    return config.set("jax_default_device", device)


def threefry_partitionable(new_val: bool = True) -> contextlib.AbstractContextManager[None]:
    """Within the block jax.random lays out its counters in the given way."""
    return config.set("jax_threefry_partitionable", new_val)


def check_tracer_leaks(new_val: bool = True) -> contextlib.AbstractContextManager[None]:
    """Within the block a tracer that outlives its trace raises an error that names it."""
    return config.set("jax_check_tracer_leaks", new_val)


def checking_leaks() -> contextlib.AbstractContextManager[None]:
    """The same as check_tracer_leaks(True)."""
    return check_tracer_leaks(True)


def log_compiles(new_val: bool = True) -> contextlib.AbstractContextManager[None]:
    """Within the block every trace and every compilation is logged, by Python's `logging`."""
    return config.set("jax_log_compiles", new_val)


def explain_cache_misses(new_val: bool = True) -> contextlib.AbstractContextManager[None]:
    """Within the block a jitted function that is traced again says why."""
    return config.set("jax_explain_cache_misses", new_val)
