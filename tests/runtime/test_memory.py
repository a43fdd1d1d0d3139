import gc
import threading

import numpy as np
import pytest
from drawn import drawn, shown
from judged import each_error, error_passes, raises

from tinyjax.core.dtypes import bfloat16, key_dtype
from tinyjax.runtime import memory
from tinyjax.runtime.memory import Pool

F32 = np.dtype(np.float32)


@pytest.fixture
def pool():
    return Pool(register=lambda host: host.ctypes.data)


def address(array):
    return array.ctypes.data


def test_memory_is_used_again_when_its_array_is_gone(pool):
    first, handle = pool.array((3, 5), F32)
    at = address(first)
    assert address(pool.array((3, 5), F32)[0]) != at
    del first
    again, its_handle = pool.array((15,), F32)
    assert (address(again), its_handle) == (at, handle)
    del again
    several = [pool.array((7, 9), F32)[0] for _ in range(4)]
    at = {address(array) for array in several}
    del several
    several = [pool.array((9, 7), F32)[0] for _ in range(4)]
    assert {address(array) for array in several} == at, "of four free blocks, all are used again"
    large, _ = pool.array((10_000,), F32)
    at = address(large)
    del large
    assert address(pool.array((10_000,), F32)[0]) == at


def test_memory_is_registered_once():
    seen = []
    pool = Pool(register=lambda host: seen.append(host.ctypes.data) or len(seen))
    for _ in range(3):
        _, handle = pool.array((3, 5), F32)
        assert (handle, len(seen)) == (1, 1), f"one block was registered {len(seen)} times"


def test_memory_of_another_size_is_not(pool):
    small, _ = pool.array((3,), F32)
    large, _ = pool.array((1000,), F32)
    places = {address(small), address(large)}
    del small, large
    middle, _ = pool.array((500,), F32)
    assert address(middle) not in places


def test_memory_is_lent_to_one_array_at_a_time(pool):
    first, _ = pool.array((3, 5), F32)
    del first
    arrays = [pool.array((3, 5), F32)[0] for _ in range(3)]
    assert len(set(map(address, arrays))) == 3
    assert len(pool.lent) == 3


VIEWS = {
    "transposed": lambda x: x.T,
    "a part": lambda x: x[1:, ::2],
    "a view of a view": lambda x: x.reshape(-1)[3:].view(np.int32)[None],
    "an element's place": lambda x: x[1, 1, ...],
    "a memoryview": memoryview,
    "an iterator": lambda x: iter(x),
    "read-only": lambda x: np.broadcast_to(x, (2, 3, 5)),
    "a capsule": lambda x: np.from_dlpack(x),
}


@pytest.mark.parametrize("kind", VIEWS)
def test_memory_is_not_used_again_while_there_is_a_view(pool, kind):
    array, _ = pool.array((3, 5), F32)
    at = address(array)
    view = VIEWS[kind](array)
    del array
    gc.collect(0)
    assert address(pool.array((3, 5), F32)[0]) != at
    del view
    gc.collect(0)
    assert at in [address(x) for x in [pool.array((3, 5), F32)[0] for _ in range(3)]]


@pytest.mark.parametrize("dtype", [np.int8, np.float64, np.complex64, bfloat16, key_dtype])
def test_arrays_of_all_dtypes_begin_at_multiples_of_64_bytes(pool, dtype):
    array, _ = pool.array((2, 3), np.dtype(dtype))
    assert (array.shape, array.dtype) == ((2, 3), dtype)
    assert address(array) % 64 == 0
    array[:] = np.zeros((2, 3), dtype)


def test_what_is_kept_is_limited(pool, monkeypatch):
    monkeypatch.setattr(memory, "MAX_FREE_BYTES", 1000)
    for count in (100, 120, 200, 300):
        pool.array((count,), F32)
        pool.collect()
        assert pool.free_bytes <= 1000
    assert pool.free_bytes == sum(s * len(blocks) for s, blocks in pool.free.items())


def test_what_was_kept_makes_room_for_what_is_used_now(pool, monkeypatch):
    monkeypatch.setattr(memory, "MAX_FREE_BYTES", 1000)
    pool.array((200,), F32)  # 832 bytes with their alignment
    pool.collect()
    pool.array((100,), F32)  # 448
    pool.collect()
    assert {size for size, blocks in pool.free.items() if blocks} == {448}
    assert pool.free_bytes == 448
    monkeypatch.setattr(memory, "MAX_FREE_BYTES", 448 + 832)
    pool.array((200,), F32)
    pool.collect()
    assert pool.free_bytes == 448 + 832, "what just fits is kept beside the others"


def test_what_is_larger_than_all_that_may_be_kept_is_not(pool, monkeypatch):
    monkeypatch.setattr(memory, "MAX_FREE_BYTES", 1000)
    for count in (100, 1000):
        pool.array((count,), F32)
        pool.collect()
    kept = [size for size, blocks in pool.free.items() if blocks]
    assert (kept, pool.free_bytes, len(pool.lent)) == ([], 0, 0), "the others are forgotten too"
    monkeypatch.setattr(memory, "MAX_FREE_BYTES", 448)
    pool.array((100,), F32)
    pool.collect()
    assert pool.free_bytes == 448, "what is as large as all that may be kept is kept"


def test_free_memory_is_counted(pool):
    arrays = [pool.array((count,), F32)[0] for count in (16, 16, 32)]
    arrays.clear()
    pool.collect()
    assert pool.free_bytes == 64 + 64 + 128
    kept, _ = pool.array((16,), F32)
    assert pool.free_bytes == 64 + 128
    arrays += [pool.array((100,), F32)[0] for _ in range(300)]
    arrays.clear()
    pool.collect()
    assert len(pool.free[448]) == 300 and len(pool.lent) == 1, "all that is gone is taken back"
    del kept


def test_arrays_may_end_in_other_threads(pool):
    arrays = [pool.array((8,), F32)[0] for _ in range(100)]
    threads = [threading.Thread(target=arrays.pop) for _ in range(100)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    pool.collect()
    assert not pool.lent
    assert pool.free_bytes == 100 * 64


def test_what_ends_while_others_are_taken_back_is_taken_back_too(pool):
    arrays = [pool.array((16,), F32)[0] for _ in range(3)]

    class Busy(dict):
        """As blocks are taken back, another array ends, as in another thread."""

        def __delitem__(self, key):
            super().__delitem__(key)
            arrays[:1] = []

    pool.lent = Busy(pool.lent)
    arrays[:1] = []
    pool.collect()
    told = "of three arrays, two ended while the first was taken back"
    assert (pool.lent, pool.free_bytes) == ({}, 3 * 64), f"{told}: {pool.free_bytes} bytes are free"


@each_error
def test_an_error_of_the_driver_goes_on_and_nothing_is_lent(error):
    with error_passes(error()) as raised:
        pool = Pool(register=raises(raised))
        try:
            pool.array((3,), F32)
        finally:
            assert not pool.lent and pool.free_bytes == 0


@drawn(20, most=30)
def test_drawn_arrays_come_and_go_as_in_a_list_of_free_blocks(rng, most):
    """Handles are numbers, from 0 on, of the blocks as they are made."""
    pool, arrays, free, made, told = Pool(register=lambda host: made.pop()), [], [], [], []
    count, limit = 0, 640
    sizes = [[1, 2, 5, 10, 11], [1, 2], [1]][int(rng.integers(3))]
    with pytest.MonkeyPatch.context() as patch, shown(sizes_or_gone=told):
        patch.setattr(memory, "MAX_FREE_BYTES", limit)
        for _ in range(most):
            if arrays and rng.random() < 0.5:
                place = int(rng.integers(len(arrays)))
                told.append(f"array {place} of {len(arrays)} is gone")
                size, handle = arrays.pop(place)[1:]
                if sum(size for size, _ in free) + size > limit:
                    free.clear()
                free += [(size, handle)] * (size <= limit)
                pool.collect()
            else:
                size = 64 * int(rng.choice(sizes))
                told.append(size)
                fits = [n for n, block in enumerate(free) if block[0] == size]
                made[:] = [count]
                array, handle = pool.array((size,), np.dtype("int8"))
                if fits:
                    want = free.pop(fits[-1])[1]
                    assert handle == want, (
                        f"block {want} of {size} bytes is free: not block {handle}"
                    )
                else:
                    assert handle == count, f"a new block is needed, number {count}, not {handle}"
                    count += 1
                arrays.append((array, size, handle))
                del array
            kept = sum(size for size, _ in free)
            assert pool.free_bytes == kept, f"{kept} bytes are free, and not {pool.free_bytes}"
