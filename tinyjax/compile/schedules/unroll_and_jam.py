"""Unroll and jam: several iterations of a loop in one, so that others go on while one waits for its sum.

In a short loop each line needs the result of the line before, so a core that could issue two instructions a
cycle waits for three or four cycles. Independent iterations are unrolled, their lines are interleaved, and
the loops within them are jammed into one loop. Common values are computed once.

    for i1 in 0 .. 8:                for i2 in 0 .. 4:
      a:f32 x16 = ...                  a:f32 x16 = ...
      for i3 in 0 .. 10:               a_x1:f32 x16 = ...
        ...                            for i3 in 0 .. 10:
                                         ...

If iterations depend on each other only by adding to an accumulator, each copy gets a separate accumulator,
and at the end these are added in pairs. That is also more accurate than one long sum. Where the accumulator
is an element of an array, the terms of the copies are added in pairs before they go there.

    acc1:f32 = variable of 0.0           acc1:f32 = variable of 0.0
    for i2 in 0 .. 40:                   acc1_y1:f32 = variable of 0.0
      a:f32 = x_in[i2]                   for i2b in 0 .. 20:
      acc1 = add acc1 a                    a:f32 = x_in[i2b * 2]
    b:f32 = acc1                           a_y1:f32 = x_in[i2b * 2 + 1]
                                           acc1 = add acc1 a
                                           acc1_y1 = add acc1_y1 a_y1
                                         t1:f32 = acc1
                                         t2:f32 = acc1_y1
                                         b:f32 = add t1 t2
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tinyjax.compile.kernel import kernel_ir as ir
from tinyjax.compile.kernel.indices import index, index_var
from tinyjax.compile.kernel.substitution import (
    allocated,
    defined_names,
    every_statement,
    replaced,
    substituted,
)
from tinyjax.compile.schedules import directive
from tinyjax.compile.schedules.dependences import ends, iterations, why_dependent
from tinyjax.compile.schedules.lanes import why_no_parts
from tinyjax.compile.schedules.nests import Fresh, stored_names, the_same

SHORT = 24  # statements of an iteration


@dataclass(frozen=True)
class UnrollAndJam(directive.LoopDirective):
    """`count` iterations of the loop over `axis` in one, and then the remaining ones. Each copy has its own
    accumulators, or its term is added to the other copies' terms first."""

    count: int

    def _why_not(self, kernel: ir.Kernel, loop: ir.For) -> str:
        last = index(loop.variable.hi + 1)
        bounds = [loop.start, *(end for end in ends(loop.stop) if end != last)]
        if not all(at.factor() % self.count == 0 for at in bounds):
            return f"{self.axis} runs from {loop.start} to {loop.stop}, not {self.count} at a time"
        sums = directive.accumulators_in(loop.body)
        if sums and max(map(iterations, directive.loops_over(kernel, self.axis))) < self.count:
            return f"{self.axis} has fewer than {self.count} iterations"
        if sums:
            return why_no_parts(kernel, loop, sums, False)
        return why_dependent(loop)

    def _applied(self, kernel: ir.Kernel) -> ir.Kernel:
        sums = directive.accumulators_in(directive.loop_over(kernel, self.axis).body)
        fresh, mark = Fresh(kernel), "y" if sums else "x"
        copies = {}
        for a in (array for array in sums if array.size == 1):
            others = [replace(a, name=fresh(f"{a.name}_{mark}")) for _ in range(1, self.count)]
            copies[a] = [a, *others]

        def change(statement: ir.Statement) -> ir.Body:
            match statement:
                case ir.For() if directive.axis_of(statement) == self.axis:
                    return _terms_in_pairs(self._unrolled(statement, copies, mark, fresh), fresh)
                case ir.Allocate(array) if array in copies:
                    return [replace(statement, array=copy) for copy in copies[array]]
                case ir.Load(_, array) if array in copies:
                    return list(_load_of_all(statement, copies[array], sums[array].op, fresh))
            return [statement]

        return replace(kernel, body=replaced(kernel.body, change))

    def _unrolled(
        self, loop: ir.For, copies: Mapping[ir.PrivateArray, Sequence[ir.PrivateArray]], mark: str,
        fresh: Fresh,
    ) -> ir.Body:  # fmt: skip
        """`count` iterations at a time, and then the remaining ones. Each copy of the body except the first
        has its own accumulators, and names that end in the mark and a number."""
        count, size = self.count, loop.variable.hi + 1
        if iterations(loop) < count:
            return [loop]
        least, last = loop.variable.lo // count, size // count - 1
        groups = index_var(f"{self.axis}_by{count}", least, last)
        differing = {directive.axis_of(loop), *defined_names(loop.body), *stored_names(loop.body)}
        same = {s.target.name for s in the_same(every_statement(loop.body), differing)}
        own = sorted({*defined_names(loop.body)} - same)  # not the same in all iterations
        bodies = [substituted(loop.body, {self.axis: groups * count})]
        for number in range(1, count):
            names = {name: fresh(f"{name}_{mark}") for name in own}
            names |= {a.name: of_it[number].name for a, of_it in copies.items()}
            bodies.append(substituted(loop.body, {self.axis: groups * count + number}, names))
        start, stop = loop.start // count, loop.stop // count
        jammed = ir.For(groups, start, stop, _jammed(bodies), origin=loop.origin)
        if size % count:
            return [jammed, replace(loop, start=loop.stop // count * count)]
        if (stop - start).is_const(1):
            return substituted(jammed.body, {directive.axis_of(jammed): start})
        return [jammed]


def is_short(body: ir.Body) -> bool:
    """Whether jamming helps a loop: an iteration has few lines, and its values fit in registers."""
    in_registers = all(array.size == 1 for array in allocated(body))
    return len(every_statement(body)) <= SHORT and in_registers


def _jammed(bodies: Sequence[ir.Body]) -> ir.Body:
    """Interleaves the statements of all bodies and jams their loops; common statements appear once."""
    result: ir.Body = []
    for statements in zip(*bodies, strict=True):
        first, *others = statements
        is_loop = isinstance(first, ir.For)
        if is_loop and len({(loop.start, loop.stop) for loop in statements}) == 1:
            result.append(replace(first, body=_jammed([s.body for s in statements])))
        elif isinstance(first, ir.Let | ir.Load) and all(other == first for other in others):
            result.append(first)
        else:
            result += statements
    return result


# ---- sums ----


def _load_of_all(
    load: ir.Load, copies: Sequence[ir.PrivateArray], op: str, fresh: Fresh
) -> Iterator[ir.Statement]:
    """Loads all copies of an accumulator and combines them in pairs, instead of loading one."""
    with ir.statements_of(load.origin):
        parts = [replace(load.target, name=fresh("t")) for _ in copies]
        for part, copy in zip(parts, copies):
            yield ir.Load(part, copy, load.index)
        yield from in_pairs(op, parts, load.target, fresh)


def in_pairs(op: str, values: Sequence[ir.Scalar], target: ir.Value, fresh: Fresh) -> ir.Body:
    """The statements that combine all values into the target, in pairs."""
    lets: ir.Body = []
    halves: list[ir.Scalar] = []
    middle = len(values) // 2
    for half in (values[:middle], values[middle:]):
        if len(half) == 1:
            halves += half
        else:
            part = replace(target, name=fresh("t"))
            halves.append(part)
            lets += in_pairs(op, half, part, fresh)
    return [*lets, ir.Let(target, op, tuple(halves))]


def _terms_in_pairs(body: ir.Body, fresh: Fresh) -> ir.Body:
    """Combines all terms for the same array element in pairs first, then into the element as one term."""
    terms: dict[tuple, list[ir.Combine]] = {}
    for statement in body:
        if isinstance(statement, ir.Combine) and statement.memory.size > 1:
            terms.setdefault((statement.memory, statement.index), []).append(statement)
    result: ir.Body = []
    for statement in body:
        if isinstance(statement, ir.For):
            statement = replace(statement, body=_terms_in_pairs(statement.body, fresh))
        same = []
        if isinstance(statement, ir.Combine):
            same = terms.get((statement.memory, statement.index), [])
        if len(same) < 2:
            result.append(statement)
        elif statement is (last := same[-1]):
            op, value = last.op, ir.Value(fresh("t"), last.memory.dtype, last.memory.width)
            with ir.statements_of(last.origin):
                result += in_pairs(op, [s.value for s in same], value, fresh)
            result.append(replace(last, value=value))
    return result
