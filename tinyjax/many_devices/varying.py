"""The mesh axes over which a value varies: a part of its type, f32[4]{V:x}, within `shard_map`.

Each device of a mesh has its own value; along axes that the type doesn't name, the devices have equal ones.
Operands of one operation must vary over the same axes: `pvary` changes the type of one that varies over
fewer. The result varies as they do, except for collectives, which have special rules: a sum over an axis is
equal along it. Types are only checked where the axes around a program are a `ManualAxis`.

Source: https://docs.jax.dev/en/latest/notebooks/shard_map.html#tracking-how-values-vary-over-manual-mesh-axes-and-check-vma-true
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, NamedTuple

from tinyjax.core.array import ShapedArray
from tinyjax.core.avals import get_aval
from tinyjax.core.bind import Primitive, abstract_eval_rules, context, impl_rules, in_order
from tinyjax.core.facts import MOVES

Axes = frozenset[Hashable]


class ManualAxis(NamedTuple):
    """An entry among the named axes (bind.py): a mesh axis whose variation types track."""

    name: Hashable
    size: int

    def __eq__(self, other: object) -> bool:  # unequal to a vmap's axis, as programs differ
        return type(other) is ManualAxis and tuple.__eq__(self, other)

    def __hash__(self) -> int:
        return hash((ManualAxis, self.name, self.size))


def manual_axes() -> Axes:
    """The current manual mesh axes."""
    return frozenset([axis[0] for axis in context.axis_env if type(axis) is ManualAxis])


# The unchanged value, with a type that varies over `axes` too.
pvary_p = Primitive("pvary", axes="each operand", **MOVES)
impl_rules[pvary_p] = lambda x, *, axes: x
abstract_eval_rules[pvary_p] = lambda x, *, axes: x.update(vma=x.vma.union(axes))


def pvary_to(x: Any, vma: Axes) -> Any:
    """`x`, varying over these axes at least."""
    missing = (vma - get_aval(x).vma) & manual_axes()
    return pvary_p.bind(x, axes=in_order(missing)) if missing else x


# ---- the types of operands and results ----

# primitive -> (vma of operands and results so far, **params) -> that of all its results; others have that
# of their operands
vma_rules: dict[Primitive, Callable[..., Axes]] = {pvary_p: lambda vma, *, axes: vma.union(axes)}
# primitive -> (**params) -> axes that an operand must vary over
needed_vma: dict[Primitive, Callable[..., Iterable[Hashable]]] = {}
# Their inner jaxprs determine the variation of results and operands.
TYPED_BY_JAXPRS = {
    "closed_call", "cond", "custom_jvp_call", "custom_lin", "custom_linear_solve", "custom_vjp_call",
    "custom_vmap_call", "jit", "linear_call", "remat2", "scan", "shard_map", "while",
}  # fmt: skip


def varying_alike(primitive: Primitive, args: Sequence[Any], params: dict) -> Sequence[Any]:
    """The operands of an equation within shard_map, converted to vary over the same axes."""
    if primitive.name in TYPED_BY_JAXPRS or not args or not manual_axes():
        return args
    found = [get_aval(x).vma for x in args]
    needed = needed_vma.get(primitive)
    vma = frozenset(needed(**params) if needed else ()).union(*found)
    return [pvary_to(x, vma) if have != vma else x for x, have in zip(args, found)]


def varying_results(
    primitive: Primitive, operands: Sequence[ShapedArray], out: Any, params: dict
) -> Any:
    """The types of results from the abstract_eval rule, with the axes that they vary over."""
    if primitive.name in TYPED_BY_JAXPRS:
        return out
    vma: Axes = frozenset().union(*[operand.vma for operand in operands])
    rule = vma_rules.get(primitive)
    vma = rule(vma, **params) if rule else vma
    if primitive.multiple_results:
        return [aval.update(vma=vma) for aval in out]
    return out.update(vma=vma)
