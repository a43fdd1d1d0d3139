"""A schedule: the directives that make a fast kernel of a naive loop nest, one after the other.

Each directive is a separate pass, whose kernel can be recorded. Rejected directives are recorded too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from tinyjax.compile.kernel.check_kernel import check_kernel
from tinyjax.compile.kernel.kernel_ir import Kernel
from tinyjax.compile.kernel.substitution import every_statement
from tinyjax.compile.record import Event, event, run_pass
from tinyjax.compile.schedules.directive import Directive, find_loop
from tinyjax.compile.schedules.fuse import Fuse
from tinyjax.compile.schedules.parallelize import Parallelize, split_work
from tinyjax.compile.schedules.partition import Partition
from tinyjax.compile.schedules.split import Split
from tinyjax.compile.schedules.vectorize import Vectorize

MAX_STATEMENTS = 1000  # of a kernel whose loops are cut: a driver needs seconds to compile more


class ScheduleBuilder:
    """A schedule under construction: `kernel` is the result of the directives so far."""

    def __init__(self, naive: Kernel):
        self.naive = self.kernel = naive
        self.directives: list[Directive] = []
        self.left_out: list[Event] = []

    def apply(self, *directives: Directive) -> None:
        """Raises ValueError for a directive that can't be applied."""
        for directive in directives:
            self.kernel = self._pass(directive, "applied", directive.why, directive.apply)
            self.directives.append(directive)

    def leave_out(self, directive: Directive, reason: str) -> None:
        """Records that a directive was considered, and why it was rejected."""
        self._pass(directive, "left out", reason, lambda kernel: kernel)
        self.left_out.append(Event(str(directive), "left out", reason))

    def apply_if_possible(self, *directives: Directive) -> bool:
        """Applies the directives in order if all are possible; returns whether it did."""
        kernel = self.kernel
        for directive in directives:
            if reason := directive.why_not(kernel):
                self.leave_out(directive, reason)
                return False
            if directive is not directives[-1]:
                kernel = directive.apply(kernel)
        self.apply(*directives)
        return True

    def _pass(
        self, directive: Directive, what: str, why: str, work: Callable[[Kernel], Kernel]
    ) -> Kernel:
        def run(kernel: Kernel) -> Kernel:
            event(directive, what, why)
            return work(kernel)

        name = type(directive).__module__.rpartition(".")[2]  # that of its file
        return run_pass(name, run, self.kernel, subject=self.naive.name)

    def finished(self) -> Kernel:
        """The checked kernel, with its naive loop nest and schedule. Raises KernelError if it is invalid."""
        check_kernel(self.kernel)
        schedule = (*self.directives, *self.left_out)
        return replace(self.kernel, naive=self.naive, schedule=schedule)

    # ---- helpers for choosing a schedule ----

    def size(self, axis: str) -> int:
        """How many iterations the loop over an axis has at most; one if there is none."""
        loop = find_loop(self.kernel, axis) if axis else None
        return 1 if loop is None else (loop.stop - loop.start).hi

    def fuse_axes(self, axes: Sequence[str], why: str) -> str:
        """Fuses axes into one and returns it, empty for no axes. Indices use division only if they must."""
        if len(axes) > 1:
            collapse = Fuse(tuple(axes), why=why)
            must_divide = bool(collapse.why_not(self.kernel))
            self.apply(replace(collapse, may_divide=must_divide))
        return "_".join(axes)

    def fuse_contiguous_axes(self, axes: Sequence[str], why: str) -> list[str]:
        """Fuses neighbouring axes, the last ones first, as long as no index then needs division; returns the
        axes that are left.
        """
        first = 0
        while len(axes) - first > 1 and Fuse(tuple(axes[first:])).why_not(self.kernel):
            first += 1
        before = self.fuse_contiguous_axes(axes[:first], why) if first else []
        return [*before, self.fuse_axes(axes[first:], why)]

    def partition(self, axis: str, why: str) -> bool:
        """Cuts a loop at its borders, unless it has none or too many pieces; returns whether it did."""
        most = max(MAX_STATEMENTS, len(every_statement(self.kernel.body)))
        for into_three in (False, True):
            directive = Partition(axis, into_three, why=why)
            if directive.why_not(self.kernel):
                return False
            if len(every_statement(directive.apply(self.kernel).body)) <= most:
                self.apply(directive)
                return True
        self.leave_out(directive, "its pieces would be too many")
        return False

    def can_vectorize(self, wanted: Vectorize) -> bool:
        """Whether a directive can be applied; if not, records why."""
        if reason := wanted.why_not(self.kernel):
            self.leave_out(wanted, reason)
        return not reason

    def vectorize(self, wanted: Vectorize, splits_one: bool = False) -> str:
        """Vectorizes an axis; returns the axis that numbers the vectors, which is empty if one vector holds
        all elements (it may still be split).
        """
        axis, width = wanted.axis, wanted.width
        if self.size(axis) > width:
            self.apply(wanted)
            return f"{axis}_outer"
        if not splits_one:
            self.apply(wanted)
            return ""
        self.apply(Split(axis, width, why=wanted.why), replace(wanted, axis=f"{axis}_inner"))
        return f"{axis}_outer"

    def share_out(self, axis: str, grain: int, most: int, why: str = "", multiple: int = 1) -> int:
        """Shares a loop out, if possible, among at most `most` work-items with at least `grain` iterations
        each, and a multiple of `multiple`; returns their number. A single iteration needs no loop.
        """
        count = math.ceil(self.size(axis) / multiple)
        items, run = split_work(count, grain // multiple, most)
        why = why or f"{run:,} iterations each, at least {max(1, grain):,}"
        shared = Parallelize(axis, items, multiple=multiple, why=why)
        is_shared = items > 1 or self.size(axis) == 1
        return items if is_shared and self.apply_if_possible(shared) else 1


def scheduled(naive: Kernel, schedule: Sequence[Directive]) -> Kernel:
    """The kernel that the directives make of a naive loop nest.

    Raises ValueError for a directive that can't be applied."""
    builder = ScheduleBuilder(naive)
    builder.apply(*schedule)
    return builder.finished()


def directive_lines(kernel: Kernel) -> Iterator[str]:
    """One line a directive, with its reason; then what was left out."""
    for step in kernel.schedule:
        if isinstance(step, Directive):
            yield f"{step}" + (f"  # {step.why}" if step.why else "")
        else:
            yield f"# not {step.about}: {step.why}"
