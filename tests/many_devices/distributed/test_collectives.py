"""Sums and stacks of small arrays, which travel in the message by which processes agree."""

import numpy as np
import pytest
from processes import by_mpiexec, needs_mpi

from tinyjax.many_devices.distributed.processes import RECORD, Meeting

FLOAT, BYTE = np.dtype(np.float32), np.dtype(np.int8)


def values_of(*kinds):
    values = Meeting("here", (0, 1, 2), kinds).values
    return None if values is None else [(value.shape, value.dtype) for value in values]


def test_arrays_travel_in_the_message_if_all_fit():
    room = RECORD - 8
    assert values_of(((), BYTE), ((2, 3), FLOAT)) == [((3,), BYTE), ((3, 2, 3), FLOAT)]
    assert values_of(((room,), BYTE)) == [((3, room), BYTE)]
    assert values_of(((room + 1,), BYTE)) is None
    assert values_of(((room - 8,), BYTE), ((1,), BYTE), ((1,), BYTE)) is None


def test_whoever_is_at_another_meeting_sends_as_many_bytes():
    few, many = Meeting("a", (0, 1), [((), FLOAT)]), Meeting("b", (0, 1), [((999,), FLOAT)])
    assert few.sent.size == many.sent.size == RECORD
    assert few.received.size == many.received.size == 2 * RECORD


PROGRAM = """
import warnings
import ml_dtypes
import numpy as np
import tinyjax as jax
from tinyjax.many_devices.distributed.collectives import Gather, Sum

warnings.simplefilter("error")
jax.distributed.initialize()
own, count = jax.process_index(), jax.process_count()


def check(*of_all):
    kinds, ranks = [(each.shape[1:], each.dtype) for each in of_all], tuple(range(count))
    given = [each[own, ...].copy() for each in of_all]
    stacks = [np.empty_like(each) for each in of_all]
    Gather(kinds, ranks, "test")(given, stacks)
    outs = [np.empty_like(each) for each in given]
    for to in (outs, given):  # the second time in place
        Sum(kinds, ranks, "test")(given, to)
        for sum, stack, each in zip(to, stacks, of_all, strict=True):
            np.testing.assert_array_equal(stack, each)
            with np.errstate(all="ignore"):
                expected = each.astype(np.float64).sum(0) if each.dtype != complex else each.sum(0)
                np.testing.assert_array_equal(sum, expected.astype(each.dtype))


for size in (3, 300, 100_000):
    numbers = np.arange(count * size).reshape(count, size) % 7
    check(numbers.astype(np.float32))
    check(numbers[:, 0].astype(np.int32), numbers.astype(ml_dtypes.bfloat16), numbers[:, :0] * 1.0)
    check(numbers.astype(np.int8), numbers > 2, numbers.astype(np.float16), numbers * 1j)
    check(np.full((count, size), 3e38, np.float32), np.full((count, size), 60_000, np.float16))
"""


@pytest.mark.slow
@needs_mpi
@pytest.mark.parametrize("count", [2, 3])
def test_sums_and_stacks_are_those_of_numpy_and_nobody_warns(count):
    ended = by_mpiexec(PROGRAM, count=count)
    assert (ended.status, ended.err) == (0, "")
