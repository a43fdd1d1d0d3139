"""A schedule: the directives that make a fast kernel of a naive loop nest, one after the other.

Each directive is a separate pass, whose kernel can be recorded. Rejected directives are recorded too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tinyjax.compile.kernel.check_kernel import check_kernel
from tinyjax.compile.kernel.kernel_ir import Kernel
from tinyjax.compile.record import Event, event, run_pass
from tinyjax.compile.schedules.directive import Directive

MAX_STATEMENTS = 1000  # of a kernel whose loops are cut: a driver needs seconds to compile more


class ScheduleBuilder:
    """A schedule under construction: `kernel` is the result of the directives so far."""

    def __init__(self, naive: Kernel):
        self.naive = self.kernel = naive
        self.directives: list[Directive] = []
        self.left_out: list[Event] = []
        # The last trial of each directive: on which kernel, and its result.
        self.trials: dict[Directive, tuple[Kernel, Kernel | str]] = {}

    def tried(self, directive: Directive, kernel: Kernel) -> Kernel | str:
        """The kernel with a directive applied, or why it can't be; computed once."""
        if directive not in self.trials or self.trials[directive][0] is not kernel:
            self.trials[directive] = kernel, directive.tried(kernel)
        return self.trials[directive][1]

    def apply(self, *directives: Directive) -> None:
        """Raises ValueError for a directive that can't be applied."""
        for directive in directives:
            made = self.tried(directive, self.kernel)
            if isinstance(made, str):
                made = directive.apply(self.kernel)  # raises the error
            self.kernel = self._pass(directive, "applied", directive.why, made)
            self.directives.append(directive)

    def leave_out(self, directive: Directive, reason: str) -> None:
        """Records that a directive was considered, and why it was rejected."""
        self._pass(directive, "left out", reason, self.kernel)
        self.left_out.append(Event(str(directive), "left out", reason))

    def apply_if_possible(self, *directives: Directive) -> bool:
        """Applies the directives in order if all are possible; returns whether it did."""
        kernel = self.kernel
        for directive in directives:
            made = self.tried(directive, kernel)
            if isinstance(made, str):
                self.leave_out(directive, made)
                return False
            kernel = made
        self.apply(*directives)
        return True

    def is_possible(self, directive: Directive) -> bool:
        """Whether a directive can be applied; if not, records why."""
        made = self.tried(directive, self.kernel)
        if isinstance(made, str):
            self.leave_out(directive, made)
        return not isinstance(made, str)

    def _pass(self, directive: Directive, what: str, why: str, made: Kernel) -> Kernel:
        def run(kernel: Kernel) -> Kernel:
            event(directive, what, why)
            return made

        name = type(directive).__module__.rpartition(".")[2]  # that of its file
        return run_pass(name, run, self.kernel, subject=self.naive.name)

    def finished(self) -> Kernel:
        """The checked kernel, with its naive loop nest and schedule. Raises KernelError if it is invalid."""
        check_kernel(self.kernel)
        schedule = (*self.directives, *self.left_out)
        return replace(self.kernel, naive=self.naive, schedule=schedule)


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
