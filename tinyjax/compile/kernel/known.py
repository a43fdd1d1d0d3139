"""Operations whose result is known without running the kernel.

Indices know their ranges, so a comparison of two may have the same answer for all their values. A select with
a known condition is one of its operands, and an operation on integer constants is a constant. An integer
computed from indices is an index too: `x[8 * i + j]` loads at a known place, and needs no clamp.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tinyjax.compile.kernel.indices import Index, as_index, linear
from tinyjax.compile.kernel.interpret import apply_op
from tinyjax.compile.kernel.kernel_ir import Argument, Const, Scalar
from tinyjax.compile.kernel.scalar_ops import scalar_ops
from tinyjax.compile.kernel.writer import COMPARISONS

INDEX_OPERATIONS = {"add": Index.__add__, "sub": Index.__sub__, "min": Index.min, "max": Index.max}
NOT_LINEAR = ("/", "%", "min", "max", "select")
OF_INTEGERS = (*COMPARISONS, "convert", "add", "sub", "min", "max")
# What these compute from positions alone is part of an address, and counts as no operation.
OF_INDICES = (*OF_INTEGERS, "mul")


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


def index_of(op: str, args: Sequence[Index | None], dtype: np.dtype) -> Index | None:
    """The index that an integer operation on indices computes. None if it isn't known, or may not fit the
    dtype. Where the operation is not one of indices, only the range is of use."""
    at = None
    match op, args[1:] if op == "select" else args:
        case _, operands if None in operands:
            return None
        case "convert", [Index() as a]:
            at = a
        case (("add" | "sub" | "min" | "max"), [Index() as a, Index() as b]):
            at = INDEX_OPERATIONS[op](a, b)
        case "mul", [Index() as a, Index() as b] if "const" in (a.op, b.op):
            at = a * b if b.op == "const" else b * a
        case (("div" | "rem"), [Index() as a, Index() as b]) if b.op == "const" and b.lo > 0:
            at = None if a.lo < 0 else a // b.lo if op == "div" else a % b.lo
        case "select", [Index() as a, Index() as b]:
            at = Index("select", (a, b), min(a.lo, b.lo), max(a.hi, b.hi))
    limits = np.iinfo(dtype)
    return at if at is not None and limits.min <= at.lo and at.hi <= limits.max else None


def _comparison(op: str, difference: Index) -> Const | None:
    """The result of comparing a number in that range with 0, if it is the same for all."""
    least, most = (scalar_ops[op].numpy(end, 0) for end in (difference.lo, difference.hi))
    is_between = op in ("eq", "ne") and difference.lo < 0 < difference.hi
    return None if least != most or is_between else truth(least)


def truth(value: bool) -> Const:
    return Const(np.bool_(value), np.dtype(bool))
