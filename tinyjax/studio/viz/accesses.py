"""What a kernel loads and stores, one access after the other, and the numbers that follow from that.

The interpreter runs the kernel and calls `_Recorder.watch` before each statement. Accesses to buffers and to
the local memory of groups are recorded, those to registers and private arrays are not.

Source of reuse distances: R. Mattson and others, "Evaluation techniques for storage hierarchies", 1970
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tinyjax.compile.kernel import kernel_ir as ir
from tinyjax.compile.kernel.indices import index_value
from tinyjax.compile.kernel.interpret import interpret_kernel

LIMIT = 5000  # accesses of a kernel, few enough to look at one by one
# The cache that traffic is counted with: small, as the arrays are. The oldest line makes room for a new one.
LINE_BYTES = 16
CACHE_LINES = 32


class TooManyAccesses(ValueError):
    """A kernel has more accesses than can be shown."""


@dataclass(frozen=True)
class Access:
    """One load or store of a work-item: of one element, or of the lanes of a vector together.

    Work-items run at once: `time` is the number of accesses that the item had before, and those of a group
    wait for each other at a barrier."""

    time: int
    item: int
    group: int
    line: int  # of the kernel's text; line 0 is its head
    array: str
    elements: range  # positions in the flat array
    is_load: bool
    is_store: bool
    loops: Mapping[str, int]  # variables of the loops around it


@dataclass
class Traffic:
    """The sums over all accesses to buffers. A work-item (of a group, all together) has its own cache."""

    accesses: int = 0
    steps: int = 0  # of the work-item that has most
    loads: int = 0  # elements
    stores: int = 0
    redundant: int = 0  # loads of elements that were loaded before, by any work-item
    moved: int = 0  # bytes that are loaded and stored
    fetched: int = 0  # bytes that don't come from the cache: whole lines
    local: int = 0  # elements that are loaded from or stored to local memory
    # How many other elements the group touched since it touched the same one before; how often.
    distances: Counter[int] = field(default_factory=Counter)

    @property
    def reuse(self) -> float | None:
        """The median reuse distance; None if no element is touched twice."""
        return float(np.median(list(self.distances.elements()))) if self.distances else None


def accesses_of(
    kernel: ir.Kernel, memory: Sequence[np.ndarray], limit: int = LIMIT
) -> list[Access]:
    """Runs the kernel on `memory`, a flat array for each buffer; gives its accesses, in the order of time.

    Raises TooManyAccesses if there are more than `limit`."""
    recorder = _Recorder(kernel, limit)
    interpret_kernel(kernel, memory, recorder.watch)
    return sorted(recorder.accesses, key=lambda access: (access.time, access.item))


class _Recorder:
    """Accesses as the interpreter comes to them."""

    def __init__(self, kernel: ir.Kernel, limit: int):
        self.kernel, self.limit = kernel, limit
        self.accesses: list[Access] = []
        self.lines = {id(s): line for line, (s, _) in _numbered(kernel)}
        self.loops = {id(s): loops for _, (s, loops) in _numbered(kernel)}
        self.times: dict[int, int] = defaultdict(int)  # by item
        self.arrived: dict[int, int] = defaultdict(int)  # at a barrier, by group

    def watch(self, statement: ir.Statement, scope: dict[str, Any]) -> None:
        group, size = scope["group_id"], self.kernel.local_size
        item = group * size + scope["local_id"]
        match statement:
            case ir.Load() | ir.Store() | ir.Combine():
                self._note(statement, item, scope)
            case ir.Barrier():
                self.arrived[group] += 1
                if self.arrived[group] == size:
                    self.arrived[group] = 0
                    everyone = range(group * size, (group + 1) * size)
                    self._wait(everyone, everyone)
            case ir.IfLast():
                if group == self.kernel.items // size - 1:  # the interpreter runs it last
                    self._wait([item], range(group * size))

    def _wait(self, items: Sequence[int], others: Sequence[int]) -> None:
        """Each of the items goes on when all the others have come this far."""
        latest = max((self.times[other] for other in others), default=0)
        self.times.update((item, max(latest, self.times[item])) for item in items)

    def _note(self, statement: ir.Access, item: int, scope: dict[str, Any]) -> None:
        memory = statement.memory
        if isinstance(memory, ir.PrivateArray) and not memory.is_local:
            return
        if len(self.accesses) == self.limit:
            raise TooManyAccesses(
                f"{self.kernel.name} has too many loads and stores to look at one by one: call "
                "jax.viz.kernel with smaller arrays"
            )
        number = id(statement)
        self.accesses.append(
            Access(
                time=self.times[item],
                item=item,
                group=scope["group_id"],
                line=self.lines[number],
                array=memory.name,
                elements=_elements(statement, scope),
                is_load=not isinstance(statement, ir.Store),
                is_store=not isinstance(statement, ir.Load),
                loops={name: scope[name] for name in self.loops[number]},
            )
        )
        self.times[item] += 1


def _elements(statement: ir.Access, scope: dict[str, Any]) -> range:
    """The positions that an access touches: up to its end, if it has one."""
    first, width = index_value(statement.index, scope), ir.width_of(statement)
    if isinstance(statement, ir.Combine):
        return range(first, first + 1)
    if statement.end is not None:
        least = 1 if isinstance(statement, ir.Load) else 0
        width = max(least, min(width, index_value(statement.end, scope) - first))
    return range(first, first + width * statement.stride, statement.stride)


def _numbered(kernel: ir.Kernel) -> Iterator[tuple[int, tuple[ir.Statement, tuple[str, ...]]]]:
    """The line of each statement in the kernel's text; the statement, and the loops around it."""

    def walk(body: Sequence[ir.Statement], loops: tuple[str, ...]) -> Iterator[Any]:
        for s in body:
            yield s, loops
            inside = (*loops, s.variable.args[0]) if isinstance(s, ir.For) else loops
            for number, inner in enumerate(ir.inner_bodies(s)):
                if number and (inner or isinstance(s, ir.While)):
                    yield None, loops  # "else:", "stop unless"
                yield from walk(inner, inside)

    for line, found in enumerate(walk(kernel.body, ()), 1):
        if found[0] is not None:
            yield line, found


# ---- numbers ----


def fetches_of(accesses: Sequence[Access], item_bytes: Mapping[str, int]) -> list[int]:
    """How many lines each access brings into the cache of its group. `item_bytes` has the buffers."""
    caches: dict[int, list[tuple[str, int]]] = defaultdict(
        list
    )  # the line touched last comes first
    fetches = []
    for access in accesses:
        missing = 0
        if access.array in item_bytes:
            cache = caches[access.group]
            per_line = max(1, LINE_BYTES // item_bytes[access.array])
            for line in dict.fromkeys(position // per_line for position in access.elements):
                found = (access.array, line)
                if found in cache:
                    cache.remove(found)
                else:
                    missing += 1
                    del cache[CACHE_LINES - 1 :]
                cache.insert(0, found)
        fetches.append(missing)
    return fetches


def traffic_of(accesses: Sequence[Access], item_bytes: Mapping[str, int]) -> Traffic:
    """The sums over accesses in the order of time. `item_bytes` has the buffers: bytes of an element."""
    traffic = Traffic()
    traffic.fetched = LINE_BYTES * sum(fetches_of(accesses, item_bytes))
    loaded: set[tuple[str, int]] = set()
    touched: dict[int, list[tuple[str, int]]] = defaultdict(list)  # as in fetches_of
    for access in accesses:
        traffic.steps = max(traffic.steps, access.time + 1)
        count = len(access.elements) * (access.is_load + access.is_store)
        if access.array not in item_bytes:
            traffic.local += count
            continue
        traffic.accesses += 1
        traffic.loads += len(access.elements) * access.is_load
        traffic.stores += len(access.elements) * access.is_store
        traffic.moved += count * item_bytes[access.array]
        for position in access.elements:
            element = (access.array, position)
            traffic.redundant += access.is_load and element in loaded
            if access.is_load:
                loaded.add(element)
            _touch(touched[access.group], element, traffic.distances)
    return traffic


def _touch(recent: list[Any], element: Any, distances: Counter[int]) -> None:
    """Moves the element to the front of those that were touched; counts its distance from there."""
    if element in recent:
        distance = recent.index(element)
        distances[distance] += 1
        del recent[distance]
    recent.insert(0, element)
