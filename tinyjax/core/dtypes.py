"""Dtypes: which there are, what Python scalars become, and which ones 64 bits become.

A Python scalar is *weakly typed*: `x + 1.0` leaves a float16 `x` float16. A float64 becomes a float32
unless jax_enable_x64 is on. How mixed dtypes promote is in core/type_promotion.py.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from tinyjax.core import small_dtypes
from tinyjax.core.config import config

# The dtypes that NumPy itself does not know, by name; their kinds as `kind` gives them.
EXTENSIONS = {name: np.dtype(scalar) for name, scalar in small_dtypes.scalar_types.items()}
bfloat16 = EXTENSIONS["bfloat16"]
# Numbers of 8 bits and less, which take little memory; NumPy computes with them one by one.
SMALL_FLOATS = tuple(map(EXTENSIONS.__getitem__, small_dtypes.FLOATS))
SMALL_INTEGERS = tuple(map(EXTENSIONS.__getitem__, small_dtypes.INTEGERS))
BELOW_A_BYTE = {*SMALL_INTEGERS, EXTENSIONS["float4_e2m1fn"]}  # and kept in a byte each
_KINDS = {dtype: name[0] for name, dtype in EXTENSIONS.items()} | {bfloat16: "f"}
float0 = np.dtype([("float0", np.void, 0)])  # the tangent dtype of integers: no information

# A random key is one element of eight bytes, so that indexing, reshaping and stacking keys is NumPy's
# own indexing, reshaping and stacking. jax.random sees the two words inside.
key_dtype = np.dtype([("fry", np.uint32, (2,))])


class extended(np.generic):  # noqa: N801  (JAX's name)
    """The supertype of dtypes that NumPy lacks: those of random keys."""


class prng_key(extended):  # noqa: N801  (JAX's name)
    """The supertype of random keys' dtypes: jnp.issubdtype(key.dtype, prng_key)."""


class KeyDType:
    """key_dtype as users see it: x.dtype of random keys, which prints as key<fry>.

    NumPy reads the dtype in its `dtype` attribute instead."""

    dtype = key_dtype
    type = prng_key
    name = "key<fry>"
    itemsize = key_dtype.itemsize
    kind = key_dtype.kind

    def __eq__(self, other: object) -> bool:
        return isinstance(other, KeyDType) or bool(other == key_dtype)

    def __hash__(self) -> int:
        return hash(key_dtype)

    def __repr__(self) -> str:
        return self.name


printed_key_dtype = KeyDType()


# ---- canonical dtypes: 32 bits unless jax_enable_x64 is on ----

_TO_32_BITS = {
    np.dtype(wide): np.dtype(narrow)
    for wide, narrow in zip(
        ("int64", "uint64", "float64", "complex128"), ("int32", "uint32", "float32", "complex64")
    )
}
_NUMPY_DTYPES = map(np.dtype, "? i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 c8 c16".split())
_KNOWN = EXTENSIONS.values() if small_dtypes.are_here else ()
SUPPORTED = frozenset([*_NUMPY_DTYPES, *_KNOWN, float0, key_dtype])
PYTHON_SCALARS = {
    bool: np.dtype("bool"),
    int: np.dtype("int64"),
    float: np.dtype("float64"),
    complex: np.dtype("complex128"),
}


def canonicalize_dtype(dtype: Any) -> Any:
    """The dtype that an array asked for with `dtype` gets: 64 bits become 32 unless x64 is on. None is
    the default float, as in NumPy.

    Raises TypeError if `dtype` names no dtype, or one that JAX lacks (strings, objects, dates)."""
    dtype = np_dtype(float if dtype is None else dtype)
    if dtype not in SUPPORTED:
        if dtype in _KINDS:
            raise small_dtypes.missing(dtype.names[0])
        raise TypeError(
            f"Value with dtype {dtype} is not a valid JAX array type: arrays hold bools, integers, floats "
            "and complex numbers"
        )
    return dtype if config.jax_enable_x64 else _TO_32_BITS.get(dtype, dtype)


def np_dtype(dtype: Any) -> np.dtype:
    """`dtype` (a name, a type, a Python scalar type) as a NumPy dtype.

    Raises TypeError if it names none, ValueError for None."""
    if isinstance(dtype, np.dtype):
        return dtype
    if isinstance(dtype, KeyDType):
        return key_dtype
    if isinstance(dtype, type) and dtype in PYTHON_SCALARS:
        return PYTHON_SCALARS[dtype]
    if dtype is None:
        raise ValueError("dtype must be specified: name one, such as jnp.float32")
    if isinstance(dtype, str) and dtype in EXTENSIONS:
        return EXTENSIONS[dtype]
    try:
        return np.dtype(dtype)
    except TypeError:
        raise TypeError(
            f"data type {dtype!r} not understood"
            if isinstance(dtype, str)
            else f"Cannot interpret value {dtype!r} of type {type(dtype)} as a dtype"
        ) from None


def default_dtype(python_type: type) -> np.dtype:
    """What a Python bool, int, float or complex becomes: bool, int32, float32, complex64."""
    return canonicalize_dtype(PYTHON_SCALARS[python_type])


def scalar_type_of(x: Any) -> type:
    """The Python scalar type of the kind of `x`'s dtype: bool, int, float or complex."""
    return KIND_TO_SCALAR[kind(dtype(x))]


# ---- asking about a dtype ----


KIND_TO_SCALAR = {"b": bool, "i": int, "u": int, "f": float, "c": complex}


@functools.cache
def kind(dtype: np.dtype) -> str:
    """'b', 'i', 'u', 'f' or 'c' (bfloat16 is 'f'), 'V' for float0 and random keys."""
    return _KINDS.get(dtype, dtype.kind)


def is_float(dtype: np.dtype) -> bool:
    return kind(dtype) == "f"


def is_inexact(dtype: np.dtype) -> bool:
    """True for the dtypes that one can differentiate with respect to: floats and complex."""
    return kind(dtype) in "fc"


@functools.cache
def short_name(dtype: np.dtype) -> str:
    """The name within printed avals: f32, i32, bf16, c64, bool."""
    if dtype == key_dtype:
        return "key<fry>"
    if dtype == bfloat16:
        return "bf16"
    if dtype == float0:
        return "float0"
    if dtype in SMALL_FLOATS or dtype in SMALL_INTEGERS:
        return dtype.name.replace("float", "f").replace("int", "i").replace("ui", "u")
    return f"{dtype.kind}{dtype.itemsize * 8}" if dtype.kind in "iufc" else dtype.name


def long_name(dtype: np.dtype) -> str:
    """The name within messages: float32, int32, float0, key<fry>."""
    return short_name(dtype) if kind(dtype) == "V" else dtype.name


_ABOVE_KIND = {
    "f": (np.floating, np.inexact, np.number, np.generic),
    "i": (np.signedinteger, np.integer, np.number, np.generic),
    "u": (np.unsignedinteger, np.integer, np.number, np.generic),
}


def issubdtype(a: Any, b: Any) -> bool:
    """np.issubdtype for all dtypes: bfloat16 and 8-bit floats are floating, random keys aren't numbers."""
    if b in (prng_key, extended):
        return issubclass(a, b) if isinstance(a, type) else np_dtype(a) == key_dtype
    if a is prng_key:
        return b is np.generic
    if isinstance(a, type) and issubclass(a, np.generic) and not _is_extension(a):
        return np.issubdtype(a, b)
    a = np.dtype(None) if a is None else np_dtype(a)  # None is NumPy's default: float64
    if a in _KINDS:
        if isinstance(b, type) and issubclass(b, np.generic) and not _is_extension(b):
            return b in _ABOVE_KIND[kind(a)]
        return np_dtype(b) == a
    return np.issubdtype(a, b)


def _is_extension(scalar_type: type) -> bool:
    return scalar_type.__name__ in EXTENSIONS


finfo = small_dtypes.finfo
iinfo = small_dtypes.iinfo


def tangent_dtype(dtype: np.dtype) -> np.dtype:
    """The dtype of tangents of a `dtype` value: itself for floats and complex, else float0."""
    return dtype if is_inexact(dtype) else float0


# ---- values ----


def dtype(x: Any) -> Any:
    """The dtype of an Array, which keeps it if jax_enable_x64 changes, or the one that an Array of a Python
    or NumPy value has.

    Raises TypeError if `x` is not a number or an array."""
    python_dtype = PYTHON_SCALARS.get(type(x))
    if python_dtype is not None:
        return canonicalize_dtype(python_dtype)
    array_dtype = getattr(x, "dtype", None)
    if array_dtype is not None and hasattr(x, "aval"):
        return x.aval.dtype
    if array_dtype is not None:
        return canonicalize_dtype(array_dtype)
    if is_python_scalar(x):
        return dtype(plain_number(x))
    raise TypeError(f"Value {x!r} of type {type(x)} is not a valid JAX array type")


def is_weakly_typed(x: Any) -> bool:
    """True for Python numbers except bools, and for arrays made only of Python numbers."""
    is_number = is_python_scalar(x) and not isinstance(x, bool)
    return is_number or getattr(x, "weak_type", False)


def plain_number(x: int | float | complex) -> int | float | complex:
    """The int, float or complex that a number of a subclass is, such as a member of an IntEnum."""
    return int(x) if isinstance(x, int) else float(x) if isinstance(x, float) else complex(x)


def is_python_scalar(x: Any) -> bool:
    """Whether it is a Python number; NumPy's are of its classes too."""
    return isinstance(x, (int, float, complex)) and not isinstance(x, np.generic)
