"""Sums and products of complex arrays as sums and products of their real and imaginary parts, in kernels."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from tinyjax import lax
from tinyjax.compile.passes.expand import expansions
from tinyjax.core.jaxpr import JaxprEqn
from tinyjax.core.primitives import reduce_sum_p
from tinyjax.lax.cumulative import cumsum_p
from tinyjax.lax.dot_product import dot_general_p


def _product(eqn: JaxprEqn) -> Callable[..., list[Any]] | None:
    """(a + bi)(c + di) = ac - bd + (ad + bc)i"""
    dtype = eqn.outvars[0].aval.dtype
    if dtype.kind != "c" or any(v.aval.dtype != dtype for v in eqn.invars):
        return None
    params = eqn.params | {"preferred_element_type": np.empty(0, dtype).real.dtype}
    product = functools.partial(dot_general_p.bind, **params)

    def of_parts(x: Any, y: Any) -> list[Any]:
        a, b, c, d = lax.real(x), lax.imag(x), lax.real(y), lax.imag(y)
        return [lax.complex(product(a, c) - product(b, d), product(a, d) + product(b, c))]

    return of_parts


def _sum(eqn: JaxprEqn) -> Callable[..., list[Any]] | None:
    if eqn.outvars[0].aval.dtype.kind != "c":
        return None
    of_part = functools.partial(eqn.primitive.bind, **eqn.params)
    return lambda x: [lax.complex(of_part(lax.real(x)), of_part(lax.imag(x)))]


expansions |= {dot_general_p: _product, reduce_sum_p: _sum, cumsum_p: _sum}
