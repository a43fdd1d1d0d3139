"""The types of Refs, such as `Ref{float32[3]}`, and the errors for Refs in wrong places."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import unwrap
from typing import Any, ClassVar

from tinyjax.core.array import ShapedArray
from tinyjax.core.bind import Primitive, ResultsOf, check_values


class AbstractRef(ShapedArray):
    """The aval of a Ref with an array of aval `inner_aval`. Equal ones are the same object. `memory_space` is
    printed in a kernel's jaxpr, and has no other effect."""

    __slots__ = ("inner_aval", "memory_space")
    inner_aval: ShapedArray
    memory_space: Any
    getitem: ClassVar[Callable[..., Any]]  # of (ref, index); set in ref.py, as is
    setitem: ClassVar[Callable[..., None]]  # of (ref, index, value)
    view: ClassVar[Callable[..., Any]]  # of (ref, index); set in views.py

    def __new__(cls, inner_aval: ShapedArray, memory_space: Any = None) -> AbstractRef:
        key = inner_aval, memory_space
        if key not in _ref_avals:
            aval = object.__new__(cls)
            aval.inner_aval, aval.memory_space = key
            for name in ShapedArray.__slots__:
                setattr(aval, name, getattr(inner_aval, name))
            _ref_avals.setdefault(key, aval)
        return _ref_avals[key]

    def _with(self, inner_aval: ShapedArray) -> AbstractRef:
        return AbstractRef(inner_aval, self.memory_space)

    def update(self, **changes: Any) -> AbstractRef:
        return self._with(self.inner_aval.update(**changes))

    def without_axis(self, axis: int) -> AbstractRef:
        return self._with(self.inner_aval.without_axis(axis))

    def with_axis(self, axis: int, size: int) -> AbstractRef:
        return self._with(self.inner_aval.with_axis(axis, size))

    def to_tangent_aval(self) -> AbstractRef:
        return self._with(self.inner_aval.to_tangent_aval())

    def strip_weak_type(self) -> AbstractRef:
        return self._with(self.inner_aval.strip_weak_type())

    def moved_batch(self, ref: Any, dim: int | None, out_dim: int) -> Any:
        """A Ref as a result of vmap: itself. Raises ValueError if its batch dim differs from out_axes."""
        if dim != out_dim:
            has = (
                "no batch, as it was made outside" if dim is None else f"its batch along axis {dim}"
            )
            raise ValueError(
                f"vmap returned a mutable array reference of type {ref.aval}, which has {has}, and out_axes "
                f"asks for axis {out_dim}: a Ref stays as it is. Return what it holds, ref[...]"
            )
        return ref

    def str_short(self, short_dtypes: bool = False) -> str:
        space = "" if self.memory_space is None else f"<{self.memory_space}>"
        return f"Ref{space}{{{self.inner_aval.str_short(short_dtypes)}}}"

    def __str__(self) -> str:
        return self.str_short()

    __repr__ = __str__

    def __reduce__(self) -> tuple[Any, tuple]:
        return AbstractRef, (self.inner_aval, self.memory_space)


_ref_avals: dict[tuple[ShapedArray, Any], AbstractRef] = {}


def is_ref(x: Any) -> bool:
    """Whether `x` is a Ref, or a tracer of one."""
    return type(getattr(x, "aval", None)) is AbstractRef


# ---- where a Ref can't be ----


def check_no_ref(taker: Any, values: Sequence[Any]) -> None:
    """Raises for a Ref that the receiver doesn't accept (see check_values in core/bind.py)."""
    if isinstance(taker, Primitive):
        check_takes_refs(taker, values)
    elif isinstance(taker, ResultsOf):
        check_no_ref_returned(taker.fun, values)
    elif taker == "jvp":
        check_tangent(*values)
    elif taker in ("grad", "jacrev"):
        check_no_gradient(taker, values)
    else:
        check_aliases(values, taker)


def check_takes_refs(primitive: Any, avals: Sequence[ShapedArray]) -> None:
    """Raises TypeError for a Ref among the operands, unless the primitive takes arrays: it may take Refs."""
    for position, aval in enumerate(avals):
        if type(aval) is AbstractRef and not primitive.impl_binds_primitives:
            raise TypeError(
                f"{primitive.name} requires ndarray or scalar arguments, got a {aval} at position "
                f"{position}: read what it holds, by ref[...]"
            )


def check_tangent(primal: ShapedArray, tangent: Any) -> None:
    """Raises TypeError for a Ref whose tangent isn't a Ref. `primal` is an aval."""
    if isinstance(primal, AbstractRef) and not is_ref(tangent):
        raise TypeError(
            f"jvp with respect to a {primal}, whose tangent is a Ref, too: differentiate by what it holds, "
            "ref[...], or give such a tangent"
        )


def check_no_gradient(name: str, args: Sequence[Any]) -> None:
    """Raises TypeError for a Ref among the differentiated arguments."""
    for x in args:
        if is_ref(x):
            raise TypeError(
                f"{name} with respect to a {x.aval}: differentiate by what it holds, ref[...], and let "
                "the function make a Ref of it, or close over this one"
            )


def check_aliases(args: Sequence[Any], what: str) -> None:
    """Raises ValueError if a Ref occurs twice among the arguments: one box would have two values."""
    refs = [x for x in args if is_ref(x)]
    for i, ref in enumerate(refs):
        if any(ref is other for other in refs[:i]):
            raise ValueError(
                "only one reference to a mutable array may be passed as an argument to a function, but the "
                f"mutable array reference of type {ref.aval} is twice among the operands of {what}: pass it "
                "once, and do not close over it besides"
            )


def check_no_ref_returned(fun: Callable | str, outs: Sequence[Any]) -> None:
    """Raises ValueError for a Ref among the results of a function (or of the function that a str names):
    one box would have two names."""
    for position, x in enumerate(outs):
        if is_ref(x):
            code = getattr(unwrap(fun), "__code__", None) if callable(fun) else None
            where = f" at {code.co_filename}:{code.co_firstlineno}" if code else ""
            name = (
                fun if isinstance(fun, str) else f"function {getattr(fun, '__name__', fun)}{where}"
            )
            line = getattr(x, "line", None)
            made = f"\n\nThe returned mutable array was created on line {line}." if line else ""
            raise ValueError(
                f"{name} returned a mutable array reference of type {x.aval} at output component "
                f"{position}, but mutable array references cannot be returned. Return what it holds, "
                f"ref[...], or make the Ref outside and pass it.{made}"
            )


check_values.append(check_no_ref)
