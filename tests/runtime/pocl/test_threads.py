"""The driver's threads have a core each."""

import ctypes
import os
import platform
import struct
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import tinyjax as jax
from tinyjax.runtime.pocl import threads as threads_file
from tinyjax.runtime.pocl.threads import one_core_each

pyopencl = pytest.importorskip("pyopencl")

POCL = Path(pyopencl.__file__).parent / ".libs" / "pocl.icd"
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Linux tells of threads and cores")


@pytest.fixture(autouse=True)
def nothing_is_set(monkeypatch):
    for name in ("POCL_AFFINITY", "POCL_MAX_PTHREAD_COUNT"):
        monkeypatch.delenv(name, raising=False)


def cores_of_threads(count):
    """The cores of each of `count` threads that begin within the block."""
    done = threading.Event()
    threads = [threading.Thread(target=done.wait) for _ in range(count)]
    with one_core_each():
        for thread in threads:
            thread.start()
    found = [os.sched_getaffinity(thread.native_id) for thread in threads]
    done.set()
    return found


def test_threads_that_are_as_many_as_cores_have_one_each():
    cores = sorted(os.sched_getaffinity(0))
    assert cores_of_threads(len(cores)) == [{core} for core in cores]


def test_more_threads_than_cores_stay_where_the_system_puts_them():
    cores = os.sched_getaffinity(0)
    assert cores_of_threads(len(cores) + 1) == [cores] * (len(cores) + 1)


def test_what_the_user_has_set_for_pocl_stays(monkeypatch):
    monkeypatch.setenv("POCL_AFFINITY", "0")
    cores = os.sched_getaffinity(0)
    assert cores_of_threads(len(cores)) == [cores] * len(cores)


def test_without_proc_the_system_chooses(monkeypatch):
    monkeypatch.setattr(threads_file, "THREADS", "/no/such/folder")
    cores = os.sched_getaffinity(0)
    assert cores_of_threads(len(cores)) == [cores] * len(cores)


def test_the_calling_thread_keeps_its_cores():
    cores = os.sched_getaffinity(0)
    cores_of_threads(len(cores))
    assert os.sched_getaffinity(0) == cores


PROGRAM = """
import ctypes
import os
import platform
import struct
import tinyjax as jax
jax.devices()
own = os.sched_getaffinity(0)
threads = [os.sched_getaffinity(int(t)) for t in os.listdir("/proc/self/task") if int(t) != os.getpid()]
assert all({core} in threads for core in own), threads
"""


@pytest.mark.skipif("pthread" not in jax.devices()[0].device_kind, reason="needs PoCL")
def test_pocl_has_a_thread_on_each_core():
    subprocess.run([sys.executable, "-c", PROGRAM], check=True)


@pytest.mark.skipif(not POCL.exists(), reason="needs PoCL of pip")
def test_pocl_has_a_thread_on_each_core_where_it_is_the_only_driver():
    alone = os.environ | {"OCL_ICD_VENDORS": str(POCL)}
    subprocess.run([sys.executable, "-c", PROGRAM], check=True, env=alone)


SCHED_GETATTR = {"x86_64": 315, "aarch64": 275}


@pytest.mark.skipif(platform.machine() not in SCHED_GETATTR, reason="another number of the call")
def test_a_thread_asks_for_short_turns_and_stays_as_nice_as_it_was():
    done = threading.Event()
    threads = [threading.Thread(target=done.wait) for _ in os.sched_getaffinity(0)]
    with one_core_each():
        for thread in threads:
            thread.start()
    of_one = ctypes.create_string_buffer(48)
    ctypes.CDLL(None).syscall(
        SCHED_GETATTR[platform.machine()], threads[0].native_id, of_one, 48, 0
    )
    done.set()
    _, policy, _, nice, _, turn, _, _ = struct.unpack("IIQiIQQQ", of_one.raw)
    assert (policy, nice) == (os.SCHED_OTHER, os.nice(0))
    assert turn in (0, threads_file.TURN_NS), "0 is that of a Linux before 6.12"
