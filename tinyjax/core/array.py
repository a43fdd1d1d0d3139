"""Arrays, from two sides: `ShapedArray` is what a trace knows of one, `ArrayImpl` is a value.

An aval has a shape, a dtype, and whether the dtype is weak.

`Array` is the common base of values and tracers. It has no operators here: tinyjax.numpy attaches
`+`, `x[i]`, `x.sum()` and the rest (numpy/array_methods.py), so that both kinds get the same ones.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from tinyjax.core import dtypes
from tinyjax.core.errors import ambiguous_truth_error

if TYPE_CHECKING:
    from tinyjax.core.aval_extra import AvalExtra

# Names of further fields of an aval -> (extra, value) -> the extra with that field.
aval_fields: dict[str, Callable[[AvalExtra | None, Any], AvalExtra | None]] = {}


class ShapedArray:
    """An abstract value: all arrays of one shape and dtype.

    `weak_type` is True where the dtype came from Python scalars alone and gives way in promotion.
    `extra` is a feature's addition to the type; mostly None. Features name its fields in `aval_fields`.
    Equal avals are one object, made once: they are compared and looked up all the time.

    A feature may have a subclass for values that are no arrays. x[i], x[i] = y, x.at[i] and vmap's
    out_axes call its methods getitem, setitem, view and moved_batch."""

    __slots__ = ("shape", "dtype", "weak_type", "extra")
    shape: tuple[int, ...]
    dtype: Any
    weak_type: bool
    extra: AvalExtra | None

    def __new__(
        cls,
        shape: Sequence[int],
        dtype: Any,
        weak_type: bool = False,
        *,
        extra: AvalExtra | None = None,
        **fields: Any,
    ) -> ShapedArray:
        for name, value in fields.items():
            if name not in aval_fields:
                getattr(cls, name)  # importing the feature adds the field
            extra = aval_fields[name](extra, value)
        try:
            return _avals[shape, dtype, weak_type, extra]
        except (KeyError, TypeError):  # a new one, or a shape that is a list
            return _new_aval(shape, dtype, weak_type, extra)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def update(self, **changes: Any) -> ShapedArray:
        """A copy with some fields changed. With another shape, `extra` keeps only what holds for any
        shape."""
        fields = {"shape": self.shape, "dtype": self.dtype, "weak_type": self.weak_type}
        extra = self.extra
        if extra is not None:
            fields["extra"] = extra.of_any_shape() if "shape" in changes else extra
        return ShapedArray(**(fields | changes))

    def without_axis(self, axis: int) -> ShapedArray:
        """The aval of a slice along an axis."""
        extra = self.extra and self.extra.without_axis(axis)
        shape = self.shape[:axis] + self.shape[axis + 1 :]
        return ShapedArray(shape, self.dtype, self.weak_type, extra=extra)

    def with_axis(self, axis: int, size: int) -> ShapedArray:
        """The aval of a stack of `size` along a new axis."""
        extra = self.extra and self.extra.with_axis(axis)
        return self.update(shape=(*self.shape[:axis], size, *self.shape[axis:]), extra=extra)

    def to_tangent_aval(self) -> ShapedArray:
        """The aval of this value's tangents: the same for floats, float0 for integers."""
        if dtypes.is_inexact(self.dtype):
            return self
        extra = self.extra and self.extra.of_any_shape()
        return ShapedArray(self.shape, dtypes.float0, self.weak_type, extra=extra)

    def strip_weak_type(self) -> ShapedArray:
        return ShapedArray(self.shape, self.dtype, extra=self.extra)

    def str_short(self, short_dtypes: bool = False) -> str:
        """The type as messages show it, float32[2,3]; with short_dtypes as jaxprs print it, f32[2,3]."""
        name = dtypes.short_name(self.dtype) if short_dtypes else dtypes.long_name(self.dtype)
        if self.extra is not None:
            return name + self.extra.text(self.shape)
        return f"{name}[{','.join(map(str, self.shape))}]"

    def __str__(self) -> str:
        return ("~" if self.weak_type else "") + self.str_short()

    def __reduce__(self) -> tuple[Any, tuple]:
        return _new_aval, (self.shape, self.dtype, self.weak_type, self.extra)

    def __repr__(self) -> str:
        weak = ", weak_type=True" if self.weak_type else ""
        return f"ShapedArray({self.str_short()}{weak})"

    if TYPE_CHECKING:  # the attributes that features add, for type checkers

        def __getattr__(self, name: str) -> Any: ...


_avals: dict[tuple, ShapedArray] = {}  # all avals that exist


def _new_aval(
    shape: Sequence[int], dtype: Any, weak_type: bool, extra: AvalExtra | None
) -> ShapedArray:
    sizes = tuple(map(operator.index, shape))
    key = sizes, dtypes.np_dtype(dtype), bool(weak_type), extra
    if key not in _avals:
        aval = object.__new__(ShapedArray)
        aval.shape, aval.dtype, aval.weak_type, aval.extra = key
        _avals.setdefault(key, aval)  # another thread may have made it first
    return _avals[key]


class Array:
    """What values and tracers have in common: an aval, and the operators of tinyjax.numpy."""

    aval: ShapedArray
    # Python tries our operators before NumPy's: np.ones(3) + x is an Array.
    __array_priority__ = 100

    @property
    def shape(self) -> tuple[int, ...]:
        return self.aval.shape

    @property
    def dtype(self) -> Any:
        dtype = self.aval.dtype
        return dtypes.printed_key_dtype if dtype == dtypes.key_dtype else dtype

    @property
    def weak_type(self) -> bool:
        return self.aval.weak_type

    @property
    def ndim(self) -> int:
        return len(self.aval.shape)

    @property
    def size(self) -> int:
        return math.prod(self.aval.shape)

    if TYPE_CHECKING:  # the operators and methods to come, for type checkers

        def __getattr__(self, name: str) -> Any: ...
        def __len__(self) -> int: ...
        def __iter__(self) -> Iterator[Any]: ...
        def _operator(self, *operands: Any) -> Any: ...

        __getitem__ = __neg__ = __invert__ = __lt__ = __le__ = __gt__ = __ge__ = _operator
        __add__ = __sub__ = __mul__ = __truediv__ = __floordiv__ = __mod__ = __pow__ = _operator
        __radd__ = __rsub__ = __rmul__ = __rtruediv__ = __matmul__ = __rmatmul__ = _operator
        __and__ = __or__ = __xor__ = __rand__ = __ror__ = __lshift__ = __rshift__ = _operator


class DeviceBuffer(Protocol):
    """Memory of a device that holds an array's elements; runtime/queues.py has the real ones."""

    def read(self) -> np.ndarray:
        """Waits for the device, then gives the elements as a NumPy array."""

    def wait(self) -> None:
        """Waits for the device."""

    def is_ready(self) -> bool:
        """Whether reading would not wait."""


class ArrayImpl(Array):
    """An immutable array value: elements on the host, in a device's buffer, or in both.

    A value that was put on a device explicitly is `committed` to it: computations follow it there."""

    __slots__ = ("aval", "buffer", "committed", "_device", "_host")

    def __init__(
        self,
        host: np.ndarray | None,
        aval: ShapedArray,
        buffer: DeviceBuffer | None = None,
        device: Any = None,
    ):
        self._host = host
        self.aval = aval
        self.buffer = buffer
        self._device = device
        self.committed = False

    @property
    def _value(self) -> np.ndarray:
        """The elements as a NumPy array; the first read of a device's result waits for it."""
        if self._host is None:
            if self.buffer is None:
                raise RuntimeError(f"Array has been deleted with shape={self.aval.str_short()}.")
            self._host = self.buffer.read()
        return self._host

    def block_until_ready(self) -> ArrayImpl:
        """Waits until the value has been computed; raises what its computation raised."""
        if self._host is None and self.buffer is not None:
            self.buffer.wait()
        else:
            self._value  # noqa: B018  (raises if there is none)
        return self

    def is_ready(self) -> bool:
        """Whether the elements are there: reading them would not wait."""
        return self._host is not None or self.buffer is None or self.buffer.is_ready()

    def copy_to_host_async(self) -> None:
        """Nothing to do: results that are computed in the host's memory are there."""

    @property
    def is_unread(self) -> bool:
        """Whether the elements have never been handed out as a NumPy array, so that no caller keeps them."""
        return self._host is None

    def is_deleted(self) -> bool:
        return self._host is None and self.buffer is None

    def delete(self) -> None:
        """Frees the memory; the array can't be used any more. A jitted call does this to donated
        arguments."""
        self._host = self.buffer = None

    # ---- leaving tinyjax ----

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if self.dtype == dtypes.key_dtype:
            raise TypeError(
                "JAX array with PRNGKey dtype cannot be converted to a NumPy array. "
                "Use jax.random.key_data(arr) for its bits"
            )
        host = self._value
        if dtype is not None and host.dtype != dtype:
            return host.astype(dtype)
        if copy:
            return host.copy()
        view = host.view()
        view.flags.writeable = False  # arrays are immutable: hand out no way to write
        return view

    def __reduce__(self) -> tuple[type, tuple]:
        """Pickles the elements and the aval. Unpickling puts the array on the default device."""
        return ArrayImpl, (self._value, self.aval)

    def __bool__(self) -> bool:
        if self.dtype == dtypes.key_dtype:
            raise TypeError("a random key is neither true nor false: use jax.random.bernoulli(key)")
        if self.size == 1:
            return bool(self._value.reshape(())[()])
        raise ambiguous_truth_error(self.aval)

    def _scalar(self, to: str) -> Any:
        if self.ndim != 0:
            raise TypeError(
                f"Only scalar arrays can be converted to Python scalars; got {to} of an array with "
                f"shape {self.shape}. Index one element, or use x.item() for size 1"
            )
        return self._value[()]

    def __int__(self) -> int:
        scalar = self._scalar("int()")
        if dtypes.kind(self.dtype) == "c":
            raise TypeError("int() of a complex array: take x.real or x.imag first")
        return int(scalar)

    def __float__(self) -> float:
        scalar = self._scalar("float()")
        if dtypes.kind(self.dtype) == "c":
            raise TypeError("float() of a complex array: take x.real or x.imag first")
        return float(scalar)

    def __complex__(self) -> complex:
        return complex(self._scalar("complex()"))

    def __index__(self) -> int:
        scalar = self._scalar("an index")
        if dtypes.kind(self.dtype) not in "iu":
            raise TypeError(f"Only integer scalar arrays can be an index; got dtype {self.dtype}")
        return int(scalar)

    def __hash__(self) -> int:
        raise TypeError(
            "unhashable type: Array. A static argument or dict key must be hashable: use the Python "
            "number x.item(), or pass the array as a traced argument"
        )

    def __len__(self) -> int:
        if not self.ndim:
            raise TypeError("len() of unsized object: the array has no dimensions")
        return self.shape[0]

    # ---- printing ----

    def __repr__(self) -> str:
        if self.dtype == dtypes.key_dtype:
            return f"Array({self.shape}, dtype=key<fry>) overlaying:\n{self._value['fry']}"
        if hasattr(self.buffer, "own"):  # a block: other processes have the rest
            return f"Array(shape={self.shape}, dtype={self.dtype.name})"
        weak = ", weak_type=True" if self.weak_type else ""
        suffix = f"dtype={self.dtype.name}{weak})"
        width = np.get_printoptions()["linewidth"]
        if self.size == 0:
            body = f"[], shape={self.shape}"
        else:
            body = np.array2string(
                self._value, prefix="Array(", suffix=",", separator=", ", max_line_width=width
            )
        last_line = len(body) - body.rfind("\n")
        fits = last_line + len(suffix) + 2 <= width
        return f"Array({body},{' ' if fits else '      '}{suffix}"

    def __str__(self) -> str:
        is_described = self.dtype == dtypes.key_dtype or hasattr(self.buffer, "own")
        return repr(self) if is_described else str(self._value)

    def __format__(self, spec: str) -> str:
        if self.dtype == dtypes.key_dtype:
            return format(str(self), spec)
        return format(self._value[()] if self.ndim == 0 else self._value, spec)


class LiteralArray(ArrayImpl):
    """A scalar written in a rule, such as the 2.0 in the derivative of x**2. In a jaxpr it is a literal;
    a user's array would be a constvar.

    `written` is what the jaxpr shows: 0.1 for a Python scalar that was not converted, where the
    float32 is 0.10000000149011612."""

    __slots__ = ("written",)

    def __init__(self, host: np.ndarray, aval: ShapedArray, written: Any = None):
        super().__init__(host, aval)
        self.written = host if written is None else written
