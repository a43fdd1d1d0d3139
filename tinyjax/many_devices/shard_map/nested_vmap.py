"""shard_map as nested vmaps: its body, mapped by one vmap over each axis of the mesh.

An array is split by its spec, so that the mesh's axes become its leading axes; the body is mapped over each
of them under its name, so that a collective over "x" is one over a batch; and the parts of the results are
joined again. On one machine that is the whole program: it is compiled like any other, and contains no
devices. A value that is equal along a mesh axis is not batched along it, and is computed once.

    x[8, 6], P("x", "y") on a mesh of 4 times 2    -- split -->    x[4, 2, 2, 3]

Source: https://docs.jax.dev/en/latest/notebooks/shard_map.html
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import Any

from tinyjax.core import primitives
from tinyjax.core.bind import extend_axis_env
from tinyjax.core.jaxpr import ClosedJaxpr, cached_on_jaxpr, jaxpr_as_fun
from tinyjax.core.primitives import shape_of
from tinyjax.core.tracing import trace_to_jaxpr
from tinyjax.many_devices.sharding.partition_spec import PartitionSpec, names_at
from tinyjax.transform.batching import AxisData, not_mapped
from tinyjax.transform.batching_of_jaxpr import batch_jaxpr

# The axes that a shard_map maps over, in the mesh's order: names and sizes.
MeshAxes = tuple[tuple[Hashable, int], ...]
Specs = tuple[PartitionSpec, ...]


@cached_on_jaxpr
def nested_vmaps(
    body: ClosedJaxpr, mapped: tuple[AxisData, ...], in_specs: Specs, out_specs: Specs
) -> ClosedJaxpr:
    """The program of whole arrays, from that of one device; `mapped` are the mesh's axes. If several
    processes share an axis, each has a part of it, and the program is that of its blocks."""
    axes_of_outs: list[list[Hashable]] = [[] for _ in out_specs]
    axes = tuple([(axis.name, axis.size) for axis in mapped])
    with extend_axis_env(tuple([entry for axis in mapped for entry in axis.env])):
        batched = body
        for axis in reversed(mapped):  # the innermost first
            name = axis.name
            dims = tuple([0 if name in spec.names else not_mapped for spec in in_specs])
            at_front = tuple([name in spec.names for spec in out_specs])
            batched, out_dims = batch_jaxpr(batched, axis, dims, at_front)
            for its_axes, dim in zip(axes_of_outs, out_dims):
                if dim is not not_mapped:
                    its_axes.insert(0, name)

    def whole(*args: Any) -> list[Any]:
        parts = [split(x, spec, axes) for x, spec in zip(args, in_specs)]
        outs = jaxpr_as_fun(batched)(*parts)
        return [join(x, spec, names) for x, spec, names in zip(outs, out_specs, axes_of_outs)]

    in_avals = [
        aval.update(shape=whole_shape(aval.shape, spec, axes), extra=None)
        for aval, spec in zip(body.in_avals, in_specs)
    ]
    return trace_to_jaxpr(whole, in_avals)


def split(x: Any, spec: PartitionSpec, axes: MeshAxes) -> Any:
    """The parts of an array: the mesh axes of its spec in front, in the mesh's order, then a part's own axes.

    `axes` are the names and sizes of the mesh's axes. Of several names for one axis of the array, the first
    is the most significant. Axes without a name are whole."""
    sizes = dict(axes)
    shape: list[int] = []
    place_of: dict[Hashable, int] = {}
    own = []
    for i, size in enumerate(shape_of(x)):
        for name in names_at(spec, i):
            place_of[name] = len(shape)
            shape.append(sizes[name])
            size //= sizes[name]
        own.append(len(shape))
        shape.append(size)
    front = [place_of[name] for name in sizes if name in place_of]
    return primitives.transpose(primitives.reshape(x, shape), front + own)


def join(x: Any, spec: PartitionSpec, names: Sequence[Hashable]) -> Any:
    """The inverse of split, for parts with the mesh axes `names` in front, in this order. Along one that the
    spec doesn't name, all devices have the same part: the first one's is taken."""
    for name in [name for name in names if name not in spec.names]:
        x = x[(slice(None),) * names.index(name) + (0,)]
        names = [other for other in names if other != name]
    shape, order, count = shape_of(x), [], len(names)
    whole = []
    for i, size in enumerate(shape[count:]):
        places = [names.index(name) for name in names_at(spec, i)]
        order += [*places, count + i]
        whole.append(size * math.prod([shape[place] for place in places]))
    return primitives.reshape(primitives.transpose(x, order), whole)


def part_shape(shape: Sequence[int], spec: PartitionSpec, axes: MeshAxes) -> tuple[int, ...]:
    """The shape of one device's part."""
    return tuple([size // _parts(spec, i, axes) for i, size in enumerate(shape)])


def whole_shape(shape: Sequence[int], spec: PartitionSpec, axes: MeshAxes) -> tuple[int, ...]:
    """The shape of the array whose parts have this shape."""
    return tuple([size * _parts(spec, i, axes) for i, size in enumerate(shape)])


def _parts(spec: PartitionSpec, axis: int, axes: MeshAxes) -> int:
    """The number of parts of an axis of the array."""
    return math.prod([dict(axes)[name] for name in names_at(spec, axis)])
