"""Writing operations of kernels: what lowering rules and functions of the kernel language share.

A rule or a function computes with `Number`s, whose operators write operations: `x * y + 1.0`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tinyjax.compile.kernel.indices import Index, index

if TYPE_CHECKING:
    from tinyjax.compile.kernel.kernel_ir import Argument, Scalar

BOOL = np.dtype(bool)
NUMBERS = (int, float, complex)
COMPARISONS = frozenset(("ge", "gt", "le", "lt", "eq", "ne"))


class Writer:
    """`let(op, operands, dtype)` writes an operation and returns its result."""

    let: Callable[[str, Sequence[Argument], np.dtype], Scalar]

    def op(self, name: str, *args: Operand, dtype: np.dtype | None = None) -> Number:
        """Writes one operation. Python numbers take the dtype of the other operands, which is the result's
        too unless given; beside indices, they are indices. The result of a comparison is a bool."""
        operands: list[Any] = [arg.value if isinstance(arg, Number) else arg for arg in args]
        for operand in operands[1:] if name == "select" else operands:
            if hasattr(operand, "dtype"):
                of = operand.dtype
                break
        else:
            of = dtype or np.dtype("int32" if isinstance(operands[-1], int) else "float32")
            if any(isinstance(operand, Index) for operand in operands):
                operands = [index(operand) for operand in operands]
        for n, operand in enumerate(operands):
            if isinstance(operand, NUMBERS):
                operands[n] = self.constant(operand, of).value
            elif isinstance(operand, np.generic):
                operands[n] = self.constant(operand, operand.dtype).value
        result = dtype or (BOOL if name in COMPARISONS else of)
        return Number(self, self.operation(name, operands, result))

    def operation(self, name: str, operands: Sequence[Any], dtype: np.dtype) -> Any:
        """The result of one operation."""
        return self.let(name, operands, dtype)

    def constant(self, value: Any, dtype: np.dtype) -> Number:
        """A number that is written into the kernel."""
        from tinyjax.compile.kernel.kernel_ir import Const  # imported with the compiler

        return Number(self, Const(dtype.type(value), dtype))


# ---- numbers that are not known yet ----


def _operator(name: str, is_reflected: bool = False) -> Any:
    """Python's operator on a Number that is operation `name` of the kernel language."""

    def operator(x: Number, y: Operand) -> Number:
        return x.writer.op(name, y, x) if is_reflected else x.writer.op(name, x, y)

    return operator


class Number:
    """A value of a kernel or a definition; an operator on it writes an operation, whose result is another."""

    def __init__(self, writer: Any, value: Any):
        self.writer, self.value, self.dtype = writer, value, value.dtype

    __add__, __radd__ = _operator("add"), _operator("add", is_reflected=True)
    __sub__, __rsub__ = _operator("sub"), _operator("sub", is_reflected=True)
    __mul__, __rmul__ = _operator("mul"), _operator("mul", is_reflected=True)
    __truediv__, __rtruediv__ = _operator("div"), _operator("div", is_reflected=True)
    __lt__, __le__ = _operator("lt"), _operator("le")
    __gt__, __ge__ = _operator("gt"), _operator("ge")
    __eq__, __ne__ = _operator("eq"), _operator("ne")
    __and__, __or__, __xor__ = _operator("and"), _operator("or"), _operator("xor")
    __lshift__ = _operator("shift_left")

    def __rshift__(self, places: Operand) -> Number:
        """Of signed integers, copies of the sign come in from the left."""
        is_signed = self.dtype.kind == "i"
        name = f"shift_right_{'arithmetic' if is_signed else 'logical'}"
        return self.writer.op(name, self, places)

    def __neg__(self) -> Number:
        return self.writer.op("neg", self)

    def __invert__(self) -> Number:
        return self.writer.op("not", self)

    def __abs__(self) -> Number:
        return self.writer.op("abs", self)

    def __bool__(self) -> bool:
        raise TypeError(
            "a kernel's value is neither true nor false while the kernel is written: instead of "
            '`a if test else b`, write `op("select", test, a, b)`'
        )

    def __round__(self) -> Number:
        return self.writer.op("round_to_even", self)

    def astype(self, dtype: np.typing.DTypeLike) -> Number:
        """The number in another dtype."""
        dtype = np.dtype(dtype)
        return self if self.dtype == dtype else self.writer.op("convert", self, dtype=dtype)

    @property
    def is_known(self) -> bool:
        """Whether it is a constant."""
        return hasattr(self.value, "value")


Operand = Number | Index | complex | np.generic
