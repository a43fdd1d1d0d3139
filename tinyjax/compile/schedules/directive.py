"""What a schedule is made of: directives, each of which rewrites one loop of a kernel.

A directive is a frozen dataclass whose fields are its parameters. `why_not` returns why it can't be applied
to a kernel, and `_applied` returns the new kernel. A LoopDirective does both for a single loop. Axes are
named: an axis is the name of a For's variable. Loops may share a name, such as the pieces of one that was
cut: a LoopDirective is for all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from typing import Any, ClassVar

from tinyjax.compile.kernel import kernel_ir as ir
from tinyjax.compile.kernel.indices import Index
from tinyjax.compile.kernel.substitution import (
    allocated,
    every_statement,
    loaded_memory,
    replaced,
    stored_memory,
    substituted,
)


@dataclass(frozen=True)
class Directive:
    """One step of a schedule. `why` is the reason it was chosen."""

    why: str = field(default="", kw_only=True, compare=False)

    def why_not(self, kernel: ir.Kernel) -> str:
        """Why it can't be applied to this kernel; empty if it can."""
        raise NotImplementedError

    def tried(self, kernel: ir.Kernel) -> ir.Kernel | str:
        """Another kernel that computes the same, or why it can't be applied."""
        return self.why_not(kernel) or self._applied(kernel)

    def apply(self, kernel: ir.Kernel) -> ir.Kernel:
        """Another kernel that computes the same. Raises ValueError where there is a reason not to."""
        made = self.tried(kernel)
        if isinstance(made, str):
            raise ValueError(f"{self} can't be applied to {kernel.name}: {made}")
        return made

    def _applied(self, kernel: ir.Kernel) -> ir.Kernel:
        raise NotImplementedError

    def __str__(self) -> str:
        """As it is written in Python, without the reason."""
        values = [(f, getattr(self, f.name)) for f in fields(self) if f.name != "why"]
        given = [(f, value) for f, value in values if value != f.default]
        written = [f"{'' if f.default is MISSING else f'{f.name}='}{value!r}" for f, value in given]
        return f"{type(self).__name__}({', '.join(written)})"


@dataclass(frozen=True)
class LoopDirective(Directive):
    """A directive for all loops over `axis`, or for the outermost while if `axis` is empty."""

    axis: str
    may_be_while: ClassVar[bool] = False

    def why_not(self, kernel: ir.Kernel) -> str:
        if not self.axis and not self.may_be_while:
            return "it is for a loop over an axis, and needs its name"
        loop = find_loop(kernel, self.axis)
        if loop is None:
            return no_such_axis(kernel, self.axis) if self.axis else "it has no while"
        over_axis = loops_over(kernel, self.axis) or [loop]
        step = max(getattr(s, "step", 1) for s in over_axis)
        if step > 1:
            return f"it takes only every {step}th iteration of {self.axis}"
        return next(filter(None, (self._why_not(kernel, s) for s in over_axis)), "")

    def _why_not(self, kernel: ir.Kernel, loop: Any) -> str:
        raise NotImplementedError

    def _applied(self, kernel: ir.Kernel) -> ir.Kernel:
        return with_loop(kernel, self.axis, self._changed)

    def _changed(self, loop: Any) -> ir.Body:
        """The statements that replace the loop."""
        raise NotImplementedError


# ---- axes ----


def axis_of(loop: ir.For) -> str:
    """The name of a loop's variable."""
    return loop.variable.args[0]


def loops_of(body: ir.Body) -> list[ir.For]:
    """All loops, outer ones first."""
    return [s for s in every_statement(body) if isinstance(s, ir.For)]


def loops_over(kernel: ir.Kernel, axis: str) -> list[ir.For]:
    """All loops over an axis."""
    return [s for s in kernel.statements if isinstance(s, ir.For) and axis_of(s) == axis]


Path = list[tuple[ir.Body, Any]]


def path_to(body: ir.Body, axis: str) -> Path:
    """The path to the loop over an axis, or to the outermost while if the axis is empty: each body, with the
    index of the statement to enter, the loop last. Empty if there is no such loop."""
    for s in body:
        if axis_of(s) == axis if isinstance(s, ir.For) else not axis and isinstance(s, ir.While):
            return [(body, s)]
        for name in ir.BODIES.get(type(s), ()):
            if path := path_to(getattr(s, name), axis):
                return [(body, s), *path]
    return []


def find_loop(kernel: ir.Kernel, axis: str) -> Any:
    """The loop over an axis, or the outermost while if that is empty; None if there is none."""
    path = path_to(kernel.body, axis)
    return path[-1][1] if path else None


def loop_over(kernel: ir.Kernel, axis: str) -> Any:
    """The loop over an axis that the kernel has."""
    loop = find_loop(kernel, axis)
    assert loop is not None, no_such_axis(kernel, axis)
    return loop


def no_such_axis(kernel: ir.Kernel, *axes: str) -> str:
    """An error message if the kernel lacks one of these axes; empty if it has all."""
    there = [axis_of(loop) for loop in loops_of(kernel.body)]
    for axis in axes:
        if axis not in there:
            those = f"; its axes are {', '.join(there)}" if there else ", and no loops"
            return f"it has no axis {axis!r}{those}"
    return ""


# ---- nests ----


def perfect_nest(body: Sequence[ir.Statement]) -> list[ir.For]:
    """The outermost loops of a perfect nest: each is the only statement of the one before it."""
    nest: list[ir.For] = []
    while len(body) == 1 and isinstance(body[0], ir.For):
        nest.append(body[0])
        body = body[0].body
    return nest


def why_not_perfect(loops: Sequence[ir.For]) -> str:
    """Why these loops are no perfect nest; empty if they are."""
    for outer, inner in zip(loops, loops[1:]):
        if len(outer.body) != 1 or outer.body[0] is not inner:
            return f"{axis_of(inner)} is not all that the loop over {axis_of(outer)} has inside"
    return ""


def in_loops(loops: Sequence[ir.For], body: ir.Body) -> ir.Body:
    """The statements in these loops, outer ones first."""
    for loop in reversed(loops):
        body = [replace(loop, body=body)]
    return body


def every_nth(loop: ir.For, first: Index, step: int) -> ir.Body:
    """The iterations of one of `step` that share a loop; a single one needs no loop."""
    start = loop.start + first
    if (loop.stop - loop.start).is_const(step):
        return substituted(loop.body, {axis_of(loop): start})
    return [replace(loop, start=start, step=step)]


# ---- changes ----


def with_loop(kernel: ir.Kernel, axis: str, change: Callable[[Any], ir.Body]) -> ir.Kernel:
    """The kernel with change(loop) in place of the loop over an axis, or of the outermost while."""
    outermost = None if axis else find_loop(kernel, "")

    def changed(statement: ir.Statement) -> ir.Body:
        is_over_axis = isinstance(statement, ir.For) and axis_of(statement) == axis
        return change(statement) if is_over_axis or statement is outermost else [statement]

    return replace(kernel, body=replaced(kernel.body, changed))


# ---- iterations that depend on each other ----


def accumulators_in(body: ir.Body) -> dict[ir.PrivateArray, ir.Combine]:
    """The accumulators made before the loop, each with the last statement that combines into it."""
    inside = every_statement(body)
    made = {s.array for s in inside if isinstance(s, ir.Allocate)}
    return {s.memory: s for s in inside if isinstance(s, ir.Combine) and s.memory not in made}


def carried(loop: ir.For) -> str:
    """What an iteration passes on to later ones; empty if nothing.

    That is memory from outside the iteration that it both stores to and loads."""
    stored = set(stored_memory(loop.body))
    private = {memory for memory in stored if not isinstance(memory, ir.Buffer)}
    return _outside(loop, private | stored & loaded_memory(loop.body))


def changed_again(loop: ir.For) -> str:
    """Memory that is wrong if an iteration runs twice: combined (not as max or min), or loaded and stored."""
    combines = (s for s in every_statement(loop.body) if isinstance(s, ir.Combine))
    combined = {s.memory for s in combines if s.op not in ("max", "min")}
    return _outside(loop, combined | set(stored_memory(loop.body)) & loaded_memory(loop.body))


def _outside(loop: ir.For, memory: set[Any]) -> str:
    """The names of the memory from outside an iteration."""
    return ", ".join(sorted(part.name for part in memory - allocated(loop.body)))
