"""Loops and branches as one kernel.

After this file you can say which loops run inside a kernel, in which of two forms, and why others are
steps of the schedule:

- *per element*: the body works element by element, so each element runs the loop by itself. A CPU takes
  16 neighbours side by side in vector registers, until the last of them is done; a GPU one.
- *one work-item*: the arrays of a round are small, so a single work-item keeps them in private memory.
  Launching kernels round by round would take longer than the work.

A kernel that runs can't be stopped. So a loop of unknown or large work is launched again and again for
a bounded number of rounds (see kernel_ir.Rounds), and is interrupted between two launches.
Builds on loop_bodies, loop_operands, per_element, weight_layout and loop_work.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tinyjax.jaxpr import Atom, DropVar, Jaxpr, JaxprEqn, Literal, Var, subjaxprs
from tinyjax.opencl.builder import Place
from tinyjax.opencl.c_text import has_kernel_type
from tinyjax.opencl.check_kernel import check_kernel
from tinyjax.opencl.codegen import Target
from tinyjax.opencl.fuse import MAX_BUFFERS
from tinyjax.opencl.kernel_ir import (
    Buffer,
    Const,
    If,
    Index,
    Kernel,
    Lanes,
    MakeLanes,
    Rounds,
    Scalar,
    Statement,
    Store,
    index,
    inner_bodies,
    item_index,
)
from tinyjax.opencl.loop_bodies import BOOL, INT32, BodyBuilder, NoKernel, Source, work_item_target
from tinyjax.opencl.loop_operands import cheap_equations, without_invariants
from tinyjax.opencl.loop_work import (
    LAUNCH_WORK,
    MAX_PRIVATE,
    MAX_ROUND_WORK,
    ROUND_WORK,
    bodies_of_round,
    has_inner_while,
    work,
)
from tinyjax.opencl.lower import padded, run_of, share
from tinyjax.opencl.per_element import PerElement, element_shape
from tinyjax.opencl.rules import Position
from tinyjax.opencl.simplify import BODIES
from tinyjax.opencl.weight_layout import with_transposed_weights
from tinyjax.opencl.wide_text import has_wide_type

WIDTH = 16  # elements side by side on a CPU

# ---- which form ----


@dataclass(frozen=True)
class LoopKernel:
    """A loop's kernel. Its buffers are one for each of `inputs`, then one for each of the equation's
    outvars, then scratch."""

    kernel: Kernel
    inputs: list[Var]


def loop_kernel(
    eqn: JaxprEqn, producer: Mapping[Var, JaxprEqn], names: dict[Var, str], target: Target
) -> LoopKernel | str:
    """A while, scan or cond as one kernel, or the reason why it can't be one. `producer` says which
    equations make its operands: cheap ones become part of the kernel."""
    try:
        _check_size(eqn)
        if eqn.primitive.name == "cond":
            made = _OneWorkItem(eqn, producer, names, target).made()
        else:
            made = _loop(eqn, producer, names, target)
    except NoKernel as reason:
        return str(reason)
    check_kernel(made.kernel)
    return made


def _loop(
    eqn: JaxprEqn, producer: Mapping[Var, JaxprEqn], names: dict[Var, str], target: Target
) -> LoopKernel:
    try:
        return _PerElementKernel(eqn, producer, dict(names), target).made()
    except NoKernel as not_per_element:
        try:
            return _OneWorkItem(eqn, producer, names, target).made()
        except NoKernel as not_one_item:
            reasons = f"{not_per_element} (so not per element), and {not_one_item}"
            raise NoKernel(reasons) from None


def _check_size(eqn: JaxprEqn) -> None:
    _check_elements(eqn)
    for v in [*eqn.invars, *eqn.outvars]:
        if not has_kernel_type(v.aval.dtype):
            raise NoKernel(f"kernels do not compute with {v.aval.dtype}")
    if eqn.params.get("length", 0) >= 2**31:
        raise NoKernel("it has 2**31 rounds or more")


def _check_elements(eqn: JaxprEqn) -> None:
    """Loops and branches need elements to read and to make, those within as well."""
    if any(v.aval.size == 0 for v in [*eqn.invars, *eqn.outvars]):
        raise NoKernel("it has arrays without elements")
    for body in bodies_of_round(eqn):
        for inner in body.eqns:
            if inner.primitive.name in BODIES:
                _check_elements(inner)


# ---- kernels ----


class _LoopKernel:
    """What both forms share: buffers, where a loop starts and stops, and how it is launched again."""

    def __init__(
        self, eqn: JaxprEqn, before: Sequence[JaxprEqn], names: dict[Var, str], target: Target
    ):
        """`before` are equations that the kernel computes before the loop."""
        self.eqn = eqn
        self.before = before
        self.computed = {v: e for e in before for v in e.outvars}
        self.target = target
        self.inner_target = work_item_target(target)
        read = dict.fromkeys(v for e in (eqn, *before) for v in e.invars)
        self.inputs = {
            v: Buffer(f"{names[v]}_in", v.aval.dtype, v.aval.size, "in")
            for v in read
            if isinstance(v, Var) and v not in self.computed
        }
        if len(self.inputs) + len(eqn.outvars) > MAX_BUFFERS:
            raise NoKernel(f"it reads and makes more than {MAX_BUFFERS} arrays")
        self.outputs = [
            Buffer(f"out{number}", v.aval.dtype, v.aval.size, "out")
            for number, v in enumerate(eqn.outvars)
        ]
        self.scratch: list[Buffer] = []
        self.length: int | None = eqn.params.get("length")
        self.is_scan = eqn.primitive.name == "scan"
        self.first_carry, self.carry_count = _carry(eqn)
        self.rounds: Rounds | None = None

    def share_out(self, operations: int, has_inner: bool = False) -> None:
        """Decides whether there are several launches; `operations` are those of a round."""
        if self.length is None or has_inner or self.length * operations > LAUNCH_WORK:
            self.rounds = Rounds(self.length, operations, has_inner)
            self.scratch.append(Buffer("rounds", INT32, 4, "scratch"))

    def round_range(self, b: BodyBuilder) -> tuple[Scalar, Scalar]:
        """The first round of this launch, and where it stops."""
        buffer = self.scratch[0]
        start, stop = (b.load(name, buffer, index(n)) for n, name in enumerate(("start", "stop")))
        return start, stop

    def begin(
        self,
        b: BodyBuilder,
        initial: list[Statement],
        carry: Sequence[Place],
        kept: Sequence[Place],
    ) -> None:
        """Before the first round: `initial` sets the carry. In all launches but the first, it is where
        the launch before left it."""
        if self.rounds is None:
            b.body += initial
            return
        self.start, self.stop = self.round_range(b)
        again = b.let("gt", (self.start, Const(INT32.type(0), INT32)), BOOL)
        with b.block() as body:
            for place, source in zip(carry, kept):
                b.copy(source, place, self._size(place))
        b.body.append(If(again, body, initial))

    def run_rounds(
        self, b: BodyBuilder, eqn: JaxprEqn, sources: Sequence[Source], carry: Sequence[Place],
        ys: Sequence[Place],
    ) -> Scalar | None:  # fmt: skip
        """The rounds of this launch, from and to `carry`. Gives whether a while_loop has to go on, if
        that is known."""
        sources = [
            b.read(source, index(0))
            if n < self.first_carry and v.aval.size == 1 and isinstance(source, Place)
            else source
            for n, (source, v) in enumerate(zip(sources, _inner_variables(eqn)[0]))
        ]
        if self.rounds is None:
            b.scan(eqn, sources, [*carry, *ys], 0, self.length or 0)
            return None
        start, stop = self.start, self.stop
        if self.is_scan:
            assert self.length is not None
            first, last = (
                b.clamped_index(start, self.length),
                b.clamped_index(stop, self.length + 1),
            )
            b.scan(eqn, sources, [*carry, *ys], first, last)
            return None
        counter = Lanes(b.fresh("count"), INT32, 1)
        count = Place(counter)
        b.body.append(MakeLanes(counter, None))
        b.write(count, index(0), start)
        b.while_loop(eqn, sources, carry, count, stop)
        more = b.let("ge", (b.read(count, index(0)), stop), BOOL)
        unfinished = Store(self.scratch[0], index(2), Const(INT32.type(1), INT32))
        b.body.append(If(more, [unfinished]))
        return more

    def store_carry(
        self, b: BodyBuilder, carry: Sequence[Place], outs: Sequence[Place], more: Scalar | None
    ) -> None:
        """What nothing reads is stored only if another launch goes on from there."""
        always, to_go_on = [], []
        for v, place, out in zip(self.eqn.outvars, carry, outs):
            if not isinstance(v, DropVar):
                always.append((place, out))
            elif self.rounds is not None:
                to_go_on.append((place, out))
        for place, out in always:
            b.copy(place, out, self._size(place))
        with b.block() as body:
            for place, out in to_go_on:
                b.copy(place, out, self._size(place))
        if body:
            b.body += body if more is None else [If(more, body)]

    def _size(self, place: Place) -> int:
        return place.memory.size if isinstance(place.memory, Lanes) else 1

    def source(self, v: Atom) -> Source:
        """Where an operand is that is not computed in the kernel."""
        if isinstance(v, Literal):
            return Const(np.asarray(v.val, v.aval.dtype)[()], v.aval.dtype)
        return Place(self.inputs[v])

    def know_operands(self, b: BodyBuilder) -> None:
        """What is computed before the loop can be asked for."""
        b.producer.update(self.computed)
        b.places.update((v, Place(buffer)) for v, buffer in self.inputs.items())

    def finished(self, b: BodyBuilder, items: int, form: str) -> LoopKernel:
        buffers = [*self.inputs.values(), *self.outputs, *self.scratch]
        name = self.eqn.primitive.name
        return LoopKernel(
            Kernel(name, buffers, items, b.body, self.rounds, form), list(self.inputs)
        )


class _OneWorkItem(_LoopKernel):
    """One work-item does it all; carries are private arrays."""

    def __init__(
        self, eqn: JaxprEqn, producer: Mapping[Var, JaxprEqn], names: dict[Var, str], target: Target
    ):
        before = [] if eqn.primitive.name == "cond" else _equations_of_carry(eqn, producer, target)
        super().__init__(eqn, before, names, target)
        self.b = BodyBuilder(dict(names), target)
        self.know_operands(self.b)

    def made(self) -> LoopKernel:
        b, eqn = self.b, self.eqn
        operations = sum(work(body, self.inner_target) for body in bodies_of_round(eqn))
        most = MAX_ROUND_WORK[self.target.name]
        if operations > most:
            raise NoKernel(
                f"a round has {operations} operations, too many for one work-item (> {most})"
            )
        outs = [Place(buffer) for buffer in self.outputs]
        if eqn.primitive.name == "cond":
            b.cond(eqn, [self.source(v) for v in eqn.invars], outs)
        else:
            has_inner = has_inner_while(bodies_of_round(eqn))
            self.share_out(operations + ROUND_WORK, has_inner)
            if has_inner:
                b.budget = self._budget()
            carry = [b.private(v, "carry") for v in eqn.outvars[: self.carry_count]]
            outs, ys = outs[: self.carry_count], outs[self.carry_count :]
            with b.block() as initial:
                for place, v in zip(carry, eqn.invars[self.first_carry :]):
                    if v in self.computed:
                        b.fill(place, v)
                    else:
                        b.copy(self.source(v), place, self._size(place))
            self.begin(b, initial, carry, outs)
            sources = [
                *(self.source(v) for v in eqn.invars[: self.first_carry]),
                *carry,
                *(self.source(v) for v in eqn.invars[self.first_carry + self.carry_count :]),
            ]
            eqn, sources = self._with_rows(eqn, sources)
            more = self.run_rounds(b, eqn, sources, carry, ys)
            with b.block() as store:
                self.store_carry(b, carry, outs, more)
            b.body += self._unless_spent(store)
        private = sum(lanes.size for lanes in _private(b.body))
        if private > MAX_PRIVATE:
            raise NoKernel(
                f"a round has {private} elements, too many for one work-item (> {MAX_PRIVATE})"
            )
        items = padded(1, self.target)
        if items > 1:  # the others of its group have nothing to do
            is_first, body = b.let("eq", (item_index(items), index(0)), BOOL), b.body[:-1]
            b.body = [*b.body[-1:], If(is_first, body)]
        return self.finished(b, items, f"one work-item: a round has {private} elements")

    def _budget(self) -> tuple[Place, Scalar]:
        spent = Lanes(self.b.fresh("spent"), INT32, 1)
        self.b.body.append(MakeLanes(spent, Const(INT32.type(0), INT32)))
        return Place(spent), self.b.load("bound", self.scratch[0], index(3))

    def _unless_spent(self, store: list[Statement]) -> list[Statement]:
        """`store`, unless a loop inside was cut short: then what the rounds made is wrong."""
        if self.b.budget is None:
            return store
        spent, bound = self.b.budget
        is_spent = self.b.let("ge", (self.b.read(spent, index(0)), bound), BOOL)
        again = Store(self.scratch[0], index(2), Const(INT32.type(2), INT32))
        return [If(is_spent, [again], store)]

    def _with_rows(self, eqn: JaxprEqn, sources: list[Source]) -> tuple[JaxprEqn, list[Source]]:
        """Transposes weights that would be read by columns."""
        b = self.b
        if self.target.lanes == 1:
            return eqn, sources
        eqn, transposed = with_transposed_weights(eqn, b.names)
        for number, v in transposed:
            source, place = sources[number], b.private(v)
            assert isinstance(source, Place)
            rows, columns = v.aval.shape
            with b.loop(0, rows, rows - 1) as i, b.loop(0, columns, columns - 1) as j:
                b.write(place, i * columns + j, b.read(source, j * rows + i))
            sources[number] = place
        return eqn, sources


class _PerElementKernel(_LoopKernel):
    """Every element runs the loop; `width` neighbours do so side by side."""

    def __init__(
        self, eqn: JaxprEqn, producer: Mapping[Var, JaxprEqn], names: dict[Var, str], target: Target
    ):
        shape = element_shape(eqn)
        invariants, eqn = without_invariants(eqn, shape, names, target)
        xs = eqn.invars[sum(_carry(eqn)) :]
        stored = {*xs, *(v for v in eqn.invars if v.aval.shape not in ((), shape))}
        before = cheap_equations(
            [*eqn.invars, *(v for e in invariants for v in e.invars)],
            {v: e for v, e in producer.items() if v not in stored},
            target,
        )
        super().__init__(eqn, [*before, *invariants], names, target)
        self.count = math.prod(shape)
        rewriting = PerElement(shape, names, self.inner_target)
        self.element_eqn = rewriting.eqn(eqn, eqn.invars, eqn.outvars)
        self.wide = rewriting.wide
        self.width = self._width()
        self.b = BodyBuilder(names, target, self.width, frozenset(self.wide))
        self.know_operands(self.b)

    def _width(self) -> int:
        """How many elements side by side: a power of two."""
        dtypes = {
            v.aval.dtype for body in bodies_of_round(self.element_eqn) for v in _variables(body)
        }
        if self.target.lanes == 1 or not all(map(has_wide_type, dtypes)):
            return 1
        return min(WIDTH, 2 ** math.ceil(math.log2(self.count)))

    def made(self) -> LoopKernel:
        chunks = math.ceil(self.count / self.width)
        items, run = share(chunks, 1, self.target.max_items)
        items = padded(items, self.target)
        one = sum(
            work(body, self.inner_target, self.width) for body in bodies_of_round(self.element_eqn)
        )
        # The few work-items of a CPU wait for each other; those of a GPU run at once.
        self.share_out((one + ROUND_WORK) * (chunks if self.target.lanes > 1 else run))
        with self.b.loop(*run_of(item_index(items), run, chunks), chunks - 1) as chunk:
            self._chunk(chunk, chunks)
        side_by_side = f", {self.width} side by side" if self.width > 1 else ""
        return self.finished(self.b, items, f"per element{side_by_side}")

    def _chunk(self, chunk: Index, chunks: int) -> None:
        """The whole loop for `width` neighbours. Scalars are the same in all chunks: one stores them."""
        b, eqn = self.b, self.element_eqn
        inner_ins, _ = _inner_variables(eqn)
        operands = list(zip(eqn.invars, inner_ins))
        after = self.first_carry + self.carry_count
        is_wide = [v in self.wide for v in inner_ins[self.first_carry :][: self.carry_count]]
        # A row of the ys is wide as an array: a scalar that is repeated there is a scalar in the body.
        is_wide += [v.aval.ndim > 1 for v in self.eqn.outvars[self.carry_count :]]
        share_scalars = chunks > 1 and not all(is_wide)
        only_if = b.let("eq", (chunk, index(0)), BOOL) if share_scalars else None
        outs = [
            self._place(buffer, chunk) if wide else Place(buffer, only_if=only_if)
            for buffer, wide in zip(self.outputs, is_wide)
        ]
        carry = [b.private(v, "carry") for v in inner_ins[self.first_carry :][: self.carry_count]]
        with b.block() as initial:
            for place, (v, inner) in zip(carry, operands[self.first_carry :]):
                b.copy(self._operand(v, inner, chunk), place, 1)
        kept = [self._kept(chunk, chunks, out, wide) for out, wide in zip(outs, is_wide)]
        kept = kept[: self.carry_count]
        self.begin(b, initial, carry, kept)
        sources = [
            *(self._operand(v, inner, chunk) for v, inner in operands[: self.first_carry]),
            *carry,
            *(self._operand(v, inner, chunk) for v, inner in operands[after:]),
        ]
        more = self.run_rounds(b, eqn, sources, carry, outs[self.carry_count :])
        self.store_carry(b, carry, outs, more)
        for place, out, keep in zip(carry, outs, kept):
            if keep is not out:
                b.copy(place, keep, 1)

    def _operand(self, v: Atom, inner: Var, chunk: Index) -> Source:
        """This chunk's elements of an operand, or where they are."""
        if v in self.computed:
            return self._neighbours(v, chunk) if inner in self.wide else self.b.scalar(v)
        source = self.source(v)
        if inner in self.wide and isinstance(source, Place):
            assert isinstance(source.memory, Buffer)
            return self._place(source.memory, chunk)
        return source

    def _neighbours(self, v: Var, chunk: Index) -> Scalar:
        """This chunk's elements of what is computed before the loop, one by one: once is not often."""
        b, single = self.b, self._repeated(v)
        if single.aval.size == 1:
            return b.scalar(single)
        if self.width == 1:
            return b.element(v, Position(v.aval.shape, flat=chunk))
        dtype = INT32 if v.aval.dtype == BOOL else v.aval.dtype
        elements = Lanes(b.fresh("elements"), dtype, self.width)
        b.body.append(MakeLanes(elements, None))
        with b.loop(0, self.width, self.width - 1) as lane:
            at = (chunk * self.width + lane).min(self.count - 1)
            value = b.element(v, Position(v.aval.shape, flat=at))
            b.store(elements, lane, b.converted(value, dtype))
        wide = b.read(Place(elements, width=self.width), index(0))
        if v.aval.dtype == dtype:
            return wide
        return b.let("ne", (wide, Const(INT32.type(0), INT32)), BOOL)

    def _repeated(self, v: Atom) -> Atom:
        """What all elements of `v` are copies of, or `v`."""
        found = v
        while found in self.computed and self.computed[found].primitive.name == "broadcast_in_dim":
            (found,) = self.computed[found].invars
        return found if found.aval.size == 1 else v

    def _place(self, buffer: Buffer, chunk: Index) -> Place:
        """This chunk's elements of an array, or of each of the arrays that are stacked there."""
        end = index(self.count) if self.count % self.width else None
        return Place(buffer, chunk * self.width, end, self.width, self.count)

    def _kept(self, chunk: Index, chunks: int, out: Place, wide: bool) -> Place:
        """Where the carry is between launches. Each chunk has its own copy of a scalar: another chunk
        may be a launch ahead."""
        if wide or self.rounds is None:
            return out
        name = f"kept{len(self.scratch)}"
        self.scratch.append(Buffer(name, out.memory.dtype, chunks, "scratch"))
        return Place(self.scratch[-1], chunk)


def _equations_of_carry(
    eqn: JaxprEqn, producer: Mapping[Var, JaxprEqn], target: Target
) -> list[JaxprEqn]:
    """The cheap equations of the initial carry, as far as nothing else of the loop reads that."""
    first, count = _carry(eqn)
    stored = {*eqn.invars[:first], *eqn.invars[first + count :]}
    kept = {v: e for v, e in producer.items() if v not in stored}
    return cheap_equations(eqn.invars[first : first + count], kept, target)


def _carry(eqn: JaxprEqn) -> tuple[int, int]:
    """Where the carry of a loop begins among its operands, and how many values it has."""
    if eqn.primitive.name == "scan":
        return eqn.params["num_consts"], eqn.params["num_carry"]
    return len(eqn.invars) - len(eqn.outvars), len(eqn.outvars)


def _variables(jaxpr: Jaxpr) -> Iterator[Atom]:
    """All atoms of a jaxpr, and of those within."""
    yield from [*jaxpr.invars, *jaxpr.outvars]
    for eqn in jaxpr.eqns:
        yield from [*eqn.invars, *eqn.outvars]
        for inner in subjaxprs(eqn.params):
            yield from _variables(inner)


def _inner_variables(eqn: JaxprEqn) -> tuple[list[Var], list[Atom]]:
    """What the operands and the results of a loop are in its body."""
    params = eqn.params
    if eqn.primitive.name == "scan":
        body = params["jaxpr"].jaxpr
        return body.invars, body.outvars
    body, cond_nconsts = params["body_jaxpr"].jaxpr, params["cond_nconsts"]
    return [*params["cond_jaxpr"].jaxpr.invars[:cond_nconsts], *body.invars], body.outvars


def _private(body: Sequence[Statement]) -> Iterator[Lanes]:
    """All private arrays of a kernel."""
    for statement in body:
        if isinstance(statement, MakeLanes):
            yield statement.lanes
        for inner in inner_bodies(statement):
            yield from _private(inner)
