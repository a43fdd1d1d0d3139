"""Elementwise loops: each element runs the whole loop by itself, in one kernel; on a CPU, each vector of 16.

After this file you can read the kernel of `vmap(while_loop)`: vectors of neighbours, each of which runs
until none of its lanes is active. Builds on scheduled_loop, loop_invariants and scalarize.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace

from tinyjax.compile.codegen.codegen import Target
from tinyjax.compile.fusion.cost_record import jaxpr_cost, total
from tinyjax.compile.kernel.indices import Index, index
from tinyjax.compile.kernel.kernel_ir import (
    Allocate,
    Buffer,
    Const,
    For,
    PrivateArray,
    Scalar,
    item_index,
)
from tinyjax.compile.kernel.loop_bodies import BOOL, INT32
from tinyjax.compile.kernel.memref import MemRef
from tinyjax.compile.kernel.naive_loop import LoopKernel
from tinyjax.compile.kernel.private_arrays import Source
from tinyjax.compile.kernel.rules import Position
from tinyjax.compile.kernel.scalar_ops import has_vector_type
from tinyjax.compile.passes.loops import Loop
from tinyjax.compile.schedules.advance_together import FastBodyBuilder, work_item_target
from tinyjax.compile.schedules.group_builder import padded, run_of, share
from tinyjax.compile.schedules.loop_cost import ITERATION_WORK
from tinyjax.compile.schedules.loop_invariants import cheap_equations, without_invariants
from tinyjax.compile.schedules.scalarize import Scalarizer, element_shape
from tinyjax.compile.schedules.scheduled_loop import ScheduledLoop
from tinyjax.compile.schedules.unroll_and_jam import is_short, unroll_and_jam
from tinyjax.core.jaxpr import Atom, Jaxpr, JaxprEqn, Var, subjaxprs

WIDTH = 16  # elements of a vector on a CPU
JAMMED_BYTES = 24  # bytes of the carries of one lane of each of those vectors


class ElementwiseLoop(ScheduledLoop):
    """Every element runs the loop, in vectors of `width`."""

    def __init__(
        self, loop: Loop, producer: Mapping[Var, JaxprEqn], names: dict[Var, str], target: Target
    ):
        shape = element_shape(loop)
        invariants, loop = without_invariants(loop, shape, names, target)
        eqn = loop.equation()
        stored = {*loop.xs, *(v for v in eqn.invars if v.aval.shape not in ((), shape))}
        before = cheap_equations(
            [*eqn.invars, *(v for e in invariants for v in e.invars)],
            {v: e for v, e in producer.items() if v not in stored},
            target,
        )
        self.count = math.prod(shape)
        alone = work_item_target(target)
        rewriting = Scalarizer(shape, names, alone)
        self.loop = loop.with_bodies(rewriting.jaxpr)
        self.varying = rewriting.varying
        self.width = self._width(target)
        builder = FastBodyBuilder(names, alone, self.width, frozenset(self.varying))
        builder.can_have_whiles = False
        super().__init__(loop, [*before, *invariants], names, builder, target)

    def _width(self, target: Target) -> int:
        """The width of vectors: a power of two."""
        dtypes = {
            v.aval.dtype for body in self.loop.bodies.values() for v in _variables(body.jaxpr)
        }
        if target.accumulators == 1 or not all(map(has_vector_type, dtypes)):
            return 1
        return min(WIDTH, 2 ** math.ceil(math.log2(self.count)))

    def made(self) -> LoopKernel:
        chunks = math.ceil(self.count / self.width)
        bodies = self.loop.bodies.values()
        cost = total(jaxpr_cost(body.jaxpr, self.b.target) for body in bodies)
        one = cost.work_in_vectors(self.width)
        jammed = self._unroll_factor()
        items, run = share(math.ceil(chunks / jammed), 1, self.target.max_items)
        items, run = padded(items, self.target), run * jammed
        # The few work-items of a CPU wait for each other; those of a GPU run at once.
        each = one + ITERATION_WORK
        self.share_out(each * (chunks if self.target.accumulators > 1 else run))
        with self.b.loop(*run_of(item_index(items), run, chunks), chunks - 1) as chunk:
            self._chunk(chunk, chunks)
        vectorized = f", vectorized by {self.width}" if self.width > 1 else ""
        kernel = self.kernel(items, f"elementwise{vectorized}")
        *before, loop = kernel.body
        if jammed > 1 and isinstance(loop, For) and is_short(loop.body):
            jam = unroll_and_jam(loop, jammed, self.b.fresh("i"))
            kernel = replace(kernel, body=[*before, *jam])
        return LoopKernel(kernel, list(self.inputs))

    def _unroll_factor(self) -> int:
        """How many vectors are jammed into one iteration: as many as have room in the registers."""
        if self.length is None or self.width < WIDTH:
            return 1
        carry = self.loop.body.jaxpr.outvars[: self.carry_count]
        in_registers = sum(v.aval.dtype.itemsize for v in carry if v in self.varying)
        return max(1, min(JAMMED_BYTES // max(4, in_registers), self.count // WIDTH))

    def _chunk(self, chunk: Index, chunks: int) -> None:
        """The whole loop for a vector of elements. Scalars are the same in all chunks: one stores them."""
        b, loop = self.b, self.loop
        condition_consts, consts, initial_carry, xs = loop.parts(
            list(zip(self.eqn.invars, loop.variables))
        )
        carry_vars = [v for _, v in initial_carry]
        is_varying = [v in self.varying for v in carry_vars]
        # A row of the ys varies as an array does: a scalar that is repeated there is one in the body.
        is_varying += [v.aval.ndim > 1 for v in self.eqn.outvars[self.carry_count :]]
        share_scalars = chunks > 1 and not all(is_varying)
        only_if = b.let("eq", (chunk, index(0)), BOOL) if share_scalars else None
        outs = [
            self._place(buffer, chunk) if varies else MemRef(buffer, only_if=only_if)
            for buffer, varies in zip(self.outputs, is_varying)
        ]
        carry = [b.private(v, "carry") for v in carry_vars]
        for place, (v, inner) in zip(carry, initial_carry):
            b.copy(self._operand(v, inner, chunk), place, 1)
        sources = [
            *(self._operand(v, inner, chunk) for v, inner in [*condition_consts, *consts]),
            *carry,
            *(self._operand(v, inner, chunk) for v, inner in xs),
        ]
        self.run_loop(loop, sources, carry, outs[self.carry_count :])
        for v, place, out in zip(loop.last_carry, carry, outs):
            if self.is_stored(v):
                b.copy(place, out, 1)

    def _operand(self, v: Atom, inner: Var, chunk: Index) -> Source:
        """This chunk's elements of an operand, or where they are."""
        if v in self.computed:
            return self._gathered(v, chunk) if inner in self.varying else self.b.scalar(v)
        source = self.source(v)
        if inner in self.varying and isinstance(source, MemRef):
            assert isinstance(source.memory, Buffer)
            return self._place(source.memory, chunk)
        return source

    def _gathered(self, v: Var, chunk: Index) -> Scalar:
        """The vector of what is computed before the loop, lane by lane: once is fast enough."""
        b, single = self.b, self._repeated(v)
        if single.aval.size == 1:
            return b.scalar(single)
        if self.width == 1:
            return b.element(v, Position(v.aval.shape, flat=chunk))
        dtype = INT32 if v.aval.dtype == BOOL else v.aval.dtype
        elements = PrivateArray(b.fresh("elements"), dtype, self.width)
        b.body.append(Allocate(elements, None))
        with b.loop(0, self.width, self.width - 1) as lane:
            at = (chunk * self.width + lane).min(self.count - 1)
            value = b.element(v, Position(v.aval.shape, flat=at))
            b.store(elements, lane, b.converted(value, dtype))
        vector = b.read(MemRef(elements, width=self.width), index(0))
        if v.aval.dtype == dtype:
            return vector
        return b.let("ne", (vector, Const(INT32.type(0), INT32)), BOOL)

    def _repeated(self, v: Atom) -> Atom:
        """What all elements of `v` are copies of, or `v`."""
        found = v
        while found in self.computed and self.computed[found].primitive.name == "broadcast_in_dim":
            (found,) = self.computed[found].invars
        return found if found.aval.size == 1 else v

    def _place(self, buffer: Buffer, chunk: Index) -> MemRef:
        """This chunk's elements of an array, or of each of the arrays that are stacked there."""
        end = index(self.count) if self.count % self.width else None
        return MemRef(buffer, chunk * self.width, end, self.width, self.count)


def _variables(jaxpr: Jaxpr) -> Iterator[Atom]:
    """All atoms of a jaxpr, and of those within."""
    yield from [*jaxpr.invars, *jaxpr.outvars]
    for eqn in jaxpr.eqns:
        yield from [*eqn.invars, *eqn.outvars]
        for inner in subjaxprs(eqn.params):
            yield from _variables(inner)
