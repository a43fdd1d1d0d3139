"""tinyjax without what only Linux or POSIX systems have, under the names of other systems."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
# What the module os lacks there, and signal
MISSING = {
    "darwin": ("sched_getaffinity",),
    "win32": (
        *("fork", "register_at_fork", "sched_getaffinity", "statvfs", "getuid", "geteuid", "uname"),
        *("setitimer", "SIGALRM", "SIGPROF", "SIGKILL"),
    ),
}
PROGRAM = """
import builtins, os, signal, sys
import asyncio, ctypes.util, multiprocessing, subprocess, tempfile  # other libraries see the real system
import graphviz, numpy, pyopencl.invoker, pytest, scipy.linalg, scipy.special

for name in {missing!r}:
    for module in (os, signal):
        if hasattr(module, name):
            delattr(module, name)
if {platform!r} == "win32":
    sys.modules["resource"] = sys.modules["fcntl"] = None  # importing them raises ImportError
real_open = builtins.open


def open_without_proc(file, *args, **kwargs):
    if str(file).startswith(("/proc", "/dev/shm")):
        raise FileNotFoundError(file)
    return real_open(file, *args, **kwargs)


builtins.open = open_without_proc
sys.platform = {platform!r}
import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.studio import viz

f = lambda x: jnp.sin(x) * x
x = jnp.arange(3.0)
print(jax.jit(jax.vmap(jax.grad(f))).lower(x).compile()(x).round(3))
print(jax.lax.scan(lambda c, x: (c + x, c), 0.0, x)[0])
print(len(viz.explain(f, 3.0).html) > 1000, jax.viz.dot(jax.make_jaxpr(f)(3.0)).source[:7])
from tinyjax.studio.learn import in_process, work_folder, grade
from tinyjax.many_devices import distributed
"""


@pytest.mark.slow
@pytest.mark.parametrize("platform", ["darwin", "win32"])
def test_programs_run_without_what_other_systems_lack(platform, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        PROGRAM.format(missing=MISSING[platform], platform=platform), encoding="utf-8"
    )
    environment = os.environ | {"PYTHONPATH": str(ROOT), "TINYJAX_BACKGROUND_BUILD": "0"}
    strict = ["-X", "warn_default_encoding", "-W", "error::EncodingWarning:tinyjax"]
    done = subprocess.run(
        [sys.executable, *strict, program], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "[0.    1.382 0.077]\n3.0\nTrue digraph\n"


def test_without_fork_a_meeting_place_says_to_use_mpiexec(monkeypatch):
    from tinyjax.many_devices.distributed.rendezvous import _start_server

    monkeypatch.delattr(os, "fork")
    with pytest.raises(NotImplementedError, match="mpiexec"):
        _start_server("localhost:0", 2, 1.0)
