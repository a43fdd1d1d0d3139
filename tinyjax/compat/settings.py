"""The rarely used `with` blocks that set a flag: `with jax.legacy_prng_key("allow"):`.

As in core.config_blocks, each is a function from a value to a context manager. Most flags have no
effect here; other_flags lists them.

Source: https://docs.jax.dev/en/latest/config_options.html
"""

from __future__ import annotations

import contextlib
from functools import partial

from tinyjax.core.config import config

allow_f16_reductions = partial(config.set, "jax_allow_f16_reductions")
array_garbage_collection_guard = partial(config.set, "jax_array_garbage_collection_guard")
auto_pcast = partial(config.set, "jax_auto_pcast")
enable_custom_prng = partial(config.set, "jax_enable_custom_prng")
legacy_prng_key = partial(config.set, "jax_legacy_prng_key")
no_execution = partial(config.set, "jax_no_execution")
remove_size_one_mesh_axis_from_type = partial(config.set, "jax_remove_size_one_mesh_axis_from_type")
thread_guard = partial(config.set, "jax_thread_guard")
transfer_guard_device_to_device = partial(config.set, "jax_transfer_guard_device_to_device")
transfer_guard_device_to_host = partial(config.set, "jax_transfer_guard_device_to_host")
transfer_guard_host_to_device = partial(config.set, "jax_transfer_guard_host_to_device")


def default_matmul_precision(new_val: str | None) -> contextlib.AbstractContextManager[None]:
    """No effect here: products have the precision of their dtypes."""
    return config.set("jax_default_matmul_precision", new_val)


def softmax_custom_jvp(new_val: bool = True) -> contextlib.AbstractContextManager[None]:
    """No effect here: softmax has one derivative."""
    return config.set("jax_softmax_custom_jvp", new_val)


def debug_key_reuse(new_val: bool = True) -> contextlib.AbstractContextManager[None]:
    """Within the block, using a random key twice raises KeyReuseError."""
    return config.set("jax_debug_key_reuse", new_val)


def transfer_guard(new_val: str) -> contextlib.AbstractContextManager[None]:
    """No effect here: transfers are not checked. Values other than "allow" give a warning."""
    return config.set("jax_transfer_guard", new_val)
