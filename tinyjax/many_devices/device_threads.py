"""Several OpenCL devices of one process: a thread for each runs its program, and collectives synchronize
them.

At a collective a device publishes its operands and waits for the others. All must have reached the same
collective. If a thread has failed or finished, the others raise an error instead of waiting, and the call
raises the first error.

Source: https://docs.python.org/3/library/threading.html#condition-objects
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any, NamedTuple, TypeVar

from tinyjax.core.config import config
from tinyjax.core.runtime_errors import JaxRuntimeError
from tinyjax.runtime.devices import Device

T = TypeVar("T")


class LeftAlone(JaxRuntimeError):
    """A device waited for one that had failed or finished."""


class Round:
    """The operands of a group's devices at one collective."""

    def __init__(self) -> None:
        self.things: dict[Device, tuple[str, Any]] = {}
        self.is_complete = False


class Call:
    """A call of a program that several devices run, each in a thread."""

    def __init__(self, devices: Sequence[Device]):
        self.devices = devices
        self.changed = threading.Condition()
        self.rounds: dict[tuple[Device, ...], Round] = {}  # by the expected devices
        self.ended: set[Device] = set()

    def meet(self, device: Device, group: tuple[Device, ...], text: str, thing: Any) -> list[Any]:
        """Wait for the whole group, and return its operands in order.

        Raises JaxRuntimeError if a member is at another collective, or has failed or finished."""
        with self.changed:
            this = self.rounds.setdefault(group, Round())
            this.things[device] = text, thing
            if len(this.things) == len(group):
                del self.rounds[group]  # the next round is separate
                this.is_complete = True
                self.changed.notify_all()
            else:
                gone = self.ended.intersection
                self.changed.wait_for(lambda: this.is_complete or gone(group))
        if not this.is_complete:
            raise LeftAlone(
                f"INTERNAL: {device!r} is at {text}, where others of {group} do not come: each device has to "
                "come to the same collectives, in the same order"
            )
        if len({said for said, _ in this.things.values()}) > 1:
            lines = "\n  ".join(f"{d!r}: {this.things[d][0]}" for d in group)
            raise JaxRuntimeError(
                "INTERNAL: The devices don't do the same: each has to come to the same collectives, in the "
                f"same order, with the same shapes. They are at\n  {lines}"
            )
        return [this.things[d][1] for d in group]

    def end(self, device: Device) -> None:
        """Record that a device has reached its last collective."""
        with self.changed:
            self.ended.add(device)
            self.changed.notify_all()


class Seat(NamedTuple):
    """The device whose program this thread runs, and the call."""

    call: Call
    device: Device


_of_thread = threading.local()  # its `seat`


def meet(group: tuple[Device, ...], text: str, thing: Any) -> list[Any]:
    """Contribute `thing` to the collective that `text` describes; return the contributions of all devices in
    order."""
    seat: Seat = _of_thread.seat
    return seat.call.meet(seat.device, group, text, thing)


def own_place(group: tuple[Device, ...]) -> int:
    """The index in the group of this thread's device."""
    return group.index(_of_thread.seat.device)


@functools.cache
def _threads() -> ThreadPoolExecutor:
    """Idle threads; new ones if too few are idle."""
    return ThreadPoolExecutor(max_workers=1024, thread_name_prefix="device")


def on_all(devices: Sequence[Device], work: Callable[[Device], T]) -> list[T]:
    """Run work(device) for all devices at the same time: for the first one in this thread.

    Raises the first error after all have ended."""
    call = Call(devices)
    settings = dict(vars(config))  # the flags set by this thread's `with` blocks

    def at(device: Device) -> T:
        before = getattr(_of_thread, "seat", None)
        _of_thread.seat = Seat(call, device)
        try:
            return work(device)
        finally:
            _of_thread.seat = before
            call.end(device)

    def elsewhere(device: Device) -> T:
        with config.as_in(settings):
            return at(device)

    others = [_threads().submit(elsewhere, device) for device in devices[1:]]
    errors: list[BaseException | None] = []
    try:
        first = at(devices[0])
    except BaseException as error:  # raised after the others have ended
        errors.append(error)
    wait(others)
    errors += [future.exception() for future in others]
    raised = [error for error in errors if error is not None]
    if raised:
        raise next((e for e in raised if not isinstance(e, LeftAlone)), raised[0])
    return [first, *(future.result() for future in others)]
