"""The axes of the examples: which loops each example of a batch can run by itself.

vmap turns many loops into one whose arrays have an extra axis, the axis of examples. If an example's elements
depend only on the same example, all examples can run the loop at once, each with its part of the carry. In an
elementwise loop, all axes of its arrays are axes of examples. `example_axes` finds these axes in each value
of the bodies: it runs the lowering rules, and records where they read their operands.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from tinyjax.compile.kernel import rules
from tinyjax.compile.kernel.builder import Builder
from tinyjax.compile.kernel.complex_pairs import Pair
from tinyjax.compile.kernel.indices import Index, index, index_var
from tinyjax.compile.kernel.scalar_ops import PART_DTYPES
from tinyjax.compile.passes.loops import Branches, Loop, control_flow, is_control_flow
from tinyjax.compile.target import Target
from tinyjax.core.jaxpr import Atom, Jaxpr, JaxprEqn, Literal, Var, has_effects

MIN_EXAMPLES = 4  # one work-item computes fewer


class NoKernelError(Exception):
    """Says why a loop or a branch can't be one kernel, or not one that examples run by themselves."""


@dataclass
class ExampleAxes:
    """The sizes of the examples' axes, which are adjacent, and the position of the first one in each variable
    of a loop and its bodies that has them."""

    sizes: tuple[int, ...]
    axes: dict[Var, int] = field(default_factory=dict)

    @property
    def count(self) -> int:
        return math.prod(self.sizes)


def batches(found: Loop | Branches) -> Iterator[tuple[int, ...]]:
    """The candidate sizes of the examples' axes: leading axes of a loop's carry or a branch's results."""
    results = found.last_carry if isinstance(found, Loop) else found.eqn.outvars
    sizes = [v.aval.shape[0] for v in results if v.aval.ndim]
    for count in sorted(set(sizes), key=sizes.count, reverse=True):
        if count >= MIN_EXAMPLES:
            yield (count,)


def example_axes(
    found: Loop | Branches, sizes: Iterable[tuple[int, ...]], computed: Container[Atom], target: Target
) -> ExampleAxes:  # fmt: skip
    """The axes of the examples, for the first of these sizes that works. Each example computes its own part
    of the `computed` operands; the others can be read anywhere.

    Raises NoKernelError if there are none, or if they need each other."""
    reason = NoKernelError("it has no arrays of several examples")
    for each in sizes:
        for with_constants in (True, False):
            try:
                return _Axes(each, target, with_constants).of(found, computed)
            except NoKernelError as error:
                reason = error
    raise reason


class _Axes:
    """Finds the axes by a fixed-point iteration, the first of several candidates. The loop's operands are
    buffers, which can be read anywhere: their variables are `free`, and their axes are guesses."""

    def __init__(self, sizes: tuple[int, ...], target: Target, with_constants: bool):
        self.result = ExampleAxes(sizes)
        self.sizes, self.axes = sizes, self.result.axes
        self.target = target
        self.with_constants = with_constants
        self.free: set[Atom] = set()
        self.changed = True
        self.reads: dict[Var, list[tuple[Atom, dict[int, int]]]] = {}

    def of(self, found: Loop | Branches, computed: Container[Atom]) -> ExampleAxes:
        """Finds the axes in a loop or a branch, and in its results."""
        if isinstance(found, Loop):
            condition_consts, consts, carry, xs = found.parts(found.variables)
            self._guess(xs)
            self._guess([*condition_consts, *consts])
            self._set_leading(carry)
            pairs = zip(found.eqn.invars, found.variables)
            self.free.difference_update(v for outer, v in pairs if outer in computed)
        else:
            for branch in found.branches:
                self._guess(branch.jaxpr.invars)
        while self.changed:
            self.changed = False
            self._bodies(found)
            if not self.changed:
                self._wanted_in(found)
        if not any(v in self.axes for v in found.eqn.outvars):
            raise NoKernelError("its results are not those of examples")
        return self.result

    def _guess(self, variables: Sequence[Var]) -> None:
        self.free.update(variables)
        if self.with_constants:
            self._set_leading(variables)

    def _set_leading(self, variables: Sequence[Var]) -> None:
        """The axes are leading in those variables that have them, not all of size 1."""
        for v in variables:
            if self._fits(v, 0) and math.prod(v.aval.shape[: len(self.sizes)]) > 1:
                self._set(v, 0)

    def _fits(self, v: Atom, axis: int) -> bool:
        """Whether the axes may begin at that axis. Sizes of 1 are stretched."""
        pairs = list(zip(v.aval.shape[axis:], self.sizes))
        return len(pairs) == len(self.sizes) and all(size in (1, n) for size, n in pairs)

    def _axis(self, v: Atom) -> int | None:
        return self.axes.get(v) if isinstance(v, Var) else None

    def _set(self, v: Atom, axis: int | None) -> None:
        """Sets a value's axis, which may come late: until then all examples read the same."""
        if axis is None or not isinstance(v, Var):
            return
        if not self._fits(v, axis):
            raise NoKernelError("its arrays differ in shape")
        self.changed |= v not in self.axes
        if self.axes.setdefault(v, axis) != axis:
            raise NoKernelError("examples are along two axes of one value")

    def _moved(self, axis: int, result_axes: dict[int, int]) -> int | None:
        """Where the axes from `axis` on in an operand are in a result; None if they are not adjacent."""
        axes = [n for n, size in enumerate(self.sizes) if size > 1]
        first = {result_axes[axis + n] - n for n in axes if axis + n in result_axes}
        is_all = all(axis + n in result_axes for n in axes)
        return first.pop() if is_all and len(first) == 1 and min(first) >= 0 else None

    # ---- loops and branches ----

    def _bodies(self, found: Loop | Branches) -> None:
        """Goes through the bodies, whose operands' axes are known, and sets the results' axes."""
        if isinstance(found, Branches) and self._axis(found.index) is not None:
            raise NoKernelError("examples take different branches")
        if isinstance(found, Loop) and found.condition is not None:
            tested = found.condition.jaxpr.invars[len(found.condition_consts) :]
            for v, inner in zip(tested, _carry(found)):
                self._set(v, self._axis(inner))
        for name, body in found.bodies.items():
            self._jaxpr(body.jaxpr)
            for made, (target, added) in zip(body.jaxpr.outvars, _targets(found, name)):
                axis = self._axis(made)
                self._set(target, _plus(axis, added))
                if name == "cond" and made.aval.ndim > (0 if axis is None else len(self.sizes)):
                    raise NoKernelError("an example has several conditions")
        if isinstance(found, Loop):
            for v, result in zip(_carry(found), found.last_carry):
                self._set(result, self._axis(v))

    def _control_flow(self, eqn: JaxprEqn) -> None:
        """An inner loop or branch: its bodies' variables get the axes of its operands."""
        found = control_flow(eqn)
        for outer, inner, added in _bindings(found):
            axis = self._axis(outer)
            if added and axis == 0 and outer not in self.free:
                raise NoKernelError("a loop inside goes from example to example")
            self._set(inner, None if axis is None or axis < added else axis - added)
            if outer in self.free:
                self.free.add(inner)
        if isinstance(found, Loop):
            self.free.difference_update(_carry(found))
        self._bodies(found)

    # ---- equations ----

    def _jaxpr(self, jaxpr: Jaxpr) -> None:
        for eqn in jaxpr.eqns:
            if has_effects(eqn):
                raise NoKernelError(f"{eqn.primitive} in its body has an effect")
            if is_control_flow(eqn):
                self._control_flow(eqn)
                continue
            for v in eqn.outvars:
                self._set(v, self._result_axis(eqn, v))

    def _result_axis(self, eqn: JaxprEqn, v: Var) -> int | None:
        """The axis of a result along which its index equals the index along the operands' axes."""
        if v not in self.reads:
            self.reads[v] = reads_of(eqn, v, self.target)
        sure, guessed = set[int](), set[int]()
        for operand, result_axes in self.reads[v]:
            if (axis := self._axis(operand)) is None:
                continue
            moved = self._moved(axis, result_axes)
            if operand in self.free:
                guessed |= set() if moved is None else {moved}
            elif moved is None:
                raise NoKernelError(f"{eqn.primitive} in its body reads other elements")
            else:
                sure.add(moved)
        found = sure or guessed
        if len(sure) > 1:
            raise NoKernelError("examples are along two axes of one value")
        return found.pop() if len(found) == 1 else None

    # ---- values of which each example needs only its own part ----

    def _wanted_in(self, found: Loop | Branches) -> None:
        """Values made from numbers (zeros, say) get the axis along which they are read."""
        for name, body in found.bodies.items():
            targets = _targets(found, name)
            self._wanted(body.jaxpr, [_plus(self._axis(v), -added) for v, added in targets])

    def _wanted(self, jaxpr: Jaxpr, results: Sequence[int | None]) -> None:
        """Gives each value of a jaxpr the axis on which all its readers agree."""
        wanted: dict[Atom, set[int | None]] = defaultdict(set)
        for v, axis in zip(jaxpr.outvars, results):
            wanted[v].add(axis)
        for eqn in jaxpr.eqns:
            if is_control_flow(eqn):
                found = control_flow(eqn)
                self._wanted_in(found)
                for outer, inner, added in _bindings(found):
                    wanted[outer].add(_plus(self._axis(inner), added))
                continue
            for out in eqn.outvars:
                for operand, own in self.reads[out]:
                    axes = [a for a in own if self._moved(a, own) == self._axis(out) is not None]
                    wanted[operand].update(axes or [None])
        for v, found_axes in wanted.items():
            if len(found_axes) == 1 and v not in self.free and self._axis(v) is None:
                self._set(v, *found_axes)


def _plus(axis: int | None, by: int) -> int | None:
    return None if axis is None else axis + by


def _carry(loop: Loop) -> list[Var]:
    return loop.parts(loop.variables)[2]


def _targets(found: Loop | Branches, body: str) -> list[tuple[Atom, int]]:
    """The variables that get the results of a body, and their number of extra axes."""
    if isinstance(found, Branches):
        return [(v, 0) for v in found.eqn.outvars]
    if body == "cond":
        return [(v, 0) for v in found.bodies[body].jaxpr.outvars]
    return [*((v, 0) for v in _carry(found)), *((v, 1) for v in found.ys)]


def _bindings(found: Loop | Branches) -> list[tuple[Atom, Var, int]]:
    """The operands of a loop or branch, their variables inside, and how many more axes the operands have."""
    if isinstance(found, Branches):
        pairs = [zip(found.operands, branch.jaxpr.invars) for branch in found.branches]
        return [(outer, inner, 0) for each in pairs for outer, inner in each]
    variables = found.variables
    *_, xs = found.parts(variables)
    operands = [*found.condition_consts, *found.consts, *found.carry, *found.xs]
    return [(outer, inner, int(inner in xs)) for outer, inner in zip(operands, variables)]


# ---- where rules read ----


def reads_of(eqn: JaxprEqn, v: Var, target: Target) -> list[tuple[Atom, dict[int, int]]]:
    """The operands of an element of the result `v`. For each of their axes that is read at the element's own
    place, the matching axis of the result."""
    lowering = rules.lowering_of(eqn, target)
    if isinstance(lowering, rules.Elementwise):
        return [(u, {axis: axis for axis in range(u.aval.ndim)}) for u in eqn.invars]
    if isinstance(lowering, rules.InOrder) and not isinstance(lowering, rules.Update):
        own = {axis: axis for axis in range(v.aval.ndim) if axis != lowering.along(eqn)}
        return [(u, own) for u in eqn.invars]
    coords = variables("axis", v.aval.shape)
    numbers = {at: axis for axis, at in enumerate(coords) if at.op == "var"}
    return [
        (u, {axis: numbers[at] for axis, at in enumerate(read) if at in numbers})
        for u, read in elements_read(eqn, v, coords, target)
    ]


def elements_read(
    eqn: JaxprEqn, v: Var, coords: list[Index], target: Target
) -> list[tuple[Var, Sequence[Index]]]:
    """The elements of operands that the lowering rule reads for the element of `v` at `coords`."""
    lowering = rules.lowering_of(eqn, target)
    probe = _Probe({u: "v" for u in eqn.outvars}, target)
    if isinstance(lowering, (rules.Update, rules.WindowUpdate)):
        probe.update(eqn, lowering.in_place, coords)
    else:
        probe._emit(v, eqn, lowering, rules.Position(v.aval.shape, coords))
    return probe.found


def variables(name: str, sizes: Sequence[int]) -> list[Index]:
    """The coordinates of any element of an array of that shape: a variable each, 0 along axes of size 1."""
    return [
        index_var(f"{name}{axis}", 0, size - 1) if size > 1 else index(0)
        for axis, size in enumerate(sizes)
    ]


class _Probe(Builder):
    """Records where a rule reads; the statements it writes are discarded."""

    def __init__(self, names: dict[Var, str], target: Target):
        super().__init__(names, target)
        self.found: list[tuple[Var, Sequence[Index]]] = []

    def element(self, atom: Atom, position: rules.Position) -> Any:
        if isinstance(atom, Literal):
            return super().element(atom, position)
        self.found.append((atom, position.coords))
        part = self.new_value("x", PART_DTYPES.get(atom.aval.dtype, atom.aval.dtype))
        return Pair(part, part) if atom.aval.dtype in PART_DTYPES else part

    def update(self, eqn: JaxprEqn, update: rules.Update, coords: list[Index]) -> None:
        """Reads as an update does: at its own place along batch axes and those that windows cover whole."""
        (out,) = eqn.outvars
        ctx = rules.LoweringRuleContext(self, eqn, out, rules.Position(out.aval.shape, coords))
        number, elsewhere = variables("n", update.counts), variables("w", update.sizes)
        own = update.whole | update.batch
        within = [at if axis in own else elsewhere[axis] for axis, at in enumerate(coords)]
        operands = [rules.Operand(self, u) for u in eqn.invars]
        update.windows(ctx, number, coords, *operands, **eqn.params)
        update.update(ctx, number, within, *operands, **eqn.params)
        if isinstance(eqn.invars[0], Var):
            self.found.append((eqn.invars[0], within))
