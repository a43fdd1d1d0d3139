"""Scalar types such as jnp.float32: names of dtypes that make arrays when called."""

from __future__ import annotations

from typing import Any

import numpy as np

from tinyjax.core.small_dtypes import StandIn, scalar_types
from tinyjax.numpy.creation import asarray


class _ScalarMeta(type):
    """The type of the scalar types: equal to NumPy's of the same name, and usable as a dtype."""

    dtype: np.dtype

    def __hash__(self) -> int:
        return hash(self.dtype.type)

    def __eq__(self, other: object) -> bool:
        return self is other or self.dtype.type == other

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __call__(self, x: Any) -> Any:
        """`x` as an array of this dtype."""
        return asarray(x, dtype=self.dtype)

    def __instancecheck__(self, instance: Any) -> bool:
        return isinstance(instance, self.dtype.type)


def _make_scalar_type(np_type: Any) -> Any:
    if issubclass(np_type, StandIn):
        return np_type
    scalar_type = _ScalarMeta(np_type.__name__, (object,), {"dtype": np.dtype(np_type)})
    scalar_type.__module__ = "tinyjax.numpy"
    scalar_type.__doc__ = f"The dtype {np_type.__name__}; called, an array of it."
    return scalar_type


bool_ = _make_scalar_type(np.bool_)
uint8 = _make_scalar_type(np.uint8)
uint16 = _make_scalar_type(np.uint16)
uint32 = _make_scalar_type(np.uint32)
uint64 = _make_scalar_type(np.uint64)
int8 = _make_scalar_type(np.int8)
int16 = _make_scalar_type(np.int16)
int32 = _make_scalar_type(np.int32)
int64 = _make_scalar_type(np.int64)
int2 = _make_scalar_type(scalar_types["int2"])
int4 = _make_scalar_type(scalar_types["int4"])
uint2 = _make_scalar_type(scalar_types["uint2"])
uint4 = _make_scalar_type(scalar_types["uint4"])
float4_e2m1fn = _make_scalar_type(scalar_types["float4_e2m1fn"])
float8_e3m4 = _make_scalar_type(scalar_types["float8_e3m4"])
float8_e4m3 = _make_scalar_type(scalar_types["float8_e4m3"])
float8_e4m3b11fnuz = _make_scalar_type(scalar_types["float8_e4m3b11fnuz"])
float8_e4m3fn = _make_scalar_type(scalar_types["float8_e4m3fn"])
float8_e4m3fnuz = _make_scalar_type(scalar_types["float8_e4m3fnuz"])
float8_e5m2 = _make_scalar_type(scalar_types["float8_e5m2"])
float8_e5m2fnuz = _make_scalar_type(scalar_types["float8_e5m2fnuz"])
float8_e8m0fnu = _make_scalar_type(scalar_types["float8_e8m0fnu"])
bfloat16 = _make_scalar_type(scalar_types["bfloat16"])
float16 = _make_scalar_type(np.float16)
float32 = single = _make_scalar_type(np.float32)
float64 = double = _make_scalar_type(np.float64)
complex64 = csingle = _make_scalar_type(np.complex64)
complex128 = cdouble = _make_scalar_type(np.complex128)

int_ = int64
uint = uint64
float_ = float64
complex_ = complex128
