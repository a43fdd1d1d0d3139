"""shard_map over a mesh whose devices belong to several processes: each runs the program of its own part.

After this file you can say what a process computes: the same nested vmaps as on one machine, over its own
part of each axis of the mesh, on its block of each operand. A collective over an axis that other processes
have parts of too becomes one of the vmap and a step in which the processes meet (lax/across_processes.py). A
jitted program with such a shard_map in it is run equation by equation, each shard_map compiled; elementwise
operations on arrays in blocks are done block by block. Builds on nested_vmap and sharding/blocks.py.

Source: https://docs.jax.dev/en/latest/multi_process.html
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tinyjax.compile.kernel.rules import Elementwise, lowering_rules
from tinyjax.core.array import ArrayImpl
from tinyjax.core.bind import as_array
from tinyjax.core.jaxpr import (
    ClosedJaxpr,
    JaxprEqn,
    Literal,
    Var,
    cached_on_jaxpr,
    literal_value,
    subjaxprs,
)
from tinyjax.core.primitives import shape_of
from tinyjax.runtime.devices import default_device
from tinyjax.runtime.distributed.processes import process_count
from tinyjax.sharding.blocks import Block, from_block, own_block, own_parts, spans_processes
from tinyjax.sharding.current_mesh import get_mesh
from tinyjax.sharding.mesh import AbstractMesh
from tinyjax.sharding.named_sharding import NamedSharding
from tinyjax.transform.batching import AxisData
from tinyjax.transform.jit.primitive import compiled, jit_p, runs_in_parts
from tinyjax.transform.shard_map.nested_vmap import nested_vmaps


def mesh_of(params: dict[str, Any]) -> Any:
    """The mesh of a shard_map, with its devices."""
    mesh = params["mesh"]
    return get_mesh() if isinstance(mesh, AbstractMesh) else mesh


def shard_map_of_own_part(args: Sequence[Any], params: dict[str, Any]) -> list[ArrayImpl]:
    """The results of a shard_map; what this process computes of them is its blocks."""
    mesh, names = mesh_of(params), params["newly_manual_axes"]
    in_specs, out_specs = params["in_specs"], params["out_specs"]
    parts = [part for part in own_parts(mesh) if part.name in names]
    axes = tuple([AxisData(part.name, part.size, True, part.ranks, part.place) for part in parts])
    blocks = [own_block(as_array(x), NamedSharding(mesh, s)) for x, s in zip(args, in_specs)]
    program = nested_vmaps(params["jaxpr"], axes, in_specs, out_specs)
    outs = compiled(program, default_device(), "shard_map")(blocks)
    return [from_block(out, NamedSharding(mesh, spec)) for out, spec in zip(outs, out_specs)]


# ---- jitted programs ----


def is_shared(jaxpr: ClosedJaxpr, args: Sequence[ArrayImpl]) -> bool:
    """Whether a program has to do with several processes."""
    if process_count() == 1:
        return False
    return has_spanning_mesh(jaxpr) or any(isinstance(x.buffer, Block) for x in args)


def run(jaxpr: ClosedJaxpr, args: Sequence[ArrayImpl], out_shardings: Sequence[Any]) -> list[Any]:
    """The results of a jaxpr that has to do with several processes."""
    return [as_array(x) for x in _evaluate(jaxpr, args)]


@cached_on_jaxpr
def has_spanning_mesh(jaxpr: ClosedJaxpr) -> bool:
    """Whether there is a shard_map over a mesh of several processes in it."""
    return any(map(_speaks_of_processes, jaxpr.eqns))


def _speaks_of_processes(eqn: JaxprEqn) -> bool:
    if eqn.primitive.name == "shard_map":
        return spans_processes(mesh_of(eqn.params))
    return any(_speaks_of_processes(e) for inner in subjaxprs(eqn.params) for e in inner.eqns)


def _evaluate(closed: ClosedJaxpr, args: Sequence[Any]) -> list[Any]:
    jaxpr = closed.jaxpr
    env: dict[Var, Any] = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*closed.consts, *args]))

    def value(atom: Any) -> Any:
        return literal_value(atom) if isinstance(atom, Literal) else env[atom]

    for eqn in jaxpr.eqns:
        env.update(zip(eqn.outvars, _results(eqn, [value(v) for v in eqn.invars])))
    return [value(v) for v in jaxpr.outvars]


def _results(eqn: JaxprEqn, vals: list[Any]) -> list[Any]:
    if eqn.primitive is jit_p:
        return _evaluate(eqn.params["jaxpr"], vals)
    split = [x for x in vals if isinstance(getattr(x, "buffer", None), Block)]
    if split and eqn.primitive.name != "shard_map":
        vals, sharding = _blocks(eqn, vals, split[0]), split[0].sharding
    outs = eqn.primitive.bind(*vals, **eqn.params)
    outs = outs if eqn.primitive.multiple_results else [outs]
    if split and eqn.primitive.name != "shard_map":
        outs = [from_block(as_array(out), sharding) for out in outs]
    return outs


def _blocks(eqn: JaxprEqn, vals: list[Any], first: ArrayImpl) -> list[Any]:
    """The operands' blocks. Raises NotImplementedError for what is not done block by block."""
    if not isinstance(lowering_rules.get(eqn.primitive), Elementwise):
        raise NotImplementedError(
            f"'{eqn.primitive}' of an array that is spread over several processes, as {first.sharding}: only "
            "elementwise operations are done on the blocks that they have. Call it within jax.shard_map"
        )
    return [
        own_block(as_array(x), first.sharding) if shape_of(x) == first.shape else x for x in vals
    ]


runs_in_parts.append((is_shared, run))
