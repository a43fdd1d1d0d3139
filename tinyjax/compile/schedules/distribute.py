"""Loop distribution: one loop becomes several, each of which does a part of what an iteration did.

The first part of all iterations runs before the second part of any: what an iteration hands on in a variable
needs an array, with one element for each iteration ("scalar expansion"). A product's kernel keeps the sums of
a tile so, until its epilogue reads them.

Source: R. Allen, K. Kennedy, "Optimizing Compilers for Modern Architectures", sections 5.3 and 6.2.5, 2001
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from tinyjax.compile.kernel import kernel_ir as ir
from tinyjax.compile.kernel.indices import Index, index
from tinyjax.compile.kernel.substitution import relocated, replaced, substituted
from tinyjax.compile.schedules.dependences import numbers, why_in_order, why_not_numbered
from tinyjax.compile.schedules.directive import (
    Directive,
    axis_of,
    in_loops,
    loop_over,
    no_such_axis,
    why_not_perfect,
    with_loop,
)
from tinyjax.compile.schedules.nests import Fresh, names_in, stored_names


@dataclass(frozen=True)
class Distribute(Directive):
    """The loops over `axes`, each of which is all that the one before it has inside, end after the loop over
    `after` in the last of them; what follows it goes to loops of their own."""

    axes: tuple[str, ...]
    after: str

    def why_not(self, kernel: ir.Kernel) -> str:
        return why_not_around(kernel, self.axes, self.after)

    def _applied(self, kernel: ir.Kernel) -> ir.Kernel:
        nest = [loop_over(kernel, axis) for axis in self.axes]
        body = nest[-1].body
        number = body.index(loop_over(kernel, self.after)) + 1
        made, nests = distributed(nest, [body[:number], body[number:]], 0, Fresh(kernel))
        new = [*made, *itertools.chain(*nests)]
        return with_loop(kernel, axis_of(nest[0]), lambda _: new)


def why_not_around(kernel: ir.Kernel, axes: Sequence[str], inner: str) -> str:
    """Why the loop over `inner` can't be parted from what else is in the loops around it; empty if it can."""
    if reason := no_such_axis(kernel, *axes, inner):
        return reason
    *around, loop = (loop_over(kernel, axis) for axis in (*axes, inner))
    if reason := why_not_perfect(around):
        return reason
    if not any(s is loop for s in around[-1].body):
        return f"{inner} is no loop right in the loop over {axes[-1]}"
    for loop in around:
        if reason := why_not_numbered(loop) or why_in_order(loop):
            return reason
    return ""


def distributed(
    nest: Sequence[ir.For],
    parts: Sequence[list[ir.Statement]],
    keeps_names: int,
    fresh: Fresh,
    in_memory: bool = False,
) -> tuple[list[ir.Statement], list[list[ir.Statement]]]:
    """The statements that allocate arrays for all iterations of the nest, and its loops around each of the
    parts. A part that only sets variables to their initial values becomes their allocation; one part keeps
    the names. Parts update a variable in a register, or `in_memory`: in its element of the array."""
    expansion = _Expansion(nest, parts, fresh, in_memory)
    bodies = [expansion.part(number) for number in range(len(parts))]
    nests = [_around(nest, body, fresh, n == keeps_names) for n, body in enumerate(bodies)]
    return expansion.allocations, nests


def _around(
    nest: Sequence[ir.For], body: list[ir.Statement], fresh: Fresh, keeps_names: bool
) -> list[ir.Statement]:
    """The loops around another body."""
    if not body:
        return []
    names = {} if keeps_names else {axis_of(loop): fresh(axis_of(loop)) for loop in nest}
    return substituted(in_loops(nest, body), {}, names)


class _Expansion:
    """Finds what a part hands on to later ones, and gives it an array for all iterations."""

    def __init__(
        self,
        nest: Sequence[ir.For],
        parts: Sequence[list[ir.Statement]],
        fresh: Fresh,
        in_memory: bool,
    ):
        self.parts, self.fresh, self.in_memory = parts, fresh, in_memory
        self.at, self.count = numbers(nest)
        self.allocations: list[ir.Statement] = []
        self.handed_on: list[
            list[ir.Let | ir.Load | ir.Allocate]
        ] = []  # what makes it, of each part
        self.arrays: dict[str, ir.PrivateArray] = {}
        for number, part in enumerate(parts):
            later = names_in(list(parts[number + 1 :]))
            makers = [s for s in part if isinstance(s, ir.Let | ir.Load | ir.Allocate)]
            self.handed_on.append([s for s in makers if _made_by(s).name in later])
            for maker in self.handed_on[-1]:
                self._allocate(maker, self._only_allocates(number))

    def _allocate(self, maker: ir.Let | ir.Load | ir.Allocate, is_set: bool) -> None:
        thing = _made_by(maker)
        size = getattr(thing, "size", 1)
        array = ir.PrivateArray(
            self.fresh(f"each_{thing.name}"), thing.dtype, size * self.count, thing.width
        )
        self.arrays[thing.name] = array
        initial = maker.initial if isinstance(maker, ir.Allocate) and (is_set or size > 1) else None
        self.allocations.append(ir.Allocate(array, initial, origin=maker.origin))

    def _only_allocates(self, number: int) -> bool:
        return all(isinstance(s, ir.Allocate) for s in self.parts[number])

    def part(self, number: int) -> list[ir.Statement]:
        """The statements of a part, which begin by loading what they are handed, and end by storing what
        they hand on."""
        if self._only_allocates(number):
            return []
        statements, begin, end = self.parts[number], list[ir.Statement](), list[ir.Statement]()
        used, stored = names_in(statements), stored_names(statements)
        for earlier, makers in enumerate(self.handed_on[: number + 1]):
            is_handed = earlier < number
            for maker in makers:
                thing = _made_by(maker)
                if thing.name not in used:
                    continue
                is_loaded_only = is_handed and thing.name not in stored
                is_element = is_loaded_only or (is_handed and self.in_memory)
                if isinstance(thing, ir.PrivateArray) and (thing.size > 1 or is_element):
                    array = self.arrays[thing.name]
                    statements = in_array(statements, thing, array, self.at * thing.size)
                    continue
                with ir.statements_of(maker.origin):
                    begin += self._loaded(thing) if is_handed else []
                    end += [] if is_handed and is_loaded_only else self._stored(thing)
        return [*begin, *statements, *end]

    def _loaded(self, thing: ir.Value | ir.PrivateArray) -> list[ir.Statement]:
        """What gives a value or variable that an earlier part made."""
        array = self.arrays[thing.name]
        if isinstance(thing, ir.Value):
            return [ir.Load(thing, array, self.at)]
        value = ir.Value(self.fresh("t"), thing.dtype, thing.width)
        return [
            ir.Load(value, array, self.at),
            ir.Allocate(thing, None),
            ir.Store(thing, index(0), value),
        ]

    def _stored(self, thing: ir.Value | ir.PrivateArray) -> list[ir.Statement]:
        """What keeps it for later parts, or for this one's next turn."""
        array = self.arrays[thing.name]
        if isinstance(thing, ir.Value):
            return [ir.Store(array, self.at, thing)]
        value = ir.Value(self.fresh("t"), thing.dtype, thing.width)
        return [ir.Load(value, thing, index(0)), ir.Store(array, self.at, value)]


def in_array(
    body: list[ir.Statement], old: ir.PrivateArray, new: ir.PrivateArray, first: Index
) -> list[ir.Statement]:
    """The statements with the elements of another array, from `first` on, in place of a private array."""
    kept = replaced(body, lambda s: [] if isinstance(s, ir.Allocate) and s.array == old else [s])
    return relocated(kept, lambda memory, at: (new, first + at) if memory == old else None)


def _made_by(maker: ir.Let | ir.Load | ir.Allocate) -> ir.Value | ir.PrivateArray:
    return maker.array if isinstance(maker, ir.Allocate) else maker.target
