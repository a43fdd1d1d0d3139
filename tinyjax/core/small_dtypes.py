"""The dtypes that NumPy itself does not know: bfloat16, and numbers of 8 bits and less.

The package ml_dtypes adds them to NumPy. Without it all else works: each of these names is then a
stand-in that no array can have.
"""

from __future__ import annotations

from typing import Any

import numpy as np

FLOATS = (
    "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz",
    "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu", "float4_e2m1fn",
)  # fmt: skip
INTEGERS = ("int2", "int4", "uint2", "uint4")


class StandIn:
    """Stands for a dtype that is not installed: its `dtype` is equal to no other."""

    dtype: np.dtype

    def __new__(cls, *args: Any) -> Any:
        raise missing(cls.__name__)


def missing(name: str) -> TypeError:
    return TypeError(f"arrays of {name} need the package ml_dtypes, which is not installed")


def _stand_in(name: str) -> Any:
    return type(name, (StandIn,), {"dtype": np.dtype([(name, np.void, 1)])})


try:
    import ml_dtypes
except ModuleNotFoundError:
    are_here = False
    finfo: Any = np.finfo
    iinfo: Any = np.iinfo
    scalar_types = {name: _stand_in(name) for name in ("bfloat16", *FLOATS, *INTEGERS)}
else:
    are_here = True
    finfo, iinfo = ml_dtypes.finfo, ml_dtypes.iinfo
    scalar_types = {name: getattr(ml_dtypes, name) for name in ("bfloat16", *FLOATS, *INTEGERS)}
