"""Functions made to work on more axes: vectorize, apply_along_axis, apply_over_axes, piecewise.

Each of them is vmap, once for each axis.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from typing import Any

from tinyjax import lax
from tinyjax.core.api_util import wraps
from tinyjax.core.array import Array
from tinyjax.core.primitives import shape_of
from tinyjax.lax.shape import canonicalize_axis
from tinyjax.numpy.creation import array, asarray, zeros_like
from tinyjax.numpy.cumulative import cumsum
from tinyjax.numpy.joining import concatenate
from tinyjax.numpy.manipulation import expand_dims, squeeze
from tinyjax.numpy.searching import argmax
from tinyjax.numpy.util import broadcast_shapes, check_arraylike, convert, ensure_arraylike
from tinyjax.transform.batching import vmap
from tinyjax.transform.jit.api import jitted

_NAMES = r"\((?:\w+(?:,\w+)*)?\)"
_SIGNATURE = re.compile(f"^{_NAMES}(?:,{_NAMES})*->{_NAMES}(?:,{_NAMES})*$")


def vectorize(
    pyfunc: Callable, *, excluded: Collection[int | str] = frozenset(), signature: str | None = None
) -> Callable[..., Any]:
    """`pyfunc` mapped over all axes of its arguments, broadcast together; as numpy.vectorize.

    A signature such as "(n,m),(m)->(n)" names the axes that pyfunc itself takes, at the end of the
    shapes. Arguments in `excluded` are passed on as they are. Raises ValueError where shapes do not fit
    the signature."""
    if any(not isinstance(item, (str, int)) for item in excluded):
        raise TypeError(
            f"jax.numpy.vectorize can only exclude integer or string arguments, but {excluded=}"
        )
    if any(isinstance(item, int) and item < 0 for item in excluded):
        raise ValueError(f"{excluded=} contains negative numbers")

    @wraps(pyfunc)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        context = f"on vectorized function with {excluded=} and {signature=}"
        fixed = {i for i in range(len(args)) if i in excluded or args[i] is None}
        mapped = [asarray(x) for i, x in enumerate(args) if i not in fixed]

        def call(*dynamic: Any) -> Any:
            it = iter(dynamic)
            return pyfunc(*[x if i in fixed else next(it) for i, x in enumerate(args)], **kwargs)

        in_names: list[tuple[str, ...]] = [()] * len(mapped)
        out_names = None
        if signature is not None:
            in_names, out_names = _parse_signature(signature)
            if len(in_names) == len(args) != len(mapped):
                in_names = [names for i, names in enumerate(in_names) if i not in fixed]
        if len(in_names) != len(mapped):
            raise TypeError(
                f"wrong number of positional arguments: expected {len(in_names)}, got {len(mapped)} "
                f"{context}"
            )
        sizes: dict[str, int] = {}
        for x, names in zip(mapped, in_names):
            _bind_sizes(sizes, x.shape, names, context, is_input=True)
        if out_names is not None:
            call = _checked(call, sizes, out_names, context)
        return _map_over_broadcast(call, mapped, in_names)

    return wrapped


def _map_over_broadcast(call: Callable, args: list[Any], names: list[tuple[str, ...]]) -> Any:
    """vmap over each axis of the arguments' common loop shape, from the last to the first."""
    loop_shapes = [x.shape[: x.ndim - len(core)] for x, core in zip(args, names)]
    rank = len(broadcast_shapes(*loop_shapes)) if loop_shapes else 0
    args = [
        squeeze(x, axis=tuple(i for i, n in enumerate(shape) if n == 1))
        for x, shape in zip(args, loop_shapes)
    ]
    padded = [(1,) * (rank - len(shape)) + shape for shape in loop_shapes]
    new_axes = []
    for axis in range(rank)[::-1]:
        in_axes = tuple(None if shape[axis] == 1 else 0 for shape in padded)
        if all(a is None for a in in_axes):
            new_axes.append(axis)
        else:
            call = vmap(call, in_axes)
    out = call(*args)
    if not new_axes:
        return out
    if isinstance(out, tuple):
        return tuple(expand_dims(x, axis=new_axes) for x in out)
    return expand_dims(out, axis=new_axes)


def _parse_signature(signature: str) -> tuple[list[tuple[str, ...]], list[tuple[str, ...]]]:
    text = signature.replace(" ", "")
    if not _SIGNATURE.match(text):
        raise ValueError(f"not a valid gufunc signature: {signature}")
    sides = text.split("->")
    ins, outs = ([tuple(re.findall(r"\w+", arg)) for arg in re.findall(_NAMES, s)] for s in sides)
    return ins, outs


def _bind_sizes(
    sizes: dict[str, int],
    shape: tuple[int, ...],
    names: tuple[str, ...],
    context: str,
    is_input: bool,
) -> None:
    """Records the size of each named axis. Raises ValueError if an axis already has another size."""
    if len(shape) < len(names) or (not is_input and len(shape) != len(names)):
        what = "input" if is_input else "output"
        raise ValueError(f"{what} shape {shape} does not match core dimensions {names} {context}")
    for name, size in zip(names, shape[len(shape) - len(names) :]):
        if sizes.setdefault(name, size) != size:
            raise ValueError(
                f"inconsistent size for core dimension '{name}': {size} vs {sizes[name]} {context}"
            )


def _checked(
    call: Callable, sizes: dict[str, int], out_names: Sequence[tuple[str, ...]], context: str
) -> Callable:
    def checked(*args: Any) -> Any:
        out = call(*args)
        outs = out if isinstance(out, tuple) else (out,)
        if len(out_names) > 1 and not isinstance(out, tuple):
            raise TypeError(
                f"output must be a tuple when multiple outputs are expected, got: {out!r} {context}"
            )
        if len(outs) != len(out_names):
            raise TypeError(
                f"wrong number of output arguments: expected {len(out_names)}, got {len(outs)} {context}"
            )
        found = dict(sizes)
        for x, names in zip(outs, out_names):
            _bind_sizes(found, shape_of(x), names, context, is_input=False)
        return out

    return checked


def apply_along_axis(func1d: Callable, axis: int, arr: Any, *args: Any, **kwargs: Any) -> Array:
    """func1d applied to each vector along `axis`, by vmap over the other axes; as numpy.apply_along_axis."""
    check_arraylike("apply_along_axis", arr)
    ndim = len(shape_of(arr))
    axis = canonicalize_axis(axis, ndim)
    func: Callable = lambda x: func1d(x, *args, **kwargs)  # noqa: E731
    for i in range(1, ndim - axis):
        func = vmap(func, in_axes=i, out_axes=-1)
    for _ in range(axis):
        func = vmap(func, in_axes=0, out_axes=0)
    return func(arr)


def apply_over_axes(func: Callable, a: Any, axes: Sequence[int]) -> Array:
    """func(a, axis) for one axis after the other, the rank kept; as numpy.apply_over_axes."""
    a = ensure_arraylike("apply_over_axes", a)
    for axis in axes:
        out = func(a, axis)
        if out.ndim == a.ndim - 1:
            out = expand_dims(out, axis)
        if out.ndim != a.ndim:
            raise ValueError("function is not returning an array of the correct shape")
        a = out
    return a


def piecewise(x: Any, condlist: Any, funclist: Sequence[Any], *args: Any, **kw: Any) -> Array:
    """For each element, the function (or constant) of the condition that holds; as numpy.piecewise.

    One more function than conditions is the default, which is 0 otherwise. All functions are computed
    for all elements, given one by one (vmap of lax.switch); each element's derivative is that of its
    own function. Raises ValueError for another number of functions."""
    x = ensure_arraylike("piecewise", x)
    count = len(condlist)
    if len(funclist) not in (count, count + 1):
        raise ValueError(
            f"with {count} condition(s), either {count} or {count + 1} functions are expected; got "
            f"{len(funclist)}"
        )
    default = funclist[-1] if len(funclist) > count else 0
    branches = dict(enumerate([default, *funclist[:count]]))
    constants = {i: f for i, f in branches.items() if not callable(f)}
    functions = frozenset((i, f) for i, f in branches.items() if callable(f))
    return _piecewise(x, asarray(condlist, dtype=bool), constants, functions, *args, **kw)


@jitted(static_argnames=("funcs",))
def _piecewise(x: Any, condlist: Any, consts: Any, funcs: Any, *args: Any, **kw: Any) -> Any:
    # The place of the last condition that holds: the first place where the running count has its final
    # value.
    padded = concatenate([zeros_like(condlist[:1]), condlist], 0)
    which = argmax(cumsum(padded, 0), 0)

    def branch(f: Any) -> Callable:
        if callable(f):
            return lambda x: convert(f(x, *args, **kw), dtype)
        return lambda x: array(f, dtype=dtype)

    dtype = x.dtype
    by_place = consts | dict(funcs)
    branches = [branch(by_place[i]) for i in range(len(by_place))]
    return vectorize(lax.switch, excluded=(1,))(which, branches, x)
