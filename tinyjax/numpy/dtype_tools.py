"""Asking about dtypes: result_type, can_cast, isdtype, dtype."""

from __future__ import annotations

from typing import Any

import numpy as np

from tinyjax.core import dtypes, type_promotion

get_printoptions = np.get_printoptions
set_printoptions = np.set_printoptions
printoptions = np.printoptions
dtype = np.dtype


def result_type(*args: Any) -> np.dtype:
    """The dtype that an operation on these arrays, scalars or dtypes gives; as numpy.result_type.

    Python scalars do not widen arrays. Raises TypeError where dtypes do not mix."""
    return type_promotion.result_type(*args)


def can_cast(from_: Any, to: Any, casting: str = "safe") -> bool:
    """Whether values of one dtype fit another; as numpy.can_cast. Raises TypeError for what is no dtype."""
    if from_ is None or to is None:
        raise TypeError(
            "can_cast did not understand one of the types; 'None' not accepted: name one, such as jnp.float32"
        )
    from_dtype = from_.dtype if hasattr(from_, "dtype") else dtypes.np_dtype(from_)
    return bool(np.can_cast(from_dtype, dtypes.np_dtype(to), casting=casting))  # type: ignore[arg-type]


# The kinds of the array API standard, as letters of dtypes.kind.
_KINDS = {
    "bool": "b",
    "signed integer": "i",
    "unsigned integer": "u",
    "integral": "iu",
    "real floating": "f",
    "complex floating": "c",
    "numeric": "iufc",
}


def isdtype(dtype: Any, kind: Any) -> bool:
    """Whether a dtype is of a kind: 'integral', 'real floating', ..., a dtype or a tuple of them.

    As numpy.isdtype. Raises ValueError for an unknown kind, TypeError for a number."""
    kinds = kind if isinstance(kind, tuple) else (kind,)
    found = dtypes.np_dtype(dtype)
    for item in kinds:
        if isinstance(item, (int, float)):
            raise TypeError(f"Expected kind to be a dtype, string, or tuple; got kind={item!r}")
        if isinstance(item, str) and item not in dtypes_by_name():
            if item not in _KINDS:
                raise ValueError(
                    f"Unrecognized kind={item!r} expected one of {[*_KINDS]}, or a dtype"
                )
            if dtypes.kind(found) in _KINDS[item]:
                return True
        elif found == dtypes.np_dtype(item):
            return True
    return False


def dtypes_by_name() -> set[str]:
    """The names of all dtypes that arrays can have, but for 'bool', which is also a kind."""
    return {d.name for d in dtypes.SUPPORTED} - {"bool"}
