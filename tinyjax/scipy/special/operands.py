"""What functions of this package do first: check and promote their operands, which most want real."""

from __future__ import annotations

from typing import Any

from tinyjax import dtypes
from tinyjax.numpy.util import promote_args_inexact


def promote_args_real(fun_name: str, *args: Any) -> list[Any]:
    """The arguments promoted to one floating dtype. Raises ValueError for complex numbers."""
    arrays = promote_args_inexact(fun_name, *args)
    if dtypes.kind(arrays[0].dtype) == "c":
        raise ValueError(
            f"{fun_name} does not support complex-valued inputs, got dtype {arrays[0].dtype.name}."
        )
    return arrays
