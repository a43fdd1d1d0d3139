"""A queue whose device has separate memory: what goes there, and what comes back."""

import functools
from types import SimpleNamespace

import numpy as np
import pytest
from drawn import drawn, same, shown
from judged import each_error, error_passes, raises

from tinyjax.core.dtypes import bfloat16
from tinyjax.runtime.devices import devices
from tinyjax.runtime.errors import DeviceError
from tinyjax.runtime.queue import Queue

TWICE = """
kernel void twice(global const float *a_in, global float *b_out) {
  b_out[get_global_id(0)] = 2 * a_in[get_global_id(0)];
}
"""


@pytest.fixture
def queue():
    device = devices("cpu")[0]
    if device.cl_device is None:
        pytest.skip("there is no OpenCL device")
    return Queue(device)


@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.complex64, bfloat16, bool])
@pytest.mark.parametrize("shape", [(2, 3), (7,), (), (2, 1, 3, 1, 2)])
def test_an_array_goes_to_the_device_and_comes_back(queue, shape, dtype):
    array = (np.arange(np.prod(shape)).reshape(shape) % 2).astype(dtype)
    memory = queue.upload(array)
    assert (memory.shape, memory.dtype, memory.queue) == (shape, array.dtype, queue)
    back = queue.read(memory)
    assert (back.shape, back.dtype) == (shape, array.dtype)
    np.testing.assert_array_equal(back, array)


def test_elements_are_stored_row_by_row_whatever_their_order_was(queue):
    array = np.arange(6, dtype=np.float32).reshape(2, 3).T
    np.testing.assert_array_equal(queue.read(queue.upload(array)), array)
    for part in (np.arange(12, dtype=np.uint8)[::-3], np.ones((4, 3, 2))[::2, 1:]):
        back = queue.read(queue.upload(part))
        assert back.dtype == part.dtype
        np.testing.assert_array_equal(back, part)


def test_what_was_read_and_what_was_given_stay_as_they_were(queue):
    array = np.arange(6, dtype=np.float32)
    first = queue.upload(array)
    array[:] = 7
    second = queue.upload(array)
    found = queue.read(first)
    assert (queue.read(second) == 7).all(), "the array has other elements than before"
    np.testing.assert_array_equal(found, np.arange(6), "what was read before has changed")
    assert array.flags.writeable and queue.read(first) is not found


def test_an_array_without_elements_has_no_buffer(queue):
    memory = queue.upload(np.empty((0, 3), np.float32))
    assert memory.cl is None
    assert queue.read(memory).shape == (0, 3)


@pytest.mark.parametrize("dtype", [np.int8, np.complex64, bfloat16, bool])
def test_arrays_without_elements_keep_their_shapes_and_dtypes(queue, dtype):
    for shape in [(0,), (2, 0), (0, 3, 1)]:
        memory = queue.upload(np.empty(shape, dtype))
        assert (memory.shape, memory.dtype, memory.cl) == (shape, dtype, None)
        back = queue.read(memory)
        assert (back.shape, back.dtype) == (shape, dtype)


@each_error
def test_an_error_that_is_not_the_drivers_goes_on(queue, monkeypatch, error):
    memory = queue.upload(np.ones(3, np.float32))
    with error_passes(error()) as raised:
        monkeypatch.setattr(queue.cl, "enqueue_copy", raises(raised))
        queue.read(memory)
    with error_passes(error()) as raised:
        monkeypatch.setattr(queue.cl, "Buffer", raises(raised))
        queue.upload(np.ones(3, np.float32))


def test_memory_of_the_device_is_its_own(queue):
    array = np.zeros(4, np.float32)
    memory = queue.upload(array)
    array[:] = 1
    first = queue.read(memory)
    np.testing.assert_array_equal(first, np.zeros(4))
    first[:] = 2
    np.testing.assert_array_equal(queue.read(memory), np.zeros(4))
    array.flags.writeable = False
    np.testing.assert_array_equal(queue.read(queue.upload(array)), np.ones(4))
    assert not array.flags.writeable, "an array that can't be written to stays so"


def test_reading_waits_for_the_copy(queue, monkeypatch):
    """Here a copy that is not waited for is never made."""
    memory, copy = queue.upload(np.ones(4, np.float32)), queue.cl.enqueue_copy

    def lazy(*args, is_blocking=True, **options):
        now = functools.partial(copy, *args, is_blocking=True, **options)
        return now() if is_blocking else SimpleNamespace(wait=now)

    monkeypatch.setattr(queue.cl, "enqueue_copy", lazy)
    monkeypatch.setattr(np, "empty", np.zeros)
    got = queue.read(memory)
    np.testing.assert_array_equal(got, np.ones(4), "given before the elements were there")


def test_reading_in_a_forked_process_is_refused(queue):
    """There a wait would never end. What is on the host can be read."""
    memory, on_host = queue.upload(np.ones(4, np.float32)), queue.upload(np.ones((0, 2)))
    queue.is_fork = True
    with pytest.raises(DeviceError, match="forked"):
        queue.read(memory)
        pytest.fail("check_process must be called before the copy")
    assert queue.read(on_host).shape == (0, 2)


def test_what_reads_a_result_waits_for_the_kernel_that_makes_it(queue):
    array = np.arange(1_000_000, dtype=np.float32)
    (twice,) = queue.build(TWICE, ["twice"])
    memories = [queue.upload(array), queue.allocate(array.shape, array.dtype)]
    queue.launch(twice, array.size, 1000, memories)
    np.testing.assert_array_equal(queue.read(memories[1]), 2 * array)


def test_kernels_may_write_to_what_was_brought_to_the_device(queue):
    memory = queue.upload(np.ones(4, np.float32))
    (twice,) = queue.build(TWICE, ["twice"])
    queue.launch(twice, 4, 1, [memory, memory])
    np.testing.assert_array_equal(queue.read(memory), np.full(4, 2))


def test_a_refusal_says_what_the_device_was_asked_for(queue, monkeypatch):
    def refused(*args, **kwargs):
        raise queue.cl.Error("out of luck")

    memory = queue.upload(np.ones((2, 4), np.float32))
    monkeypatch.setattr(queue.cl, "enqueue_copy", refused)
    with pytest.raises(DeviceError, match="copying a result from the device"):
        queue.read(memory)
    monkeypatch.setattr(queue.cl, "Buffer", refused)
    with pytest.raises(DeviceError, match=r"copying int8\[2, 4\] to the device"):
        queue.upload(np.ones((2, 4), np.int8))


def test_what_arrays_leave_behind_makes_room_for_new_ones(queue, monkeypatch):
    queue.allocate((1000,), np.dtype("float32"))
    new_buffer = queue.cl.Buffer

    def limited(*args, **kwargs):
        if queue.pool.managed_bytes:
            raise queue.cl.MemoryError("Buffer", -4, "none left")
        return new_buffer(*args, **kwargs)

    monkeypatch.setattr(queue.cl, "Buffer", limited)
    array = np.ones(4, np.float32)
    np.testing.assert_array_equal(queue.read(queue.upload(array)), array)


def test_calls_under_way_are_waited_for_if_they_have_the_memory(queue, monkeypatch):
    pool, allocate, size = queue.pool, queue.pool.allocate, 4000

    class Small:
        free_held = staticmethod(pool.free_held)

        def allocate(self, nbytes):
            if pool.active_bytes >= size:
                raise queue.cl.MemoryError("allocate", -4, "none left")
            return allocate(nbytes)

    monkeypatch.setattr(queue, "pool", Small())
    event = queue.cl.enqueue_marker(queue.queue)
    queue.pending.append((event, queue.allocate((1000,), np.dtype("float32")), size))
    queue.last_event = event
    assert queue.allocate((1000,), np.dtype("float32")).nbytes == size


def test_memory_of_an_array_that_is_gone_is_used_again(queue):
    for _ in range(3):
        queue.allocate((1000,), np.dtype("float32"))
    assert (queue.pool.held_blocks, queue.pool.active_blocks) == (1, 0)


def test_a_fork_reads_nothing_from_the_device(queue):
    memory = queue.upload(np.ones(4, np.float32))
    queue._note_fork()
    with pytest.raises(DeviceError, match="forked"):
        queue.read(memory)


def test_drawn_parts_of_arrays_go_to_memory_that_kernels_may_read_and_write(queue, monkeypatch):
    """Views of any rank, with steps and axes in any order."""
    cl, flags, buffer = queue.cl.mem_flags, [], queue.cl.Buffer
    monkeypatch.setattr(
        queue.cl,
        "Buffer",
        lambda *args, **options: flags.append(args[1]) or buffer(*args, **options),
    )

    @drawn(80, most=4)
    def check(rng, most):
        dtype = rng.choice(["int8", "float16", "int32", "float64", "complex64"])
        whole = rng.integers(0, 100, rng.integers(40 // most**2, 50 // most**2 + 5, most)).astype(
            dtype
        )
        steps = [int(rng.choice([-2, -1, 1, 2, 3])) for _ in range(most)]
        part = whole[tuple(slice(None, None, step) for step in steps)]
        part = part.transpose(rng.permutation(most))
        part = part[tuple(slice(int(rng.choice([1, 99, 99, 99]))) for _ in range(most))]
        part.flags.writeable = bool(rng.integers(2))
        with shown(dtype=dtype, shape=part.shape, steps=steps, strides=part.strides):
            back = queue.read(queue.upload(part))
            same(back, part, "what comes back", rtol=0)

    check()
    assert not any(flag & (cl.READ_ONLY | cl.WRITE_ONLY) for flag in flags), (
        "a kernel may read the memory, and write to it"
    )
