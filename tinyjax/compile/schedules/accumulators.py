"""Several accumulators for one: additions that need not wait for each other.

An addition takes a core about four cycles, and it could begin two in each; but each addition to an
accumulator waits for the one before. So the loop is unrolled by four, each copy adds to an accumulator of its
own, and at the end these are added in pairs. That is also more accurate than one long sum. Where the
accumulator is an element of an array, the terms of the copies are added in pairs before they go there.

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

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tinyjax.compile.kernel import kernel_ir as ir
from tinyjax.compile.kernel.substitution import every_statement, replaced
from tinyjax.compile.schedules.directive import LoopDirective, axis_of, loop_over
from tinyjax.compile.schedules.lanes import why_no_parts
from tinyjax.compile.schedules.nests import Fresh
from tinyjax.compile.schedules.unroll_and_jam import unroll_and_jam, why_not_by

MARK = "y"  # names of copies end in _y1, _y2, ...


@dataclass(frozen=True)
class Accumulators(LoopDirective):
    """`count` accumulators for each that the loop `axis` combines into, or as many terms at once."""

    count: int

    def _why_not(self, kernel: ir.Kernel, loop: ir.For) -> str:
        if loop.variable.hi + 1 < self.count:
            return f"{self.axis} has fewer than {self.count} iterations"
        sums = accumulators_in(loop.body)
        if not sums:
            return f"the loop over {self.axis} combines nothing"
        reason = why_not_by(loop, self.count)
        return reason or why_no_parts(kernel, loop, sums, in_one_loop=False)

    def _applied(self, kernel: ir.Kernel) -> ir.Kernel:
        loop = loop_over(kernel, self.axis)
        ops = accumulators_in(loop.body)
        copies = {array: _copies(array, self.count) for array in ops if array.size == 1}
        fresh = Fresh(kernel)
        unrolled = unroll_and_jam(
            loop, self.count, f"{self.axis}_by{self.count}", {a.name for a in copies}, MARK
        )
        unrolled = _terms_in_pairs(unrolled, fresh)

        def change(statement: ir.Statement) -> list[ir.Statement]:
            match statement:
                case ir.For() if axis_of(statement) == self.axis:
                    return unrolled
                case ir.Allocate(array) if array in copies:
                    return [replace(statement, array=copy) for copy in copies[array]]
                case ir.Load(_, array) if array in copies:
                    return list(_load_of_all(statement, copies[array], ops[array], fresh))
            return [statement]

        return replace(kernel, body=replaced(kernel.body, change))


def accumulators_in(body: list[ir.Statement]) -> dict[ir.PrivateArray, str]:
    """The accumulators that are combined into, but made before, with the operation."""
    made = {s.array for s in every_statement(body) if isinstance(s, ir.Allocate)}
    combines = [s for s in every_statement(body) if isinstance(s, ir.Combine)]
    return {s.array: s.op for s in combines if s.array not in made}


def _copies(array: ir.PrivateArray, count: int) -> list[ir.PrivateArray]:
    return [array, *(replace(array, name=f"{array.name}_{MARK}{n}") for n in range(1, count))]


def _load_of_all(
    load: ir.Load, copies: Sequence[ir.PrivateArray], op: str, fresh: Fresh
) -> Iterator[ir.Statement]:
    """The load of one accumulator, as that of all, combined in pairs."""
    with ir.statements_of(load.origin):
        parts = [replace(load.target, name=fresh("t")) for _ in copies]
        for part, copy in zip(parts, copies):
            yield ir.Load(part, copy, load.index)
        yield from in_pairs(op, parts, load.target, fresh)


def in_pairs(
    op: str, values: Sequence[ir.Scalar], target: ir.Value, fresh: Fresh
) -> list[ir.Statement]:
    """The statements by which the target is all values combined: halves, then quarters, ..."""
    lets: list[ir.Statement] = []
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


def _terms_in_pairs(body: Sequence[ir.Statement], fresh: Fresh) -> list[ir.Statement]:
    """What is combined into the same element of an array, as one term: all added in pairs before."""
    terms: dict[tuple, list[ir.Combine]] = {}
    for statement in body:
        if isinstance(statement, ir.Combine) and statement.array.size > 1:
            terms.setdefault((statement.array, statement.index), []).append(statement)
    result: list[ir.Statement] = []
    for statement in body:
        same = []
        if isinstance(statement, ir.Combine) and statement.array.size > 1:
            same = terms[statement.array, statement.index]
        if len(same) > 1:
            if statement is same[-1]:
                array, op = statement.array, statement.op
                value = ir.Value(fresh("t"), array.dtype, array.width)
                with ir.statements_of(statement.origin):
                    result += in_pairs(op, [s.value for s in same], value, fresh)
                result.append(replace(statement, value=value))
        elif isinstance(statement, ir.For):
            result.append(replace(statement, body=_terms_in_pairs(statement.body, fresh)))
        else:
            result.append(statement)
    return result
