"""A core for each of PoCL's threads.

After this file you can say why a kernel may take as long on two cores as on one. A launch wakes the
driver's threads, and the system puts a thread that wakes on any core that it thinks free: often on that
of the thread that woke it, where the two take turns until the system looks again, some milliseconds later.
Most kernels are done by then. So threads that are as many as the cores stay on one each: on two cores
sums of 2000 rows take 0.17 ms for 0.31 and a training step of an MLP 0.5 for 0.7; with another program
on one of the cores, 0.30 for 0.32 and 0.74 for 0.84. Where threads are fewer, as other processes have some of
the cores, nobody knows which are free, and the system chooses. Builds on nothing.

Source: https://man7.org/linux/man-pages/man2/sched_setaffinity.2.html
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator


@contextlib.contextmanager
def one_core_each() -> Iterator[None]:
    """Threads that begin within the block each stay on one core, if they are as many as the cores that this
    process may use, on Linux. Nothing is done where the user has made PoCL's own setting, POCL_AFFINITY."""
    if sys.platform != "linux" or "POCL_AFFINITY" in os.environ:
        yield
        return
    before = _threads()
    yield
    cores, started = os.sched_getaffinity(0), _threads() - before
    if len(cores) == len(started):
        with contextlib.suppress(OSError):  # a sandbox may forbid it
            for thread, core in zip(sorted(started), sorted(cores)):
                os.sched_setaffinity(thread, {core})


def _threads() -> set[int]:
    """Those of this process, by the system's numbers."""
    return set(map(int, os.listdir("/proc/self/task")))
