"""The persistent compilation cache: the folder that `jax_compilation_cache_dir` names.

PoCL has its own cache, but must preprocess the source to look a program up, and it is in the user's home
folder. Here an entry is the device's machine code, keyed by the hash of everything that it depends on: the
OpenCL text (which is the same in every run), the build options, device, driver and processor. Equal texts are
equal programs, whatever Python functions they came from. An entry that is truncated, altered or from another
version is ignored and rewritten.

Source: https://docs.jax.dev/en/latest/persistent_compilation_cache.html
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import os
import re
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tinyjax.core.compile_log import cache_logger, log_level
from tinyjax.core.config import config
from tinyjax.runtime.pocl import processor

FORMAT = b"tinyjax program 1\n"  # begins each entry; then 32 bytes, the hash of what follows


def is_enabled() -> bool:
    return bool(config.jax_compilation_cache_dir) and config.jax_enable_compilation_cache


def entry_path(name: str, text: str, cl_device: Any, options: Sequence[str]) -> Path:
    """The file of a program: its name is JAX's for a jitted function, and the hash."""
    parts = [
        text,
        *options,
        cl_device.name,
        cl_device.version,
        cl_device.driver_version,
        cl_device.platform.version,
        processor.level(),
    ]
    key = hashlib.sha256(b"\0".join(part.encode() for part in parts)).hexdigest()
    safe_name = re.sub(r"\W", "_", name)[:64]
    return Path(config.jax_compilation_cache_dir) / f"jit_{safe_name}-{key}-cache"


# ---- reading and writing ----


def read_entry(path: Path) -> bytes | None:
    """The binary in a file; None if there is no such file, or something else is in it."""
    with _warned(f"reading {path}"):
        try:
            content = path.read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            cache_logger.log(log_level(), "Persistent compilation cache miss: %s", path.name)
            return None
        digest, binary = content[len(FORMAT) :][:32], content[len(FORMAT) + 32 :]
        if content.startswith(FORMAT) and hashlib.sha256(binary).digest() == digest:
            cache_logger.log(log_level(), "Persistent compilation cache hit: %s", path.name)
            return binary
        raise ValueError(
            "the file is damaged, or of another version; the program is compiled instead"
        )
    return None


def write_entry(path: Path, program: Any, seconds: float) -> None:
    """Stores a program if its build time and size exceed the configured minimum. The write is atomic: other
    processes find a complete file or none.
    """
    if seconds < config.jax_persistent_cache_min_compile_time_secs:
        cache_logger.log(log_level(), "Not cached, built in %.2f sec: %s", seconds, path.name)
        return
    binary = program_binary(program)
    if len(binary) < config.jax_persistent_cache_min_entry_size_bytes:
        cache_logger.log(log_level(), "Not cached, only %s bytes: %s", len(binary), path.name)
        return
    with _warned(f"writing {path}"):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, unfinished = tempfile.mkstemp(dir=path.parent, prefix="unfinished-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(FORMAT + hashlib.sha256(binary).digest() + binary)
            os.replace(unfinished, path)
        except BaseException:
            os.unlink(unfinished)
            raise
        cache_logger.log(log_level(), "Written to the compilation cache: %s", path.name)


@contextlib.contextmanager
def _warned(doing: str) -> Iterator[None]:
    """A folder that fails only costs time: gives a warning, or raises the error if so configured."""
    try:
        yield
    except (OSError, ValueError) as error:
        if config.jax_raise_persistent_cache_errors:
            raise
        warnings.warn(
            f"compilation cache (jax_compilation_cache_dir): {doing} failed: {error}", stacklevel=3
        )


def program_binary(program: Any) -> bytes:
    """The machine code of a program that is built for one device. PoCL makes it on the first request, which
    takes seconds. The request bypasses pyopencl, which would block all Python threads.
    """
    import pyopencl as cl

    sizes = (ctypes.c_size_t * program.get_info(cl.program_info.NUM_DEVICES))()
    ctypes.CDLL(cl._cl.__file__).clGetProgramInfo(
        ctypes.c_void_p(program.int_ptr),
        ctypes.c_uint(cl.program_info.BINARY_SIZES),
        ctypes.c_size_t(ctypes.sizeof(sizes)),
        ctypes.byref(sizes),
        None,
    )
    return next(filter(None, program.get_info(cl.program_info.BINARIES)))


# ---- what users call ----


def set_cache_dir(path: str | os.PathLike) -> None:
    """Keeps compiled programs in the folder `path`, which is made if it is not there.

    As with any program, run only what you trust: entries are machine code."""
    config.update("jax_compilation_cache_dir", os.fspath(path))


def reset_cache() -> None:
    """Does nothing: the files are the only state. JAX returns to the state before its first use."""
