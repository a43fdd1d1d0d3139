"""Runs programs where PoCL shows the processor as two OpenCL devices, in a process of their own."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

from tinyjax.runtime.devices import devices


def by_two_devices(code: str) -> str:
    """What `code` prints; it finds what START imports, and `mesh` of two devices along "i"."""
    tests, paths = str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")
    added = {
        "POCL_DEVICES": "pthread pthread basic",
        "PYTHONPATH": os.pathsep.join([tests, *filter(None, [paths])]),
        "JAX_PLATFORMS": "cpu",
    }
    ended = subprocess.run(
        [sys.executable, "-c", START + textwrap.dedent(code)],
        env=os.environ | added,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def has_pocl() -> bool:
    first = devices("cpu")[0].cl_device
    return first is not None and "Portable" in first.platform.name


START = """
import numpy as np
import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.sharding import Mesh, NamedSharding, PartitionSpec as P

mesh = jax.make_mesh((2,), ("i",), (jax.sharding.AxisType.Auto,))
x = np.arange(16, dtype=np.float32).reshape(8, 2)


def memories(array):
    return [shard.data.buffer.queue.device for shard in array.addressable_shards]


def are_on_their_devices(array):
    places = [shard.data.devices() for shard in array.addressable_shards]
    return memories(array) == jax.devices() and places == [{d} for d in jax.devices()]


"""
