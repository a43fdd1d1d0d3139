"""Work-groups in Python: each work-item runs up to the next barrier, and then all go on.

After this file you can say what a missing barrier does: the first work-item of a group loads what the others
have not stored yet. Builds on kernel_ir and substitution.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tinyjax.compile.kernel.indices import index_value
from tinyjax.compile.kernel.kernel_ir import Allocate, Barrier, For, IfLast, Kernel, Statement
from tinyjax.compile.kernel.substitution import every_statement

Scope = dict[str, Any]  # what each name stands for
Run = Callable[[Sequence[Statement], Scope, bool], None]


def run_groups(
    kernel: Kernel, arrays: Scope, allocate: Callable[[Allocate, Scope], None], run: Run
) -> None:
    """Runs the work-groups one after the other, and the work-items of one up to each barrier: by `run`, which
    runs the statements of one work-item."""
    local = [s for s in kernel.body if isinstance(s, Allocate) and s.array.is_local]
    groups = kernel.items // kernel.local_size
    for group in range(groups):
        shared = arrays | {"group_id": group}
        for statement in local:
            allocate(statement, shared)
        scopes = [shared | {"local_id": number} for number in range(kernel.local_size)]
        _run_together(kernel.body, scopes, group == groups - 1, run)


def _run_together(body: Sequence[Statement], scopes: list[Scope], is_last: bool, run: Run) -> None:
    """Runs statements for all work-items of a group. All go through what has barriers in the same way."""
    before: list[Statement] = []  # what each can run by itself
    for statement in [*body, Barrier()]:
        if not any(isinstance(s, Barrier) for s in every_statement([statement])):
            before.append(statement)
            continue
        for scope in scopes:
            run(before, scope, is_last)
        before = []
        match statement:
            case For(variable, start, stop, inner, step):
                first, end = (index_value(at, scopes[0]) for at in (start, stop))
                for i in range(first, end, step):
                    for scope in scopes:
                        scope[variable.args[0]] = i
                    _run_together(inner, scopes, is_last, run)
            case IfLast(_, inner):
                if is_last:
                    _run_together(inner, scopes, is_last, run)
