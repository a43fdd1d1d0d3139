"""Jaxprs inside a kernel: equations as loops over private arrays, loops as loops, branches as ifs.

The equations of a loop's body are grouped as those of a program are (fuse.py), and each group is a loop over
private arrays. Carries are private arrays that live as long as the loop.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tinyjax.compile.fusion.backward_slice import backward_slice
from tinyjax.compile.fusion.fuse import fuse
from tinyjax.compile.fusion.groups import Group, HostGroup, KernelGroup, LoopGroup
from tinyjax.compile.kernel import kernel_ir as ir
from tinyjax.compile.kernel.indices import index
from tinyjax.compile.kernel.memref import MemRef
from tinyjax.compile.kernel.private_arrays import PrivateArrayBuilder, Storage
from tinyjax.compile.kernel.rules import Fourier, lowering_of
from tinyjax.compile.kernel.scalar_ops import KERNEL_DTYPES, PART_DTYPES
from tinyjax.compile.kernel.writer import BOOL, Number
from tinyjax.compile.passes.loops import Branches, Loop, bodies_of, control_flow
from tinyjax.compile.target import Target
from tinyjax.core.jaxpr import Atom, ClosedJaxpr, Jaxpr, JaxprEqn, Var


class BodyBuilder(PrivateArrayBuilder):
    """Writes the statements of loops' bodies, with the loops and branches in them."""

    main_axis = ""  # the variable of the kernel's main loop, unless it is a while

    def __init__(self, names: dict[Var, str], target: Target, form: str):
        super().__init__(names, target, form)
        self.groups: dict[Jaxpr, list[Group]] = {}

    def groups_of(self, jaxpr: Jaxpr) -> list[Group]:
        """The groups of a body."""
        if jaxpr not in self.groups:
            self.groups[jaxpr] = fuse(jaxpr, self.target)
        return self.groups[jaxpr]

    def why_not(self, bodies: Iterable[ClosedJaxpr]) -> str:
        """Why these bodies can't be written here; empty if they can."""
        for jaxpr in (body.jaxpr for body in bodies):
            for v in (*jaxpr.invars, *(v for eqn in jaxpr.eqns for v in eqn.outvars)):
                if v.aval.dtype not in KERNEL_DTYPES | PART_DTYPES.keys():
                    return f"kernels do not compute with {v.aval.dtype}"
            if any(isinstance(lowering_of(eqn, self.target), Fourier) for eqn in jaxpr.eqns):
                return "the rows of a transform are lanes in a separate kernel"
            for group in self.groups_of(jaxpr):
                if isinstance(group, HostGroup):
                    return f"{group.eqn.primitive} runs on the host: {group.reason}"
                if isinstance(group, LoopGroup):
                    if reason := self.why_not(bodies_of(group.eqn).values()):
                        return reason
        return ""

    # ---- equations ----

    def equations(self, jaxpr: Jaxpr, direct: dict[Var, MemRef]) -> None:
        """Computes everything that the jaxpr's results need; `direct` says where some results go."""
        self.producer.update((v, eqn) for eqn in jaxpr.eqns for v in eqn.outvars)
        self.forget(v for eqn in jaxpr.eqns for v in eqn.outvars)
        for group in self.groups_of(jaxpr):
            if isinstance(group, KernelGroup):
                self.group(group, direct)
            else:
                assert isinstance(group, LoopGroup)
                with ir.statements_of(group.eqn):
                    self._control_flow(group.eqn, direct)

    def results(self, jaxpr: Jaxpr, targets: Sequence) -> None:
        """Computes the jaxpr; (atom, place) gives each wanted result and its destination."""
        direct: dict[Var, MemRef] = {}
        later = []
        made = {v for eqn in jaxpr.eqns for v in eqn.outvars}
        for atom, place in targets:
            is_new = atom in made and atom not in direct and self.stored_size(atom) > 1
            # Stored as it is computed, but not where other examples load
            if is_new and (self.form == "sequential" or isinstance(place.memory, ir.PrivateArray)):
                direct[atom] = place
            else:
                later.append((atom, place))
        self.equations(jaxpr, direct)
        found = [self.source(v) if self.stored_size(v) > 1 else self.scalar(v) for v, _ in later]
        for source, (atom, place) in zip(found, later):
            self.copy(source, place, atom)

    # ---- loops and branches ----

    def _control_flow(self, eqn: JaxprEqn, direct: dict[Var, MemRef]) -> None:
        """A loop or a branch among the equations. Its results are in new private arrays, or where they go:
        a loop's carry may be there already."""
        sources = [self.source(v) for v in eqn.invars]
        found = control_flow(eqn)
        is_here = [
            v in direct and isinstance(direct[v].memory, ir.PrivateArray) for v in eqn.outvars
        ]
        outs = [direct[v] if here else self.private(v) for v, here in zip(eqn.outvars, is_here)]
        if isinstance(found, Branches):
            self.branches(found, sources, outs)
        else:
            for v, source, place in zip(found.last_carry, found.parts(sources)[2], outs):
                if source != place:
                    self.copy(source, place, v)
            write = self.while_loop if found.length is None else self.for_loop
            write(found, sources, outs)
        for v, place in zip(eqn.outvars, outs):
            self.places[v] = direct.get(v, place)
            if self.places[v] != place:
                self.copy(place, direct[v], v)

    def branches(self, found: Branches, sources: Sequence[Storage], outs: Sequence[MemRef]) -> None:
        """The branch whose number is the first operand; an index out of range takes the nearest."""
        which, *others = sources
        number = self.read(which, index(0)) if isinstance(which, MemRef) else which
        self._branches(found.branches, Number(self, number), 0, others, outs)

    def _branches(
        self, branches: Sequence[ClosedJaxpr], which: Number, number: int,
        sources: Sequence[Storage], outs: Sequence[MemRef],
    ) -> None:  # fmt: skip
        jaxpr = branches[number].jaxpr
        with self.block() as body:
            self.bind(jaxpr.invars, sources)
            self.results(jaxpr, list(zip(jaxpr.outvars, outs)))
        if number == len(branches) - 1:
            self.body += body
            return
        is_this = ~which if which.dtype == BOOL else which <= number
        with self.block() as otherwise:
            self._branches(branches, which, number + 1, sources, outs)
        self.body.append(ir.If(is_this.value, body, otherwise))

    def for_loop(
        self, loop: Loop, sources: Sequence[Storage], outs: Sequence[MemRef], is_main: bool = False
    ) -> None:
        """All iterations. The carry is in the first of `outs`; the others get the ys as they are made. A
        kernel's main loop stays a loop even if it has only one iteration."""
        assert loop.length is not None
        jaxpr, count = loop.body.jaxpr, len(loop.carry)
        _, const_vars, carry_vars, x_vars = loop.parts(loop.variables)
        _, consts, _, xs = loop.parts(sources)
        axis = self.axis(self.fresh("i"), loop.length) if is_main else self.loop(loop.length)
        with axis as i:
            self.main_axis = i.args[0] if is_main else self.main_axis
            at = index(loop.length - 1) - i if loop.reverse else i
            self.bind(const_vars, consts)

            def row(v: Atom, stack: Any) -> Any:  # or the value, if it is the only one
                return stack.part(at * v.aval.size) if isinstance(stack, MemRef) else stack

            self.bind(x_vars, list(map(row, x_vars, xs)))
            ys = [(v, row(v, place)) for v, place in zip(jaxpr.outvars[count:], outs[count:])]
            self._iteration(jaxpr, carry_vars, outs[:count], ys, None)

    def while_loop(self, loop: Loop, sources: Sequence[Storage], carry: Sequence[MemRef]) -> None:
        """Iterations as long as the condition holds. Where each element (or the first axes of the carry) has
        its own condition, those for which it fails keep their carry."""
        assert loop.condition is not None
        cond, body = loop.condition.jaxpr, loop.body.jaxpr
        _, const_vars, carry_vars, _ = loop.parts(loop.variables)
        condition_consts, consts, _, _ = loop.parts(sources)
        mask = None
        with self.block() as head:
            self.bind(cond.invars, [*condition_consts, *carry])
            (predicate,) = cond.outvars
            self.equations(cond, {})
            if self.stored_size(predicate) == 1:
                holds = self.scalar(predicate)
            else:
                assert isinstance(predicate, Var)
                mask = self.places[predicate]
                if predicate in cond.invars:  # a copy: the iteration may change the mask
                    kept = self.private(predicate)
                    self.copy(mask, kept, predicate)
                    mask = kept
                holds = self._any(mask, predicate)
        with self.block() as iterations:
            self.bind(const_vars, consts)
            self._iteration(body, carry_vars, carry, [], mask)
        self.body.append(ir.While(head, holds, iterations))

    def _any(self, predicate: MemRef, v: Atom) -> ir.Scalar:
        """Whether any of the predicates `v`, already computed, holds."""
        found = self.array("any", BOOL)
        with self.numbers(v) as i:
            found.now = found.now | Number(self, self.read(predicate, i))
        return found.now.value

    def _iteration(
        self, jaxpr: Jaxpr, variables: Sequence[Var], carry: Sequence[MemRef],
        ys: list[tuple[Atom, MemRef]], mask: MemRef | None,
    ) -> None:  # fmt: skip
        """Computes the next carry in the carry's memory, and the iteration's other results.

        A new value that reads other elements of the old one is kept in a separate private array first."""
        self.bind(variables, carry)
        targets, waiting = list(ys), []
        for v, place, out in zip(variables, carry, jaxpr.outvars):
            if out is v:
                continue
            stored = self._stored_over(v, out, jaxpr) if mask is None else []
            in_place = bool(stored) or self.stored_size(out) == 1
            target = place if in_place else self.private(v, "new")
            targets += [(each, target) for each in stored or [out]]
            waiting += [] if in_place else [(target, place, v)]
        self.results(jaxpr, targets)
        for target, place, v in waiting:
            self.copy(target, place, v, mask)

    def _stored_over(self, v: Var, out: Atom, jaxpr: Jaxpr) -> list[Atom]:
        """The values that can overwrite the old carry `v`, ending with the new one, `out`; empty if it can't.

        Either each element of `out` reads only the same element of `v`, and nothing reads `v` later. Or a
        chain of updates and loops makes `out` from `v`, each the last to read what it overwrites."""
        groups, results = self.groups_of(jaxpr), jaxpr.outvars
        home: dict[Atom, int] = {u: n for n, group in enumerate(groups) for u in group.outputs}
        if out not in home or v in results or results.count(out) > 1:
            return []
        number, readers = home[out], [n for n, group in enumerate(groups) if v in group.inputs]
        group = groups[number]
        if isinstance(group, KernelGroup) and group.in_order is None:
            producer = {u: eqn for eqn in group.eqns for u in eqn.outvars}
            lowerings = {eqn: lowering_of(eqn, self.target) for eqn in group.eqns}
            read = backward_slice(group.outputs, producer, group.inputs, lowerings).inputs
            return [out] if read.get(v, True) and max(readers, default=0) <= number else []
        chain: list[Atom] = []
        while out is not v:
            if out not in home or (chain and out in results):
                return []
            overwritten = groups[home[out]].overwritten(out)
            reads = [u for g in groups[home[out] :] for eqn in g.eqns for u in eqn.invars]
            if overwritten is None or reads.count(overwritten) != 1:
                return []
            chain.insert(0, out)
            out = overwritten
        return chain
