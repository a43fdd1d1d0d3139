"""Sums and products of complex arrays as those of their real and imaginary parts, products of small integers
as those of floats, and products of halves as those of float32, in kernels.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tinyjax import lax
from tinyjax.compile.kernel.rules import sum_dtype
from tinyjax.compile.passes.expand import expansions
from tinyjax.compile.passes.products import multiplications, sides_of
from tinyjax.core.jaxpr import Jaxpr, JaxprEqn
from tinyjax.core.primitives import reduce_sum_p
from tinyjax.lax.cumulative import cumsum_p
from tinyjax.lax.dot_product import dot_general_p
from tinyjax.lax.dynamic_slicing import dynamic_update_slice_p
from tinyjax.lax.lowering.products import SMALL, is_large
from tinyjax.lax.reductions import reduce_prod_p
from tinyjax.lax.scattering import scatter_add_p, scatter_p, scatter_sub_p

FEW = 4  # terms of a sum of complex products
FEW_FACTORS = 16  # of a product of complex numbers, which are read one by one


def _product(eqn: JaxprEqn, _: Jaxpr) -> Callable[..., list[Any]] | None:
    dtype = eqn.outvars[0].aval.dtype
    if dtype.kind == "c":
        return _product_of_pairs(eqn, dtype)
    return product_of_integers(eqn) or product_of_halves(eqn)


def product_of_integers(eqn: JaxprEqn) -> Callable[..., list[Any]] | None:
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
    return _product_in(eqn, exact)


def product_of_halves(eqn: JaxprEqn) -> Callable[..., list[Any]] | None:
    """A convolution of float16s, a product of them that is not small, or any large product of halves: the
    operands are converted once. A kernel would convert each element many times, which costs ten operations
    for a float16 and one for a bfloat16; NumPy converts one by one."""
    exact = sum_dtype(eqn.outvars[0].aval.dtype)
    is_costly = any(v.aval.dtype == np.float16 for v in eqn.invars)
    if eqn.primitive is dot_general_p:
        is_costly = is_large(eqn) or (is_costly and multiplications(eqn) > SMALL)
    is_exact = all(v.aval.dtype == exact for v in (*eqn.invars, *eqn.outvars))
    return _product_in(eqn, exact) if is_costly and not is_exact else None


def _product_in(eqn: JaxprEqn, exact: np.dtype) -> Callable[..., list[Any]]:
    """The product of the operands as `exact`, converted to the dtype of the result."""
    product = functools.partial(
        eqn.primitive.bind, **eqn.params | {"preferred_element_type": exact}
    )
    dtype = eqn.outvars[0].aval.dtype
    return lambda x, y: [_converted(product(_converted(x, exact), _converted(y, exact)), dtype)]


def _converted(x: Any, dtype: np.dtype) -> Any:
    return lax.convert_element_type_p.bind(x, new_dtype=dtype, weak_type=False)


def _product_of_pairs(eqn: JaxprEqn, dtype: np.dtype) -> Callable[..., list[Any]] | None:
    """(a + bi)(c + di) = ac - bd + (ad + bc)i; few terms are added where they are read."""
    sides = sides_of(eqn)
    sizes = sides[0].sizes(sides[0].summed)
    if any(v.aval.dtype != dtype for v in eqn.invars) or math.prod(sizes) == 1:
        return None
    params = eqn.params | {"preferred_element_type": np.empty(0, dtype).real.dtype}
    product = functools.partial(dot_general_p.bind, **params)

    def of_parts(x: Any, y: Any) -> list[Any]:
        a, b, c, d = lax.real(x), lax.imag(x), lax.real(y), lax.imag(y)
        return [lax.complex(product(a, c) - product(b, d), product(a, d) + product(b, c))]

    def of_terms(*operands: Any) -> list[Any]:
        terms = []
        for place in np.ndindex(*sizes):
            factors = list(operands)
            for number, side in enumerate(sides):
                for axis, at in zip(side.summed, place):
                    factors[number] = lax.index_in_dim(factors[number], at, axis)
            terms.append(dot_general_p.bind(*factors, **eqn.params))
        return [functools.reduce(lax.add, terms)]

    return of_terms if 0 < math.prod(sizes) <= FEW else of_parts


def _of_each_part(eqn: JaxprEqn, _: Jaxpr) -> Callable[..., list[Any]] | None:
    """The result of the real parts, and that of the imaginary parts."""
    if eqn.outvars[0].aval.dtype.kind != "c":
        return None

    def of_parts(*operands: Any) -> list[Any]:
        parts = []
        for part in (lax.real, lax.imag):
            of_part = (part(x) if x.dtype.kind == "c" else x for x in operands)
            parts.append(eqn.primitive.bind(*of_part, **eqn.params))
        return [lax.complex(*parts)]

    return of_parts


def _product_of_elements(eqn: JaxprEqn, _: Jaxpr) -> Callable[..., list[Any]] | None:
    """A product of a few complex numbers in order, from 1, as NumPy's is: 1 * (inf + 0j) has a NaN."""
    (x,), (out,), axes = eqn.invars, eqn.outvars, eqn.params["axes"]
    sizes = [x.aval.shape[axis] for axis in axes]
    if out.aval.dtype.kind != "c" or not 0 < math.prod(sizes) <= FEW_FACTORS:
        return None

    def of_elements(x: Any) -> list[Any]:
        parts = [x]
        one = lax.full_like(x, 1, shape=out.aval.shape)
        for axis, size in zip(axes, sizes):
            parts = [lax.index_in_dim(y, at, axis) for y in parts for at in range(size)]
        return [functools.reduce(lax.mul, (lax.reshape(y, one.shape) for y in parts), one)]

    return of_elements


expansions[dot_general_p] = _product
expansions[reduce_prod_p] = _product_of_elements
for _p in (reduce_sum_p, cumsum_p, dynamic_update_slice_p, scatter_p, scatter_add_p, scatter_sub_p):
    expansions[_p] = _of_each_part
