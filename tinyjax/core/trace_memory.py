"""Memories of what was traced: by the function, for as long as it lives.

A body of a loop that comes again is not traced again; `jax.clear_caches` forgets all of it.
"""

from __future__ import annotations

from collections.abc import Callable
from weakref import WeakKeyDictionary

_traces: list[WeakKeyDictionary[Callable, dict]] = []


def memory_of_traces() -> WeakKeyDictionary[Callable, dict]:
    """A memory of what was traced, which `forget_traces` empties."""
    _traces.append(WeakKeyDictionary())
    return _traces[-1]


def forget_traces() -> None:
    for memory in _traces:
        memory.clear()


def memory_of(caches: WeakKeyDictionary[Callable, dict], fun: Callable) -> dict:
    """What `caches` remembers of a function, for as long as it lives: of one without a hash or weak
    references, nothing."""
    try:
        return caches.setdefault(fun, {})
    except TypeError:
        return {}
