"""Helpers for writing kernels: conditions, loops, rounding up, temporary Refs.

Source: https://docs.jax.dev/en/latest/jax.experimental.pallas.html
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

from tinyjax.core.bind import Tracer, as_array
from tinyjax.core.dtypes import np_dtype
from tinyjax.core.tree_util.pytrees import tree_flatten, tree_unflatten
from tinyjax.lax.arithmetic import div
from tinyjax.lax.control_flow.cond import cond
from tinyjax.lax.control_flow.fori_loop import fori_loop
from tinyjax.lax.creation import full
from tinyjax.lax.debugging import debug_print as print_when_run
from tinyjax.pallas.grid_mapping import uninitialized
from tinyjax.refs.ref import Ref, new_ref


def when(condition: Any, /) -> Callable[[Callable[[], None]], None]:
    """Calls the decorated function if the condition holds: `@pl.when(pl.program_id(0) == 0)`.

    A bool is a Python `if`; of an array, this is a lax.cond."""

    def decorate(f: Callable[[], None]) -> None:
        if not isinstance(condition, bool):
            cond(condition, f, lambda: None)
        elif condition:
            f()

    return decorate


def loop(
    lower: Any,
    upper: Any,
    *,
    init_carry: Any = None,
    step: Any = 1,
    unroll: int | bool | None = None,
) -> Callable[[Callable], Any]:
    """Calls the decorated function for each index from lower to upper, in steps; with an `init_carry`, as
    body(index, carry), and gives the last carry."""

    def decorate(body: Callable) -> Any:
        def iteration(i: Any, carry: Any) -> Any:
            index = as_array(lower + i * step)  # a number, where jit is disabled
            return body(index) if init_carry is None else body(index, carry)

        return fori_loop(0, cdiv(upper - lower, step), iteration, init_carry, unroll=unroll)

    return decorate


def cdiv(a: Any, b: Any) -> Any:
    """a / b rounded up, where a >= 0 and b > 0."""
    return div(a + (b - 1), b) if _is_array(a) or _is_array(b) else -(-a // b)


def align_to(a: Any, alignment: Any) -> Any:
    """The nearest multiple of `alignment` that is not less than a."""
    return cdiv(a, alignment) * alignment


def _is_array(x: Any) -> bool:
    return isinstance(x, Tracer) or hasattr(x, "aval")


def next_power_of_2(x: int) -> int:
    """The least power of two that is not less than x. Raises ValueError for a negative number."""
    if x < 0:
        raise ValueError("`next_power_of_2` requires a non-negative integer.")
    return 1 if x == 0 else 2 ** (x - 1).bit_length()


def strides_from_shape(shape: Sequence[int]) -> tuple[int, ...]:
    """How many elements lie between neighbours, along each axis of an array in row-major order."""
    return tuple(math.prod(shape[i + 1 :]) for i in range(len(shape)))


def multiple_of(x: Any, values: int | Sequence[int]) -> Any:
    """x, with the hint to other compilers that it is a multiple of `values`."""
    return x


def debug_print(fmt: str, *args: Any) -> None:
    """Prints values from inside a kernel, when it runs."""
    print_when_run(fmt, *args, skip_format_check=True)


# ---- temporary Refs ----


def empty(shape: Sequence[int], dtype: Any) -> Any:
    """An uninitialized array: NaN, or the smallest integer."""
    return full(shape, uninitialized(np_dtype(dtype)), dtype)


def empty_like(x: Any) -> Any:
    """The same, of the shapes and dtypes of a tree."""
    leaves, tree = tree_flatten(x)
    return tree_unflatten(tree, [empty(leaf.shape, leaf.dtype) for leaf in leaves])


def empty_ref_like(x: Any) -> Ref:
    """A Ref of the shape and dtype of `x`, a ShapeDtypeStruct or a type such as pl.ANY((8,), jnp.float32)."""
    return new_ref(empty(x.shape, x.dtype))


def run_scoped(f: Callable, *types: Any, collective_axes: Any = (), **kw_types: Any) -> Any:
    """Calls `f` with temporary Refs of these types, and returns its result: `pl.run_scoped(f, pl.ANY((8,),
    jnp.float32))`.
    """
    if collective_axes:
        raise NotImplementedError("run_scoped: collective_axes are for the cores of a TPU or GPU")
    leaves, tree = tree_flatten((types, kw_types))
    args, kwargs = tree_unflatten(tree, list(map(empty_ref_like, leaves)))
    return f(*args, **kwargs)


def with_scoped(*types: Any, collective_axes: Any = (), **kw_types: Any) -> Callable:
    """A decorator: the function gets Refs of these types, after its other arguments."""

    def decorate(f: Callable) -> Callable:
        @functools.wraps(f)
        def call(*args: Any, **kwargs: Any) -> Any:
            inner = functools.partial(f, *args, **kwargs)
            return run_scoped(inner, *types, collective_axes=collective_axes, **kw_types)

        return call

    return decorate


def run_state(f: Callable[..., None]) -> Callable[[Any], Any]:
    """A function of a tree of arrays: puts them into Refs, calls f(refs), and returns the Refs'
    final values.
    """

    def call(args: Any) -> Any:
        leaves, tree = tree_flatten(args)
        refs = list(map(new_ref, leaves))
        f(tree_unflatten(tree, refs))
        return tree_unflatten(tree, [ref[...] for ref in refs])

    return call
