"""Loop invariants: what a loop's kernel computes before its first iteration, or reads there once.

After this file you can say why a vmapped loop that starts at zeros is a single launch. Two kinds of
equations go to the head of its kernel: cheap ones that make its operands (zeros, an iota, a broadcast
row), and loop-invariant ones, hoisted out of the body, that read other elements (a row broadcast there:
each element reads its part of the row once). Builds on cost_model and scalarize.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from tinyjax.compile.codegen.codegen import Target
from tinyjax.compile.fusion.cost_model import CHEAP_WORK
from tinyjax.compile.kernel.private_arrays import NoKernel
from tinyjax.compile.kernel.rules import Elementwise, IndexMap, lowering_of
from tinyjax.compile.passes.loops import Loop
from tinyjax.compile.schedules.scalarize import only_repeats
from tinyjax.core.array import ShapedArray
from tinyjax.core.jaxpr import Atom, ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var, has_effects
from tinyjax.core.primitives import broadcast_in_dim_p

Shape = tuple[int, ...]

# ---- before the loop ----


def cheap_equations(
    operands: Iterable[Atom], producer: Mapping[Var, JaxprEqn], target: Target
) -> list[JaxprEqn]:
    """The equations, in order, of those operands that take few operations and read at most one other
    array, which is no larger: memory and parameters never become more."""
    found: dict[JaxprEqn, None] = {}
    for v in operands:
        if isinstance(v, Var):
            eqns, reads = _cheap(v, producer, target, CHEAP_WORK)
            if len(reads) <= 1 and all(0 < u.aval.size <= v.aval.size for u in reads):
                found.update(eqns)
    return list(found)


def _cheap(
    v: Var, producer: Mapping[Var, JaxprEqn], target: Target, most: int
) -> tuple[dict[JaxprEqn, None], set[Var]]:
    """The equations that make an element of `v` in at most so many operations, and what they read."""
    eqn = producer.get(v)
    if eqn is None or not _is_pure(eqn, target):
        return {}, {v}
    lowering = lowering_of(eqn, target)
    most -= lowering.cost if isinstance(lowering, Elementwise) else 1
    if most < 0:
        return {}, {v}
    eqns: dict[JaxprEqn, None] = {}
    reads: set[Var] = set()
    for u in eqn.invars:
        if isinstance(u, Var):
            inner_eqns, inner_reads = _cheap(u, producer, target, most)
            eqns |= inner_eqns
            reads |= inner_reads
    return eqns | {eqn: None}, reads


def _is_pure(eqn: JaxprEqn, target: Target) -> bool:
    return isinstance(lowering_of(eqn, target), (Elementwise, IndexMap)) and not has_effects(eqn)


# ---- hoisted out of the body ----


def without_invariants(
    loop: Loop, shape: Shape, names: dict[Var, str], target: Target
) -> tuple[list[JaxprEqn], Loop]:
    """A loop over arrays of `shape`, with those loop-invariant equations hoisted out of it that do
    not work element by element on arrays of `shape`. They come first; their results
    are new constants of the loop. `names` gets the names of new variables.

    Raises NoKernel where such a result is an array of another shape: no element is a part of it."""
    before: list[JaxprEqn] = []
    if loop.condition:
        split = _Split(loop.condition.jaxpr, loop.condition_consts, shape, names, target)
        loop = replace(loop, condition=split.closed, condition_consts=split.operands)
        before += split.before
    split = _Split(loop.body.jaxpr, loop.consts, shape, names, target)
    return [*before, *split.before], replace(loop, body=split.closed, consts=split.operands)


class _Split:
    """One jaxpr of a loop: `before` are its equations that go out, `closed` is what is left of it, and
    `operands` are those for its constants."""

    def __init__(
        self, jaxpr: Jaxpr, operands: Sequence[Atom], shape: Shape, names: dict[Var, str],
        target: Target,
    ):  # fmt: skip
        self.shape = shape
        self.names = names
        self.before: list[JaxprEqn] = []
        self.outside: dict[Var, Atom] = dict(zip(jaxpr.invars, operands))  # what is invariant
        moved: dict[Var, None] = {}  # what the rest of the jaxpr does not compute
        eqns = []
        for eqn in jaxpr.eqns:
            if _is_pure(eqn, target) and self._is_invariant(eqn):
                outvars = [self._new(v) for v in eqn.outvars]
                invars = [self._outside(v) for v in eqn.invars]
                self.before.append(eqn.replace(invars=invars, outvars=outvars))
                self.outside.update(zip(eqn.outvars, outvars))
                if not self._works_by_element(eqn, target):
                    moved.update(dict.fromkeys(eqn.outvars))
                    continue
            elif isinstance(lowering_of(eqn, target), Elementwise):
                eqn = eqn.replace(invars=[self._stretched(v, moved) for v in eqn.invars])
            eqns.append(eqn)
        eqns, left = _leading_to(jaxpr.outvars, eqns)
        consts: list[Var] = [v for v in (*jaxpr.invars[: len(operands)], *moved) if v in left]
        if any(v in moved and v.aval.size > 1 and v.aval.shape != shape for v in consts):
            raise NoKernel("a loop in its body reads an array that is the same in every iteration")
        self.operands = [self.outside[v] for v in consts]
        arguments = [*consts, *jaxpr.invars[len(operands) :]]
        self.closed = ClosedJaxpr(Jaxpr([], arguments, jaxpr.outvars, eqns))
        self.before, _ = _leading_to(self.operands, self.before)

    def _new(self, v: Var) -> Var:
        new = Var(v.aval)
        self.names[new] = self.names.get(v, "v")
        return new

    def _outside(self, v: Atom) -> Atom:
        return v if isinstance(v, Literal) else self.outside[v]

    def _is_invariant(self, eqn: JaxprEqn) -> bool:
        return all(isinstance(v, Literal) or v in self.outside for v in eqn.invars)

    def _works_by_element(self, eqn: JaxprEqn, target: Target) -> bool:
        """Whether an element of the result needs the operands' elements at the same place."""
        if only_repeats(eqn, self.shape):
            return True
        is_elementwise = isinstance(lowering_of(eqn, target), Elementwise)
        shapes = [v.aval.shape for v in (*eqn.invars, *eqn.outvars)]
        return is_elementwise and all(shape in ((), self.shape) for shape in shapes)

    def _stretched(self, v: Atom, moved: dict[Var, None]) -> Atom:
        """An operand that repeats along an axis, as an array of the shape of all others."""
        if isinstance(v, Literal) or v not in self.outside or v.aval.ndim != len(self.shape):
            return v
        if v.aval.shape == self.shape:
            return v
        full = Var(ShapedArray(self.shape, v.aval.dtype, v.aval.weak_type))
        self.names[full] = self.names.get(v, "v")
        params = {"shape": self.shape, "broadcast_dimensions": tuple(range(v.aval.ndim))}
        made = JaxprEqn(broadcast_in_dim_p, [self.outside[v]], [self._new(full)], params)
        self.before.append(made)
        (self.outside[full],) = made.outvars
        moved[full] = None
        return full


def _leading_to(
    wanted: Iterable[Atom], eqns: Sequence[JaxprEqn]
) -> tuple[list[JaxprEqn], set[Var]]:
    """The equations that what is wanted is computed from, and all that they read and make."""
    read = {v for v in wanted if isinstance(v, Var)}
    kept = []
    for eqn in reversed(eqns):
        if has_effects(eqn) or not read.isdisjoint(eqn.outvars):
            kept.append(eqn)
            read.update(v for v in eqn.invars if isinstance(v, Var))
    return kept[::-1], read
