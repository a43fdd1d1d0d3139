"""Events reported by libraries, and listeners to them.

`record_event("/checkpoint/saved")` calls every listener with the name and the keyword arguments. JAX itself
reports its compilations in this way; tinyjax reports no events (`jax.config.update("jax_log_compiles", True)`
logs compilations).

Source: https://docs.jax.dev/en/latest/jax.monitoring.html
"""

from __future__ import annotations

from collections.abc import Callable

Listener = Callable[..., None]

_listeners: dict[str, list[Listener]] = {"event": [], "duration": [], "time span": [], "scalar": []}


def record_event(event: str, **kwargs: str | int) -> None:
    """Call each event listener with the name, such as "/checkpoint/saved", and the keyword arguments."""
    for listener in _listeners["event"]:
        listener(event, **kwargs)


def record_event_duration_secs(event: str, duration: float, **kwargs: str | int) -> None:
    """Call each duration listener with the name and the seconds."""
    for listener in _listeners["duration"]:
        listener(event, duration, **kwargs)


def record_event_time_span(
    event: str, start_time: float, end_time: float, **kwargs: str | int
) -> None:
    """Call each time span listener with the name, the start and the end, in seconds."""
    for listener in _listeners["time span"]:
        listener(event, start_time, end_time, **kwargs)


def record_scalar(event: str, value: float | int, **kwargs: str | int) -> None:
    """Call each scalar listener with the name and the number."""
    for listener in _listeners["scalar"]:
        listener(event, value, **kwargs)


def register_event_listener(callback: Listener) -> None:
    """From now on, record_event calls `callback(event, **kwargs)`."""
    _listeners["event"].append(callback)


def register_event_duration_secs_listener(callback: Listener) -> None:
    """From now on, record_event_duration_secs calls `callback(event, duration, **kwargs)`."""
    _listeners["duration"].append(callback)


def register_event_time_span_listener(callback: Listener) -> None:
    """From now on, record_event_time_span calls `callback(event, start_time, end_time, **kwargs)`."""
    _listeners["time span"].append(callback)


def register_scalar_listener(callback: Listener) -> None:
    """From now on, record_scalar calls `callback(event, value, **kwargs)`."""
    _listeners["scalar"].append(callback)


def unregister_event_listener(callback: Listener) -> None:
    """Raises AssertionError, as JAX does, if it isn't registered; so do the next three."""
    _unregister("event", callback)


def unregister_event_duration_listener(callback: Listener) -> None:
    _unregister("duration", callback)


def unregister_event_time_span_listener(callback: Listener) -> None:
    _unregister("time span", callback)


def unregister_scalar_listener(callback: Listener) -> None:
    _unregister("scalar", callback)


def _unregister(kind: str, callback: Listener) -> None:
    if callback not in _listeners[kind]:
        raise AssertionError(f"{callback} is not registered as a listener to {kind}s")
    _listeners[kind].remove(callback)


def clear_event_listeners() -> None:
    """Forget all listeners of all four kinds."""
    for listeners in _listeners.values():
        listeners.clear()
