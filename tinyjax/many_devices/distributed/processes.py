"""The processes of a program: their numbers, their synchronization, and their common end.

Before the processes compute something together, they *agree*: each describes the collective in a short text,
and one small message compares all texts; arrays that are small enough are part of it. If texts differ, the
processes exchange them, and each raises an error with all of them. The end of a program is such a text too.
Deadlocked processes, which wait for each other at different collectives, detect it (whereabouts.py). An
uncaught exception ends all processes with its message; so does a killed process, and a wait of more than
`tinyjax_collective_timeout_seconds`.

Before `jax.distributed.initialize` there is one process, and mpi4py is not imported.

Source: https://www.mpi-forum.org/docs; https://mpi4py.readthedocs.io
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import itertools
import json
import os
import select
import socket
import sys
import threading
import time
import traceback
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, NoReturn

import numpy as np

from tinyjax.core.config import config
from tinyjax.core.runtime_errors import JaxRuntimeError
from tinyjax.many_devices.distributed.shared_memory import SharedMemory, shared_memory
from tinyjax.many_devices.distributed.waiting import wait_for

THE_END = "the end of the program"
# bytes of the message by which processes agree: its cost hardly depends on a few bytes
RECORD = 256
PATIENCE = 1.0  # seconds after which a waiting process looks for the others

Kinds = Sequence[tuple[tuple[int, ...], np.dtype]]  # shapes and dtypes of arrays

# ---- this process, and the others ----


@dataclass
class World:
    """All processes, as seen by process `index`. `watch` is the connection to the rendezvous server; None
    under mpiexec, which watches the processes itself."""

    mpi: Any  # the module mpi4py.MPI
    index: int
    count: int
    watch: socket.socket | None = None
    is_over: bool = False

    def __post_init__(self) -> None:
        self.lock = threading.RLock()  # MPI is called by one thread at a time
        self.groups: dict[tuple[int, ...], Group] = {}
        self.entered: dict[tuple[int, ...], int] = {}  # number of meetings so far, by group
        self.waiting: Meeting | None = None  # and the start of the wait
        self.since = 0.0
        self.directory: Any = None  # of whereabouts.py, once created


_worlds: list[World] = []  # one, once it is entered
when_several: list[Callable[[], None]] = []  # what is called then, if there are others in it


def is_initialized() -> bool:
    """Whether this process has called `jax.distributed.initialize`, and not yet `shutdown`."""
    return bool(_worlds) and not _worlds[0].is_over


def world() -> World:
    """All processes. Raises RuntimeError if there is only one, or after shutdown."""
    if not is_initialized():
        raise RuntimeError(
            "there are no other processes to meet: call jax.distributed.initialize() first, and "
            "jax.distributed.shutdown() last"
        )
    return _worlds[0]


def process_index(backend: str | None = None) -> int:
    """This process's number. (All backends have the same processes.)"""
    return _worlds[0].index if _worlds else 0


def process_count(backend: str | None = None) -> int:
    """The number of processes."""
    return _worlds[0].count if _worlds else 1


def process_indices(backend: str | None = None) -> list[int]:
    """The numbers of all processes."""
    return list(range(process_count()))


def start_mpi(watch: socket.socket | None) -> World:
    """Start MPI, which reads its rank from the environment."""
    import mpi4py

    # Threads call MPI one at a time: "multiple" makes small messages ten times as slow.
    mpi4py.rc.thread_level = "serialized"
    mpi4py.rc.finalize = False  # `part` does it if all have reached the end
    from mpi4py import MPI

    for name in ("PMI_FD", "PMI_RANK", "PMI_SIZE"):  # not passed on to programs started by this one
        os.environ.pop(name, None)
    made = World(MPI, MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size, watch)
    _worlds.append(made)
    if made.count > 1:
        for prepare in when_several:
            prepare()
        sys.excepthook = functools.partial(_end_by_exception, sys.excepthook)
        threading.Thread(target=_watch_over, args=[made], daemon=True, name="watch").start()
    atexit.register(_end)
    return made


# ---- groups of processes, which meet ----


class Group:
    """Some of the processes, by number, and their communicator."""

    def __init__(self, ranks: tuple[int, ...]):
        self.world, self.ranks = world(), ranks
        everybody, mpi = self.world.mpi.COMM_WORLD, self.world.mpi
        self.comm = everybody
        if ranks != tuple(range(self.world.count)):
            self.comm = everybody.Create_group(everybody.group.Incl(ranks))
        self.in_place, self.sum = mpi.IN_PLACE, mpi.SUM

    @functools.cached_property
    def shared_memory(self) -> SharedMemory | None:
        """Their shared memory, if they are on one machine. All of them must access it together."""
        return shared_memory(self.world.mpi, self.comm)

    def agree(self, meeting: Meeting) -> None:
        """Wait until the whole group is at a meeting with the same text, and read its values.

        Raises JaxRuntimeError in each process if texts differ."""
        wait_for(self.comm.Iallgather(meeting.sent, meeting.received))
        if meeting.numbers.tolist().count(meeting.number) != len(self.ranks):
            self._disagree(meeting.text)

    def _disagree(self, text: str) -> NoReturn:
        texts = self.comm.allgather(text)
        lines = [f"process {rank}: {text}" for rank, text in zip(self.ranks, texts)]
        raise JaxRuntimeError(
            "INTERNAL: The processes don't do the same: each has to come to the same collectives, in the "
            "same order, with the same shapes. They are at\n  " + "\n  ".join(lines)
        )


def group_of(ranks: tuple[int, ...]) -> Group:
    """The group of these processes, this one included; its first use synchronizes them."""
    groups = world().groups
    if ranks not in groups:
        groups[ranks] = Group(ranks)
    return groups[ranks]


def everybody() -> tuple[int, ...]:
    """The numbers of all processes."""
    return tuple(range(process_count()))


class Meeting:
    """`with Meeting(text, ranks) as group:` these processes synchronize for the collective that the text,
    equal in all of them, describes; they are `group` within the block.

    If arrays of `kinds` fit into the message, it carries them: within the block, `values` has an array with a
    row per process for each array given to `bring`. Otherwise `values` is None."""

    def __init__(self, text: str, ranks: tuple[int, ...], kinds: Kinds = ()):
        self.text, self.ranks = text, ranks
        self.number = zlib.crc32(text.encode())
        record, names = _record(kinds)
        own, of_all = np.zeros(1, record), np.zeros(len(ranks), record)
        own["number"] = self.number
        # in the type that MPI needs
        self.sent, self.received = own.view(np.uint8), of_all.view(np.uint8)
        self.numbers = of_all["number"]
        self.brought = [own[name][0, ...] for name in names]
        self.values = [of_all[name] for name in names] if len(names) == len(kinds) else None

    def bring(self, arrays: Sequence[np.ndarray]) -> None:
        """Put arrays into the message. The thread holds the world's lock until it has read the values."""
        for place, array in zip(self.brought, arrays):
            place[...] = array

    def __enter__(self) -> Group:
        made = self.world = world()
        made.lock.acquire()
        made.entered[self.ranks] = made.entered.get(self.ranks, 0) + 1
        made.since, made.waiting = time.monotonic(), self
        try:
            group = group_of(self.ranks)
            group.agree(self)
        except BaseException:
            self.__exit__()
            raise
        return group

    def __exit__(self, *exception: object) -> None:
        self.world.waiting = None
        self.world.lock.release()


def _record(kinds: Kinds) -> tuple[np.dtype, list[str]]:
    """A process's message for a meeting: the hash of its text, and, if they fit, arrays with these names. All
    records have the same size, as a process at another meeting sends one too."""
    formats = [np.dtype((dtype, shape)) for shape, dtype in kinds]
    ends = list(itertools.accumulate((-(-f.itemsize // 8) * 8 for f in formats), initial=8))
    names = [f"array {n}" for n in range(len(kinds))] if ends[-1] <= RECORD else []
    fields: Any = {
        "names": ["number", *names],
        "formats": [np.dtype(np.int64), *formats][: 1 + len(names)],
        "offsets": [0, *ends][: 1 + len(names)],
        "itemsize": RECORD,
    }
    return np.dtype(fields), names


# ---- the end ----


def part(text: str) -> None:
    """End all processes' work together. Raises JaxRuntimeError if one of them is at something else."""
    with Meeting(text, everybody()):
        pass
    _worlds[0].is_over = True
    _worlds[0].mpi.Finalize()


def _end() -> None:
    """Runs at the end of a program that didn't call `shutdown`."""
    if not is_initialized():
        return
    try:
        part(THE_END)
    except JaxRuntimeError as error:
        print(error, file=sys.stderr, flush=True)
        time.sleep(1)  # the others have received it too, and may report their own positions
        end_all(f"it has come to its end before the others: {error}")


def end_all(last_words: str) -> NoReturn:
    """End all processes at once; waiting ones can't be reached otherwise."""
    (made,) = _worlds
    made.is_over = True
    sys.stdout.flush()
    sys.stderr.flush()
    if made.watch is None:
        time.sleep(0.3)  # give mpiexec, which then ends at once, time to pass on the output
        made.mpi.COMM_WORLD.Abort(1)
    else:
        with contextlib.suppress(OSError):  # the others may have ended already
            made.watch.sendall(f"{json.dumps(last_words)}\n".encode())
    os._exit(1)


def _end_by_exception(
    say: Any, kind: type[BaseException], error: BaseException, where: TracebackType | None
) -> None:
    """Python calls this for an uncaught exception."""
    say(kind, error, where)
    if is_initialized():
        last_words = "".join(traceback.format_exception_only(kind, error)).strip()
        print(f"process {process_index()} ends all others", file=sys.stderr)
        end_all(last_words)


def _watch_over(made: World) -> None:
    """The thread that detects a failed process, or an endless wait of this one."""
    asked = 0.0  # when it was
    while not made.is_over:
        if made.watch is None:
            time.sleep(0.2)
        elif select.select([made.watch], [], [], 0.2)[0]:
            _stop(made, _news(made.watch))
        waiting = made.waiting
        if waiting is None:
            asked = 0.0
            continue
        limit, now = config.tinyjax_collective_timeout_seconds, time.monotonic()
        if now - max(made.since, asked) > min(PATIENCE, limit):
            news = "" if made.directory is None else made.directory.news()
            if not news and now - made.since > limit:
                news = _too_late(made, waiting.text, limit)
            if news:
                _stop(made, news)
            asked = time.monotonic()


def _too_late(made: World, text: str, limit: float) -> str:
    """The message about processes that are missing after the timeout; empty if all are only slow."""
    missing = "others" if made.directory is None else made.directory.missing()
    return missing and (
        f"it has waited for {limit:g} s at: {text}. It waits for {missing}. If that is only slow, raise the "
        "limit, TINYJAX_COLLECTIVE_TIMEOUT_SECONDS"
    )


def _news(watch: socket.socket) -> str:
    try:
        return json.loads(watch.makefile().readline())
    except (OSError, ValueError):
        return "the server of the rendezvous has ended"


def _stop(made: World, news: str) -> None:
    """End this process, which may be waiting in MPI: its launcher notices, and ends the others."""
    if made.is_over:
        return
    print(f"process {made.index} ends: {news}", file=sys.stderr, flush=True)
    sys.stdout.flush()
    if made.watch is not None:
        with contextlib.suppress(OSError):
            made.watch.sendall(f"{json.dumps(news)}\n".encode())
    os._exit(1)
