"""Kernels are built on processors that PoCL's compiler does not know, or takes for older ones."""

import ctypes
import os
import subprocess
import sys

import pytest

import tinyjax as jax
from tinyjax.runtime.pocl import processor
from tinyjax.runtime.pocl.processor import LEVELS, level_of, name_processor

ON_POCL = "pthread" in jax.devices()[0].device_kind and sys.platform == "linux"


class Recorded:
    """A device whose record says so much."""

    def __init__(self, *words):
        texts = [ctypes.create_string_buffer(w) if isinstance(w, bytes) else w for w in words]
        as_words = [t if isinstance(t, int) else ctypes.addressof(t) for t in texts]
        self.texts, self.words = texts, (ctypes.c_size_t * 128)(*as_words)
        self.int_ptr = ctypes.addressof(self.words)

    def text(self, number):
        return ctypes.string_at(self.words[number])


@pytest.mark.skipif(sys.platform != "linux", reason="PoCL's record is read on Linux alone")
def test_a_processor_that_is_not_known_gets_its_level():
    device = Recorded(3, 2**64 - 1, b"pthread", b"x86_64-unknown-linux-gnu", b"generic")
    name_processor(device)
    assert device.text(4).decode() in ("x86-64", *LEVELS)
    assert device.text(3) == b"x86_64-unknown-linux-gnu"


@pytest.mark.parametrize("target, name", [(b"x86_64-pc-linux", b"haswell"), (b"arm64", b"generic")])
def test_any_other_record_is_left_as_it_is(target, name):
    device = Recorded(b"pthread", target, name)
    name_processor(device)
    assert device.text(2) == name


@pytest.mark.skipif(sys.platform != "linux", reason="PoCL's record is read on Linux alone")
@pytest.mark.parametrize(
    "level, name", [("icelake-server", b"icelake-server"), ("haswell", b"znver3")]
)
def test_a_processor_with_the_name_of_an_older_one_gets_its_level_if_that_has_more(
    level, name, monkeypatch
):
    monkeypatch.setattr(processor, "level", lambda: level)
    device = Recorded(b"pthread", b"x86_64-pc-linux", b"znver3")
    name_processor(device)
    assert device.text(2) == name


def test_a_level_needs_all_of_its_instructions():
    v2, v3, v4, newer = LEVELS.values()
    assert level_of("processor : 0\nflags\t\t: fpu sse2\n") == "x86-64"
    assert level_of(f"flags : fpu {v2} {v3}\n") == "haswell"
    assert level_of(f"flags : fpu {v2} {v3} {v4}\n") == "skylake-avx512"
    assert level_of(f"flags : fpu {v2} {v3} {v4} {newer}\n") == "icelake-server"
    assert level_of(f"flags : fpu {v2} {v4}\n") == "nehalem"  # avx512 without avx2
    assert level_of("") == "x86-64"


@pytest.mark.skipif(not ON_POCL, reason="kernels do not run on PoCL here")
def test_a_kernel_is_built_on_a_processor_that_pocl_calls_generic(tmp_path):
    code = """
import ctypes, os
os.environ["POCL_DEVICES"] = "pthread basic"
import pyopencl
from tinyjax.runtime.pocl.processor import address_of_name
generic = ctypes.create_string_buffer(b"generic")
with open("/proc/self/mem", "rb", buffering=0) as memory:
    for platform in pyopencl.get_platforms():
        for device in platform.get_devices() if "Portable" in platform.name else ():
            address = address_of_name(memory, device.int_ptr)
            ctypes.c_void_p.from_address(address).value = ctypes.addressof(generic)
import tinyjax as jax, tinyjax.numpy as jnp
print(jax.jit(lambda x: jnp.tanh(x) + jnp.sum(jnp.exp(x)))(jnp.zeros(5)), jax.devices()[0].device_kind)
"""
    settings = {"TINYJAX_BACKGROUND_BUILD": "0", "POCL_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | settings, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("[5. 5. 5. 5. 5.] pthread")
