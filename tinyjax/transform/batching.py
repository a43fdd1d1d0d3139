"""Batching: a function of one example becomes a function of a batch, without a loop.

A tracer knows which axis of its array is the batch dim, and a batching rule applies the primitive to the
whole array and says where the batch dim went.

Source: https://docs.jax.dev/en/latest/automatic-vectorization.html
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tinyjax.core import primitives
from tinyjax.core.api_util import check_callable, wraps
from tinyjax.core.array import Array, LiteralArray, ShapedArray
from tinyjax.core.avals import get_aval, to_numpy
from tinyjax.core.bind import (
    AxisEnv,
    Primitive,
    Trace,
    Tracer,
    context,
    extend_axis_env,
    missing_rule,
    set_current_trace,
)
from tinyjax.core.config import config
from tinyjax.core.debug_info import DebugInfo
from tinyjax.core.errors import Origin, made_at
from tinyjax.core.tracing import check_leaks, check_output, line_text, user_line
from tinyjax.core.tree_util.prefixes import flatten_axes
from tinyjax.core.tree_util.pytrees import tree_flatten, tree_unflatten
from tinyjax.transform import mapped_axes
from tinyjax.transform.jvp import add_any_p
from tinyjax.transform.mapped_axes import checked_dims, flat_out_axes, mapped_size

not_mapped = None  # the batch dim of a value that is the same for all examples


class AxisData(NamedTuple):
    """The axis that a vmap adds: its name (None: it has none), its size, and whether it runs over pmap's
    devices instead of examples. `extra` is a feature's addition."""

    name: Hashable | None
    size: int
    of_devices: bool = False
    spmd_axis_name: Any = None
    extra: mapped_axes.AxisExtra | None = None

    @property
    def env(self) -> AxisEnv:
        """The entry that the axis adds to the named axes around a function."""
        size = self.size if self.extra is None else self.extra.whole_size(self.size)
        return () if self.name is None else ((self.name, size),)


# ---- the trace ----


class BatchTracer(Tracer):
    """A batch of values along axis `batch_dim` of `val`; its aval is that of one of them."""

    __slots__ = ("aval", "val", "batch_dim", "source_info")
    _trace: BatchTrace

    def __init__(self, trace: BatchTrace, val: Any, batch_dim: int):
        self._trace = trace
        aval = get_aval(val)
        self.aval = aval.without_axis(batch_dim)
        self.val = val
        self.batch_dim = batch_dim
        self.source_info = user_line()

    @property
    def line(self) -> str | None:
        return line_text(self.source_info)

    def origin(self) -> Origin:
        return Origin(
            "batched",
            "It stands for one value per example (jax.vmap, which jacfwd, jacrev and hessian "
            f"use, too). {made_at(self)}",
        )

    def __repr__(self) -> str:
        batched = get_aval(self.val).str_short()
        return f"VmapTracer(aval={self.aval}, batched={batched})"


class BatchTrace(Trace):
    """Applies batching rules. The rules' own binds go to `parent`."""

    def __init__(self, parent: Trace, axis: AxisData):
        self.parent = parent
        self.axis = axis

    def val_and_dim(self, x: Any) -> tuple[Any, int | None]:
        # One vmap has several traces where it batches Python functions, all with one AxisData.
        if type(x) is BatchTracer and x._trace.axis is self.axis:
            return x.val, x.batch_dim
        return x, not_mapped

    def process_primitive(self, primitive: Primitive, args: Sequence[Any], params: dict) -> Any:
        """Applies the primitive's rule, in `parent`, and hides the batch dims of the results.

        Without batched operands `parent` runs the primitive, unless it refers to the axis by name or takes
        functions, which may hold tracers. Raises NotImplementedError if the primitive has no rule."""
        vals, dims = zip(*[self.val_and_dim(x) for x in args]) if args else ((), ())
        named = self.axis.name is not None and primitive in axis_batch_rules
        needed = named or primitive.takes_functions
        if not needed and all([dim is not_mapped for dim in dims]):
            return self.parent.process_primitive(primitive, vals, params)
        with set_current_trace(self.parent):
            if primitive in axis_batch_rules:
                out, out_dim = axis_batch_rules[primitive](self.axis, vals, dims, **params)
            else:
                rule = batch_rules.get(primitive) or missing_rule(primitive, "batch")
                out, out_dim = rule(vals, dims, **params)
        if primitive.multiple_results:
            return [self.tracer(x, d) for x, d in zip(out, out_dim)]
        return self.tracer(out, out_dim)

    def tracer(self, val: Any, dim: int | None) -> Any:
        return val if dim is not_mapped else BatchTracer(self, val, dim)


# ---- moving the batch dim ----


def moveaxis(x: Any, source: int, destination: int) -> Any:
    """`x` with its axis `source` at `destination`, the others in their order, like np.moveaxis."""
    ndim = len(primitives.shape_of(x))
    source, destination = source % ndim, destination % ndim
    permutation = [i for i in range(ndim) if i != source]
    permutation.insert(destination, source)
    return primitives.transpose(x, permutation)


def broadcast(x: Any, size: int, axis: int) -> Any:
    """`x` repeated `size` times along a new axis."""
    shape = list(primitives.shape_of(x))
    shape.insert(axis, size)
    return primitives.broadcast_in_dim(x, shape, tuple(np.delete(np.arange(len(shape)), axis)))


def bdim_at_front(x: Any, dim: int | None, size: int) -> Any:
    """`x` with its batch dim as axis 0; without a batch dim, `x` repeated `size` times."""
    return broadcast(x, size, 0) if dim is not_mapped else moveaxis(x, dim, 0)


def move_batch_dim(x: Any, source: int | None, destination: int | None, size: int) -> Any:
    """`x` with its batch dim at `destination`; without a batch dim, repeated there. Both may be None."""
    if source == destination:
        return x
    if source is not_mapped:
        assert destination is not None
        return broadcast(x, size, destination % (len(primitives.shape_of(x)) + 1))
    assert destination is not None
    return moveaxis(x, source, destination)


# ---- rules ----

# primitive -> (vals, dims, **params) -> (out, out_dim); lists of both if multiple_results
batch_rules: dict[Primitive, Callable[..., Any]] = {}
# primitive -> (axis, vals, dims, **params) -> as above; for primitives that have jaxprs as parameters,
# and for those that refer to the axis by name, which may have no mapped operand
axis_batch_rules: dict[Primitive, Callable[..., Any]] = {}
# The names of these tables in jax.interpreters.batching.
primitive_batchers = batch_rules
fancy_primitive_batchers = axis_batch_rules


def defvectorized(primitive: Primitive) -> None:
    """For an elementwise primitive of one operand: the batch dim stays where it is."""
    batch_rules[primitive] = functools.partial(_vectorized_rule, primitive)


def _vectorized_rule(primitive: Primitive, vals: Any, dims: Any, **params: Any) -> Any:
    return primitive.bind(*vals, **params), dims[0]


def defbroadcasting(primitive: Primitive) -> None:
    """For an elementwise primitive of several operands: their batch dims are brought together."""
    batch_rules[primitive] = functools.partial(_broadcasting_rule, primitive)


def _broadcasting_rule(primitive: Primitive, vals: Any, dims: Any, **params: Any) -> Any:
    """Brings the batch dims to one place. An operand without a batch dim may have any shape that
    broadcasts with an example's. Examples may be scalars in one operand and arrays in another."""
    batched = [(x, d) for x, d in zip(vals, dims) if d is not not_mapped]
    shape, dim = primitives.shape_of(batched[0][0]), batched[0][1]
    ranked = [(x, d) for x, d in zip(vals, dims) if primitives.shape_of(x)]
    if all(primitives.shape_of(x) == shape and d == dim for x, d in ranked):
        return _one_dim(primitive, primitive.bind(*vals, **params), dim)
    # An operand without a batch dim gets one of size 1, which the primitive stretches.
    vals = [bdim_at_front(x, d, 1) if primitives.shape_of(x) else x for x, d in zip(vals, dims)]
    ndim = max(len(primitives.shape_of(x)) for x in vals)
    vals = [x if d is not_mapped else _pad_rank(x, ndim) for x, d in zip(vals, dims)]
    return _one_dim(primitive, primitive.bind(*vals, **params), 0)


def _one_dim(primitive: Primitive, out: Any, dim: int) -> Any:
    """The result of a rule that puts the batch dim of all results in one place."""
    return out, [dim] * len(out) if primitive.multiple_results else dim


def _pad_rank(x: Any, ndim: int) -> Any:
    """Gives a batch of scalars axes of size 1 behind its batch dim, to broadcast with arrays."""
    return primitives.expand_dims(x, range(len(primitives.shape_of(x)), ndim))


def defreducer(primitive: Primitive) -> None:
    """For a primitive that removes `axes` from its one operand."""
    batch_rules[primitive] = functools.partial(_reducer_rule, primitive)


def _reducer_rule(primitive: Primitive, vals: Any, dims: Any, *, axes: Any, **params: Any) -> Any:
    """`axes` are axes of one example. In the whole array, the axes from `dim` on have numbers higher by
    one."""
    (x,), (dim,) = vals, dims
    # np.where makes the axes np.int64, which jaxprs then show, as in JAX.
    axes = tuple(np.where(np.less(axes, dim), axes, np.add(axes, 1)))
    out_dim = dim - sum(axis < dim for axis in axes)
    return primitive.bind(x, axes=axes, **params), int(out_dim)


def _broadcast_in_dim_rule(vals: Any, dims: Any, *, shape: Any, broadcast_dimensions: Any) -> Any:
    (x,), (dim,) = vals, dims
    new_dimensions = (0, *np.add(1, broadcast_dimensions)) if broadcast_dimensions else (0,)
    x = moveaxis(x, dim, 0)
    return primitives.broadcast_in_dim(x, (primitives.shape_of(x)[0], *shape), new_dimensions), 0


def _reshape_rule(vals: Any, dims: Any, *, new_sizes: Any) -> Any:
    (x,), (dim,) = vals, dims
    x = moveaxis(x, dim, 0)
    return primitives.reshape(x, (primitives.shape_of(x)[0], *new_sizes)), 0


def _transpose_rule(vals: Any, dims: Any, *, permutation: Any) -> Any:
    """`permutation` permutes one example's axes; the result has the batch dim in front."""
    (x,), (dim,) = vals, dims
    return primitives.transpose(x, (dim, *(i if i < dim else i + 1 for i in permutation))), 0


def _add_any_rule(vals: Any, dims: Any) -> Any:
    (x, y), (x_dim, y_dim) = vals, dims
    if x_dim is not_mapped:
        return add_any_p.bind(broadcast(x, primitives.shape_of(y)[y_dim], y_dim), y), y_dim
    if y_dim is not_mapped:
        return add_any_p.bind(x, broadcast(y, primitives.shape_of(x)[x_dim], x_dim)), x_dim
    return add_any_p.bind(moveaxis(x, x_dim, y_dim), y), y_dim


for _primitive in (primitives.add_p, primitives.mul_p, primitives.gt_p):
    defbroadcasting(_primitive)
for _primitive in (primitives.neg_p, primitives.sin_p, primitives.cos_p):
    defvectorized(_primitive)
defreducer(primitives.reduce_sum_p)
batch_rules[primitives.broadcast_in_dim_p] = _broadcast_in_dim_rule
batch_rules[primitives.reshape_p] = _reshape_rule
batch_rules[primitives.transpose_p] = _transpose_rule
batch_rules[add_any_p] = _add_any_rule


# ---- the front door ----


def vmap(
    fun: Callable,
    in_axes: Any = 0,
    out_axes: Any = 0,
    axis_name: Hashable | None = None,
    axis_size: int | None = None,
    spmd_axis_name: Hashable | None = None,
) -> Callable[..., Any]:
    """`fun` over a batch: maps it along axes of its arguments and stacks the results.

    `in_axes` is an int, None (not mapped) or a tuple with an entry for each positional argument, an
    int, None or a tree prefix of the argument; keyword arguments are mapped along axis 0. `out_axes`
    is the same for the results. Within `fun`, `axis_name` is the axis's name for collectives, such as
    lax.psum. Where `fun` computes on several devices, it splits the batch over their axis `spmd_axis_name`.
    Raises TypeError or ValueError where in_axes don't match the arguments, the mapped sizes differ or a
    batched result is declared None."""
    check_callable(fun, "vmap")
    if isinstance(in_axes, list):
        in_axes = tuple(in_axes)
    if not (in_axes is None or type(in_axes) in (int, tuple)):
        raise TypeError(
            "vmap in_axes must be an int, None, or a tuple of entries corresponding to the positional "
            f"arguments passed to the function, but got {in_axes}."
        )

    @wraps(fun)
    def vmap_f(*args: Any, **kwargs: Any) -> Any:
        if isinstance(in_axes, tuple) and len(in_axes) != len(args):
            raise ValueError(
                "vmap in_axes must be an int, None, or a tuple of entries corresponding to the "
                "positional arguments passed to the function, but got "
                f"len(in_axes)={len(in_axes)}, len(args)={len(args)}"
            )
        leaves, in_tree = tree_flatten((args, kwargs))
        dims = flatten_axes("vmap in_axes", in_tree, (in_axes, 0), kws=True)
        info = DebugInfo(fun, (), in_tree)
        dims = checked_dims(leaves, dims, info, "vmap")
        size = mapped_size(leaves, dims, info, axis_size, "vmap")

        extra = mapped_axes.axis_extra(leaves, dims, spmd_axis_name)
        axis = AxisData(axis_name, size, spmd_axis_name=spmd_axis_name, extra=extra)
        trace = BatchTrace(context.trace, axis)
        with set_current_trace(trace), extend_axis_env(trace.axis.env):
            args_in, kwargs_in = tree_unflatten(
                in_tree, [trace.tracer(x, d) for x, d in zip(leaves, dims)]
            )
            outs, out_tree = tree_flatten(fun(*args_in, **kwargs_in))
        for position in range(len(outs)):
            check_output(outs[position], position)
        out_dims = flat_out_axes("vmap", out_tree, out_axes)
        results = [_output(trace, x, d) for x, d in zip(outs, out_dims)]
        if config.jax_check_tracer_leaks:
            del args_in, kwargs_in, outs
            check_leaks(trace)
        return tree_unflatten(out_tree, results)

    return vmap_f


def _output(trace: BatchTrace, x: Any, out_dim: int | None) -> Any:
    val, dim = trace.val_and_dim(x)
    if out_dim is None:
        if dim is not not_mapped:
            name = f" (axis_name={trace.axis.name})" if trace.axis.name is not None else ""
            raise ValueError(
                f"vmap has mapped output{name} but out_axes is None: only a result that is the same "
                "for all examples can be returned unmapped"
            )
        return val
    aval: Any = get_aval(x)
    out_dim = mapped_axes.checked_out_dim(out_dim, aval.ndim + 1)
    if type(aval) is not ShapedArray:
        return aval.moved_batch(val, dim, out_dim)
    val = val if isinstance(val, Array) else _literal(val)
    return move_batch_dim(val, dim, out_dim, trace.axis.size)


def _literal(x: Any) -> Any:
    """A Python or NumPy scalar result as an Array that a jaxpr writes as a literal."""
    aval = get_aval(x)
    return LiteralArray(to_numpy(x, aval), aval)
