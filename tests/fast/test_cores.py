"""Threads that share a kernel exchange their cores where another process uses one."""

import os
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest

import tinyjax as jax
from tinyjax import lax
from tinyjax.compile.lowered import lower_jaxpr
from tinyjax.fast import fused_kernel, launch_fusion
from tinyjax.runtime.devices import devices
from tinyjax.runtime.step_program_builder import text_of

CPU = devices("cpu")[0]
pytestmark = pytest.mark.skipif(
    CPU.inline_device is None or sys.platform != "linux",
    reason="threads have no cores of their own",
)


def cores_of_threads():
    threads = map(int, os.listdir("/proc/self/task"))
    return sorted(sorted(os.sched_getaffinity(thread)) for thread in threads)


@pytest.mark.slow
def test_beside_another_process_results_are_the_same_and_each_thread_has_one_core(monkeypatch):
    monkeypatch.setattr(launch_fusion, "patience", lambda plan, number, cores: 10**9)
    monkeypatch.setattr(launch_fusion, "is_inline", lambda plan, stretch, cores: False)
    monkeypatch.setattr(launch_fusion, "lends_cores", lambda plan, numbers, cores: True)
    a = np.random.default_rng(0).uniform(-0.1, 0.1, (96, 96)).astype(np.float32)
    f = jax.jit(lambda a: lax.fori_loop(0, 30, lambda i, x: lax.tanh(a @ x) @ a, a))
    expected, before = np.asarray(f(a)), cores_of_threads()
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as other:
        until = time.monotonic() + 0.4
        while time.monotonic() < until:
            np.testing.assert_array_equal(f(a), expected)
        other.kill()
    assert cores_of_threads() == before


def test_where_linux_can_not_be_called_no_work_item_waits_for_a_core(monkeypatch):
    for name in ("CLOCK", "THREAD", "YIELD", "PULL", "STUCK"):
        helper = getattr(fused_kernel, name)
        text = helper.text.replace("#ifdef TJ_LINUX", "#ifdef TJ_NOWHERE")
        monkeypatch.setattr(fused_kernel, name, replace(helper, text=text))
    monkeypatch.setattr(launch_fusion, "patience", lambda plan, number, cores: 10**9)
    monkeypatch.setattr(launch_fusion, "is_inline", lambda plan, stretch, cores: False)
    monkeypatch.setattr(launch_fusion, "lends_cores", lambda plan, numbers, cores: True)
    a = np.random.default_rng(1).uniform(-0.1, 0.1, (96, 96)).astype(np.float32)
    f = jax.jit(lambda a: lax.fori_loop(0, 31, lambda i, x: lax.tanh(a @ x) @ a, a))
    expected = np.asarray(f(a))
    for _ in range(20):
        np.testing.assert_array_equal(f(a), expected)


def text(steps):
    f = lambda a: lax.fori_loop(0, steps, lambda i, x: lax.tanh(a @ x) @ a, a)  # noqa: E731
    lowered = lower_jaxpr(jax.make_jaxpr(f)(np.zeros((128, 128), np.float32)), CPU)
    return text_of(lowered.plan.launches)


def test_only_long_launches_do_so():
    assert "if (1) control" in text(1000) and "if (1) control" not in text(10)


def test_a_helper_is_seen_before_its_work_counts_as_done():
    work = text(1000).partition("_work(")[2]
    seen, done = fused_kernel.SEEN, fused_kernel.DONE
    assert 0 < work.index(f"control[{seen} + worker] = now") < work.index(f"control + {done}")
