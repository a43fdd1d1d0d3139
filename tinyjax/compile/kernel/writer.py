"""Writing operations of kernels: what lowering rules and functions of the kernel language share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from tinyjax.compile.kernel.kernel_ir import Argument, Const, Scalar

NUMBERS = (int, float, complex)


class Writer:
    """`let(op, operands, dtype)` writes an operation and returns its result."""

    let: Callable[[str, Sequence[Argument], np.dtype], Scalar]

    def op(self, name: str, *args: Argument | complex, dtype: np.dtype | None = None) -> Scalar:
        """Writes one operation, or its expansion on pairs. Python numbers take the dtype of the other
        operands, which is the result's too unless given."""
        for arg in args[1:] if name == "select" else args:
            if hasattr(arg, "dtype"):
                of: Any = arg.dtype
                break
        else:
            of = dtype or np.dtype("int32" if isinstance(args[-1], int) else "float32")
        dtype = dtype or of
        is_complex = dtype.kind == "c"
        operands: list[Argument] = []
        for arg in args:
            operand = self.constant(arg, of) if isinstance(arg, NUMBERS) else arg
            is_complex = is_complex or getattr(operand, "dtype", dtype).kind == "c"
            operands.append(operand)
        return (self.op_on_pairs if is_complex else self.let)(name, operands, dtype)

    def constant(self, value: Any, dtype: np.dtype) -> Const:
        from tinyjax.compile.kernel.kernel_ir import Const  # imported with the compiler

        return Const(dtype.type(value), dtype)

    def op_on_pairs(self, name: str, operands: Sequence[Any], dtype: np.dtype) -> Any:
        """An operation on complex numbers."""
        raise NotImplementedError(f"'{name}' of complex numbers")
