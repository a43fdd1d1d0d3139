import os
import subprocess
import sys

import pytest

FIRST = """
import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.sharding import NamedSharding, PartitionSpec as P

split = NamedSharding(jax.make_mesh((8,), ("x",)), P("x"))
assert jnp.zeros(8, out_sharding=split).sharding == split
"""


@pytest.mark.slow
def test_the_first_array_of_a_program_is_where_its_out_sharding_says():
    environment = {**os.environ, "XLA_FLAGS": "--xla_force_host_platform_device_count=8"}
    done = subprocess.run([sys.executable, "-c", FIRST], env=environment, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
