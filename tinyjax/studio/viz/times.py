"""A compiled call as a page's data: the times on the host and on the device's queue."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tinyjax.studio.recorder import Event


def times_data(events: Sequence[Event]) -> list[dict[str, Any]]:
    """The events of a call by start, in microseconds from the first start."""
    begin = min((event.start for event in events), default=0.0)
    return [_event_data(event, begin) for event in events]


def _event_data(event: Event, begin: float) -> dict[str, Any]:
    on_device = event.kind == "kernel"
    return {
        "lane": f"queue of {event.device}" if on_device else "host: NumPy, and loops of steps",
        "name": event.name,
        "start": round(event.start - begin, 3),
        "end": round(event.end - begin, 3),
        "waited": round(event.start - event.queued, 3) if event.queued is not None else None,
        "bytes": event.nbytes,
        "primitives": " ".join(event.primitives),
        "depth": len(event.loops),
    }
