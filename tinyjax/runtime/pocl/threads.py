"""A core for each of PoCL's threads, and a short turn at it.

A launch wakes the driver's threads, and the system may put a thread on any core that it considers free, often
on the core of the thread that woke it. Those two take turns until the scheduler looks again, milliseconds
later, when most kernels are finished. So, if there are as many threads as cores, each is pinned to its own
core: on two cores sums of 2000 rows take 0.17 ms instead of 0.31, and a training step of an MLP 0.5
instead of 0.7; with another program on one of the cores, 0.30 instead of 0.32, and 0.74 instead of 0.84. If
there are fewer threads, because other processes use some of the cores, the system chooses.

Each thread also asks Linux for short turns at its core. It then gets the next one sooner when another process
uses the core, whose time is shared equally as before. With another program on one of the cores, an n-body
simulation takes 7.0 ms instead of 8.0. Versions of Linux before 6.12 ignore it.

Source: https://man7.org/linux/man-pages/man2/sched_setaffinity.2.html and sched_setattr.2
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import struct
import sys
from collections.abc import Iterator

THREADS = "/proc/self/task"  # a sandbox may be without
SCHED_SETATTR = {"x86_64": 314, "aarch64": 274}  # Linux's number of this call
KEEP_POLICY = 8
TURN_NS = 100_000  # the shortest


@contextlib.contextmanager
def one_core_each() -> Iterator[None]:
    """Threads that begin within the block each stay on one core, if they are as many as the cores that this
    process may use, on Linux. Nothing is done where the user has made PoCL's own setting, POCL_AFFINITY."""
    if sys.platform != "linux" or not os.path.isdir(THREADS) or "POCL_AFFINITY" in os.environ:
        yield
        return
    before = _threads()
    yield
    cores, started = os.sched_getaffinity(0), _threads() - before
    if len(cores) == len(started):
        with contextlib.suppress(OSError):  # a sandbox may forbid it
            for thread, core in zip(sorted(started), sorted(cores)):
                os.sched_setaffinity(thread, {core})
                _ask_for_short_turns(thread)


def _threads() -> set[int]:
    """Those of this process, by the system's numbers."""
    return set(map(int, os.listdir(THREADS)))


def _ask_for_short_turns(thread: int) -> None:
    """Sets how long a thread runs at most while others wait for its core."""
    if number := SCHED_SETATTR.get(platform.machine()):
        nice = os.getpriority(os.PRIO_PROCESS, thread)
        # size, policy, flags, nice, priority, runtime, deadline, period
        attributes = struct.pack("IIQiIQQQ", 48, 0, KEEP_POLICY, nice, 0, TURN_NS, 0, 0)
        ctypes.CDLL(None).syscall(number, thread, attributes, 0)
