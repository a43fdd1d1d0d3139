"""The folders that PoCL and pyopencl write to when they build a kernel.

Both keep what they built in the user's cache folder. Where PoCL can't write, it aborts the process or fails
with an empty log. So each folder is tried first, with more bytes than a kernel takes; a temporary folder
replaces one that fails. The variables are PoCL's POCL_CACHE_DIR and the XDG base directories'
XDG_CACHE_HOME.
"""

from __future__ import annotations

import atexit
import os
import warnings
from pathlib import Path

from tinyjax.core.tracing import user_level

KERNEL_BYTES = 2**20  # more than a build of a few kernels writes


def provide_cache() -> str:
    """Replace the user's cache folders by temporary ones where they can't be written to, with a warning.

    Returns "", or if no folder can be written to, why no kernel can be built and what to do."""
    if not os.environ.get("POCL_CACHE_DIR"):
        os.environ.pop("POCL_CACHE_DIR", None)  # PoCL would take "" for a folder
    for variable, folder_of in (("XDG_CACHE_HOME", user_folder), ("POCL_CACHE_DIR", pocl_folder)):
        if reason := why_unwritable(folder := folder_of()):
            if no_other := _replace_by_temporary(variable):
                return (
                    f"Kernels can't be built: neither {folder} ({reason}) nor a temporary folder "
                    f"({no_other}) can be written to. {what_to_do(variable)}"
                )
            warnings.warn(
                f"Compiled kernels can't be kept in {folder} ({reason}): each process builds them again. "
                f"{what_to_do(variable)}",
                stacklevel=user_level(),
            )
    return ""


def what_to_do(variable: str) -> str:
    return f"Make room there, or set {variable} to a folder that you can write to."


def user_folder() -> Path:
    """The user's cache folder."""
    if folder := os.environ.get("XDG_CACHE_HOME"):
        return Path(folder)
    try:
        return Path.home() / ".cache"
    except RuntimeError:  # HOME is unset, and the system doesn't know the user
        return Path(os.devnull, "home")


def pocl_folder() -> Path:
    """The folder in which PoCL keeps compiled kernels."""
    return Path(os.environ.get("POCL_CACHE_DIR") or user_folder() / "pocl" / "kcache")


def why_unwritable(folder: Path) -> str:
    """Why a kernel can't be written to a folder, such as "No space left on device"; "" if it can."""
    import tempfile  # here, as importing it takes a while

    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(bytes(KERNEL_BYTES))
    except OSError as error:
        return error.strerror or str(error)
    return ""


def _replace_by_temporary(variable: str) -> str:
    """Let the variable name a temporary folder, removed at exit; returns why there is none, or ""."""
    import shutil
    import tempfile

    try:
        folder = tempfile.mkdtemp(prefix="tinyjax-")
    except OSError as error:
        return error.strerror or str(error)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    os.environ[variable] = folder
    return why_unwritable(Path(folder))
