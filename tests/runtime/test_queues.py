"""Queues at work: what waits for what, and whose memory is used again."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from kernel_threads import launch_all

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.runtime.devices import devices
from tinyjax.runtime.errors import DeviceError
from tinyjax.runtime.queue import Queue
from tinyjax.runtime.queues import SharedMemoryQueue, queue_of

CPU = devices("cpu")[0]
pytestmark = pytest.mark.skipif(
    CPU.cl_device is None or not isinstance(queue_of(CPU), SharedMemoryQueue),
    reason="there is no device that shares the host's memory",
)
SIZE = 100_000


@pytest.fixture(params=["by threads", "inline"])
def kernel_thread(request, monkeypatch):
    launch_all(monkeypatch, inline=request.param == "inline")


def address(array):
    return np.asarray(array).ctypes.data


# ---- memory of results ----


def test_a_small_copy_starts_nothing_that_others_would_wait_for():
    queue = queue_of(CPU)
    queue.finish()
    memory = queue.upload(np.arange(3.0))
    copy = queue.copy(memory)
    assert queue.last_event is None
    assert copy.host.tolist() == [0, 1, 2] and not np.shares_memory(copy.host, memory.host)


def test_a_result_stands_where_one_stood_that_is_gone(kernel_thread):
    f, x = jax.jit(lambda x: x + 1), jnp.zeros(SIZE)
    f(x)
    queue_of(CPU).finish()
    seen = set()
    for _ in range(20):
        seen.add(address(f(x)))
    assert len(seen) < 5


def test_what_numpy_holds_is_never_written_to(kernel_thread):
    f = jax.jit(lambda x: (x + 1, jnp.sum(x * 2)))
    x, kept = jnp.zeros(SIZE), []
    for n in range(30):
        x, total = f(x)
        if n % 3 == 0:
            kept.append((n + 1, np.asarray(x)[::7], memoryview(np.asarray(x)[5:])))
        float(total)
    for value, part, view in kept:
        assert set(np.asarray(part)) == {value} == set(np.asarray(view))


def test_memory_of_a_result_that_nobody_waits_for_is_not_given_to_another(kernel_thread):
    f, g = jax.jit(lambda x: jnp.sin(x) + 1), jax.jit(lambda x: x * 3)
    x = jnp.full(SIZE, 0.5)
    expected = np.asarray(g(f(x)))
    found = [g(f(x)) for _ in range(30)]
    for y in found:
        np.testing.assert_array_equal(y, expected)


def test_threads_share_queue_and_memory(kernel_thread):
    f = jax.jit(lambda x: (jnp.tanh(x) * 2, jnp.sum(x)))

    def work(seed):
        x = jnp.asarray(np.random.default_rng(seed).normal(size=SIZE).astype(np.float32))
        y, total = np.asarray(jnp.tanh(x) * 2), float(f(x)[1])
        for _ in range(20):
            out, its_total = f(x)
            np.testing.assert_allclose(out, y, rtol=1e-5, atol=1e-6)
            assert float(its_total) == total
        return True

    with ThreadPoolExecutor(4) as threads:
        assert all(threads.map(work, range(8)))


# ---- waiting ----


class WhenWaitedFor:
    """In place of an event: does something while it is waited for."""

    command_execution_status = 0

    def __init__(self, action):
        self.wait = action


def test_reading_waits_for_the_call_that_made_the_result_and_once(monkeypatch):
    result, waited = jax.jit(lambda x: x * 2)(jnp.ones(3)), []
    result.buffer.event = WhenWaitedFor(lambda: waited.append("its call"))
    monkeypatch.setattr(Queue, "finish", lambda queue: waited.append("all"))
    result.block_until_ready()
    assert result.tolist() == [2, 2, 2]
    assert waited == ["its call"]


def test_others_may_launch_while_one_waits():
    f, x = jax.jit(lambda x: x * 2), jnp.ones(3)
    result = f(x)
    with ThreadPoolExecutor(1) as other:
        launch = lambda: other.submit(lambda: f(x).tolist()).result(timeout=60)  # noqa: E731
        result.buffer.event = WhenWaitedFor(launch)
        assert result.tolist() == [2, 2, 2]


def test_a_host_step_keeps_nobody_from_computing():
    go_on = threading.Event()

    def wait(x):
        assert go_on.wait(timeout=60)
        return np.asarray(x)

    slow = jax.jit(lambda x: jax.pure_callback(wait, x, x + 1) * 2)
    with ThreadPoolExecutor(1) as other:
        result = other.submit(lambda: float(slow(jnp.float32(1))))
        assert float(jax.jit(lambda x: x + 1)(2.0)) == 3
        go_on.set()
        assert result.result(timeout=60) == 4


def test_a_callback_may_call_what_is_calling_it():
    def half(x):
        return np.asarray(f(np.float32(x / 2)) if x > 1 else x)

    f = jax.jit(lambda x: jax.pure_callback(half, x, x) + 1)
    assert float(f(np.float32(8))) == 5


# ---- errors ----


def test_a_driver_that_has_no_memory_left_is_an_error_of_ours(monkeypatch):
    queue = queue_of(CPU)

    def refuse(*args, **kwargs):
        raise queue.cl.MemoryError("Buffer", -4, "none left")

    monkeypatch.setattr(queue.cl, "Buffer", refuse)
    queue.pool.collect()
    queue.pool.clear()
    for size in (3, SIZE):
        with pytest.raises(DeviceError, match="RESOURCE_EXHAUSTED"):
            queue.allocate((size,), np.dtype(np.float32))
