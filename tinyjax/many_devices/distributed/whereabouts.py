"""Where the others are: what a process that waits asks them, so that those who wait for each other end.

0 is at a sum of 0 and 1, 1 at one of 1 and 2, and 2 at one of 0 and 2. Only a meeting of the same processes
finds out what differs; but a process that has waited for a second asks where the others are. If one has not
come because it waits elsewhere, for one that waits too, and so on back to the first, then none of them will
ever come. Questions need connections of their own: MPI answers for nobody who waits in it.

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
    """A process that is in a meeting: what for, with whom, and how many such meetings it has come to."""

    text: str
    ranks: Ranks
    number: int


class Whereabouts(NamedTuple):
    """Where a process is: its current meeting, if any, and the number of meetings so far in each group."""

    waiting: Waiting | None
    entered: Mapping[Ranks, int]


# ---- who waits for whom ----


def circle(start: int, ask: Callable[[int], Whereabouts | None]) -> dict[int, Waiting] | None:
    """Processes that wait for each other, as `start` does for them: where each is; None if there are none.

    All are asked twice: who is found in one place both times was there all the while between."""
    found = _circle(start, ask)
    return found if found is not None and _circle(start, ask) == found else None


def _circle(start: int, ask: Callable[[int], Whereabouts | None]) -> dict[int, Waiting] | None:
    asked: dict[int, Whereabouts | None] = {}

    def where(process: int) -> Whereabouts | None:
        if process not in asked:
            asked[process] = ask(process)
        return asked[process]

    def search(process: int, followed: dict[int, Waiting]) -> dict[int, Waiting] | None:
        """Follows those whom a process waits for, until one waits for `start`."""
        here = where(process)
        if here is None or here.waiting is None:
            return None
        waiting = here.waiting
        followed = {**followed, process: waiting}
        for other in waiting.ranks:
            is_new = other not in asked
            there = where(other)
            if there is None or there.entered.get(waiting.ranks, 0) >= waiting.number:
                continue  # nobody knows, or it has come
            if other == start:
                return followed
            if is_new and (found := search(other, followed)):
                return found
        return None

    return search(start, {})


# ---- asking ----


class Directory:
    """Answers where this process is, and asks others. All processes create theirs together after MPI has
    started."""

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
        """What this process and others do that wait for each other; nothing, if they don't."""
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
        """Who has not come to the meeting that this process waits in, and where they are."""
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
        """Where this process is."""
        entered, at = self.world.entered.copy(), self.world.waiting
        waiting = None if at is None else Waiting(at.text, at.ranks, entered.get(at.ranks, 0))
        return Whereabouts(waiting, entered)

    def _answer(self) -> None:
        """The thread that answers requests that have the secret."""
        while True:
            connection, _ = self.listener.accept()
            with contextlib.suppress(OSError), connection:
                connection.settimeout(1)
                if connection.recv(100).decode(errors="replace") == self.secret:
                    waiting, entered = self.here()
                    connection.sendall(json.dumps([waiting, list(entered.items())]).encode())

    def ask(self, process: int) -> Whereabouts | None:
        """Where a process is; None if it does not say."""
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
