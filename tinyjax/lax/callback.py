"""Python functions that are called while a compiled program runs: pure_callback and io_callback.

A *pure* callback may be dropped, repeated or merged, as its results are all that it does; an *IO* callback
happens exactly where it stands. Both are host steps in the schedule.

Source: https://docs.jax.dev/en/latest/external-callbacks.html
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from tinyjax import lax
from tinyjax.compile.kernel.rules import OnHost, lowering_rules
from tinyjax.core import dtypes
from tinyjax.core.array import ArrayImpl, ShapedArray
from tinyjax.core.bind import Primitive, abstract_eval_rules, as_array, impl_rules
from tinyjax.core.facts import MOVES
from tinyjax.core.runtime_errors import JaxRuntimeError, callback_error
from tinyjax.core.tree_util import PyTreeDef, tree_flatten, tree_leaves, tree_map, tree_unflatten
from tinyjax.lax.control_flow.scan import scan
from tinyjax.lax.shape import batch_size
from tinyjax.transform.batching import batch_rules, moveaxis, not_mapped
from tinyjax.transform.jvp import jvp_rules
from tinyjax.transform.transposition import transpose_rules

# ---- the call ----


@dataclasses.dataclass(frozen=True)
class _FlatCallback:
    """A Python function of a flat list of arguments; equal for the same function and tree."""

    callback_func: Callable[..., Any]
    in_tree: PyTreeDef

    def __call__(self, *flat_args: Any) -> list[Any]:
        args, kwargs = tree_unflatten(self.in_tree, flat_args)
        return tree_leaves(self.callback_func(*args, **kwargs))


def argument(x: Any) -> ArrayImpl:
    """An operand as a callback gets it: an Array that isn't weakly typed."""
    array = as_array(x)
    return ArrayImpl(array._value, array.aval.strip_weak_type())


def _run(
    name: str, callback: Callable, result_avals: Sequence[ShapedArray], args: Sequence[Any]
) -> list[ArrayImpl]:
    """The results of a callback, which must have the declared tree, shapes and dtypes."""
    try:
        outs = callback(*[argument(x) for x in args])
    except Exception as error:
        raise callback_error(name, error) from error
    if len(outs) != len(result_avals):
        raise JaxRuntimeError(
            f"INTERNAL: Mismatched number of outputs from callback. Expected: {len(result_avals)}, "
            f"Actual: {len(outs)}. {name} declares its results by result_shape_dtypes"
        )
    return [_checked(name, n, x, aval) for n, (x, aval) in enumerate(zip(outs, result_avals))]


def _checked(name: str, number: int, out: Any, aval: ShapedArray) -> ArrayImpl:
    value = np.asarray(out)
    value = value.astype(dtypes.canonicalize_dtype(value.dtype), copy=False)
    for what in ("shape", "dtype"):
        expected, got = getattr(aval, what), getattr(value, what)
        if expected != got:
            raise JaxRuntimeError(
                f"INTERNAL: Incorrect output {what} for return value #{number}: Expected: {expected}, "
                f"Actual: {got}. {name} declares its results by result_shape_dtypes"
            )
    return ArrayImpl(value, aval)


def _bind(
    primitive: Primitive,
    callback: Callable,
    result_shape_dtypes: Any,
    args: tuple,
    kwargs: dict[str, Any],
    params: dict[str, Any],
) -> Any:
    leaves, in_tree = tree_flatten((args, kwargs))
    avals, out_tree = tree_flatten(tree_map(_as_aval, result_shape_dtypes))
    flat = _FlatCallback(callback, in_tree)
    outs = primitive.bind(*leaves, callback=flat, result_avals=tuple(avals), **params)
    return tree_unflatten(out_tree, outs)


def _as_aval(struct: Any) -> ShapedArray:
    dtype = np.dtype(struct.dtype)
    if dtypes.canonicalize_dtype(dtype) != dtype:
        raise ValueError(
            "result_shape_dtypes cannot specify 64-bit types when `jax_enable_x64` is disabled: got "
            f"{dtype.name}"
        )
    return ShapedArray(tuple(struct.shape), dtype)


# ---- pure_callback ----

CALLS_PYTHON: dict[str, Any] = {
    "multiple_results": True, "impl_binds_primitives": True, "calls_python": True, "axes": "none", **MOVES
}  # fmt: skip
pure_callback_p = Primitive("pure_callback", **CALLS_PYTHON)

VMAP_METHODS = (
    *("sequential", "sequential_unrolled", "expand_dims", "broadcast_all", "legacy_vectorized"),
    None,
)


def pure_callback(
    callback: Callable[..., Any],
    result_shape_dtypes: Any,
    *args: Any,
    sharding: None = None,
    vmap_method: str | None = None,
    **kwargs: Any,
) -> Any:
    """The results of `callback(*args, **kwargs)`, a Python function without side effects.

    It takes Arrays and returns a tree of arrays, of the shapes and dtypes of `result_shape_dtypes` (a tree of
    ShapeDtypeStructs or arrays). `vmap_method` selects how vmap calls it: "sequential" once for each
    example; "expand_dims" once, all arguments with a leading axis, of size 1 for unbatched ones;
    "broadcast_all" gives unbatched ones the batch's size; "legacy_vectorized" gives them no leading axis.
    Raises ValueError for another vmap_method and under jvp and grad, NotImplementedError under vmap
    without a vmap_method, JaxRuntimeError for what the callback raises and for results not as declared."""
    if vmap_method not in VMAP_METHODS:
        raise ValueError(
            f"vmap_method must be one of the allowed methods {list(VMAP_METHODS)}, but got: "
            f"{vmap_method}"
        )
    params = {"sharding": sharding, "vmap_method": vmap_method}
    return _bind(pure_callback_p, callback, result_shape_dtypes, args, kwargs, params)


def _pure_callback_batch(
    vals: Sequence[Any], dims: Sequence[int | None], *, result_avals: Any, **params: Any
) -> Any:
    size = batch_size(vals, dims)
    vals = [x if d is not_mapped else moveaxis(x, d, 0) for x, d in zip(vals, dims)]
    method = params["vmap_method"]
    if method is None:
        raise NotImplementedError(
            "vmap is only supported for the pure_callback primitive when vmap_method is one of "
            f"{', '.join(repr(m) for m in VMAP_METHODS if m)}. Got vmap_method=None: 'sequential' is "
            "right for any callback"
        )
    if method.startswith("sequential"):

        def call(args: Sequence[Any]) -> Any:
            return pure_callback_p.bind(*args, result_avals=result_avals, **params)

        return _one_at_a_time(call, vals, dims, unroll=method == "sequential_unrolled")
    if method != "legacy_vectorized":
        unmapped_size = size if method == "broadcast_all" else 1
        vals = [
            lax.broadcast(x, (unmapped_size,)) if d is not_mapped else x for x, d in zip(vals, dims)
        ]
    batched_avals = tuple(aval.update(shape=(size, *aval.shape)) for aval in result_avals)
    outs = pure_callback_p.bind(*vals, result_avals=batched_avals, **params)
    return outs, [0] * len(outs)


def _one_at_a_time(
    call: Callable, vals: Sequence[Any], dims: Sequence[int | None], unroll: bool
) -> Any:
    """`call` of each example in turn, by scan; batches have their dim in front."""

    def step(_: Any, mapped: Sequence[Any]) -> Any:
        found = iter(mapped)
        return (), call([x if d is not_mapped else next(found) for x, d in zip(vals, dims)])

    mapped = [x for x, d in zip(vals, dims) if d is not not_mapped]
    _, outs = scan(step, (), mapped, unroll=unroll or 1)
    return outs, [0] * len(outs)


def _pure_not_differentiable(*args: Any, **params: Any) -> NoReturn:
    raise ValueError(
        "Pure callbacks do not support JVP or transposition: nothing is known about the derivative of "
        "the Python function. Give one with jax.custom_jvp or jax.custom_vjp"
    )


impl_rules[pure_callback_p] = lambda *args, callback, result_avals, **params: _run(
    "pure_callback", callback, result_avals, args
)
abstract_eval_rules[pure_callback_p] = lambda *avals, result_avals, **params: list(result_avals)
batch_rules[pure_callback_p] = _pure_callback_batch
jvp_rules[pure_callback_p] = transpose_rules[pure_callback_p] = _pure_not_differentiable


# ---- io_callback ----

io_callback_p = Primitive("io_callback", **CALLS_PYTHON, has_effects=True)


def io_callback(
    callback: Callable[..., Any],
    result_shape_dtypes: Any,
    *args: Any,
    sharding: None = None,
    ordered: bool = False,
    **kwargs: Any,
) -> Any:
    """The results of `callback(*args, **kwargs)`, a Python function with side effects.

    Arguments and results as for pure_callback (result_shape_dtypes may be None). It is called exactly
    once, in the order of the program among all that has effects; under vmap once for each example,
    which `ordered` forbids.
    Raises ValueError under jvp and grad, and under vmap if ordered; JaxRuntimeError for what the
    callback raises and for results not as declared."""
    params = {"sharding": sharding, "ordered": ordered}
    return _bind(io_callback_p, callback, result_shape_dtypes, args, kwargs, params)


def _io_callback_batch(vals: Sequence[Any], dims: Sequence[int | None], **params: Any) -> Any:
    if params["ordered"]:
        raise ValueError(
            "Cannot `vmap` ordered IO callback: the examples of a batch have no order. Give ordered=False"
        )
    vals = [x if d is not_mapped else moveaxis(x, d, 0) for x, d in zip(vals, dims)]
    return _one_at_a_time(lambda args: io_callback_p.bind(*args, **params), vals, dims, False)


def _io_not_differentiable(*args: Any, **params: Any) -> NoReturn:
    raise ValueError(
        "IO callbacks do not support JVP or transposition: nothing is known about the derivative of "
        "the Python function. Give it jax.lax.stop_gradient(x), or a derivative with jax.custom_jvp"
    )


impl_rules[io_callback_p] = lambda *args, callback, result_avals, **params: _run(
    "io_callback", callback, result_avals, args
)
abstract_eval_rules[io_callback_p] = lambda *avals, result_avals, **params: list(result_avals)
batch_rules[io_callback_p] = _io_callback_batch
jvp_rules[io_callback_p] = transpose_rules[io_callback_p] = _io_not_differentiable

lowering_rules[pure_callback_p] = lowering_rules[io_callback_p] = OnHost("it calls Python")
