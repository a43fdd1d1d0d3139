"""Operations whose result is known without running the kernel.

Indices know their ranges, so a comparison of two may have the same answer for all their values. A select with
a known condition is one of its operands, and an operation on integer constants is a constant.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tinyjax.compile.kernel.indices import Index, as_index, linear
from tinyjax.compile.kernel.interpret import apply_op
from tinyjax.compile.kernel.kernel_ir import Argument, Const, Scalar
from tinyjax.compile.kernel.scalar_ops import scalar_ops
from tinyjax.compile.kernel.writer import COMPARISONS

OF_INTEGERS = (*COMPARISONS, "convert", "add", "sub", "min", "max")


def known_result(op: str, args: Sequence[Argument], dtype: np.dtype) -> Scalar | None:
    """The operand or the constant that is the operation's result, if it is known."""
    match op, args:
        case _, (Index() as a, Index() as b) if op in COMPARISONS:
            return _comparison(op, as_index(linear(a), linear(b)))
        case "select", (Const(value), a, b):
            return a if value else b  # type: ignore[return-value]
        case "not", (Const(value, of),) if of.kind == "b":
            return truth(not value)
        case (("and" | "or"), (a, b)) if dtype.kind == "b":
            for constant, other in ((a, b), (b, a)):
                if isinstance(constant, Const):
                    is_other = bool(constant.value) == (op == "and")
                    return other if is_other else constant  # type: ignore[return-value]
        case _ if op in OF_INTEGERS and dtype.kind in "biu":
            constants = [x for x in args if isinstance(x, Const) and x.dtype.kind in "biu"]
            if len(constants) == len(args):
                return Const(apply_op(op, dtype, [x.dtype.type(x.value) for x in constants]), dtype)
    return None


def _comparison(op: str, difference: Index) -> Const | None:
    """The result of comparing a number in that range with 0, if it is the same for all."""
    least, most = (scalar_ops[op].numpy(end, 0) for end in (difference.lo, difference.hi))
    is_between = op in ("eq", "ne") and difference.lo < 0 < difference.hi
    return None if least != most or is_between else truth(least)


def truth(value: bool) -> Const:
    return Const(np.bool_(value), np.dtype(bool))
