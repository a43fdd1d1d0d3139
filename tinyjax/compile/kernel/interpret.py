"""A kernel run in plain Python: every loop a Python loop, every scalar a NumPy scalar, a vector an array.

It is slow and correct: code generation is tested against it without a device. A function such as exp is run
by its definition, on all lanes of a vector at once. In a work-group, each work-item runs up to the next
barrier, and then all go on: otherwise the first would load elements that the others have not stored yet.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from tinyjax.compile.kernel import kernel_ir as ir
from tinyjax.compile.kernel.check_kernel import check_kernel
from tinyjax.compile.kernel.functions.kernel_function import KernelFunction, widened
from tinyjax.compile.kernel.functions.table import function_of
from tinyjax.compile.kernel.indices import Index, index_value
from tinyjax.compile.kernel.scalar_ops import scalar_ops
from tinyjax.core.dtypes import kind

# Called before each statement that runs, with the scope: the number of the work-item, loop variables, values.
Watch = Callable[[ir.Statement, dict[str, Any]], None]


def interpret_kernel(
    kernel: ir.Kernel, memory: Sequence[np.ndarray], watch: Watch | None = None
) -> None:
    """Runs `kernel` on `memory`, one flat array a parameter, complex ones as their parts; stores change the
    arrays.

    Raises IndexError where a load or store leaves its buffer."""
    check_kernel(kernel)
    parts = [array.view(array.real.dtype) for array in memory]
    arrays = {buffer.name: array for buffer, array in zip(kernel.buffers, parts)}
    local = [s for s in kernel.body if isinstance(s, ir.Allocate) and s.array.is_local]
    groups = kernel.items // kernel.local_size
    with np.errstate(all="ignore"):
        for group in range(groups):
            shared = arrays | {"item": group, "group_id": group}  # `item` without groups
            for statement in local:
                _allocate(statement, shared)
            scopes = [shared | {"local_id": number} for number in range(kernel.local_size)]
            _run_together(_run(kernel.body, scope, group == groups - 1, watch) for scope in scopes)


def _run_together(items: Iterable[Iterator[None]]) -> None:
    """Runs work-items of a group: each up to the next barrier, and then all go on."""
    for _ in zip(*items, strict=True):
        pass


def _run(
    body: ir.Body, scope: dict[str, Any], is_last: bool, watch: Watch | None = None
) -> Iterator[None]:
    """Runs statements for one work-item, and stops at each barrier."""
    for statement in body:
        if watch is not None:
            watch(statement, scope)
        match statement:
            case ir.Let(target, op, args):
                operands = [_value(arg, scope) for arg in args]
                scope[target.name] = _apply_to_vector(op, target, operands)
            case ir.Load(target, memory, at, end, 1):
                scope[target.name] = _load(target.width, memory, at, end, scope)
            case ir.Store(memory, at, value, end, 1):
                _store(_value(value, scope), memory, at, end, scope)
            case ir.Load(target):
                scope[target.name] = _evenly(statement, scope).copy()
            case ir.Store(_, _, value):
                _evenly(statement, scope)[...] = _value(value, scope)
            case ir.Allocate(array):
                if not array.is_local:
                    _allocate(statement, scope)
            case ir.Combine(memory, at, op, value):
                array, position = scope[memory.name], _position(memory, at, scope)
                operands = [array[position], _value(value, scope)]
                array[position] = apply_op(op, memory.dtype, operands)
            case ir.For(variable, start, stop, inner, step):
                for i in range(index_value(start, scope), index_value(stop, scope), step):
                    scope[variable.args[0]] = i
                    yield from _run(inner, scope, is_last, watch)
            case ir.While(head, holds, inner):
                yield from _run(head, scope, is_last, watch)
                while _value(holds, scope):
                    yield from _run(inner, scope, is_last, watch)
                    yield from _run(head, scope, is_last, watch)
            case ir.If(condition, inner, otherwise):
                chosen = inner if _value(condition, scope) else otherwise
                yield from _run(chosen, scope, is_last, watch)
            case ir.Barrier():
                yield
            case ir.IfLast(_, inner):
                if is_last:
                    yield from _run(inner, scope, is_last, watch)


def _allocate(statement: ir.Allocate, scope: dict[str, Any]) -> None:
    array, initial = statement.array, statement.initial
    shape = (array.size, array.width) if array.width > 1 else array.size
    scope[array.name] = np.empty(shape, array.dtype)
    # Private memory starts as garbage, so that a load before the first store shows in the results.
    scope[array.name].view(np.uint8)[...] = 255 if array.dtype != bool else 1
    if initial is not None:
        scope[array.name][...] = initial.value


def _position(memory: Any, at: Index, scope: dict[str, Any]) -> int:
    position = index_value(at, scope)
    if not 0 <= position < memory.size:
        raise IndexError(f"{memory.name}[{at}]: {position} is outside of 0 .. {memory.size - 1}")
    return position


def _load(width: int, source: Any, at: Index, end: Index | None, scope: dict[str, Any]) -> Any:
    """The element of the array scope[source.name] at the index, or `width` of them, as an array.

    With an `end`, the elements before it, and copies of the first instead of the others. A private array of
    vectors has two dimensions, and one row of it is loaded. The result is a copy."""
    position, array = _position(source, at, scope), scope[source.name]
    if width == 1 or array.ndim == 2:
        return array[position].copy()
    vector = np.full(width, array[position])
    count = _count(width, source, position, end, scope)
    vector[:count] = array[position : position + count]
    return vector


def _store(
    value: Any, destination: Any, at: Index, end: Index | None, scope: dict[str, Any]
) -> None:
    """Sets the element at the index to a scalar, or the elements from there on (up to `end` if given) to the
    first elements of an array. In a private array of vectors, one row is set.
    """
    position, array = _position(destination, at, scope), scope[destination.name]
    if np.ndim(value) == 0 or array.ndim == 2:
        array[position] = value
    else:
        count = _count(value.size, destination, position, end, scope)
        array[position : position + count] = value[:count]


def _count(width: int, memory: Any, position: int, end: Index | None, scope: dict[str, Any]) -> int:
    """How many of `width` elements there are, in memory and before `end`."""
    count = width if end is None else min(width, index_value(end, scope) - position)
    if position + count > memory.size:
        raise IndexError(f"{memory.name}[{position} .. {position + count - 1}] is partly outside")
    return count


def _evenly(access: ir.Load | ir.Store, scope: dict[str, Any]) -> np.ndarray:
    """A vector's elements from the access's index on, `stride` apart; IndexError if some are outside."""
    memory, width = access.memory, ir.width_of(access)
    position = _position(memory, access.index, scope)
    found = scope[memory.name][position :: access.stride][:width]
    if len(found) < width:
        raise IndexError(f"{memory.name}[{position} by {access.stride}] is partly outside")
    return found


def _value(atom: ir.Argument, scope: dict[str, Any]) -> Any:
    if isinstance(atom, Index):
        return np.int64(index_value(atom, scope))
    return atom.dtype.type(atom.value) if isinstance(atom, ir.Const) else scope[atom.name]


def _apply_to_vector(op: str, target: ir.Value, args: Sequence[Any]) -> Any:
    """One operation on scalars, or on all lanes of vectors at once."""
    if op in ("low", "high"):
        half = np.split(args[0], 2)[op == "high"]
        return half if target.width > 1 else half[0]
    if op == "ramp":
        return (args[0] + args[1] * np.arange(target.width)).astype(target.dtype)
    result = apply_op(op, target.dtype, args)
    is_one_for_all = target.width > 1 and result.ndim == 0
    return np.full(target.width, result) if is_one_for_all else result


def apply_op(op: str, dtype: np.dtype, args: Sequence[Any]) -> Any:
    """One operation on NumPy scalars or arrays; the result is of `dtype`."""
    return operation(op, dtype, args[0].dtype)(*args)


@functools.cache
def operation(op: str, dtype: np.dtype, of: np.dtype) -> Callable[..., Any]:
    """The function for a result of `dtype` and a first operand of dtype `of`."""
    if op == "convert":
        return lambda x: convert(x, dtype)
    if op == "bitcast":
        return lambda x: x.view(dtype)
    function = function_of(op, of)
    compute = scalar_ops[op].numpy if function is None else callable_of(function)
    return lambda *args: np.asarray(compute(*args)).astype(dtype, copy=False)[()]


def callable_of(function: KernelFunction) -> Callable[..., Any]:
    """A function in the kernel language as a Python function of NumPy scalars or arrays."""

    def run(*args: Any) -> Any:
        scope = {p.name: x.astype(p.dtype) for p, x in zip(function.parameters, args)}
        wide = widened(function, max(map(np.size, args)))
        _run_together([_run(wide.body, scope, is_last=False)])
        return scope[function.result.name]

    return run


def convert(x: Any, dtype: np.dtype) -> Any:
    """`x` as `dtype`: a float saturates at the ends of an integer's range, and NaN becomes 0."""
    if kind(x.dtype) == "f" and kind(dtype) in "iu":
        x, info = x.astype(np.float64), np.iinfo(dtype)
        below, above = x <= float(info.min), x >= float(info.max)
        inside = np.where(below | above | np.isnan(x), 0, x).astype(dtype)
        return np.where(above, info.max, np.where(below, info.min, inside)).astype(dtype)[()]
    return x.astype(dtype)
