"""A kernel run in plain Python: every loop a Python loop, every scalar a NumPy scalar.

After this file you can set a breakpoint in `_run`, step through any kernel statement by statement and
look at `scope` (in pdb: `p scope`). It is slow and right: code generation is tested against it
without a device. Builds on kernel_ir, check_kernel and scalar_ops.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tinyjax.compile.kernel.check_kernel import check_kernel
from tinyjax.compile.kernel.indices import Index
from tinyjax.compile.kernel.kernel_ir import (
    Allocate,
    Atom,
    Combine,
    Const,
    For,
    If,
    IfLast,
    Kernel,
    Let,
    Load,
    Statement,
    Store,
    Value,
    While,
)
from tinyjax.compile.kernel.scalar_ops import scalar_ops
from tinyjax.core.dtypes import kind


def interpret_kernel(kernel: Kernel, memory: Sequence[np.ndarray]) -> None:
    """Runs `kernel` on `memory`, one flat array a parameter; stores change the arrays.

    Raises IndexError where a load or store leaves its buffer."""
    check_kernel(kernel)
    arrays = {buffer.name: array for buffer, array in zip(kernel.buffers, memory)}
    with np.errstate(all="ignore"):
        for item in range(kernel.items):
            _run(kernel.body, arrays | {"item": item}, is_last=item == kernel.items - 1)


def _run(body: Sequence[Statement], scope: dict[str, Any], is_last: bool) -> None:
    for statement in body:
        match statement:
            case Let(target, op, args):
                operands = [_value(arg, scope) for arg in args]
                scope[target.name] = _apply_to_vector(op, target, operands)
            case Load(target, source, at, end):
                scope[target.name] = _load(target.width, source, at, end, scope)
            case Store(destination, at, value, end):
                _store(_value(value, scope), destination, at, end, scope)
            case Allocate(array, initial):
                shape = (array.size, array.width) if array.width > 1 else array.size
                scope[array.name] = np.empty(shape, array.dtype)
                # What is loaded before it is stored to shows in the results.
                scope[array.name].view(np.uint8)[...] = 255 if array.dtype != bool else 1
                if initial is not None:
                    scope[array.name][...] = initial.value
            case Combine(array, at, op, value):
                memory, position = scope[array.name], _position(array, at, scope)
                operands = [memory[position], _value(value, scope)]
                memory[position] = apply_op(op, array.dtype, operands)
            case For(variable, start, stop, inner):
                for i in range(index_value(start, scope), index_value(stop, scope)):
                    scope[variable.args[0]] = i
                    _run(inner, scope, is_last)
            case While(head, holds, inner):
                _run(head, scope, is_last)
                while _value(holds, scope):
                    _run(inner, scope, is_last)
                    _run(head, scope, is_last)
            case If(condition, inner, otherwise):
                _run(inner if _value(condition, scope) else otherwise, scope, is_last)
            case IfLast(_, inner):
                if is_last:
                    _run(inner, scope, is_last)


def _position(memory: Any, at: Index, scope: dict[str, Any]) -> int:
    position = index_value(at, scope)
    if not 0 <= position < memory.size:
        raise IndexError(f"{memory.name}[{at}]: {position} is outside of 0 .. {memory.size - 1}")
    return position


def _load(width: int, source: Any, at: Index, end: Index | None, scope: dict[str, Any]) -> Any:
    """The element of the array scope[source.name] at the index, or `width` of them, as an array.

    With an `end`, those before it, and copies of the first in place of all others. A private array of vectors
    has two dimensions, and one row of it is loaded. What is given is a copy."""
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
    """Sets the element at the index to a scalar, or those from there on, before `end` if there is one, to
    the first elements of an array. In a private array of vectors, one row is set."""
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


def _value(atom: Atom, scope: dict[str, Any]) -> Any:
    if isinstance(atom, Index):
        return np.int64(index_value(atom, scope))
    return atom.dtype.type(atom.value) if isinstance(atom, Const) else scope[atom.name]


def index_value(at: Index, scope: dict[str, Any]) -> int:
    """The integer that an index stands for."""
    if at.op == "const":
        return at.args[0]
    if at.op == "var":
        return int(scope[at.args[0]])
    a, b = (index_value(arg, scope) for arg in at.args)
    match at.op:
        case "+":
            return a + b
        case "-":
            return a - b
        case "*":
            return a * b
        case "/":
            return a // b
        case "%":
            return a % b
        case "min":
            return min(a, b)
        case _:
            return max(a, b)


def _apply_to_vector(op: str, target: Value, args: Sequence[Any]) -> Any:
    """One operation on scalars, or on each lane of vectors."""
    if op in ("low", "high"):
        half = np.split(args[0], 2)[op == "high"]
        return half if target.width > 1 else half[0]
    if target.width == 1 or op == "vector":
        return apply_op(op, target.dtype, args)
    if op == "ramp":
        return (args[0] + args[1] * np.arange(target.width)).astype(target.dtype)
    elements = [
        apply_op(op, target.dtype, [x[lane] if np.ndim(x) else x for x in args])
        for lane in range(target.width)
    ]
    return np.array(elements, target.dtype)


def apply_op(op: str, dtype: np.dtype, args: Sequence[Any]) -> Any:
    """One scalar operation on NumPy scalars; the result is of `dtype`."""
    if op == "convert":
        return convert(args[0], dtype)
    if op == "bitcast":
        return args[0].view(dtype)
    return np.asarray(scalar_ops[op].numpy(*args)).astype(dtype)[()]


def convert(x: Any, dtype: np.dtype) -> Any:
    """`x` as `dtype`: a float saturates at the ends of an integer's range, and NaN becomes 0."""
    if kind(x.dtype) == "f" and kind(dtype) in "iu":
        if np.isnan(x):
            return dtype.type(0)
        info = np.iinfo(dtype)
        if np.isinf(x):
            return dtype.type(info.max if x > 0 else info.min)
        return dtype.type(min(max(int(float(x)), info.min), info.max))
    return x.astype(dtype)
