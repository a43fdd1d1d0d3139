"""Which operations are functions in the kernel language, and which of them a statement calls.

`function_of("exp", float32)` is one of them, `function_of("exp", float64)` is exp_float64.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tinyjax.compile.kernel.functions import (
    angles,
    division,
    exponentials,
    halves,
    powers,
    special,
)
from tinyjax.compile.kernel.functions.kernel_function import KernelFunction, widened
from tinyjax.compile.kernel.functions.notation import definitions
from tinyjax.compile.kernel.indices import Index
from tinyjax.compile.kernel.kernel_ir import Argument, Value
from tinyjax.compile.kernel.scalar_ops import HALVES
from tinyjax.core.dtypes import kind

FAMILIES = exponentials, powers, special, angles, division, halves  # they fill `definitions`


def function_of(op: str, dtype: np.dtype) -> KernelFunction | None:
    """The function that operation `op` on that dtype is, if it is one; halves are computed in float32."""
    dtype = np.dtype("float32") if dtype in HALVES else dtype
    name = f"{op}_float64"
    made = definitions[name] if dtype == np.float64 and name in definitions else definitions.get(op)
    return made.kernel_function if made is not None and made.dtype == dtype else None


def called(op: str, args: Sequence[Argument], width: int) -> KernelFunction | None:
    """The function that an operation calls; of vectors if their width is more than one."""
    if isinstance(args[0], Index):
        return None
    dtype = args[0].dtype
    # A compiler makes a product of the division by a constant.
    if op in ("div", "rem") and kind(dtype) != "f" and width > 1 and isinstance(args[1], Value):
        op = f"{op}_{dtype}"
    function = function_of(op, dtype)
    return None if function is None else widened(function, width)
