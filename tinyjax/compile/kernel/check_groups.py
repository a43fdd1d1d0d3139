"""Work-groups: where local memory is, and that all work-items of a group come to each barrier.

After this file you can say why a barrier must not be in a branch: who does not come there is waited for in
vain. Builds on kernel_ir and substitution.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tinyjax.compile.kernel.kernel_ir import (
    Allocate,
    Barrier,
    For,
    IfLast,
    Kernel,
    KernelError,
    Statement,
)
from tinyjax.compile.kernel.substitution import every_statement


def check_groups(kernel: Kernel) -> None:
    """Local memory is allocated at the start of a kernel of work-groups, and all work-items of a group come
    to each barrier: it is in loops only whose bounds are the same for all. Raises KernelError."""
    top = [s for s in kernel.body if isinstance(s, Allocate) and s.initial is None]
    for statement in every_statement(kernel.body):
        if isinstance(statement, Allocate) and statement.array.is_local:
            is_right = kernel.local_size > 1 and any(statement is s for s in top)
            name = statement.array.name
            _require(is_right, f"{name} is local, but not allocated at the start of work-groups")
    barriers = [s for s in every_statement(kernel.body) if isinstance(s, Barrier)]
    met = list(_barriers_that_all_meet(kernel.body, {"group_id"}))
    _require(not barriers or kernel.local_size > 1, "a barrier needs work-groups")
    _require(len(met) == len(barriers), "not all work-items of a group may come to a barrier")


def _barriers_that_all_meet(body: Sequence[Statement], same: set[str]) -> Iterator[Barrier]:
    """`same` are the variables that have the same value in all work-items of a group."""
    for statement in body:
        match statement:
            case Barrier():
                yield statement
            case For(variable, start, stop, inner):
                used = {p.args[0] for at in (start, stop) for p in at.parts() if p.op == "var"}
                if used <= same:
                    yield from _barriers_that_all_meet(inner, same | {variable.args[0]})
            case IfLast(_, inner):
                yield from _barriers_that_all_meet(inner, same)


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise KernelError(message)
