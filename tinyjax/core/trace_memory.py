"""Caches of traced functions: each entry lives as long as its function.

A loop's body that is used again is not traced again. `jax.clear_caches` empties all these caches.
"""

from __future__ import annotations

from collections.abc import Callable
from weakref import WeakKeyDictionary

_traces: list[WeakKeyDictionary[Callable, dict]] = []


def memory_of_traces() -> WeakKeyDictionary[Callable, dict]:
    """A cache of traced functions, which `forget_traces` empties."""
    _traces.append(WeakKeyDictionary())
    return _traces[-1]


def forget_traces() -> None:
    for memory in _traces:
        memory.clear()


def memory_of(caches: WeakKeyDictionary[Callable, dict], fun: Callable) -> dict:
    """The cache of a function in `caches`, which lives as long as the function. A function without a hash
    or weak references gets an empty one."""
    try:
        return caches.setdefault(fun, {})
    except TypeError:
        return {}
