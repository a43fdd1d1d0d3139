"""The switches: `jax.config.update(name, value)`, and context managers that set one for a while.

After this file you can say where a setting lives and who may change it. Builds on nothing.
"""

from __future__ import annotations

import contextlib
import operator
import os
import threading
from collections.abc import Iterator
from typing import Any

# name -> (default, the values allowed or None for any, what it does)
FLAGS: dict[str, tuple[Any, tuple[Any, ...] | None, str]] = {
    "jax_enable_x64": (False, (False, True), "64-bit types are kept instead of cut to 32 bits"),
    "jax_debug_nans": (False, (False, True), "raise FloatingPointError where a NaN is made"),
    "jax_debug_infs": (False, (False, True), "raise FloatingPointError where an inf is made"),
    "jax_disable_jit": (False, (False, True), "jit runs the Python function eagerly"),
    "jax_enable_checks": (False, (False, True), "check every jaxpr that is made"),
    "jax_threefry_partitionable": (True, (False, True), "the counter layout of jax.random"),
    "jax_default_prng_impl": ("threefry2x32", ("threefry2x32",), "the random bit generator"),
    "jax_default_device": (None, None, "the device that new arrays are put on"),
    "jax_platforms": (None, None, "comma-separated platforms that may be used, such as 'cpu'"),
    "jax_numpy_dtype_promotion": ("standard", ("standard", "strict"), "how mixed dtypes promote"),
    "jax_numpy_rank_promotion": ("allow", ("allow", "warn", "raise"), "how mixed ranks promote"),
    "jax_default_matmul_precision": (None, None, "accepted for JAX's sake; products are exact"),
}


def _from_environment(name: str, default: Any) -> Any:
    """The value of the environment variable (JAX_ENABLE_X64=1 for jax_enable_x64), or `default`."""
    text = os.environ.get(name.upper())
    if text is None:
        return default
    if isinstance(default, bool):
        if text.lower() not in ("0", "1", "false", "true", ""):
            raise ValueError(f"environment variable {name.upper()} is {text!r}: use 0 or 1")
        return text.lower() in ("1", "true")
    return text


class Config(threading.local):
    """The values of all flags: `config.jax_enable_x64` reads one, `update` sets one.

    What `update` sets are attributes of the class, which all threads see; what a `with` block sets
    are attributes of the instance, of which each thread has its own."""

    # All values: what a trace can depend on, and so a part of jit's cache key.
    key = property(operator.attrgetter(*FLAGS))

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"config has no flag {name!r}; it has {', '.join(FLAGS)}")

    def read(self, name: str) -> Any:
        """The value of a flag."""
        return getattr(self, name)

    def update(self, name: str, value: Any) -> None:
        """Sets a flag in all threads, outside of the `with` blocks that set it.

        Raises:
          AttributeError: no flag has this name.
          ValueError: the flag does not take this value.
        """
        setattr(Config, _checked(name, value), value)

    @contextlib.contextmanager
    def set(self, name: str, value: Any) -> Iterator[None]:
        """Sets a flag within a `with` block, in this thread."""
        before = vars(self).copy()
        setattr(self, _checked(name, value), value)
        try:
            yield
        finally:
            if name in before:
                setattr(self, name, before[name])
            else:
                delattr(self, name)


def _checked(name: str, value: Any) -> str:
    if name not in FLAGS:
        raise AttributeError(f"Unrecognized config option: {name}; known are {', '.join(FLAGS)}")
    allowed = FLAGS[name][1]
    if allowed is not None and value not in allowed:
        raise ValueError(f"config option {name} is one of {allowed}, got {value!r}")
    return name


for _name in FLAGS:
    setattr(Config, _name, _from_environment(_name, FLAGS[_name][0]))
config = Config()


def disable_jit(disable: bool = True) -> contextlib.AbstractContextManager[None]:
    """Within the block jit runs Python functions eagerly, so that print and pdb see values.

    Source: https://docs.jax.dev/en/latest/_autosummary/jax.disable_jit.html
    """
    return config.set("jax_disable_jit", disable)


def enable_x64(new_val: bool = True) -> contextlib.AbstractContextManager[None]:
    """Within the block 64-bit types are kept."""
    return config.set("jax_enable_x64", new_val)


def debug_nans(new_val: bool = True) -> contextlib.AbstractContextManager[None]:
    """Within the block a NaN raises FloatingPointError where it is made."""
    return config.set("jax_debug_nans", new_val)


def default_device(device: Any) -> contextlib.AbstractContextManager[None]:
    """Within the block new arrays are put on `device`."""
    return config.set("jax_default_device", device)


def threefry_partitionable(new_val: bool = True) -> contextlib.AbstractContextManager[None]:
    """Within the block jax.random lays out its counters in the given way."""
    return config.set("jax_threefry_partitionable", new_val)
