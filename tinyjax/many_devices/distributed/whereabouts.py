"""Deadlock detection: a waiting process asks the others where they are.

Suppose process 0 is at a sum of 0 and 1, process 1 at one of 1 and 2, and process 2 at one of 0 and 2. A
meeting only detects differences between processes of the same group, so a process that has waited for a
second asks where the others are. If a missing process waits elsewhere for one that also waits, and so on back
to the first, none of them will ever continue. Requests use separate connections, as a process that waits in
MPI can't answer there.

Source: https://en.wikipedia.org/wiki/Deadlock_(computer_science)
"""

from __future__ import annotations

import contextlib
import json
import secrets
import socket
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from tinyjax.many_devices.distributed.rendezvous import this_host

if TYPE_CHECKING:
    from tinyjax.many_devices.distributed.processes import World

Ranks = tuple[int, ...]


class Waiting(NamedTuple):
    """A process in a meeting: its text, the group, and the number of the group's meetings so far."""

    text: str
    ranks: Ranks
    number: int


class Whereabouts(NamedTuple):
    """A process's current meeting, if any, and its number of meetings so far in each group."""

    waiting: Waiting | None
    entered: Mapping[Ranks, int]


# ---- who waits for whom ----


def circle(start: int, ask: Callable[[int], Whereabouts | None]) -> dict[int, Waiting] | None:
    """The positions of processes that wait for each other in a circle with `start`; None if there is no
    circle.

    All are asked twice: one that is in the same place both times was there all the time in between."""
    found = _circle(start, ask)
    return found if found is not None and _circle(start, ask) == found else None


def _circle(start: int, ask: Callable[[int], Whereabouts | None]) -> dict[int, Waiting] | None:
    asked: dict[int, Whereabouts | None] = {}

    def where(process: int) -> Whereabouts | None:
        if process not in asked:
            asked[process] = ask(process)
        return asked[process]

    def search(process: int, followed: dict[int, Waiting]) -> dict[int, Waiting] | None:
        """Follow the processes that a process waits for, until one waits for `start`."""
        here = where(process)
        if here is None or here.waiting is None:
            return None
        waiting = here.waiting
        followed = {**followed, process: waiting}
        for other in waiting.ranks:
            is_new = other not in asked
            there = where(other)
            if there is None or there.entered.get(waiting.ranks, 0) >= waiting.number:
                continue  # its position is unknown, or it has arrived
            if other == start:
                return followed
            if is_new and (found := search(other, followed)):
                return found
        return None

    return search(start, {})


# ---- asking ----


class Directory:
    """Answers requests for this process's position, and asks others. All processes create theirs together
    after MPI has started."""

    def __init__(self, world: World):
        self.world, comm = world, world.mpi.COMM_WORLD
        hosts = comm.allgather(this_host())
        self.is_one_machine = len(set(hosts)) == 1
        self.listener = socket.create_server(("127.0.0.1" if self.is_one_machine else "", 0))
        self.secret = secrets.token_hex(8)
        place = socket.gethostname(), self.listener.getsockname()[1], self.secret
        self.places: list[tuple[str, int, str]] = comm.allgather(place)
        threading.Thread(target=self._answer, daemon=True, name="whereabouts").start()

    def news(self) -> str:
        """A description of the deadlock that this process is part of; "" if there is none."""
        found = circle(self.world.index, self.ask) or {}
        lines = [
            f"process {process}: {at.text}, of processes {', '.join(map(str, at.ranks))}"
            for process, at in sorted(found.items())
        ]
        if not found:
            return ""
        return (
            "The processes wait for each other: each has to come to the same collectives, in the same order. "
            "They are at\n  " + "\n  ".join(lines)
        )

    def missing(self) -> str:
        """The processes missing at this process's meeting, and where they are."""
        here = self.here().waiting
        if here is None:
            return ""
        found = []
        for process in here.ranks:
            there = self.ask(process)
            if there is None:
                found.append(f"process {process}, which does not answer")
            elif there.entered.get(here.ranks, 0) < here.number:
                at = f"is at: {there.waiting.text}" if there.waiting else "is at no collective"
                found.append(f"process {process}, which {at}")
        return "; ".join(found)

    def here(self) -> Whereabouts:
        """This process's position."""
        entered, at = self.world.entered.copy(), self.world.waiting
        waiting = None if at is None else Waiting(at.text, at.ranks, entered.get(at.ranks, 0))
        return Whereabouts(waiting, entered)

    def _answer(self) -> None:
        """The thread that answers requests with the secret."""
        while True:
            connection, _ = self.listener.accept()
            with contextlib.suppress(OSError), connection:
                connection.settimeout(1)
                if connection.recv(100).decode(errors="replace") == self.secret:
                    waiting, entered = self.here()
                    connection.sendall(json.dumps([waiting, list(entered.items())]).encode())

    def ask(self, process: int) -> Whereabouts | None:
        """A process's position; None if it doesn't answer."""
        if process == self.world.index:
            return self.here()
        name, port, secret = self.places[process]
        host = "127.0.0.1" if self.is_one_machine else name
        try:
            with socket.create_connection((host, port), timeout=1) as connection:
                connection.sendall(secret.encode())
                waiting, entered = json.loads(connection.makefile().read())
        except (OSError, ValueError):
            return None
        return Whereabouts(_waiting(waiting), {tuple(ranks): count for ranks, count in entered})


def _waiting(said: list | None) -> Waiting | None:
    return None if said is None else Waiting(said[0], tuple(said[1]), said[2])
