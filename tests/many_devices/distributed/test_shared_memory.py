"""Sums and stacks of processes of one machine, also of arrays larger than the memory that they share."""

import pytest
from processes import by_mpiexec, needs_mpi

from tinyjax.many_devices.distributed.shared_memory import Part, _turns

PROGRAM = """
import numpy as np
import tinyjax as jax
from tinyjax.many_devices.distributed import shared_memory
from tinyjax.many_devices.distributed.collectives import Gather, Sum

shared_memory.PIECE = 2**17
jax.distributed.initialize()
own, count = jax.process_index(), jax.process_count()
rng = np.random.default_rng(0)


def check(dtype, *sizes):
    of_all = [[rng.integers(0, 9, size).astype(dtype) for size in sizes] for _ in range(count)]
    kinds, ranks = [(array.shape, array.dtype) for array in of_all[0]], tuple(range(count))
    sums = [sum(arrays) for arrays in zip(*of_all)]
    outs = [np.empty_like(array) for array in of_all[own]]
    for to in (outs, of_all[own]):  # the second time in place
        Sum(kinds, ranks, "test")(of_all[own], to)
        for got, expected in zip(to, sums, strict=True):
            np.testing.assert_array_equal(got, expected)
    stacks = [np.empty((count, *array.shape), array.dtype) for array in outs]
    Gather(kinds, ranks, "test")([array + own for array in outs], stacks)
    for stack, array in zip(stacks, outs):
        np.testing.assert_array_equal(stack, [array + other for other in range(count)])


check(np.float32, 2**16)
check(np.float32, 3, 70_000, 0, 100_001, 10)
check(np.int32, 40_000, 40_000)
check(np.complex64, 50_001)
"""


def test_arrays_stand_behind_each_other_and_go_on_in_the_next_turn():
    assert list(_turns([3, 0, 6], 4)) == [
        [Part(0, slice(0, 3), slice(0, 3)), Part(2, slice(0, 1), slice(3, 4))],
        [Part(2, slice(1, 5), slice(0, 4))],
        [Part(2, slice(5, 6), slice(0, 1))],
    ]


@pytest.mark.slow
@needs_mpi
@pytest.mark.parametrize("count", [2, 3])
def test_sums_and_stacks_are_those_of_numpy(count):
    ended = by_mpiexec(PROGRAM, count=count)
    assert ended.status == 0, ended.err
