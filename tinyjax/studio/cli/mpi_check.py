"""The MPI check of `python -m tinyjax doctor`: two processes add their numbers."""

import re
import shutil
import subprocess
import sys
from importlib import util
from pathlib import Path

PROBE = """
import time
import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.sharding import AxisType, PartitionSpec as P

jax.distributed.initialize()
devices = [jax.local_devices(process)[0] for process in range(jax.process_count())]
mesh = jax.make_mesh((len(devices),), ("i",), devices=devices, axis_types=(AxisType.Auto,))
total = jax.jit(jax.shard_map(lambda x: jax.lax.psum(x, "i"), mesh=mesh, in_specs=P("i"), out_specs=P()))
x = jnp.arange(1.0, 3.0)
right = total(x)[0] == 3
began = time.perf_counter()
for _ in range(10):
    total(x)
milliseconds = 100 * (time.perf_counter() - began)
if jax.process_index() == 0:
    print("right" if right else "wrong", f"{milliseconds:.2f}")
"""
LONGEST = 60  # seconds
FIX = (
    "pip install 'tinyjax-readable[mpi]', which brings mpi4py and MPICH. It is for programs of several "
    "processes alone: `mpiexec -n 2 python program.py`."
)


def mpi_finding() -> tuple[bool | None, str, str]:
    """Run the check: returns whether it works (None: MPI is missing), the finding's text, and the fix."""
    beside = Path(sys.executable).parent / "mpiexec"
    mpiexec = str(beside) if beside.exists() else shutil.which("mpiexec")
    if util.find_spec("mpi4py") is None or mpiexec is None:
        return None, "mpi4py or mpiexec is not installed", FIX
    command = [mpiexec, "-n", "2", sys.executable, "-c", PROBE]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST)
    except subprocess.TimeoutExpired:
        return False, f"two processes gave no answer in {LONGEST} s", f"Reinstall it: {FIX}"
    answer = done.stdout.split()
    if done.returncode or answer[:1] != ["right"]:
        error = error_line(done.stderr) or "a wrong sum"
        return False, error, f"mpiexec and mpi4py must be of one MPI: {FIX}"
    return True, f"two processes added their numbers, in {answer[1]} ms", ""


def error_line(stderr: str) -> str:
    """The exception that ended a process, else the last line of its output, else ""."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    exceptions = [line for line in lines if re.match(r"[\w.]+(Error|Exception): ", line)]
    return (exceptions or lines or [""])[-1]
