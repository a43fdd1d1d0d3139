import os
import subprocess
import sys

import numpy as np
import pytest

from tinyjax.array import ShapedArray
from tinyjax.devices import (
    Device,
    _with_inline_device,
    committed_device,
    default_backend,
    device_count,
    devices,
    local_devices,
    process_count,
    process_index,
)


def run(code, **environment):
    """Runs `code` in a process of its own, and gives what it prints."""
    result = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env=os.environ | environment,
        timeout=120,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout + result.stderr


def test_the_default_device_is_listed_first():
    assert devices()[0].platform == default_backend()
    assert device_count() == len(devices()) == len(local_devices())
    assert (process_index(), process_count()) == (0, 1)


def test_a_device_prints_as_in_jax():
    assert repr(Device("cpu", 0, "any")) == "CpuDevice(id=0)"
    assert str(Device("cpu", 3, "any")) == "cpu:3"


def test_an_unknown_backend_is_refused():
    with pytest.raises(RuntimeError, match="Unknown backend"):
        devices("tpu")


def test_arrays_of_two_devices_do_not_compute_together():
    class Committed:
        committed = True
        aval = ShapedArray((3,), np.dtype("float32"))

        def __init__(self, device):
            self.device = device

    arrays = [Committed(Device("cpu", i, "any")) for i in range(2)]
    assert committed_device(arrays[:1], "f") is arrays[0].device
    assert committed_device([1.0], "f") is None
    told = (
        r"incompatible devices .* args\[0\] of f with shape float32\[3\] and with device ids \[0\]"
    )
    with pytest.raises(ValueError, match=told):
        committed_device(arrays, "f")


def test_import_does_not_look_for_devices():
    assert "False" in run("import sys, tinyjax; print('pyopencl' in sys.modules)")


NO_OPENCL = """
import sys
sys.modules["pyopencl"] = None  # as if it were not installed
import tinyjax, numpy as np
from tinyjax import core, primitives
f = tinyjax.jit(lambda x: primitives.reduce_sum(primitives.sin(x), (0,)))
print(tinyjax.devices(), f(np.ones(2, np.float32)), f(np.ones(3, np.float32)))
print(f.lower(np.ones(2, np.float32)).as_text("schedule"))
"""


@pytest.mark.parametrize("code, variables", [
    (NO_OPENCL, {}),
    (NO_OPENCL.replace('sys.modules["pyopencl"] = None', ""), {"TINYJAX_OPENCL": "none"}),
])  # fmt: skip
def test_without_opencl_jit_evaluates_with_numpy_and_says_so_once(code, variables):
    printed = run(code, **variables)
    assert "[CpuDevice(id=0)] 1.682942 2.524413" in printed
    assert printed.count("tinyjax found no OpenCL device") == 1
    assert "host    sin(a)" in printed and "there is no OpenCL device" in printed


def test_jax_platforms_limits_the_platforms():
    assert "Unknown backend" in run(
        "import tinyjax\ntry: tinyjax.devices()\nexcept RuntimeError as e: print(e)",
        JAX_PLATFORMS="gpu",
        TINYJAX_OPENCL="none",
    )


def test_the_driver_that_has_no_threads_is_listed_only_where_it_is_alone():
    class Found:
        def __init__(self, name):
            self.name, self.type = name, 2

    pytest.importorskip("pyopencl")
    threads, none = Found("pthread-cpu"), Found("basic-cpu")
    assert _with_inline_device([none, threads]) == [(threads, none)]
    assert _with_inline_device([none]) == [(none, None)]
    assert _with_inline_device([threads]) == [(threads, None)]
