"""Arrays of other libraries, and arrays for them, by the DLPack protocol, without a copy.

`torch.from_dlpack(np.asarray(x))` is the way back.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tinyjax.core import dtypes
from tinyjax.numpy.creation import from_dlpack as from_dlpack


def is_supported_dtype(dtype: Any) -> bool:
    """Whether arrays of this dtype can be handed over."""
    try:
        return np.dtype(dtype) == dtypes.bfloat16 or np.dtype(dtype).kind in "biufc"
    except TypeError:
        return False
