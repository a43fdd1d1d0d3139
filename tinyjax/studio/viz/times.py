"""A compiled call as a page's data: what ran when, on the host and on the device's queue.

After this file you can say what the times' view has to work with: bars on a time axis, a lane for each
place where work is done. The call is the shortest of some, so that no other process's turn is in it.
Builds on recorder.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tinyjax.studio.recorder import Event, call_events

CALLS = 5


def times_data(run: Callable[[], Any]) -> list[dict[str, Any]]:
    """What happens in the shortest of some calls of `run`, by start, in microseconds from the first start."""
    events = min((call_events(run) for _ in range(CALLS)), key=_length)
    begin = min((event.start for event in events), default=0.0)
    return [_event_data(event, begin) for event in events]


def _length(events: list[Event]) -> float:
    if not events:
        return 0.0
    return max(event.end for event in events) - min(event.start for event in events)


def _event_data(event: Event, begin: float) -> dict[str, Any]:
    on_device = event.kind == "kernel"
    return {
        "lane": f"queue of {event.device}" if on_device else "host: NumPy, and loops of steps",
        "name": event.name,
        "start": event.start - begin,
        "end": event.end - begin,
        "waited": event.start - event.queued if event.queued is not None else None,
        "bytes": event.nbytes,
        "primitives": " ".join(event.primitives),
        "depth": len(event.loops),
    }
