"""The steps of a plan as the steps of one kernel: which memory each array uses.

A loop's carry is not copied: an iteration writes the next carry to other memory, and then the two are
swapped. An iteration's part of a stack is written directly to its row. Arrays that are not used outside are
in the arena.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tinyjax.compile.fusion.cost_record import bytes_of
from tinyjax.compile.fusion.groups import KernelGroup, LoopGroup
from tinyjax.compile.kernel.kernel_ir import STOP
from tinyjax.compile.launches import launch_of
from tinyjax.compile.passes.loops import Branches, Loop, control_flow, loop_of
from tinyjax.compile.plan import Plan
from tinyjax.core.jaxpr import Atom, DropVar, Var
from tinyjax.fast import fused_kernel as fused
from tinyjax.runtime.memory import ALIGNMENT

# ---- which steps ----


def can_be_fused(plan: Plan, number: int) -> bool:
    """Whether a group is a kernel that another can call, or a loop or branch of such kernels."""
    if number in plan.kernels:
        return plan.kernels[number].local_size == 1
    group = plan.groups[number]
    if not isinstance(group, LoopGroup):
        return False
    loop = loop_of(group.eqn)
    if loop is not None and (loop.length or 0) >= 2**31:
        return False
    return all(map(_is_fusible_body, plan.bodies[number].values()))


def _is_fusible_body(body: Plan) -> bool:
    jaxpr = body.closed.jaxpr
    atoms = [*jaxpr.invars, *jaxpr.outvars, *(v for group in body.groups for v in group.outputs)]
    if jaxpr.constvars or any(v.aval.size == 0 for v in atoms):
        return False
    return all(can_be_fused(body, number) for number in range(len(body.groups)))


# ---- the steps ----

Pointers = dict[Any, str]  # the pointer to each array, by its variable


@dataclass
class StepWriter:
    """Writes the steps of plans. `patience(plan, number)` is that of a kernel's call, and
    `operations(plan, number)` those of an iteration; `is_stoppable` says whether the kernel has a flag that
    ends loops."""

    patience: Callable[[Plan, int], int]
    operations: Callable[[Plan, int], int]
    is_stoppable: bool = False
    # Bytes in the arena, and in the state, which has zeros before the first launch, and stays.
    sizes: dict[str, int] = field(default_factory=lambda: {"arena": 0, "state": fused.HEAD_BYTES})
    places: list[fused.Step] = field(default_factory=list)  # arrays in the arena, and in the state
    blocks: dict[str, int] = field(default_factory=dict)  # the bytes of each in the arena
    free: list[str] = field(default_factory=list)  # arrays in the arena that nothing reads any more
    count: int = 0

    def begin_launch(self, is_stoppable: bool) -> None:
        """Starts a kernel that shares the arena with those before, and has a new state."""
        self.is_stoppable = is_stoppable
        self.sizes["state"] = fused.HEAD_BYTES
        self.places = [p for p in self.places if isinstance(p, fused.Point) and p.base == "arena"]

    def fresh(self, v: Atom | str, names: dict[Var, str]) -> str:
        """A new name of a pointer: numbered, as all results that nothing reads are called "_"."""
        self.count += 1
        return f"{v if isinstance(v, str) else names.get(v, '')}_{self.count}"  # type: ignore[arg-type]

    def allocate(self, nbytes: int, name: str, where: str = "arena") -> str:
        """A pointer to new memory, which stays allocated until it is freed."""
        nbytes = -(-nbytes // ALIGNMENT) * ALIGNMENT
        if where == "arena":
            for block in self.free:
                if self.blocks[block] == nbytes:
                    self.free.remove(block)
                    return block
            self.blocks[name] = nbytes
        self.places.append(fused.Point(name, where, self.sizes[where]))
        self.sizes[where] += nbytes
        return name

    def steps(self, plan: Plan, numbers: Sequence[int], where: Pointers) -> Iterator[fused.Step]:
        """The steps of the groups `numbers`. `where` has their inputs, and the outputs with a given place;
        the other outputs are added to it.
        """
        reuses_buffer_of = plan.memory.reuses_buffer_of
        for number in numbers:
            group = plan.groups[number]
            for v in group.outputs:
                if v in reuses_buffer_of and reuses_buffer_of[v] in where:
                    where.setdefault(v, where[reuses_buffer_of[v]])
                elif v not in where:
                    where[v] = self.allocate(bytes_of(v.aval), self.fresh(v, plan.names))
            if isinstance(group, KernelGroup) or number in plan.kernels:
                yield self._call(plan, number, where)
            else:
                found = control_flow(group.eqn)
                body = _Bodies(self, plan, number, where)
                yield from body.branches(found) if isinstance(found, Branches) else body.loop(found)
            dead = {where[v] for v in plan.memory.freed_after.get(number, ())} & self.blocks.keys()
            self.free += sorted(dead)

    def _call(self, plan: Plan, number: int, where: Pointers) -> fused.Call:
        launch = launch_of(plan, number)
        places = [where[v] for v in [*launch.inputs, *launch.outputs]]
        for buffer in launch.scratch:
            if buffer.name == STOP and self.is_stoppable:
                places.append(STOP)
                continue
            name = self.fresh(buffer.name, {})
            places.append(self.allocate(buffer.size * buffer.dtype.itemsize, name, "state"))
        return fused.Call(plan.kernels[number], places, self.patience(plan, number))


@dataclass(eq=False)
class _Carry:
    """A value that a loop carries: the names of the pointers to it, and to that of the next iteration."""

    nbytes: int
    now: str
    then: str = ""


def _pairs(carry: Sequence[_Carry]) -> Iterator[tuple[str, str]]:
    """The moves of pointers after an iteration: (name, name of its new value). The carry stays where it was
    made; the previous carry's memory, if free, is for the next one.
    """
    then = [c.then for c in carry]
    free = [c for c in carry if c.now not in then]
    for c in carry:
        yield c.now, c.then
    for c in carry:
        if c.then not in [other.now for other in carry]:
            old = c if c in free else next(x for x in free if x.nbytes == c.nbytes)
            free.remove(old)
            yield c.then, old.now


def _moves(carry: Sequence[_Carry]) -> Iterator[fused.Step]:
    pairs = [(name, source) for name, source in _pairs(carry) if name != source]
    if pairs:
        yield fused.Move(*zip(*pairs))


class _Bodies:
    """The loop or branch that a group is: its bodies, in C."""

    def __init__(self, writer: StepWriter, plan: Plan, number: int, where: Pointers):
        self.writer = writer
        self.operations = writer.operations(plan, number)
        self.names = plan.names
        self.bodies = plan.bodies[number]
        self.where = where
        self.outs = [where[v] for v in plan.groups[number].outputs]

    def place(self, atom: Atom, where: Pointers) -> str:
        """The pointer to an operand. A number is stored before the loop begins."""
        if isinstance(atom, Var):
            return where[atom]
        name = self.writer.fresh("number", {})
        self.writer.allocate(bytes_of(atom.aval), name, "state")
        number = np.asarray(atom.val, atom.aval.dtype)
        bits = np.frombuffer(number.tobytes(), f"u{min(number.itemsize, 8)}")
        self.writer.places.append(fused.Fill(name, bits))
        return name

    def _run(self, label: str, where: Pointers) -> Iterator[fused.Step]:
        body = self.bodies[label]
        return self.writer.steps(body, range(len(body.groups)), where)

    def branches(self, found: Branches) -> Iterator[fused.Step]:
        index = self.place(found.index, self.where)
        operands = [self.place(v, self.where) for v in found.operands]
        steps = []
        for label, body in self.bodies.items():
            where = dict(zip(body.closed.jaxpr.invars, operands))
            steps.append([*self._run_to(label, self.outs, where)])
        yield fused.Choose(index, found.index.aval.dtype, steps)

    def loop(self, loop: Loop) -> Iterator[fused.Step]:
        condition_consts, consts, initial, xs = (
            [self.place(v, self.where) for v in part] for part in loop.parts(loop.eqn.invars)
        )
        jaxpr = self.bodies["body"].closed.jaxpr
        _, _, variables, rows = loop.parts([*condition_consts, *jaxpr.invars])
        carry = self._carry(variables, jaxpr.outvars, initial)
        yield from self._before(carry, initial, loop)
        now = [c.now for c in carry]
        where = dict(zip(jaxpr.invars, [*consts, *now]))
        at = self.writer.fresh("i", {})
        ys = list(zip(jaxpr.outvars[len(now) :], self.outs[len(now) :]))
        stacks = [*zip(rows, xs), *ys]
        parts = [self.writer.fresh(v, self.names) for v, _ in stacks]
        where |= dict(zip(rows, parts))
        body: list[fused.Step] = [
            fused.Point(part, stack, 0, (at, bytes_of(v.aval)))
            for part, (v, stack) in zip(parts, stacks)
        ]
        results = [*(c.then for c in carry), *parts[len(xs) :]]
        body += [*self._run_to("body", results, where), *_moves(carry)]
        if loop.length is not None:
            yield fused.Repeat(at, loop.length, loop.reverse, body)
        else:
            cond = self.bodies["cond"].closed.jaxpr
            inside = dict(zip(cond.invars, [*condition_consts, *now]))
            head = [*self._run("cond", inside)]
            (predicate,) = cond.outvars
            place, count = self.place(predicate, inside), predicate.aval.size
            yield fused.RepeatWhile(head, place, count, body, self.operations)
        for c, v, final in zip(carry, loop.last_carry, self.outs):
            if not isinstance(v, DropVar):
                yield fused.Copy(final, c.now, c.nbytes)

    def _carry(
        self, variables: Sequence[Var], outvars: Sequence[Atom], initial: Sequence[str]
    ) -> list[_Carry]:
        """The pointers to each value of the carry and to its next value: in separate memory, or over a carry
        that the memory plan specifies, possibly another one."""
        carry = [
            _Carry(bytes_of(v.aval), at, at)
            if out is v
            else _Carry(bytes_of(v.aval), self._pointer(v))
            for v, out, at in zip(variables, outvars, initial)
        ]
        places: Pointers = {v: c.now for v, c in zip(variables, carry) if not c.then}
        for c, v, out in zip(carry, variables, outvars):
            if not c.then:
                c.then = places.pop(self._owner(out), "") or self._pointer(v)
        return carry

    def _pointer(self, v: Var) -> str:
        return self.writer.fresh(v, self.names)

    def _before(
        self, carry: Sequence[_Carry], initial: Sequence[str], loop: Loop
    ) -> Iterator[fused.Step]:
        """Point to the memory of the carry, and copy the initial one there. A value that isn't swapped with
        another one is kept in the memory of the result."""
        moves = dict(_pairs(carry))
        for c, v, start, final in zip(carry, loop.last_carry, initial, self.outs):
            if c.now == start:
                continue
            is_new = c.then not in [other.now for other in carry]
            stays = c.then == c.now or is_new and moves[c.then] == c.now
            now = final if stays else self.writer.allocate(c.nbytes, self._pointer(v))
            new = self.writer.allocate(c.nbytes, self._pointer(v)) if is_new else now
            if stays and loop.length and loop.length % 2:
                now, new = new, now
            yield fused.Point(c.now, now)
            if is_new:
                yield fused.Point(c.then, new)
            yield fused.Copy(c.now, start, c.nbytes)

    def _owner(self, v: Atom) -> Atom:
        """The array whose memory v reuses in the body."""
        before = self.bodies["body"].memory.reuses_buffer_of
        while isinstance(v, Var) and v in before:
            v = before[v]
        return v

    def _run_to(self, label: str, places: Sequence[str], where: Pointers) -> Iterator[fused.Step]:
        """Run a body with its results in these places: made there if possible, else copied."""
        body, late = self.bodies[label], []
        made: set[Atom] = {v for group in body.groups for v in group.outputs}
        for v, place in zip(body.closed.jaxpr.outvars, places):
            if v in made and v not in where and v not in body.memory.reuses_buffer_of:
                where[v] = place
            else:
                late.append((v, place))
        yield from self._run(label, where)
        for v, place in late:
            source = self.place(v, where)
            if source != place:
                yield fused.Copy(place, source, bytes_of(v.aval))
