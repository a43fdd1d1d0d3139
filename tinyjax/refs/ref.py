"""Refs, mutable arrays (`ref[i] += x`), and the operations on them.

A Ref is a box with one array in it. An operation on it has an effect, and is an operation on the array:
`ref[i] = y` replaces x by `x.at[i].set(y)`. Eager mode does just that. A traced program has an equation for
each operation, and discharge.py turns it into a program without Refs.

Source: https://docs.jax.dev/en/latest/array_refs.html
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from tinyjax.core import dtypes
from tinyjax.core.array import ShapedArray
from tinyjax.core.avals import get_aval
from tinyjax.core.bind import (
    Primitive,
    Trace,
    abstract_eval_rules,
    as_array,
    context,
    impl_rules,
    new_array,
    no_rule_reasons,
)
from tinyjax.core.structs import ShapeDtypeStruct
from tinyjax.refs.indices import (
    Indexer,
    from_the_end,
    is_one_slice,
    numpy_index,
    parse_index,
    slice_shape,
)
from tinyjax.refs.types import AbstractRef, is_ref

__all__ = ["AbstractRef", "Ref", "addupdate", "empty_ref", "free_ref", "freeze", "get", "new_ref"]
__all__ += ["set", "swap"]

# ---- the box ----


class _RefType(type):
    def __instancecheck__(cls, x: Any) -> bool:
        return is_ref(x)


class Ref(metaclass=_RefType):
    """A box with an array, which operations replace by another one of the same shape and dtype.

    `isinstance(x, Ref)` is also true for a tracer of a Ref. Refs are compared by identity. Make one by
    `jax.new_ref`."""

    __slots__ = ("aval", "value", "__weakref__")

    def __init__(self, value: Any):
        self.value = value
        self.aval = AbstractRef(get_aval(value))

    _aval_of_struct = property(lambda self: self.aval)  # for get_aval
    shape = property(lambda self: self.aval.shape)
    dtype = property(lambda self: self.aval.dtype)
    ndim = property(lambda self: self.aval.ndim)
    size = property(lambda self: self.aval.size)
    sharding = property(lambda self: self.value.sharding)
    committed = property(lambda self: self.value.committed)

    def __getitem__(self, index: Any) -> Any:
        return get(self, index)

    def __setitem__(self, index: Any, value: Any) -> None:
        swap(self, index, value)

    def addupdate(self, x: Any, index: Any = ...) -> None:
        addupdate(self, index, x)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __array__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError(f"{self.aval} is no array: read what it holds, by ref[...]")

    def __iter__(self) -> NoReturn:
        raise TypeError(f"{self.aval} is no array: iterate over what it holds, ref[...]")

    def __repr__(self) -> str:
        return "Ref" + repr(self.value).removeprefix("Array")

    def __copy__(self) -> Ref:
        return new_ref(self.value)

    def __deepcopy__(self, memo: dict) -> Ref:
        return new_ref(self.value)

    def block_until_ready(self) -> Ref:
        self.value.block_until_ready()
        return self


# ---- the primitives ----


# A kind of trace -> (trace, primitive, args, params) -> results; for traces that must process each operation
# on a Ref, even without own tracers among the operands, as the Ref may hold one later (rules.py)
always_seen_by: dict[type[Trace], Callable[..., Any]] = {}


class RefPrimitive(Primitive):
    """An operation on a Ref."""

    def bind(self, *args: Any, **params: Any) -> Any:
        trace = context.trace
        process = always_seen_by.get(type(trace), type(trace).process_primitive)
        return process(trace, self, args, params)


def _ref_primitive(name: str) -> Primitive:
    """All have effects, so they are not dropped, merged or reordered."""
    primitive = RefPrimitive(name, impl_binds_primitives=True, has_effects=True)
    no_rule_reasons[primitive, "lowering"] = "refs/discharge.py makes a program without Refs of it"
    return primitive


new_ref_p = _ref_primitive("new_ref")  # parameters: kind, memory_space, pin
empty_ref_p = _ref_primitive("empty_ref")  # ty, an aval; memory_space, pin
get_p = _ref_primitive("get")  # of (ref, *operands of the index); indexer
swap_p = _ref_primitive("swap")  # of (ref, value, *operands of the index); indexer
addupdate_p = _ref_primitive("addupdate")  # the same; no result
freeze_p = _ref_primitive("freeze")
free_ref_p = _ref_primitive("free_ref")
REF_PRIMITIVES = (new_ref_p, empty_ref_p, get_p, swap_p, addupdate_p, freeze_p, free_ref_p)
for _primitive in (addupdate_p, free_ref_p):
    _primitive.multiple_results = True  # none


# Each primitive's effect on the box, in eager mode and in discharge.py, where `value` is a tracer.


def _get(ref: Ref, *operands: Any, indexer: Indexer) -> Any:
    if not indexer:
        return ref.value
    if is_one_slice(indexer, operands):  # x[...] lets a negative start count from the end
        return ref.value[numpy_index(indexer, operands)]
    return ref.value[numpy_index(indexer, from_the_end(indexer, operands, ref.shape))]


def _swap(ref: Ref, value: Any, *operands: Any, indexer: Indexer) -> Any:
    old = _get(ref, *operands, indexer=indexer)
    value = as_array(value)
    if indexer:
        place = ref.value.at[numpy_index(indexer, from_the_end(indexer, operands, ref.shape))]
        ref.value = place.set(value, unique_indices=True, mode=_mode(indexer, operands))
    else:  # the type does not change
        ref.value = value.astype(ref.dtype) if value.weak_type and not old.weak_type else value
    return old


def _addupdate(ref: Ref, value: Any, *operands: Any, indexer: Indexer) -> list[Any]:
    if not indexer:
        ref.value = ref.value + value
    elif is_one_slice(indexer, operands):  # the sum of bools is an `or`
        _swap(ref, _get(ref, *operands, indexer=indexer) + value, *operands, indexer=indexer)
    else:
        place = ref.value.at[numpy_index(indexer, from_the_end(indexer, operands, ref.shape))]
        ref.value = place.add(value, mode=_mode(indexer, operands))
    return []


def _mode(indexer: Indexer, operands: Any) -> str | None:
    """A slice beyond the end of the Ref is moved back, in writes and in reads. Single elements out of range
    are not written, as in x.at[...]."""
    return "clip" if is_one_slice(indexer, operands) else None


impl_rules[new_ref_p] = lambda x, **params: Ref(as_array(x))
impl_rules[empty_ref_p] = lambda ty, **params: Ref(new_array(np.zeros(ty.shape, ty.dtype), ty))
impl_rules[get_p] = _get
impl_rules[swap_p] = _swap
impl_rules[addupdate_p] = _addupdate
impl_rules[freeze_p] = lambda ref: ref.value
impl_rules[free_ref_p] = lambda ref: []


# ---- their types ----


def _slice_aval(ref: ShapedArray, operands: Any, indexer: Indexer) -> ShapedArray:
    assert isinstance(ref, AbstractRef)
    return ref.inner_aval.update(shape=slice_shape(indexer, operands, ref.shape))


def _checked_slice(
    name: str, ref: ShapedArray, value: ShapedArray, operands: Any, indexer: Indexer
) -> ShapedArray:
    """The type of the written value. Raises ValueError for another shape or dtype."""
    expected = _slice_aval(ref, operands, indexer)
    if value.shape != expected.shape:
        raise ValueError(
            f"Invalid shape for `{name}`. Ref shape: {ref.shape}. Expected shape: {expected.shape}. Value "
            f"shape: {value.shape}. What is written must have the shape that it takes: jnp.broadcast_to"
        )
    if value.dtype != expected.dtype:
        raise ValueError(
            f"Invalid dtype for `{name}`. Ref dtype: {expected.dtype.name}. Value dtype: "
            f"{value.dtype.name}. Convert it, by .astype(ref.dtype)"
        )
    return expected


def _swap_aval(ref: Any, value: Any, *operands: Any, indexer: Indexer) -> ShapedArray:
    return _checked_slice("swap", ref, value, operands, indexer)


def _addupdate_aval(ref: Any, value: Any, *operands: Any, indexer: Indexer) -> list[ShapedArray]:
    _checked_slice("addupdate", ref, value, operands, indexer)
    return []


def _inner_aval(ref: ShapedArray) -> ShapedArray:
    assert isinstance(ref, AbstractRef)
    return ref.inner_aval


abstract_eval_rules[new_ref_p] = lambda x, **params: AbstractRef(x)
abstract_eval_rules[empty_ref_p] = lambda ty, **params: AbstractRef(ty)
abstract_eval_rules[get_p] = lambda ref, *operands, indexer: _slice_aval(ref, operands, indexer)
abstract_eval_rules[swap_p] = _swap_aval
abstract_eval_rules[addupdate_p] = _addupdate_aval
abstract_eval_rules[freeze_p] = _inner_aval
abstract_eval_rules[free_ref_p] = lambda ref: []


# ---- the functions ----


def new_ref(
    init_val: Any, *, memory_space: Any = None, kind: str | None = None, pin: bool = False
) -> Ref:
    """A Ref with the initial value `init_val`. `kind`, `memory_space` and `pin` have no effect.

    Raises TypeError unless it is an array."""
    try:
        aval = get_aval(init_val)
    except TypeError:
        raise TypeError(
            "Error interpreting argument to new_ref as a JAX value. The problematic value is of type "
            f"{type(init_val)} and was passed to new_ref at position 0."
        ) from None
    if isinstance(aval, AbstractRef):
        raise TypeError(f"new_ref of a {aval}: a Ref holds an array, as ref[...] gives it")
    return new_ref_p.bind(init_val, kind=kind, memory_space=memory_space, pin=pin)


def empty_ref(
    ty: ShapedArray | ShapeDtypeStruct, memory_space: Any = None, pin: bool = False
) -> Ref:
    """A Ref with an array of type `ty`, such as jax.typeof returns. Its contents are unspecified: here,
    zeros."""
    return empty_ref_p.bind(
        ty=ty if isinstance(ty, ShapedArray) else get_aval(ty), memory_space=memory_space, pin=pin
    )


def get(ref: Ref, idx: Any = ...) -> Any:
    """The value of `ref` at `idx`: ref[idx].

    Raises ValueError if `ref` isn't a Ref, and for an index out of range."""
    indexer, operands = parse_index(idx, _checked_ref("ref_get", ref).shape)
    return get_p.bind(ref, *operands, indexer=indexer)


def swap(ref: Ref, idx: Any, value: Any) -> Any:
    """Write `value` at `idx`, and return the old value.

    Raises ValueError for a value of another shape or dtype than the old one."""
    return _write(swap_p, "ref_swap", ref, idx, value)


def set(ref: Ref, idx: Any, value: Any) -> None:  # noqa: A001  (JAX's name)
    """Write `value` at `idx`: ref[idx] = value."""
    _write(swap_p, "ref_set", ref, idx, value)


AbstractRef.getitem = staticmethod(get)  # x[i] of a tracer that stands for a Ref
AbstractRef.setitem = staticmethod(set)


def addupdate(ref: Ref, idx: Any, x: Any) -> None:
    """Add `x` at `idx`. `ref[idx] += x` reads, adds and writes; this is one operation, and simpler to
    differentiate. The sum of bools is an `or`."""
    _write(addupdate_p, "ref_addupdate", ref, idx, x)


def freeze(ref: Ref) -> Any:
    """Return the last value of a Ref, which must not be used afterwards."""
    return freeze_p.bind(_as_ref("freeze", ref))


def free_ref(ref: Ref) -> tuple[()]:
    """Declare that a Ref is no longer used. Returns ()."""
    return tuple(free_ref_p.bind(_as_ref("free_ref", ref)))


def _write(primitive: Primitive, name: str, ref: Ref, idx: Any, value: Any) -> Any:
    aval = _checked_ref(name, ref)
    indexer, operands = parse_index(idx, aval.shape)
    if is_ref(value):
        raise ValueError(f"`{name}` can't store a Ref into a Ref: read what it holds, by [...]")
    if primitive is swap_p:
        value = _as_dtype_of(aval, value)
    abstract_eval_rules[primitive](aval, get_aval(value), *map(get_aval, operands), indexer=indexer)
    return primitive.bind(ref, value, *operands, indexer=indexer)


def _as_dtype_of(ref: AbstractRef, value: Any) -> Any:
    """Integers take the Ref's integer dtype; weakly typed values such as a Python float take the Ref's
    dtype of their kind."""
    aval = get_aval(value)
    kinds = {dtypes.kind(aval.dtype), dtypes.kind(ref.dtype)}
    takes = kinds <= {"i", "u"} or (aval.weak_type and len(kinds) == 1)
    return as_array(value).astype(ref.dtype) if takes and aval.dtype != ref.dtype else value


def _checked_ref(name: str, ref: Any) -> AbstractRef:
    if not is_ref(ref):
        raise ValueError(f"Can only call `{name}` on a `Ref`: {ref}.")
    return ref.aval


def _as_ref(name: str, ref: Any) -> Any:
    _checked_ref(name, ref)
    return ref
