"""Scalarization: a loop that works element by element, as the same loop of scalars.

After this file you can say which loops each element can run by itself: those whose equations compute
an element of their result from the elements at the same place. Scalars in the carry (a counter, say)
are uniform: each element computes them. Arrays are varying: written for one element, they are scalars.
Builds on rules and loops.
"""

from __future__ import annotations

from collections.abc import Sequence

from tinyjax.compile.codegen.codegen import Target
from tinyjax.compile.kernel.private_arrays import NoKernel
from tinyjax.compile.kernel.rules import Elementwise, lowering_of
from tinyjax.compile.passes.loops import Loop, control_flow, is_control_flow, loop_of
from tinyjax.core.array import ShapedArray
from tinyjax.core.jaxpr import Atom, ClosedJaxpr, Jaxpr, JaxprEqn, Var

Shape = tuple[int, ...]


def element_shape(loop: Loop) -> Shape:
    """The shape that the arrays of a loop have. Raises NoKernel if they have several, or none."""
    body = loop.body.jaxpr
    per_iteration = [*body.invars[len(loop.consts) :], *body.outvars]
    if loop.condition:
        per_iteration += loop.condition.jaxpr.outvars
    shapes = {v.aval.shape for v in per_iteration if v.aval.shape}
    if len(shapes) != 1:
        raise NoKernel("its arrays are scalars" if not shapes else "its arrays differ in shape")
    return shapes.pop()


class Scalarizer:
    """Rewrites jaxprs whose arrays are of `shape` (or scalars) as what one element of them computes.

    `varying` collects the variables that stood for arrays, `names` gets the names of all."""

    def __init__(self, shape: Shape, names: dict[Var, str], target: Target):
        self.shape = shape
        self.names = names
        self.target = target
        self.varying: set[Var] = set()

    def eqn(self, eqn: JaxprEqn, invars: Sequence[Atom], outvars: Sequence[Var]) -> JaxprEqn:
        """A loop or branch, with its jaxprs rewritten."""
        changed = control_flow(eqn).with_bodies(self.jaxpr).equation()
        return changed.replace(invars=invars, outvars=outvars)

    def jaxpr(self, closed: ClosedJaxpr) -> ClosedJaxpr:
        """Raises NoKernel if an equation does not work element by element."""
        old = closed.jaxpr
        new_invars = [self.variable(v) for v in old.invars]
        scalars: dict[Var, Atom] = dict(zip(old.invars, new_invars))

        def rename(atom: Atom) -> Atom:
            return scalars[atom] if isinstance(atom, Var) else atom

        eqns = []
        for eqn in old.eqns:
            invars = [rename(v) for v in eqn.invars]
            if only_repeats(eqn, self.shape):
                scalars[eqn.outvars[0]] = invars[0]
                continue
            outvars = [self.variable(v) for v in eqn.outvars]
            scalars.update(zip(eqn.outvars, outvars))
            if is_control_flow(eqn):
                eqns.append(self.eqn(eqn, invars, outvars))
                self._check_operands(eqns[-1])
            elif isinstance(lowering_of(eqn, self.target), Elementwise):
                eqns.append(eqn.replace(invars=invars, outvars=outvars))
            else:
                raise NoKernel(f"{eqn.primitive} in its body reads other elements")
        return ClosedJaxpr(Jaxpr([], new_invars, [*map(rename, old.outvars)], eqns))

    def _check_operands(self, eqn: JaxprEqn) -> None:
        """That outside and inside of a scan the same operands and results differ by element: the axis
        along which scalars are stacked may be as long as the arrays."""
        loop = loop_of(eqn)
        if loop is None or loop.length is None:
            return
        inside = [*loop.variables, *loop.body.jaxpr.outvars]
        for outer, inner in zip([*eqn.invars, *eqn.outvars], inside):
            if isinstance(outer, Var) and (outer in self.varying) != (inner in self.varying):
                raise NoKernel("a scan within stacks scalars")

    def variable(self, v: Var) -> Var:
        """The variable for one element of `v`; values stacked for a scan keep their first axis."""
        aval = v.aval
        kept = aval.shape[: aval.ndim - len(self.shape)]
        if aval.shape[len(kept) :] == self.shape and len(kept) <= 1:
            new = Var(ShapedArray(kept, aval.dtype, aval.weak_type))
            self.varying.add(new)
        elif aval.ndim <= 1 and aval.shape != self.shape:
            new = Var(aval)
        else:
            shapes = f"{list(aval.shape)} beside {list(self.shape)}"
            raise NoKernel(f"its arrays differ in shape: {shapes}")
        self.names[new] = self.names.get(v, "v")
        return new


def only_repeats(eqn: JaxprEqn, shape: Shape) -> bool:
    """Whether the result's element is the operand, or its element at the same place."""
    if eqn.primitive.name not in ("broadcast_in_dim", "reshape"):
        return False
    operand = eqn.invars[0].aval.shape
    return eqn.outvars[0].aval.shape in ((), shape) and operand in ((), eqn.outvars[0].aval.shape)
