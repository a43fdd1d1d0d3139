"""A schedule: the directives that make a fast kernel of a naive loop nest, one after the other.

After this file you can print why a kernel is as it is, and give it another schedule. Each directive is a pass
of its own, whose kernel can be recorded. Builds on directive.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tinyjax.compile.kernel.check_kernel import check_kernel
from tinyjax.compile.kernel.kernel_ir import Kernel
from tinyjax.compile.record import event, run_pass
from tinyjax.compile.schedules.directive import Directive


def scheduled(naive: Kernel, schedule: Sequence[Directive]) -> Kernel:
    """The kernel that the directives make of a naive loop nest. It knows both.

    Raises ValueError for a directive that can't be applied."""
    kernel = naive
    for directive in schedule:
        name = type(directive).__name__.lower()
        kernel = run_pass(name, _applied, kernel, directive, subject=naive.name)
    check_kernel(kernel)
    return replace(kernel, naive=naive, schedule=tuple(schedule))


def _applied(kernel: Kernel, directive: Directive) -> Kernel:
    event(directive, "applied", directive.why)
    return directive.apply(kernel)


def schedule_lines(kernel: Kernel) -> Iterator[str]:
    """One line a directive, with its reason."""
    for directive in kernel.schedule:
        yield f"{directive}" + (f"  # {directive.why}" if directive.why else "")
