"""Checking a kernel: names are defined once and before use, and no access can leave its memory.

Each index knows the range of its values, and ranges are compared with sizes before the kernel is built: no
access is outside a buffer. Barriers are checked too: none may be in a branch that only some work-items take.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tinyjax.compile.kernel import kernel_ir as ir
from tinyjax.compile.kernel.indices import Index
from tinyjax.compile.kernel.kernel_ir import KernelError

# The variables that are equal in all work-items of a group; None where not all of them arrive, or without
# a group: a work-item that skips a barrier deadlocks the group.
Same = frozenset[str] | None
Memory = ir.Buffer | ir.PrivateArray


def check_kernel(kernel: ir.Kernel) -> None:
    """Checks that names are defined once and before use, and that no index can leave its buffer.

    Raises KernelError that names the statement."""
    scope: dict[str, Any] = {buffer.name: buffer for buffer in kernel.buffers}
    if len(scope) != len(kernel.buffers):
        raise KernelError(f"kernel {kernel.name}: two buffers have the same name")
    if kernel.local_size > 1:
        group, local = ir.group_indices(kernel)
        _require(kernel.items % kernel.local_size == 0, "work-items do not fill their groups")
        scope |= {"group_id": group, "local_id": local}
    else:
        scope["item"] = ir.item_index(kernel.items)
    _check_body(kernel.body, scope, frozenset({"group_id"}) if kernel.local_size > 1 else None)
    # Memory of work-groups is allocated at their start
    top = [s for s in kernel.body if isinstance(s, ir.Allocate) and s.initial is None]
    for statement in kernel.statements:
        if isinstance(statement, ir.Allocate) and statement.array.is_local:
            is_right = kernel.local_size > 1 and any(statement is s for s in top)
            name = statement.array.name
            _require(is_right, f"{name} is local, but not allocated at the start of work-groups")


def _check_body(body: ir.Body, scope: dict[str, Any], same: Same) -> None:
    """Checks `body` and adds what it defines to `scope`."""
    for statement in body:
        try:
            _check_statement(statement, scope, same)
        except KernelError as error:
            if "\n" in str(error):
                raise
            lines = "; ".join(ir.statement_lines(statement))
            raise KernelError(f"{error}, in:\n{lines}") from None


def _check_statement(statement: ir.Statement, scope: dict[str, Any], same: Same) -> None:
    match statement:
        case ir.Let(target, _, args):
            for arg in args:
                _check_atom(arg, scope)
            _define(scope, target.name, target)
        case ir.Load(target, memory, at, end):
            _check_access(memory, at, ir.reach(statement), end, scope)
            if target.dtype != memory.dtype:
                raise KernelError(f"{target} has not {memory.name}'s dtype")
            _define(scope, target.name, target)
        case ir.Store(memory, at, value, end):
            _check_access(memory, at, ir.reach(statement), end, scope)
            if memory.width not in (1, ir.width_of(statement)):
                raise KernelError(f"{value} has not the width of {memory.name}'s elements")
            _check_atom(value, scope)
            if value.dtype != memory.dtype:
                raise KernelError(f"{value} has not {memory.name}'s dtype")
            if getattr(memory, "role", "out") == "in":
                raise KernelError(f"{memory.name} is an input and cannot be stored to")
        case ir.Allocate(array, _):
            _define(scope, array.name, array)
        case ir.Combine(memory, at, _, value):
            _check_access(memory, at, memory.width, None, scope)
            _check_atom(value, scope)
            _require(value.dtype == memory.dtype, f"{value} has not {memory.name}'s dtype")
        case ir.For(variable, start, stop, body, step):
            _require(step >= 1, f"{variable} has steps of {step}")
            _check_atom(start, scope)
            _check_atom(stop, scope)
            within = variable.lo <= start.lo and stop.hi - 1 <= variable.hi
            _require(within, f"loop variable {variable} can leave {variable.lo} .. {variable.hi}")
            inner = dict(scope)
            _define(inner, variable.args[0], variable)
            in_step = same is not None and start.names | stop.names <= same
            _check_body(body, inner, same | {variable.args[0]} if same and in_step else None)
        case ir.While(head, holds, body):
            inner = dict(scope)
            _check_body(head, inner, None)
            _check_condition(holds, inner)
            _check_body(body, inner, None)
        case ir.If(condition, body, otherwise):
            _check_condition(condition, scope)
            _check_body(body, dict(scope), None)
            _check_body(otherwise, dict(scope), None)
        case ir.Barrier():
            _require("local_id" in scope, "a barrier needs work-groups")
            _require(same is not None, "not all work-items of a group may come to a barrier")
        case ir.IfLast(ticket, body):
            _require(scope.get(ticket.name) == ticket, f"{ticket.name} is no parameter")
            _check_body(body, dict(scope), same)


def _check_condition(condition: ir.Scalar, scope: dict[str, Any]) -> None:
    _check_atom(condition, scope)
    is_one_bool = condition.dtype == np.bool_ and condition.width == 1
    _require(is_one_bool, f"{condition} is no boolean")


def _check_access(
    memory: Memory, at: Index, width: int, end: Index | None, scope: dict[str, Any]
) -> None:
    """Checks that the memory is defined and contains the `width` elements from index `at` on; with an `end`,
    only those before it, and always the first. In a private array of vectors, `at` is a vector's number, and
    `width` must match.

    Raises KernelError such as 'x_in is not defined', 'index i1 + 1 spans 1 .. 8, x_in has 8 elements', or
    'kept has elements of another width'."""
    _require(scope.get(memory.name) == memory, f"{memory.name} is not defined")
    _check_atom(at, scope)
    last = at.hi
    if isinstance(memory, ir.PrivateArray) and memory.width > 1:
        _require(width == memory.width, f"{memory.name} has elements of another width")
    elif end is None:
        last += width - 1
    else:
        _check_atom(end, scope)
        last = max(last, end.hi - 1)
    if at.lo < 0 or last >= memory.size:
        spans = f"index {at} spans {at.lo} .. {last}"
        raise KernelError(f"{spans}, {memory.name} has {memory.size} elements")


def _check_atom(atom: ir.Argument, scope: dict[str, Any]) -> None:
    if isinstance(atom, ir.Value):
        if scope.get(atom.name) != atom:
            raise KernelError(f"{atom.name} is not defined")
    elif isinstance(atom, Index):
        for variable in atom.variables:
            name = variable.args[0]
            _require(name in scope, f"index {name} is not defined")
            made = scope[name]
            width = made.width
            _require(width == 1, f"index {name} is a vector of {width}")
            if isinstance(made, Index) and (made.lo < variable.lo or variable.hi < made.hi):
                spans = f"{made.lo} .. {made.hi}, but {variable.lo} .. {variable.hi} in this index"
                raise KernelError(f"variable {name} spans {spans}: substitute the new variable")


def _define(scope: dict[str, Any], name: str, thing: Any) -> None:
    if name in scope:
        raise KernelError(f"{name} is defined twice")
    scope[name] = thing


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise KernelError(message)
