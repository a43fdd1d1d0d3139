"""A schedule: the directives that make a fast kernel of a naive loop nest, one after the other.

After this file you can print why a kernel is as it is, and give it another schedule. Each directive is a pass
of its own, whose kernel can be recorded. What was considered and left out is said, too. Builds on directive.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tinyjax.compile.kernel.check_kernel import check_kernel
from tinyjax.compile.kernel.kernel_ir import Kernel
from tinyjax.compile.record import event, run_pass
from tinyjax.compile.schedules.directive import Directive


class Draft:
    """A schedule in the making: `kernel` is what its directives made so far."""

    def __init__(self, naive: Kernel):
        self.naive = self.kernel = naive
        self.directives: list[Directive] = []
        self.remarks: list[str] = []  # what was left out, and why

    def apply(self, directive: Directive) -> None:
        """Raises ValueError for a directive that can't be applied."""
        name = type(directive).__module__.rpartition(".")[2]  # that of its file
        self.kernel = run_pass(name, _applied, self.kernel, directive, subject=self.naive.name)
        self.directives.append(directive)

    def apply_if_possible(self, directive: Directive) -> bool:
        """Whether it was applied."""
        if reason := directive.why_not(self.kernel):
            self.remarks.append(f"not {directive}: {reason}")
            return False
        self.apply(directive)
        return True

    def finished(self) -> Kernel:
        """The kernel, which knows its naive loop nest and its schedule. Raises KernelError if it is wrong."""
        check_kernel(self.kernel)
        schedule = (*self.directives, *self.remarks)
        return replace(self.kernel, naive=self.naive, schedule=schedule)


def _applied(kernel: Kernel, directive: Directive) -> Kernel:
    event(directive, "applied", directive.why)
    return directive.apply(kernel)


def scheduled(naive: Kernel, schedule: Sequence[Directive]) -> Kernel:
    """The kernel that the directives make of a naive loop nest.

    Raises ValueError for a directive that can't be applied."""
    draft = Draft(naive)
    for directive in schedule:
        draft.apply(directive)
    return draft.finished()


def directive_lines(kernel: Kernel) -> Iterator[str]:
    """One line a directive, with its reason; then what was left out."""
    for step in kernel.schedule:
        if isinstance(step, Directive):
            yield f"{step}" + (f"  # {step.why}" if step.why else "")
        else:
            yield f"# {step}"
