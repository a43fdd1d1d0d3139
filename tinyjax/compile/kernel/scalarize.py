"""Scalarization: a loop that works element by element, as the same loop of scalars.

A loop that each element can run by itself is one whose equations compute an element of their result from the
elements at the same place. Scalars in the carry (a counter, say) are uniform: each element computes them.
Arrays are varying: written for one element, they are scalars. What is computed from constants alone may read
what it likes (a row that is broadcast): of that, each element needs its own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from tinyjax.compile.codegen.codegen import Target
from tinyjax.compile.kernel.rules import Elementwise, IndexMap, lowering_of
from tinyjax.compile.passes.loops import Loop, control_flow, is_control_flow, loop_of
from tinyjax.core.array import ShapedArray
from tinyjax.core.jaxpr import Atom, ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var, has_effects

Shape = tuple[int, ...]


@dataclass
class ScalarLoop:
    """A loop as each element runs it, for arrays of `shape`.

    The constants of its condition and its body are elements of what is the same in all iterations. `elements`
    says of what; `invariant`, which equations compute that. `varying` are the variables that differ from
    element to element."""

    loop: Loop
    shape: Shape
    elements: dict[Var, Var]
    invariant: list[JaxprEqn]
    varying: set[Var]

    def operands(self) -> list[Atom]:
        """What the loop needs from outside."""
        made = {v for eqn in self.invariant for v in eqn.outvars}
        used = [*self.elements.values(), *(v for eqn in self.invariant for v in eqn.invars)]
        return [*(v for v in used if v not in made), *self.loop.carry, *self.loop.xs]

    def stacks(self) -> list[Atom]:
        """Those of the operands that are read in a loop inside, or along the iterations."""
        return [*(whole for v, whole in self.elements.items() if v.aval.shape), *self.loop.xs]


def scalarized(loop: Loop, names: dict[Var, str], target: Target) -> ScalarLoop | str:
    """The loop as each element of the arrays runs it by itself, or why it can't. `names` gets the names of
    new variables."""
    shape = _shape_of(loop)
    if isinstance(shape, str):
        return shape
    rewriting = _Scalarizer(shape, names, target)
    body = rewriting.jaxpr(loop.body.jaxpr, loop.consts)
    changed = replace(loop, body=body, consts=rewriting.constants(body))
    if loop.condition:
        condition = rewriting.jaxpr(loop.condition.jaxpr, loop.condition_consts)
        consts = rewriting.constants(condition)
        changed = replace(changed, condition=condition, condition_consts=consts)
    scalar = ScalarLoop(changed, shape, rewriting.elements, rewriting.invariant, rewriting.varying)
    return rewriting.why_not or scalar


def _shape_of(loop: Loop) -> Shape | str:
    """The shape that the arrays of a loop have; or that they have several, or none."""
    body = loop.body.jaxpr
    per_iteration = [*body.invars[len(loop.consts) :], *body.outvars]
    if loop.condition:
        per_iteration += loop.condition.jaxpr.outvars
    shapes = {v.aval.shape for v in per_iteration if v.aval.shape}
    if len(shapes) == 1:
        return shapes.pop()
    return "its arrays differ in shape" if shapes else "its arrays are scalars"


# ---- what can be written for one element ----


def _why_not(
    eqn: JaxprEqn, same: Collection[Var], given: Collection[Var], shape: Shape, target: Target
) -> Iterator[str]:
    """Why an equation can't be written for one element. `same` is what is the same in all iterations; of
    that, `given` are the operands that it is computed from."""
    for v in eqn.outvars:
        yield from _why_not_scalar(v, shape)
    for operand in eqn.invars:
        if operand in same:
            yield from _why_no_element(operand, shape, is_given=operand in given)
    if is_control_flow(eqn):
        yield from _why_not_inside(eqn, shape)
    elif has_effects(eqn):
        yield f"{eqn.primitive} in its body has an effect"
    elif not _works_by_element(eqn, same, shape, target):
        yield f"{eqn.primitive} in its body reads other elements"


def _why_not_inside(eqn: JaxprEqn, shape: Shape) -> Iterator[str]:
    """Why a loop within can't be run by each element, whatever is in its body."""
    loop = loop_of(eqn)
    if loop is not None and loop.length is None:
        yield "a while_loop is inside"
    elif loop is not None:
        # The axis along which scalars are stacked may be as long as the arrays.
        inside = [*loop.variables, *loop.body.jaxpr.outvars]
        for outer, inner in zip([*eqn.invars, *eqn.outvars], inside):
            if isinstance(outer, Var) and _is_varying(outer, shape) != _is_varying(inner, shape):
                yield "a scan within stacks scalars"


def is_invariant(eqn: JaxprEqn, same: Collection[Var], target: Target) -> bool:
    """Whether an equation computes the same in all iterations, any element of it where that is needed."""
    if is_control_flow(eqn) or has_effects(eqn):
        return False
    is_pure = isinstance(lowering_of(eqn, target), Elementwise | IndexMap)
    return is_pure and all(isinstance(v, Literal) or v in same for v in eqn.invars)


def _works_by_element(eqn: JaxprEqn, same: Collection[Var], shape: Shape, target: Target) -> bool:
    """Whether an element of the result needs elements of varying operands at the same place alone."""
    if only_repeats(eqn, shape):
        return True
    out = eqn.outvars[0].aval.shape
    operands = [v for v in eqn.invars if isinstance(v, Var) and v not in same]
    return isinstance(lowering_of(eqn, target), Elementwise) and all(
        v.aval.shape in ((), out) for v in operands
    )


def only_repeats(eqn: JaxprEqn, shape: Shape) -> bool:
    """Whether the result's element is the operand, or its element at the same place."""
    if eqn.primitive.name not in ("broadcast_in_dim", "reshape"):
        return False
    operand = eqn.invars[0].aval.shape
    return eqn.outvars[0].aval.shape in ((), shape) and operand in ((), eqn.outvars[0].aval.shape)


def _kept(v: Atom, shape: Shape) -> Shape:
    """The axes that a variable keeps: values that are stacked for a scan keep their first."""
    return v.aval.shape[: v.aval.ndim - len(shape)] if _is_varying(v, shape) else v.aval.shape


def _is_varying(v: Atom, shape: Shape) -> bool:
    ndim = v.aval.ndim - len(shape)
    return 0 <= ndim <= 1 and v.aval.shape[ndim:] == shape


def _why_not_scalar(v: Atom, shape: Shape) -> Iterator[str]:
    if not _is_varying(v, shape) and v.aval.ndim > 1:
        yield f"its arrays differ in shape: {list(v.aval.shape)} beside {list(shape)}"


def _why_no_element(v: Atom, shape: Shape, is_given: bool) -> Iterator[str]:
    """Why there is no variable for an element of what is the same in all iterations."""
    if v.aval.ndim == len(shape):
        if any(size not in (1, whole) for size, whole in zip(v.aval.shape, shape)):
            yield f"its arrays differ in shape: {list(v.aval.shape)} beside {list(shape)}"
    elif v.aval.shape and not is_given:
        yield "a loop in its body reads an array that is the same in every iteration"
    else:
        yield from _why_not_scalar(v, shape)


# ---- rewriting ----


class _Scalarizer:
    """Rewrites jaxprs whose arrays are of `shape` (or scalars) as what one element of them computes. The
    first reason for which that can't be done is `why_not`: what was written is of no use then."""

    def __init__(self, shape: Shape, names: dict[Var, str], target: Target):
        self.shape = shape
        self.names = names
        self.target = target
        self.varying: set[Var] = set()
        self.elements: dict[Var, Var] = {}
        self.invariant: list[JaxprEqn] = []
        self.why_not = ""

    def jaxpr(self, old: Jaxpr, operands: Sequence[Atom] | None = None) -> ClosedJaxpr:
        """The jaxpr of a loop, whose first operands are constants; or one within that."""
        count = len(operands or ())
        same = None if operands is None else dict(zip(old.invars, operands))  # what it is outside
        given, own = old.invars[:count], old.invars[count:]
        self._ask(reason for v in own for reason in _why_not_scalar(v, self.shape))
        arguments = {v: self.variable(v) for v in own}
        scalars: dict[Var, Atom] = dict(arguments)
        elements: list[Var] = []

        def element(atom: Atom) -> Atom:
            if isinstance(atom, Var) and atom not in scalars:
                assert same is not None
                scalars[atom] = whole = same[atom]
                if isinstance(whole, Var):
                    scalars[atom] = new = self.element(whole)
                    elements.append(new)
            return scalars[atom] if isinstance(atom, Var) else atom

        eqns = []
        for eqn in old.eqns:
            if same is not None and is_invariant(eqn, same, self.target):
                invars = [same[v] if isinstance(v, Var) else v for v in eqn.invars]
                self.invariant.append(eqn.replace(invars=invars))
                same.update((v, v) for v in eqn.outvars)
                continue
            self._ask(_why_not(eqn, same or {}, given, self.shape, self.target))
            invars = [element(v) for v in eqn.invars]
            if only_repeats(eqn, self.shape):
                scalars[eqn.outvars[0]] = invars[0]
                continue
            outvars = [self.variable(v) for v in eqn.outvars]
            scalars.update(zip(eqn.outvars, outvars))
            if is_control_flow(eqn):
                found = control_flow(eqn)
                eqn = found.with_bodies(lambda body: self.jaxpr(body.jaxpr)).equation()
            eqns.append(eqn.replace(invars=invars, outvars=outvars))
        results = [element(v) for v in old.outvars]
        return ClosedJaxpr(Jaxpr([], [*elements, *arguments.values()], results, eqns))

    def _ask(self, reasons: Iterator[str]) -> None:
        self.why_not = self.why_not or next(reasons, "")

    def constants(self, body: ClosedJaxpr) -> list[Var]:
        """What the constants of a jaxpr are elements of."""
        return [self.elements[v] for v in body.jaxpr.invars if v in self.elements]

    def element(self, whole: Var) -> Var:
        """The variable for an element of what is the same in all iterations."""
        kept = () if whole.aval.ndim == len(self.shape) else _kept(whole, self.shape)
        new = self._new(whole, kept)
        if whole.aval.ndim >= len(self.shape):
            self.varying.add(new)
        self.elements[new] = whole
        return new

    def variable(self, v: Var) -> Var:
        """The variable for one element of `v`."""
        new = self._new(v, _kept(v, self.shape))
        if _is_varying(v, self.shape):
            self.varying.add(new)
        return new

    def _new(self, v: Var, shape: Shape) -> Var:
        new = Var(ShapedArray(shape, v.aval.dtype, v.aval.weak_type))
        self.names[new] = self.names.get(v, "v")
        return new
