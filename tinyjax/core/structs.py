"""ShapeDtypeStruct: the type of an array, without the array."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from tinyjax.core import dtypes
from tinyjax.core.array import ShapedArray
from tinyjax.core.avals import get_aval


class ShapeDtypeStruct:
    """The shape and dtype of an array without the array; can stand for one in eval_shape. `sharding` is
    the array's sharding, or None if unspecified."""

    __slots__ = ("shape", "dtype", "weak_type", "sharding")
    shape: tuple[int, ...]
    dtype: Any
    weak_type: bool
    sharding: Any

    def __init__(
        self, shape: Sequence[int], dtype: Any, *, sharding: Any = None, weak_type: bool = False
    ):
        if dtype is None:
            raise ValueError("ShapeDtypeStruct: dtype must be specified.")
        if sharding is not None:
            if not hasattr(sharding, "check_compatible_aval"):
                raise ValueError(
                    "sharding should be an instance of `jax.sharding.Sharding`. Got "
                    f"{sharding} of type {type(sharding)}."
                )
            sharding.check_compatible_aval(shape)
        shape, dtype = tuple(shape), dtypes.canonicalize_dtype(dtype)
        for name, value in zip(self.__slots__, (shape, dtype, weak_type, sharding)):
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise RuntimeError(
            f"Cannot reassign attributes ({name}) of immutable ShapeDtypeStruct objects: "
            f"x.update({name}=...) makes another"
        )

    @staticmethod
    def like(x: Any) -> ShapeDtypeStruct:
        """The ShapeDtypeStruct of an array, a number, an aval or another ShapeDtypeStruct."""
        return struct_of(x if isinstance(x, ShapedArray) else get_aval(x))

    def update(self, **changes: Any) -> ShapeDtypeStruct:
        """A copy with some of shape, dtype, weak_type and sharding changed."""
        fields = {name: changes.get(name, getattr(self, name)) for name in self.__slots__}
        return ShapeDtypeStruct(**fields)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    @property
    def size(self) -> int:
        return ShapedArray(self.shape, self.dtype).size

    @property
    def _aval_of_struct(self) -> ShapedArray:
        aval = ShapedArray(self.shape, self.dtype, self.weak_type)
        return aval if self.sharding is None else self.sharding.typed(aval)

    def __array__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError(
            "A ShapeDtypeStruct does not have a value and cannot be used as a constant in a JAX function: "
            f"{self} can be an argument of jax.eval_shape, jax.make_jaxpr and jax.jit(f).lower"
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ShapeDtypeStruct) and get_aval(self) == get_aval(other)

    def __hash__(self) -> int:
        return hash(get_aval(self))

    def __repr__(self) -> str:
        weak = ", weak_type=True" if self.weak_type else ""
        name = dtypes.long_name(self.dtype)
        place = "" if self.sharding is None else f", sharding={self.sharding}"
        return f"ShapeDtypeStruct(shape={self.shape}, dtype={name}{weak}{place})"


def struct_of(aval: ShapedArray) -> ShapeDtypeStruct:
    extra: Any = aval.extra
    sharding = None if extra is None else extra.sharding
    return ShapeDtypeStruct(aval.shape, aval.dtype, weak_type=aval.weak_type, sharding=sharding)
