"""jnp.where, in a file of its own since nearly all others use it.

Builds on util. Source: https://docs.jax.dev/en/latest/_autosummary/jax.numpy.where.html
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tinyjax import lax
from tinyjax.array import Array
from tinyjax.interpreters.jit import jitted
from tinyjax.numpy.util import (
    as_array,
    broadcast_arrays,
    check_arraylike,
    constant_like,
    promote_dtypes,
)


def _where(condition: Any, x: Any, y: Any) -> Any:
    condition = as_array(condition)
    if condition.dtype != np.bool_:
        condition = lax.ne(condition, constant_like(condition, 0))
    x, y = promote_dtypes(x, y)
    if condition.ndim == 0:  # select_n takes a scalar condition as it is
        x, y = broadcast_arrays(x, y)
    else:
        condition, x, y = broadcast_arrays(condition, x, y)
    return lax.select(condition, x, y) if x.size else x


where_ = jitted(_where)


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
    Raises TypeError for operands that are no arrays, as when one of x and y is missing.
    """
    if x is None and y is None:
        from tinyjax.numpy.searching import nonzero

        check_arraylike("where", condition)
        return nonzero(condition, size=size, fill_value=fill_value)
    check_arraylike("where", condition, x, y)
    if size is not None or fill_value is not None:
        raise ValueError(
            "size and fill_value arguments cannot be used in three-term where function."
        )
    return where_(condition, x, y)


def select(condlist: Any, choicelist: Any, default: Any = 0) -> Array:
    """Of each element the first choice whose condition holds, else `default`; as numpy.select.

    Raises ValueError if the lists differ in length or are empty."""
    from tinyjax.numpy.joining import stack
    from tinyjax.numpy.searching import argmax

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
