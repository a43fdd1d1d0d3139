"""Choosing elements by masks, or among several arrays: where, select, choose, compress, extract.

`where` of three operands is one select_n equation; `where` of one needs `size=` under jit.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tinyjax import lax
from tinyjax.core import dtypes
from tinyjax.core.array import Array
from tinyjax.numpy import reductions
from tinyjax.numpy.creation import array
from tinyjax.numpy.elementary import clip
from tinyjax.numpy.grids import indices as grid
from tinyjax.numpy.joining import stack
from tinyjax.numpy.logic import greater_equal, less, logical_or
from tinyjax.numpy.manipulation import moveaxis, ravel
from tinyjax.numpy.promotion import promote_dtypes
from tinyjax.numpy.reductions import check_no_out
from tinyjax.numpy.searching import argmax, nonzero
from tinyjax.numpy.selecting import where_
from tinyjax.numpy.sorting import argsort
from tinyjax.numpy.ufuncs import remainder
from tinyjax.numpy.util import (
    broadcast_arrays,
    check_arraylike,
    concrete,
    convert,
    ensure_arraylike,
)

_GIVE_SIZE = "With size=n the result has a known shape: n slices."

# ---- among several arrays ----


def where(
    condition: Any,
    x: Any = None,
    y: Any = None,
    /,
    *,
    size: int | None = None,
    fill_value: Any = None,
) -> Any:
    """x where `condition` holds, else y, broadcast together; as numpy.where.

    With `condition` alone it is nonzero(condition, size=..., fill_value=...): a tuple of index arrays.
    Raises TypeError for operands that are no arrays, as when one of x and y is missing."""
    if x is None and y is None:
        check_arraylike("where", condition)
        return nonzero(condition, size=size, fill_value=fill_value)
    check_arraylike("where", condition, x, y)
    if size is not None or fill_value is not None:
        raise ValueError(
            "size and fill_value arguments cannot be used in three-term where function."
        )
    return where_(condition, x, y)


def select(condlist: Any, choicelist: Any, default: Any = 0) -> Array:
    """For each element, the first choice whose condition holds, else `default`; as numpy.select.

    Raises ValueError if the lists differ in length or are empty."""
    if len(condlist) != len(choicelist):
        raise ValueError(
            f"condlist must have length equal to choicelist ({len(condlist)} vs {len(choicelist)})"
        )
    if not len(condlist):
        raise ValueError("condlist must be non-empty")
    check_arraylike("select", *condlist, *choicelist, default)
    choices = promote_dtypes(default, *choicelist)
    # A row of False in front: argmax gives 0, the default, where no condition holds.
    conditions = stack(broadcast_arrays(False, *condlist))
    first = argmax(conditions.astype(bool), axis=0)
    return lax.select_n(*broadcast_arrays(first, *choices))


def choose(a: Any, choices: Any, out: None = None, mode: str = "raise") -> Array:
    """For each element, the choice that the integer in `a` names; as numpy.choose.

    mode 'raise' needs a known `a` (ValueError if out of range); 'wrap' and 'clip' do not."""
    check_no_out("choose", out)
    a, *choices = ensure_arraylike("choose", a, *choices)
    if dtypes.kind(a.dtype) not in "iu":
        raise ValueError("`a` array must be integer typed")
    count = len(choices)
    if mode == "raise":
        concrete(a, "the argument a of jnp.choose", "Use mode='wrap' or mode='clip'.")
        if reductions.any(logical_or(less(a, 0), greater_equal(a, count))):
            raise ValueError("invalid entry in choice array")
    elif mode == "wrap":
        a = remainder(a, count)
    elif mode == "clip":
        a = clip(a, 0, count - 1)
    else:
        raise ValueError(f"mode={mode!r} not understood. Must be 'raise', 'wrap', or 'clip'")
    a, *choices = broadcast_arrays(a, *choices)
    return array(choices)[(a, *grid(a.shape, sparse=True))]


# ---- by a mask ----


def compress(
    condition: Any,
    a: Any,
    axis: int | None = None,
    *,
    size: int | None = None,
    fill_value: Any = 0,
    out: None = None,
) -> Array:
    """The slices of `a` along `axis` where `condition` holds; as numpy.compress.

    With `size` the result has that many, padded with `fill_value`: then condition may be traced."""
    check_no_out("compress", out)
    condition, a, fill_value = ensure_arraylike("compress", condition, a, fill_value)
    condition = convert(condition, np.dtype(bool))
    if condition.ndim != 1:
        raise ValueError("condition must be a 1D array")
    a, axis = (ravel(a), 0) if axis is None else (moveaxis(a, axis, 0), axis)
    condition, extra = condition[: a.shape[0]], condition[a.shape[0] :]
    a = a[: condition.shape[0]]
    if size is None:
        condition, extra = (concrete(x, "in jnp.compress", _GIVE_SIZE) for x in (condition, extra))
        if np.any(extra):
            raise ValueError("condition contains entries that are out of bounds")
        return moveaxis(a[condition], 0, axis)
    if not 0 <= size <= a.shape[0]:
        raise ValueError(
            "size must be positive and not greater than the size of the array axis; got "
            f"size={size!r} for a.shape[axis]={a.shape[0]}"
        )
    mask = lax.expand_dims(condition, range(1, a.ndim))
    filled = where_(mask, a, convert(fill_value, a.dtype))
    return moveaxis(filled[argsort(condition, descending=True)][:size], 0, axis)


def extract(condition: Any, arr: Any, *, size: int | None = None, fill_value: Any = 0) -> Array:
    """The elements of the flat array where `condition` holds; as numpy.extract."""
    return compress(ravel(condition), ravel(arr), size=size, fill_value=fill_value)
