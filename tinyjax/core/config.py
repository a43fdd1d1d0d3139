"""The flags: `jax.config.update(name, value)` sets one, and `config.set(name, value)` for a block.

Environment variables give their first values. The `with` blocks that have a name, such as
`jax.enable_x64(True)`, are those of core/config_blocks.py.
"""

from __future__ import annotations

import contextlib
import itertools
import operator
import os
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

# name -> (default, the values allowed or None for any, what it does)
FLAGS: dict[str, tuple[Any, tuple[Any, ...] | None, str]] = {
    "jax_enable_x64": (False, (False, True), "64-bit types are kept instead of cut to 32 bits"),
    "jax_debug_key_reuse": (False, (False, True), "raise KeyReuseError where a random key is used twice"),
    "jax_debug_nans": (False, (False, True), "raise FloatingPointError where a NaN is made"),
    "jax_debug_infs": (False, (False, True), "raise FloatingPointError where an inf is made"),
    "jax_disable_jit": (False, (False, True), "jit runs the Python function eagerly"),
    "jax_enable_checks": (False, (False, True), "check every jaxpr that is made"),
    "jax_check_tracer_leaks": (False, (False, True), "raise where a tracer of a jaxpr outlives its trace"),
    "jax_threefry_partitionable": (True, (False, True), "the counter layout of jax.random"),
    "jax_default_prng_impl": ("threefry2x32", ("threefry2x32",), "the random bit generator"),
    "jax_default_device": (None, None, "the device that new arrays are put on"),
    "jax_num_cpu_devices": (-1, None, "how many CPU devices there are; -1: as many as are found"),
    "jax_platforms": (None, None, "comma-separated platforms that may be used, such as 'cpu'"),
    "jax_platform_name": ("", None, "the platform that is used unless told otherwise: 'cpu' or 'gpu'"),
    "jax_numpy_dtype_promotion": ("standard", ("standard", "strict"), "how mixed dtypes promote"),
    "jax_numpy_rank_promotion": ("allow", ("allow", "warn", "raise"), "how mixed ranks promote"),
    "jax_log_compiles": (False, (False, True), "log what is traced and compiled, as warnings"),
    "jax_explain_cache_misses": (False, (False, True), "log why a jitted function is traced again"),
    "tinyjax_fast": (True, (False, True), "the shortcuts of tinyjax/fast are taken"),
    "tinyjax_background_build": (True, (False, True), "NumPy answers until kernels are built"),
    "jax_compilation_cache_dir": (None, None, "a folder that keeps compiled programs for later runs"),
    "jax_enable_compilation_cache": (True, (False, True), "whether that folder is used"),
    "jax_persistent_cache_min_compile_time_secs": (1.0, None, "what took less is not kept there"),
    "jax_persistent_cache_min_entry_size_bytes": (0, None, "what is smaller is not kept there"),
    "jax_raise_persistent_cache_errors": (False, (False, True), "raise where that folder fails"),
    "tinyjax_collective_timeout_seconds": (100.0, None, "as long processes wait for each other"),
    "jax_no_tracing": (False, (False, True), "raise where a jitted function would be traced"),
    "jax_traceback_filtering": (
        "auto",
        ("off", "tracebackhide", "remove_frames", "quiet_remove_frames", "auto"),
        "how tinyjax's own frames are left out where an error is printed (studio/tracebacks.py)",
    ),
}  # fmt: skip

# Flags that a trace depends on, and so a part of jit's cache key.
TRACED_FLAGS = (
    "jax_enable_x64", "jax_disable_jit", "jax_enable_checks", "jax_check_tracer_leaks",
    "jax_threefry_partitionable", "jax_default_prng_impl", "jax_numpy_dtype_promotion",
    "jax_numpy_rank_promotion",
)  # fmt: skip
_traced_values = operator.attrgetter(*TRACED_FLAGS)


def _from_environment(name: str, default: Any) -> Any:
    """The value of the environment variable (JAX_ENABLE_X64=1 for jax_enable_x64), or `default`."""
    text = os.environ.get(name.upper())
    return (
        default
        if text is None
        else _from_text(f"environment variable {name.upper()}", text, default)
    )


def _from_text(what: str, text: str, default: Any) -> Any:
    """The value that a text means for a flag with this default."""
    if isinstance(default, bool):
        if text.lower() not in ("0", "1", "false", "true", ""):
            raise ValueError(f"{what} is {text!r}: use 0 or 1")
        return text.lower() in ("1", "true")
    if isinstance(default, (int, float)):
        try:
            return type(default)(text)
        except ValueError:
            raise ValueError(f"{what} is {text!r}: use a number") from None
    return text


class Config(threading.local):
    """The values of all flags: `config.jax_enable_x64` reads one, `update` sets one.

    What `update` sets are attributes of the class, which all threads see; what a `with` block sets
    are attributes of the instance, of which each thread has its own."""

    _global_key: tuple = ()
    # Replaced by each `update`: earlier results may no longer hold.
    settings: object = object()

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"config has no flag {name!r}{_did_you_mean(name)}")

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(
            f"config's flags are set by jax.config.update({name!r}, {value!r}), or for a while by a `with` "
            "block such as jax.enable_x64(True)"
        )

    @property
    def config(self) -> Config:
        """Itself, for older programs that say `from jax.config import config`."""
        return self

    @property
    def x64_enabled(self) -> bool:
        """The flag jax_enable_x64, by a shorter name."""
        return self.jax_enable_x64

    @property
    def key(self) -> tuple:
        """The values of TRACED_FLAGS, and the settings of features' `with` blocks. Outside of `with`
        blocks it is a stored tuple."""
        if not vars(self):
            return Config._global_key
        others = [item for item in vars(self).items() if item[0] not in FLAGS]
        return (*_traced_values(self), *others)

    @property
    def values(self) -> dict[str, Any]:
        """All flags and their values, as they are outside of `with` blocks."""
        return {name: getattr(Config, name) for name in FLAGS}

    def read(self, name: str) -> Any:
        """The value of a flag. Raises AttributeError if no flag has this name."""
        if name not in FLAGS:
            raise _unrecognized(name)
        return getattr(self, name)

    def update(self, name: str, value: Any) -> None:
        """Sets a flag in all threads, outside of the `with` blocks that set it.

        Raises:
          AttributeError: no flag has this name.
          ValueError: the flag does not take this value."""
        setattr(Config, _checked(name, value), value)
        Config._global_key = _traced_values(Config)
        Config.settings = object()

    def parse_flags_with_absl(self) -> None:
        """Sets flags from the command line, such as --jax_enable_x64=1; up to an argument of --.

        Needs no absl here: the name is JAX's. Raises AttributeError and ValueError as `update`."""
        for argument in itertools.takewhile(lambda a: a != "--", sys.argv[1:]):
            if argument.startswith("--jax"):
                name, _, text = argument[2:].partition("=")
                self.update(name, _from_text(f"--{name}", text or "1", self.read(name)))

    @contextlib.contextmanager
    def as_in(self, values: dict[str, Any]) -> Iterator[None]:
        """Within the block this thread has the flags that another thread's `with` blocks set: its
        `vars(config)`."""
        before = vars(self).copy()
        vars(self).update(values)
        try:
            yield
        finally:
            vars(self).clear()
            vars(self).update(before)

    @contextlib.contextmanager
    def set(self, name: str, value: Any) -> Iterator[None]:
        """Sets a flag within a `with` block, in this thread."""
        before = vars(self).copy()
        vars(self)[_checked(name, value)] = value
        try:
            yield
        finally:
            vars(self).clear()
            vars(self).update(before)


def _checked(name: str, value: Any) -> str:
    if name not in FLAGS:
        raise _unrecognized(name)
    allowed = FLAGS[name][1]
    if allowed is not None and value not in allowed:
        raise ValueError(f"config option {name} is one of {allowed}, got {value!r}")
    default = FLAGS[name][0]
    if isinstance(default, (int, float)) and not isinstance(value, (int, float, type(None))):
        raise ValueError(f"config option {name} is a number, got {value!r}")
    if name in _when_set:
        _when_set[name](value)
    return name


def _unrecognized(name: str) -> AttributeError:
    return AttributeError(f"Unrecognized config option: {name}{_did_you_mean(name)}")


def _did_you_mean(name: str) -> str:
    import difflib  # here, as few programs need it

    close = difflib.get_close_matches(name, FLAGS, 3, 0.7)
    return f"; did you mean {' or '.join(close)}?" if close else ""


_when_set: dict[str, Callable[[Any], None]] = {}


def when_set(name: str, call: Callable[[Any], None]) -> None:
    """Calls `call(value)` each time before the flag is set; `call` may raise to refuse the value. Calls
    it now too if the flag no longer has its first value."""
    _when_set[name] = call
    if getattr(config, name) != FLAGS[name][0]:
        call(getattr(config, name))


def define(name: str, default: Any, allowed: tuple[Any, ...] | None, what: str) -> None:
    """Adds a flag: its first value (the environment's takes precedence), the values allowed, its
    description."""
    FLAGS[name] = (default, allowed, what)
    setattr(Config, name, _from_environment(name, default))


for _name, _flag in list(FLAGS.items()):
    define(_name, *_flag)
Config._global_key = _traced_values(Config)
config = Config()
