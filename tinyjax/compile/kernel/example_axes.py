"""The axis of the examples: which loops each example of a batch can run by itself.

vmap makes one loop of many, whose arrays have an axis more: that of the examples. If an example's elements
are computed from its own alone, all examples can run the loop at once, each with its part of the carry.
`example_axes` finds that axis in each value of the bodies: it runs the lowering rules, and records where they
read their operands.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from tinyjax.compile.codegen.codegen import Target
from tinyjax.compile.kernel.builder import Builder
from tinyjax.compile.kernel.indices import Index, index, index_var
from tinyjax.compile.kernel.kernel_ir import Const, Scalar, Value
from tinyjax.compile.kernel.rules import (
    Cumulative,
    Elementwise,
    LoweringRuleContext,
    Operand,
    Position,
    Sort,
    TopK,
    Update,
    WindowUpdate,
    lowering_of,
)
from tinyjax.compile.kernel.update_nest import update_of
from tinyjax.compile.passes.loops import Branches, Loop, control_flow, is_control_flow
from tinyjax.core.jaxpr import Atom, Jaxpr, JaxprEqn, Literal, Var, has_effects

MIN_EXAMPLES = 4  # fewer are computed by one work-item


class NotByExampleError(Exception):
    """Says why the examples can't run a loop by themselves."""


@dataclass
class ExampleAxes:
    """The number of examples, and their axis in each variable of a loop and its bodies that has one."""

    count: int
    axes: dict[Var, int] = field(default_factory=dict)


def example_axes(found: Loop | Branches, target: Target) -> ExampleAxes:
    """The axes of the examples, which are in front in the carry of a loop or the results of a branch.

    Raises NotByExampleError if there are none, or if they need each other."""
    results = found.last_carry if isinstance(found, Loop) else found.eqn.outvars
    sizes = [v.aval.shape[0] for v in results if v.aval.ndim]
    reason = NotByExampleError("it has no arrays of several examples")
    for count in sorted(set(sizes), key=sizes.count, reverse=True):
        if count < MIN_EXAMPLES:
            continue
        for with_constants in (True, False):
            try:
                return _Axes(count, target, with_constants).of(found)
            except NotByExampleError as error:
                reason = error
    raise reason


class _Axes:
    """Finds axes to a fixed point. The operands of the loop are buffers, which can be read anywhere:
    their variables are `free`, and their axes are guesses."""

    def __init__(self, count: int, target: Target, with_constants: bool):
        self.result = ExampleAxes(count)
        self.axes = self.result.axes
        self.target = target
        self.with_constants = with_constants
        self.free: set[Atom] = set()
        self.changed = True
        self.reads: dict[Var, list[tuple[Atom, dict[int, int]]]] = {}

    def of(self, found: Loop | Branches) -> ExampleAxes:
        """The axes in a loop or a branch, and in its results."""
        if isinstance(found, Loop):
            condition_consts, consts, carry, xs = found.parts(found.variables)
            self._guess(xs)
            self._guess([*condition_consts, *consts])
            for v in carry:
                self._set(v, 0 if self._is_batch(v) else None)
        else:
            for branch in found.branches:
                self._guess(branch.jaxpr.invars)
        while self.changed:
            self.changed = False
            self._bodies(found)
            if not self.changed:
                self._wanted_in(found)
        if not any(v in self.axes for v in found.eqn.outvars):
            raise NotByExampleError("its results are not those of examples")
        return self.result

    def _guess(self, variables: Sequence[Var]) -> None:
        self.free.update(variables)
        for v in variables if self.with_constants else ():
            self._set(v, 0 if self._is_batch(v) else None)

    def _is_batch(self, v: Atom) -> bool:
        return v.aval.shape[:1] == (self.result.count,)

    def _axis(self, v: Atom) -> int | None:
        return self.axes.get(v) if isinstance(v, Var) else None

    def _set(self, v: Atom, axis: int | None) -> None:
        """A value without the axis may become one with it: all examples read the same then."""
        if axis is None or not isinstance(v, Var):
            return
        self.changed |= v not in self.axes
        if self.axes.setdefault(v, axis) != axis:
            raise NotByExampleError("examples are along two axes of one value")

    # ---- loops and branches ----

    def _bodies(self, found: Loop | Branches) -> None:
        """Goes through the bodies, whose operands have their axes, and gives the results theirs."""
        results = found.eqn.outvars
        if isinstance(found, Branches):
            if self._axis(found.index) is not None:
                raise NotByExampleError("examples take different branches")
            for branch in found.branches:
                self._jaxpr(branch.jaxpr)
                for v, result in zip(branch.jaxpr.outvars, results):
                    self._set(result, self._axis(v))
            return
        carry = found.parts(found.variables)[2]
        if found.condition is not None:
            self._condition(found, found.condition.jaxpr, carry)
        self._jaxpr(found.body.jaxpr)
        made = found.body.jaxpr.outvars
        for v, new, result in zip(carry, made, results):
            self._set(v, self._axis(new))
            self._set(result, self._axis(v))
        for new, result in zip(made[len(carry) :], results[len(carry) :]):
            axis = self._axis(new)
            self._set(result, None if axis is None else axis + 1)

    def _condition(self, found: Loop, jaxpr: Jaxpr, carry: Sequence[Var]) -> None:
        for v, inner in zip(jaxpr.invars[len(found.condition_consts) :], carry):
            self._set(v, self._axis(inner))
        self._jaxpr(jaxpr)
        (holds,) = jaxpr.outvars
        if holds.aval.ndim > (self._axis(holds) is not None):
            raise NotByExampleError("an example has several conditions")

    def _control_flow(self, eqn: JaxprEqn) -> None:
        """A loop or a branch within: its operands' axes are those of its bodies' variables."""
        found = control_flow(eqn)
        for outer, inner, added in _bindings(found):
            axis = self._axis(outer)
            if added and axis == 0 and outer not in self.free:
                raise NotByExampleError("a loop inside goes from example to example")
            self._set(inner, None if axis is None or axis < added else axis - added)
            if outer in self.free:
                self.free.add(inner)
        if isinstance(found, Loop):
            self.free.difference_update(found.parts(found.variables)[2])
        self._bodies(found)

    # ---- equations ----

    def _jaxpr(self, jaxpr: Jaxpr) -> None:
        for eqn in jaxpr.eqns:
            if has_effects(eqn):
                raise NotByExampleError(f"{eqn.primitive} in its body has an effect")
            if is_control_flow(eqn):
                self._control_flow(eqn)
                continue
            for v in eqn.outvars:
                self._set(v, self._result_axis(eqn, v))

    def _result_axis(self, eqn: JaxprEqn, v: Var) -> int | None:
        """The axis of a result whose place there is that in the axes of the operands."""
        if v not in self.reads:
            self.reads[v] = reads_of(eqn, v, self.target)
        sure, guessed = set[int](), set[int]()
        for operand, result_axes in self.reads[v]:
            axis = self._axis(operand)
            if axis is None:
                continue
            if operand in self.free:
                guessed |= {result_axes[axis]} if axis in result_axes else set()
            elif axis not in result_axes:
                raise NotByExampleError(f"{eqn.primitive} in its body reads other examples")
            else:
                sure.add(result_axes[axis])
        found = sure or guessed
        if len(sure) > 1:
            raise NotByExampleError("examples are along two axes of one value")
        return found.pop() if len(found) == 1 else None

    # ---- values of which each example needs its own part alone ----

    def _wanted_in(self, found: Loop | Branches) -> None:
        """What is made of numbers (zeros, say) has no axis by its operands: that along which it is read."""
        results = list(map(self._axis, found.eqn.outvars))
        if isinstance(found, Branches):
            for branch in found.branches:
                self._wanted(branch.jaxpr, results)
            return
        count = len(found.carry)
        carry = list(map(self._axis, found.parts(found.variables)[2]))
        if found.condition is not None:
            self._wanted(found.condition.jaxpr, [self._axis(found.condition.jaxpr.outvars[0])])
        rows = [None if axis is None else axis - 1 for axis in results[count:]]
        self._wanted(found.body.jaxpr, [*carry, *rows])

    def _wanted(self, jaxpr: Jaxpr, results: Sequence[int | None]) -> None:
        """Gives each value of a jaxpr the axis that all its readers have."""
        wanted: dict[Atom, set[int | None]] = defaultdict(set)
        for v, axis in zip(jaxpr.outvars, results):
            wanted[v].add(axis)
        for eqn in jaxpr.eqns:
            if is_control_flow(eqn):
                found = control_flow(eqn)
                self._wanted_in(found)
                for outer, inner, added in _bindings(found):
                    axis = self._axis(inner)
                    wanted[outer].add(None if axis is None else axis + added)
                continue
            for out in eqn.outvars:
                for operand, own in self.reads[out]:
                    axes = [a for a, result_axis in own.items() if result_axis == self._axis(out)]
                    wanted[operand].update(axes or [None])
        for v, found_axes in wanted.items():
            if len(found_axes) == 1 and v not in self.free and self._axis(v) is None:
                self._set(v, *found_axes)


def _bindings(found: Loop | Branches) -> list[tuple[Atom, Var, int]]:
    """Operands of a loop or branch, what they are inside, and how many axes more they have."""
    if isinstance(found, Branches):
        pairs = [zip(found.operands, branch.jaxpr.invars) for branch in found.branches]
        return [(outer, inner, 0) for each in pairs for outer, inner in each]
    variables = found.variables
    *_, xs = found.parts(variables)
    operands = [*found.condition_consts, *found.consts, *found.carry, *found.xs]
    return [(outer, inner, int(inner in xs)) for outer, inner in zip(operands, variables)]


# ---- where rules read ----


def reads_of(eqn: JaxprEqn, v: Var, target: Target) -> list[tuple[Atom, dict[int, int]]]:
    """The operands that an element of the result `v` is computed from; and for axes along which they are read
    at the element's own place, along which axis of the result that is."""
    lowering = lowering_of(eqn, target)
    if isinstance(lowering, Elementwise):
        pairs = [(u, enumerate(zip(u.aval.shape, v.aval.shape))) for u in eqn.invars]
        # A size of 1 is stretched.
        return [(u, {a: a for a, (size, of_v) in sizes if size == of_v}) for u, sizes in pairs]
    if isinstance(lowering, (Cumulative, TopK, Sort)):
        along = lowering.axis if isinstance(lowering, TopK) else eqn.params.get("axis")
        along = eqn.params["dimension"] if isinstance(lowering, Sort) else along
        own = {axis: axis for axis in range(v.aval.ndim) if axis != along}
        return [(u, own) for u in eqn.invars]
    coords = _variables("axis", v.aval.shape)
    probe = _Probe({u: "v" for u in eqn.outvars}, target)
    if isinstance(lowering, (Update, WindowUpdate)):
        probe.update(eqn, update_of(eqn, target), coords)
    else:
        probe._emit(v, eqn, lowering, Position(v.aval.shape, coords))
    numbers = {at: axis for axis, at in enumerate(coords) if at.op == "var"}
    return [
        (u, {axis: numbers[at] for axis, at in enumerate(read) if at in numbers})
        for u, read in probe.found
    ]


def _variables(name: str, sizes: Sequence[int]) -> list[Index]:
    return [
        index_var(f"{name}{axis}", 0, size - 1) if size > 1 else index(0)
        for axis, size in enumerate(sizes)
    ]


class _Probe(Builder):
    """Finds out where a rule reads; what it writes is of no use."""

    def __init__(self, names: dict[Var, str], target: Target):
        super().__init__(names, target)
        self.found: list[tuple[Var, Sequence[Index]]] = []

    def element(self, atom: Atom, position: Position) -> Scalar:
        if isinstance(atom, Literal):
            return Const(atom.aval.dtype.type(atom.val), atom.aval.dtype)
        self.found.append((atom, position.coords))
        return Value(self.fresh("x"), atom.aval.dtype)

    def update(self, eqn: JaxprEqn, update: Update, coords: list[Index]) -> None:
        """Reads as an update: at its own place where each window covers all, or each place has its own."""
        (out,) = eqn.outvars
        ctx = LoweringRuleContext(self, eqn, out, Position(out.aval.shape, coords))
        number, elsewhere = (
            _variables(n, s) for n, s in (("n", update.counts), ("w", update.sizes))
        )
        own = update.whole | update.batch
        within = [at if axis in own else elsewhere[axis] for axis, at in enumerate(coords)]
        operands = [Operand(self, u) for u in eqn.invars]
        update.windows(ctx, number, coords, *operands, **eqn.params)
        update.update(ctx, number, within, *operands, **eqn.params)
        if isinstance(eqn.invars[0], Var):
            self.found.append((eqn.invars[0], within))
