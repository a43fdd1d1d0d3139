"""Branches in functions of single numbers: what only one side of a choice needs is computed if it is chosen.

A `select` with much to compute on one side becomes an If. For vectors it stays a select.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace

from tinyjax.compile.kernel import kernel_ir as ir
from tinyjax.compile.kernel.functions.kernel_function import KernelFunction
from tinyjax.compile.kernel.functions.notation import definitions
from tinyjax.compile.kernel.indices import Index, index

# As many statements take longer than what a processor waits for after a wrong guess.
ENOUGH = 6
COSTS = {"div": 4, "sqrt": 4}


@functools.cache
def branched(function: KernelFunction) -> KernelFunction:
    """The function with a branch for each choice that has enough to compute on one side."""
    if not all(isinstance(statement, ir.Let) for statement in function.body):
        return function  # it has branches already
    lets = [statement for statement in function.body if isinstance(statement, ir.Let)]
    return replace(function, body=_branched(lets, function.result))


def _branched(lets: Sequence[ir.Let], result: ir.Scalar) -> ir.Body:
    """The statements from the last to the first: readers of a value come after it."""
    before, needed = list(lets), {result}
    made: ir.Body = []
    while before:
        let = before.pop()
        needs = _operands(let)
        sides = _sides(let, before, needed) if let.op == "select" else []
        if sum(map(_cost, (inner for side in sides for inner in side))) >= ENOUGH:
            before = [other for other in before if not any(other in side for side in sides)]
            array = ir.PrivateArray(f"{let.target.name}_chosen", let.target.dtype, 1)
            stores = (ir.Store(array, index(0), value) for value in needs[1:])
            yes, no = ([*_branched(side, s.value), s] for side, s in zip(sides, stores))
            made += [ir.Load(let.target, array, index(0)), ir.If(needs[0], yes, no)]
            made.append(ir.Allocate(array, None))
            needed |= {arg for side in sides for inner in side for arg in _operands(inner)}
        else:
            made.append(let)
        needed |= set(needs)
    return made[::-1]


def _sides(choice: ir.Let, before: Sequence[ir.Let], needed: set[ir.Scalar]) -> list[list[ir.Let]]:
    """What only the first value of a choice needs, and what only the second."""
    sides: list[list[ir.Let]] = []
    for value in _operands(choice)[1:]:
        others = needed | {*_operands(choice)} - {value}
        side: list[ir.Let] = []
        mine = {value}
        for let in reversed(before):
            is_own = let.target in mine and let.target not in others
            (mine if is_own else others).update(_operands(let))
            side += [let] if is_own else []
        sides.append(side[::-1])
    return sides


def _operands(let: ir.Let) -> list[ir.Scalar]:
    return [arg for arg in let.args if not isinstance(arg, Index)]


def _cost(let: ir.Let) -> int:
    return ENOUGH if let.op in definitions else COSTS.get(let.op, 1)
