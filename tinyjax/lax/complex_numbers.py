"""Complex numbers: real, imag, complex, conj.

The transpose of imag has a minus sign, as JAX's transposition is linear without conjugation.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tinyjax.core import dtypes
from tinyjax.core.array import LiteralArray, ShapedArray
from tinyjax.core.bind import abstract_eval_rules
from tinyjax.core.primitives import neg
from tinyjax.lax.elementwise import nary, of_one, of_two, real_dtype, unary
from tinyjax.transform.transposition import deflinear2, is_undefined_primal, unbroadcast


def _complex_dtype(dtype: np.dtype) -> np.dtype:
    return np.result_type(dtype, np.complex64)


def _complex_impl(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    out = np.empty(np.broadcast_shapes(x.shape, y.shape), _complex_dtype(x.dtype))
    out.real, out.imag = x, y
    return out


def _conj_impl(x: np.ndarray, *, input_dtype: np.dtype) -> np.ndarray:
    return np.conj(x).astype(_complex_dtype(x.dtype))


def _only_32_and_64_bits(name: str, rule: Any) -> Any:
    """The abstract_eval rule, which refuses dtypes that no complex dtype has as its parts."""

    def abstract_eval(*avals: ShapedArray, **params: Any) -> ShapedArray:
        for aval in avals:
            if aval.dtype in (np.float16, dtypes.bfloat16):
                raise TypeError(
                    f"{name} does not accept dtype {aval.dtype.name}: complex numbers have parts of "
                    "float32 or float64, convert with x.astype(jnp.float32)"
                )
        return rule(*avals, **params)

    return abstract_eval


real_p = unary("real", "c", np.real, real_dtype, cost=1, makes_nan=False)
real = of_one(real_p, "The real parts of complex numbers.")
imag_p = unary("imag", "c", np.imag, real_dtype, cost=1, makes_nan=False)
imag = of_one(imag_p, "The imaginary parts of complex numbers.")
complex_p = nary("complex", "f", _complex_impl, _complex_dtype, cost=1, makes_nan=False)
complex = of_two(complex_p, "x + iy elementwise, from parts of float32 or float64.")
conj_p = unary("conj", "fc", _conj_impl, _complex_dtype, cost=1, makes_nan=False)
for _p in (complex_p, conj_p):
    abstract_eval_rules[_p] = _only_32_and_64_bits(_p.name, abstract_eval_rules[_p])


def _zero_part(ct: Any) -> LiteralArray:
    dtype = dtypes.dtype(ct)
    return LiteralArray(np.zeros((), dtype), ShapedArray((), dtype))


def _real_transpose(ct: Any, x: Any) -> list[Any]:
    """The cotangent of the complex operand of real: complex, of the real cotangent `ct`."""
    return [complex(ct, _zero_part(ct))]


def _imag_transpose(ct: Any, x: Any) -> list[Any]:
    """The cotangent of the complex operand of imag: complex, of the real cotangent `ct`."""
    return [complex(_zero_part(ct), neg(ct))]


def _complex_transpose(ct: Any, x: Any, y: Any) -> list[Any]:
    return [
        unbroadcast(x.aval, real(ct)) if is_undefined_primal(x) else None,
        unbroadcast(y.aval, imag(neg(ct))) if is_undefined_primal(y) else None,
    ]


deflinear2(real_p, _real_transpose)
deflinear2(imag_p, _imag_transpose)
deflinear2(complex_p, _complex_transpose)
deflinear2(
    conj_p, lambda ct, x, *, input_dtype: [(conj if dtypes.kind(input_dtype) == "c" else real)(ct)]
)


def conj(x: Any) -> Any:
    """The complex conjugate; a complex dtype for real `x` too."""
    return conj_p.bind(x, input_dtype=dtypes.dtype(x))
