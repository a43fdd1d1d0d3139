"""A call of pallas_call, for tests/primitive_examples.py."""

from typing import Any

import tinyjax as jax
from tinyjax import lax
from tinyjax.experimental import pallas as pl


def by_rows(a: Any) -> Any:
    def kernel(a_ref: Any, o_ref: Any) -> None:
        o_ref[...] = lax.sin(a_ref[...]) * pl.program_id(0)

    row = pl.BlockSpec((None, a.shape[1]), lambda i: (i, 0))
    out = jax.ShapeDtypeStruct(a.shape, a.dtype)
    return pl.pallas_call(kernel, out, grid=a.shape[0], in_specs=[row], out_specs=row)(a)
