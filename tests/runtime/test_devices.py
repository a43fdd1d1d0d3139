import json
import math
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from golden_cases.many_devices import answers_with_many_devices

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.runtime.client import device_count
from tinyjax.runtime.devices import (
    Device,
    _with_inline_device,
    default_backend,
    devices,
    local_devices,
)
from tinyjax.runtime.placement import commit, committed_place


def run(code, **environment):
    """Runs `code` in a new process, and returns what it prints."""
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
    assert (jax.process_index(), jax.process_count()) == (0, 1)


def test_a_device_prints_as_in_jax():
    assert repr(Device("cpu", 0, "any")) == "CpuDevice(id=0)"
    assert str(Device("cpu", 3, "any")) == "cpu:3"


def test_an_unknown_backend_is_refused():
    with pytest.raises(RuntimeError, match="Unknown backend"):
        devices("tpu")


def test_arrays_of_two_devices_do_not_compute_together():
    arrays = [jnp.zeros(3, np.float32) for _ in range(2)]
    for i, x in enumerate(arrays):
        commit(x, Device("cpu", i, "any"))
    assert committed_place(arrays[:1], "f") is arrays[0].device
    assert committed_place([1.0], "f") is None
    told = (
        r"incompatible devices .* args\[0\] of f with shape float32\[3\] and with device ids \[0\]"
    )
    with pytest.raises(ValueError, match=told):
        committed_place(arrays, "f")


@pytest.mark.slow
def test_a_fork_computes_only_if_the_devices_were_not_looked_for_before_it():
    """The driver's threads are missing there: a large array was waited for without end."""
    code = (
        "import os, warnings, numpy as np, tinyjax as jax\n"
        "warnings.simplefilter('ignore')\n"
        "from tinyjax.runtime.errors import DeviceError\n"
        "{before}\n"
        "child = os.fork()\n"
        "if child: raise SystemExit(os.waitpid(child, 0)[1])\n"
        "try: print(jax.jit(lambda x: x + 1)(np.zeros(1_000_000, np.float32))[0])\n"
        "except DeviceError as error: print(str(error).partition(':')[2])\n"
    )
    assert run(code.format(before=""), TINYJAX_BACKGROUND_BUILD="0") == "1.0\n"
    if devices("cpu")[0].cl_device is not None:
        told = run(code.format(before="jax.devices()"), TINYJAX_BACKGROUND_BUILD="0")
        assert "a fork can read results, but run no compiled functions" in told


def test_import_does_not_look_for_devices():
    assert "False" in run("import sys, tinyjax; print('pyopencl' in sys.modules)")


NO_OPENCL = """
import sys
sys.modules["pyopencl"] = None  # as if it were not installed
import tinyjax, numpy as np
from tinyjax.core import primitives
f = tinyjax.jit(lambda x: primitives.reduce_sum(primitives.sin(x), (0,)))
print(tinyjax.devices(), f(np.ones(2, np.float32)), f(np.ones(3, np.float32)))
print(f.lower(np.ones(2, np.float32)).as_text("schedule"))
"""


@pytest.mark.slow
@pytest.mark.parametrize("code, variables", [
    (NO_OPENCL, {}),
    (NO_OPENCL.replace('sys.modules["pyopencl"] = None', ""), {"TINYJAX_OPENCL": "none"}),
])  # fmt: skip
def test_without_opencl_jit_evaluates_with_numpy_and_says_so_once(code, variables):
    printed = run(code, **variables)
    sums = re.search(r"\[CpuDevice\(id=0\)\] (\S+) (\S+)", printed)
    assert list(map(float, sums.groups())) == pytest.approx([2 * math.sin(1), 3 * math.sin(1)])
    assert printed.count("tinyjax uses no OpenCL device") == 1
    assert "host    sin(a)" in printed and "there is no OpenCL device" in printed


@pytest.mark.skipif(
    "pthread" not in devices("cpu")[0].device_kind, reason="the CPU's driver isn't PoCL"
)
@pytest.mark.parametrize("variable, value, advice", [
    ("TINYJAX_OPENCL", "none", "unset it to compile"),
    ("TINYJAX_OPENCL", "banana", "TINYJAX_OPENCL=banana names a part of none of the platforms"),
    ("POCL_DEVICES", "banana", "POCL_DEVICES=banana: unset it"),
])  # fmt: skip
def test_a_variable_that_leaves_no_device_is_named(variable, value, advice):
    code = "import tinyjax; print(tinyjax.jit(lambda x: x + 1)(2))"
    assert advice in run(code, JAX_PLATFORMS="cpu", **{variable: value})


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


def test_eager_evaluation_looks_at_no_devices_until_an_array_is_put_on_one():
    code = """if True:
        import tinyjax as jax
        from tinyjax import core, numpy as jnp
        jnp.sin(1.0)
        print(len(core.watchers))
        jax.device_put(1.0, jax.devices()[0])
        print(len(core.watchers))
    """
    assert run(code).split() == ["0", "1"]


# ---- several CPU devices: in processes of their own, as their number is settled once ----

HERE = Path(__file__).parents[1]
PLACEMENT = json.loads((HERE / "golden" / "placement.json").read_text())


@pytest.fixture(scope="module")
def placement():
    """What tinyjax answers with four CPU devices."""
    return answers_with_many_devices("placement", "tinyjax")


@pytest.mark.parametrize("call", PLACEMENT)
def test_arrays_are_where_jax_has_them(placement, call):
    assert placement[call] == PLACEMENT[call]


@pytest.mark.slow
def test_xla_flags_say_how_many_devices_as_in_older_programs():
    code = "import tinyjax; print(tinyjax.devices())"
    flags = {"XLA_FLAGS": "--xla_force_host_platform_device_count=3", "JAX_PLATFORMS": "cpu"}
    assert "[CpuDevice(id=0), CpuDevice(id=1), CpuDevice(id=2)]" in run(code, **flags)
    both = run(code, JAX_NUM_CPU_DEVICES="2", **flags)
    assert "[CpuDevice(id=0), CpuDevice(id=1)]" in both


def test_the_number_of_devices_is_settled_when_they_are_asked_for():
    assert "updated before backends are initialized" in run("""
import tinyjax as jax
jax.config.update("jax_num_cpu_devices", 2)
assert jax.device_count("cpu") == 2
try:
    jax.config.update("jax_num_cpu_devices", 3)
except RuntimeError as error:
    print(error)
""")


def test_devices_in_numpy_are_several_too():
    assert "[2. 2.] cpu:1" in run(
        """
import tinyjax as jax, numpy as np
y = jax.jit(lambda x: x + 1)(jax.device_put(np.ones(2), jax.devices()[1]))
print(y, y.device)
""",
        TINYJAX_OPENCL="none",
        JAX_NUM_CPU_DEVICES="2",
    )


@pytest.mark.slow
def test_arguments_can_be_donated_where_numpy_computes():
    assert "[3. 2.] True" in run(
        """
import tinyjax as jax, tinyjax.numpy as jnp
x = jnp.array([1.0, 2.0])
print(jax.jit(lambda x: x[::-1] + 1, donate_argnums=0)(x), x.is_deleted())
""",
        TINYJAX_OPENCL="none",
    )


MOVES = """
import numpy as np, tinyjax as jax
jax.config.update("tinyjax_background_build", False)
d = jax.devices()
step = jax.jit(lambda x: jax.lax.sin(x) + 1)
x = np.linspace(0, 1, 2_000_000, dtype=np.float32)
expected, y = x, x
for i in range(12):  # each step on another device, while that of the one before may be at work
    y = step(jax.device_put(y, d[i % len(d)]))
    assert y.device == d[i % len(d)] and y.committed
    expected = np.sin(expected) + 1
np.testing.assert_allclose(y, expected, rtol=1e-5, atol=1e-6)
many = [step(jax.device_put(x + i, d[i % len(d)])) for i in range(8)]  # side by side
for i, y in enumerate(many):
    np.testing.assert_allclose(y, np.sin(x + np.float32(i)) + 1, rtol=1e-5, atol=1e-6)
donated = jax.device_put(step(x), d[0])
kept = jax.device_put(donated, d[1])
jax.jit(lambda x: x * 0, donate_argnums=0)(donated).block_until_ready()
np.testing.assert_allclose(kept, np.sin(x) + 1, rtol=1e-5, atol=1e-6)
print("right")
"""


@pytest.mark.slow
@pytest.mark.parametrize("count", ["2", "4"])
def test_arrays_that_move_between_devices_keep_their_values(count):
    assert "right" in run(MOVES, JAX_NUM_CPU_DEVICES=count)


def test_devices_have_queues_of_their_own_over_one_context():
    assert "True True" in run(
        """
import tinyjax as jax
from tinyjax.runtime.queues import queue_of
a, b = map(queue_of, jax.devices("cpu"))
print(a is not b and getattr(a, "queue", 1) != getattr(b, "queue", 2),
      getattr(a, "context", None) == getattr(b, "context", None))
""",
        JAX_NUM_CPU_DEVICES="2",
    )
