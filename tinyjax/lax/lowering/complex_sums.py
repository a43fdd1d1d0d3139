"""Sums and products of complex arrays as those of their real and imaginary parts, and products of small
integers as those of floats, in kernels.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from tinyjax import lax
from tinyjax.compile.passes.expand import expansions
from tinyjax.compile.passes.products import sides_of
from tinyjax.core.jaxpr import JaxprEqn
from tinyjax.core.primitives import reduce_sum_p
from tinyjax.lax.convolution import conv_general_dilated_p
from tinyjax.lax.cumulative import cumsum_p
from tinyjax.lax.dot_product import dot_general_p


def _product(eqn: JaxprEqn) -> Callable[..., list[Any]] | None:
    dtype = eqn.outvars[0].aval.dtype
    return _product_of_pairs(eqn, dtype) if dtype.kind == "c" else _product_of_integers(eqn)


def _product_of_integers(eqn: JaxprEqn) -> Callable[..., list[Any]] | None:
    """A product or convolution in floats, where all sums are exact: processors add these twice as fast."""
    (x, y), dtype = (v.aval for v in eqn.invars), eqn.outvars[0].aval.dtype
    if dtype.kind != "i" or dtype.itemsize < 4 or any(v.dtype.kind not in "iu" for v in (x, y)):
        return None
    if eqn.primitive is dot_general_p:
        left, _ = sides_of(eqn)
        largest = left.size(left.summed)
    else:
        largest = y.size // y.shape[eqn.params["dimension_numbers"].rhs_spec[0]]
    for v in (x, y):
        largest *= max(-int(np.iinfo(v.dtype).min), int(np.iinfo(v.dtype).max))
    floats = map(np.dtype, ("float32", "float64"))
    exact = next((to for to in floats if largest < 2 ** (np.finfo(to).nmant + 1)), None)
    if exact is None or largest > np.iinfo(dtype).max:  # integers wrap around
        return None
    product = functools.partial(
        eqn.primitive.bind, **eqn.params | {"preferred_element_type": exact}
    )
    return lambda x, y: [_converted(product(_converted(x, exact), _converted(y, exact)), dtype)]


def _converted(x: Any, dtype: np.dtype) -> Any:
    return lax.convert_element_type_p.bind(x, new_dtype=dtype, weak_type=False)


def _product_of_pairs(eqn: JaxprEqn, dtype: np.dtype) -> Callable[..., list[Any]] | None:
    """(a + bi)(c + di) = ac - bd + (ad + bc)i"""
    if any(v.aval.dtype != dtype for v in eqn.invars):
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


expansions |= {
    dot_general_p: _product,
    conv_general_dilated_p: _product_of_integers,
    reduce_sum_p: _sum,
    cumsum_p: _sum,
}
