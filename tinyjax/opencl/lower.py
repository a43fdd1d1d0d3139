"""From a group of equations to a kernel: asking for each output element, back through the rules.

After this file you can predict a kernel's text from the equations: a loop over the output's elements
and, in it, one call of `element(v, position)` an output. That asks the rule of v's equation, which
asks for the operands' elements at the places it needs, and so on back to the values in memory.
Whatever was asked for at the same place before is there already. Builds on fuse, rules, kernel_ir.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from tinyjax.dtypes import kind
from tinyjax.jaxpr import Atom as JaxprAtom
from tinyjax.jaxpr import Jaxpr, JaxprEqn, Literal, Var
from tinyjax.opencl.codegen import HALVES, Target
from tinyjax.opencl.fuse import KernelGroup
from tinyjax.opencl.kernel_ir import (
    Atom,
    Buffer,
    Combine,
    Const,
    For,
    IfLast,
    Index,
    Kernel,
    Lanes,
    Let,
    Load,
    MakeLanes,
    Scalar,
    Statement,
    Store,
    Value,
    check_kernel,
    index,
    index_var,
    item_index,
)
from tinyjax.opencl.rules import (
    ArgReduction,
    Context,
    Elementwise,
    IndexMap,
    Operand,
    Position,
    Reduction,
    axes_sizes,
    element_along_axes,
    lowering_of,
)
from tinyjax.pretty_printer import Context as PrinterContext

FLOAT32 = np.dtype("float32")


def variable_names(jaxpr: Jaxpr) -> dict[Var, str]:
    """The names that the printed jaxpr has: kernels, schedule and jaxpr then read alike."""
    printer = PrinterContext(jaxpr)
    variables = [*jaxpr.constvars, *jaxpr.invars, *(v for eqn in jaxpr.eqns for v in eqn.outvars)]
    return {v: printer.name(v) for v in variables}


def lower_group(group: KernelGroup, name: str, names: dict[Var, str], target: Target) -> Kernel:
    """The kernel of `group`; its buffers are the group's inputs, then its outputs (then scratch).

    Elements are numbered flat, in one loop, as long as nothing asks for the coordinates; on a CPU,
    where the divisions would cost more than the work, those get a loop over rows and one within."""
    if group.is_chunked:
        kernel = _Builder(group, names, target).shared_reduction(name)
    else:
        kernel = _Builder(group, names, target).map(name, _flat_loop)
        rank = len(group.outputs[0].aval.shape)
        if rank > 1 and target.lanes > 1 and _divides(kernel.body):
            kernel = _Builder(group, names, target).map(name, _row_loop)
    check_kernel(kernel)
    return kernel


def _divides(body: Sequence[Statement]) -> bool:
    """Whether some index in `body` is found by division."""
    for statement in body:
        if isinstance(statement, For):
            if _divides(statement.body):
                return True
            continue
        used = [getattr(statement, "index", None), *getattr(statement, "args", ())]
        if any(part.op in "/%" for i in used if isinstance(i, Index) for part in i.parts()):
            return True
    return False


# ---- building a kernel ----


class _Builder:
    def __init__(self, group: KernelGroup, names: dict[Var, str], target: Target):
        self.group = group
        self.names = names
        self.target = target
        self.producer = {v: eqn for eqn in group.eqns for v in eqn.outvars}
        self.inputs = {
            v: Buffer(f"{names[v]}_in", v.aval.dtype, v.aval.size, "in") for v in group.inputs
        }
        self.outputs = {
            v: Buffer(f"{names[v]}_out", v.aval.dtype, v.aval.size, "out") for v in group.outputs
        }
        self.body: list[Statement] = []
        self.known: dict[tuple[JaxprAtom, Index], Scalar] = {}  # (v, flat position) -> its element
        self.taken: dict[str, int] = {}  # how often a name has been given

    # ---- statements ----

    def let(self, op: str, args: Sequence[Atom], dtype: np.dtype) -> Value:
        target = Value(self.fresh("t"), dtype)
        self.body.append(Let(target, op, tuple(args)))
        return target

    def load(self, name: str, source: Buffer | Lanes, at: Index) -> Value:
        target = Value(self.fresh(name), source.dtype)
        self.body.append(Load(target, source, at))
        return target

    def store(self, destination: Buffer | Lanes, at: Index, value: Any) -> None:
        self.body.append(Store(destination, at, value))

    def fresh(self, name: str) -> str:
        """`name`, or with a number if it was given before; t1, t2, ... and i1, i2, ... always so.

        No name without a digit is an OpenCL keyword or function: those get a number as well."""
        count = self.taken[name] = self.taken.get(name, 0) + 1
        plain = count == 1 and len(name) == 1 and name not in "ti"
        return name if plain else f"{name}{count}"

    @contextmanager
    def block(self) -> Iterator[list[Statement]]:
        """Statements within the block go to a body of their own; what they know is forgotten after."""
        outer_body, outer_known = self.body, self.known
        self.body, self.known = [], dict(outer_known)
        try:
            yield self.body
        finally:
            self.body, self.known = outer_body, outer_known

    @contextmanager
    def loop(self, start: Index | int, stop: Index | int, last: int) -> Iterator[Index]:
        """A For from `start` to before `stop`; `last` is the greatest value of its variable.

        If there is just one round, its statements stand there without a loop; if there is none,
        they go."""
        start, stop = index(start), index(stop)
        if start.is_const(last) and stop.is_const(last + 1):
            yield start
            return
        variable = index_var(self.fresh("i"), start.lo, last)
        with self.block() as body:
            yield variable
        if last >= start.lo:
            self.body.append(For(variable, start, stop, body))

    def clamped_index(self, value: Scalar, size: int) -> Index:
        """As a rule's ctx.index. The bounds fit any integer dtype, the result fits C's int."""
        if isinstance(value, Const):
            return index(min(max(int(value.value), 0), size - 1))
        bounds = (0, min(size - 1, np.iinfo(value.dtype).max))
        zero, last = (Const(value.dtype.type(n), value.dtype) for n in bounds)
        above = self.let("max", (value, zero), value.dtype)
        inside = self.let("min", (above, last), value.dtype)
        wanted = np.dtype("int32" if size <= 2**31 else "int64")
        if inside.dtype != wanted:
            inside = self.let("convert", (inside,), wanted)
        return index_var(inside.name, 0, size - 1)

    # ---- elements ----

    def element(self, atom: JaxprAtom, position: Position) -> Scalar:
        """The element of `atom` at `position`, computed, loaded or known from before.

        Operands at the same place are computed first, from a list rather than by recursion, as chains
        of elementwise equations can be longer than Python's stack."""
        if isinstance(atom, Literal):
            return Const(np.asarray(atom.val, atom.aval.dtype)[()], atom.aval.dtype)
        pending = [atom]
        while pending:
            v = pending[-1]
            key = (v, position.flat)
            if key in self.known:
                pending.pop()
            elif v in self.inputs:
                self.known[key] = self.load(self.names[v], self.inputs[v], position.flat)
            else:
                missing = [u for u in self._same_place(v) if (u, position.flat) not in self.known]
                pending += missing
                if not missing:
                    self._compute(v, position)
        return self.known[atom, position.flat]

    def _same_place(self, v: Var) -> list[Var]:
        eqn = self.producer[v]
        if not isinstance(lowering_of(eqn, self.target), Elementwise):
            return []
        return [u for u in eqn.invars if isinstance(u, Var) and u.aval.shape == v.aval.shape]

    def _compute(self, v: Var, position: Position) -> None:
        """Writes the statements for the element of `v` at `position`."""
        eqn = self.producer[v]
        lowering = lowering_of(eqn, self.target)
        ctx = Context(self, eqn, v, position)
        if isinstance(lowering, Elementwise):
            atoms = [self.element(u, position.broadcast_from(u.aval.shape)) for u in eqn.invars]
            found = lowering.emit(ctx, *atoms, **eqn.params)
            results = dict(zip(eqn.outvars, found if eqn.primitive.multiple_results else [found]))
        elif isinstance(lowering, IndexMap):
            operands = (Operand(self, u) for u in eqn.invars)
            results = {v: lowering.emit(ctx, *operands, **eqn.params)}
        elif isinstance(lowering, ArgReduction):
            results = {v: self._arg_reduce(ctx, eqn, lowering)}
        else:
            assert isinstance(lowering, Reduction), f"{eqn.primitive} runs on the host"
            results = {v: self._reduce(ctx, eqn, lowering)}
        for u, atom in results.items():
            self.known[u, position.flat] = self._named(atom, self.names[u])

    def _named(self, atom: Scalar, name: str) -> Scalar:
        """Calls the value that the last statement made by the name of its variable."""
        last = self.body[-1] if self.body else None
        if isinstance(last, Let) and last.target == atom and atom.name.startswith("t"):
            renamed = Value(self.fresh(name), atom.dtype)
            self.body[-1] = Let(renamed, last.op, last.args)
            return renamed
        return atom

    # ---- reductions ----

    def _reduce(self, ctx: Context, eqn: JaxprEqn, rule: Reduction) -> Scalar:
        """A loop nest over the combined elements, the innermost with several lanes of accumulators."""
        sizes = rule.sizes(eqn)
        count = self.target.lanes if sizes and sizes[-1] >= 4 * self.target.lanes else 1
        lanes = self.make_lanes(eqn, rule, count)

        def accumulate(lane: Index, reduced: Sequence[Index]) -> None:
            self.combine(rule, lanes, lane, self.term(ctx, eqn, rule, Position(sizes, reduced)))

        self._nest(sizes, (), count, accumulate)
        return self.converted(self.total(rule, lanes), eqn.outvars[0].aval.dtype)

    def term(self, ctx: Context, eqn: JaxprEqn, rule: Reduction, reduced: Position) -> Scalar:
        """One of the elements that a reduction combines."""
        return rule.term(ctx, reduced, *(Operand(self, v) for v in eqn.invars), **eqn.params)

    def _nest(
        self,
        sizes: Sequence[int],
        outer: tuple[Index, ...],
        lanes: int,
        accumulate: Callable[[Index, Sequence[Index]], None],
    ) -> None:
        if not sizes:
            return accumulate(index(0), outer)
        size, *rest = sizes
        if rest or lanes == 1:
            with self.loop(0, size, size - 1) as i:
                return self._nest(rest, (*outer, i), lanes, accumulate)
        blocks = size // lanes
        with self.loop(0, blocks, blocks - 1) as block, self.loop(0, lanes, lanes - 1) as lane:
            accumulate(lane, (*outer, block * lanes + lane))
        if size % lanes:
            with self.loop(0, size % lanes, size % lanes - 1) as lane:
                accumulate(lane, (*outer, index(blocks * lanes) + lane))

    def _arg_reduce(self, ctx: Context, eqn: JaxprEqn, rule: ArgReduction) -> Scalar:
        """One loop that remembers the best element and its place."""
        (operand,), (size,) = eqn.invars, axes_sizes(eqn)
        dtype, place_dtype = operand.aval.dtype, eqn.outvars[0].aval.dtype
        best, place = Lanes(self.fresh("best"), dtype, 1), Lanes(self.fresh("at"), place_dtype, 1)
        self.body.append(MakeLanes(best, Const(rule.identity(dtype), dtype)))
        self.body.append(MakeLanes(place, Const(place_dtype.type(0), place_dtype)))
        zero, is_bool = index(0), np.dtype(bool)
        with self.loop(0, size, size - 1) as i:
            reduced = Position((size,), (i,))
            value = element_along_axes(ctx, reduced, Operand(self, operand), **eqn.params)
            so_far = self.load("t", best, zero)
            better = self.let(rule.is_better, (value, so_far), is_bool)
            if kind(dtype) == "f":
                is_nan = self.let("ne", (value, value), is_bool)
                none_before = self.let("eq", (so_far, so_far), is_bool)
                first_nan = self.let("and", (is_nan, none_before), is_bool)
                better = self.let("or", (better, first_nan), is_bool)
            here = self.let("convert", (i,), place_dtype)
            before = self.load("t", place, zero)
            self.store(best, zero, self.let("select", (better, value, so_far), dtype))
            self.store(place, zero, self.let("select", (better, here, before), place_dtype))
        return self.load("t", place, zero)

    def make_lanes(self, eqn: JaxprEqn, rule: Reduction, count: int) -> Lanes:
        """Accumulators set to the identity; those of halves are float32."""
        dtype = eqn.outvars[0].aval.dtype
        dtype = FLOAT32 if dtype in HALVES else dtype
        lanes = Lanes(self.fresh("acc"), dtype, count)
        self.body.append(MakeLanes(lanes, Const(rule.identity(dtype), dtype)))
        return lanes

    def combine(self, rule: Reduction, lanes: Lanes, lane: Index, value: Scalar) -> None:
        """lanes[lane] = op(lanes[lane], value)"""
        self.body.append(Combine(lanes, lane, rule.op, self.converted(value, lanes.dtype)))

    def total(self, rule: Reduction, lanes: Lanes) -> Value:
        """All lanes combined."""
        if lanes.size > 1:
            with self.loop(1, lanes.size, lanes.size - 1) as lane:
                self.combine(rule, lanes, index(0), self.load("t", lanes, lane))
        return self.load("t", lanes, index(0))

    def converted(self, atom: Scalar, dtype: np.dtype) -> Scalar:
        return atom if atom.dtype == dtype else self.let("convert", (atom,), dtype)

    # ---- whole kernels ----

    def map(self, name: str, loop: Callable) -> Kernel:
        """Each work-item computes a run of the outputs' elements."""
        shape = self.group.outputs[0].aval.shape
        items = loop(self, shape, self._store_outputs)
        return self._kernel(name, items)

    def _store_outputs(self, position: Position) -> None:
        for v, buffer in self.outputs.items():
            self.store(buffer, position.flat, self.element(v, position))

    def shared_reduction(self, name: str) -> Kernel:
        """Few results of many elements: each work-item combines a run of the elements and leaves its
        partial result in memory; the work-item that is done last combines those."""
        (out,) = self.group.outputs
        eqn = self.producer[out]
        rule = lowering_of(eqn, self.target)
        assert isinstance(rule, Reduction)
        sizes = rule.sizes(eqn)
        total = math.prod(sizes)
        blocks = total // self.target.lanes
        grain = max(1, self.target.reduction_grain // self.target.lanes)
        items, run = _share(blocks, grain, self.target.reduction_items)
        dtype = FLOAT32 if out.aval.dtype in HALVES else out.aval.dtype
        item_count = _padded(items, self.target)
        item = item_index(item_count)
        partial = Buffer("partial", dtype, out.aval.size * item_count, "scratch")
        ticket = Buffer("ticket", np.dtype("int32"), 1, "scratch")

        def element(result: Index, at: Index) -> Scalar:
            ctx = Context(self, eqn, out, Position(out.aval.shape, flat=result))
            return self.term(ctx, eqn, rule, Position(sizes, flat=at))

        with self.loop(0, out.aval.size, out.aval.size - 1) as result:
            lanes = self.make_lanes(eqn, rule, self.target.lanes)
            with self.loop(*_run_of(item, run, blocks), blocks - 1) as block:
                with self.loop(0, lanes.size, lanes.size - 1) as lane:
                    at = block * lanes.size + lane
                    self.combine(rule, lanes, lane, element(result, at))
            # Padding work-items have an empty run, and leave the identity.
            self.store(partial, result * item_count + item, self.total(rule, lanes))
        with self.block() as finish:
            with self.loop(0, out.aval.size, out.aval.size - 1) as result:
                lanes = self.make_lanes(eqn, rule, 1)
                with self.loop(0, item_count, item_count - 1) as other:
                    value = self.load("t", partial, result * item_count + other)
                    self.combine(rule, lanes, index(0), value)
                if blocks * self.target.lanes < total:
                    with self.loop(blocks * self.target.lanes, total, total - 1) as rest:
                        self.combine(rule, lanes, index(0), element(result, rest))
                combined = self.converted(self.total(rule, lanes), out.aval.dtype)
                self.store(self.outputs[out], result, combined)
        self.body.append(IfLast(ticket, finish))
        return self._kernel(name, items, [partial, ticket])

    def _kernel(self, name: str, items: int, scratch: Sequence[Buffer] = ()) -> Kernel:
        buffers = [*self.inputs.values(), *self.outputs.values(), *scratch]
        return Kernel(name, buffers, _padded(items, self.target), self.body)


# ---- sharing out the work ----


def _share(count: int, grain: int, most: int) -> tuple[int, int]:
    """(work-items, elements to each): at least `grain` elements to each, at most `most` items."""
    items = min(most, max(1, math.ceil(count / grain)))
    run = math.ceil(count / items)
    return math.ceil(count / run), run


def _padded(items: int, target: Target) -> int:
    """Work-items come in whole groups; those beyond the last element find an empty loop."""
    return math.ceil(items / target.local_size) * target.local_size


def _run_of(item: Index, run: int, count: int) -> tuple[Index, Index]:
    """Where the run of a work-item starts and stops."""
    return item * run, (item * run + run).min(count)


def _flat_loop(builder: _Builder, shape: tuple[int, ...], body: Callable[[Position], None]) -> int:
    """One loop over the flat positions; gives the number of work-items."""
    count = math.prod(shape)
    items, run = _share(count, builder.target.grain, builder.target.max_items)
    item = item_index(_padded(items, builder.target))
    with builder.loop(*_run_of(item, run, count), count - 1) as i:
        body(Position(shape, flat=i))
    return items


def _row_loop(builder: _Builder, shape: tuple[int, ...], body: Callable[[Position], None]) -> int:
    """A loop over rows (all axes but the last), and one along each; gives the number of work-items.

    Where rows are few and long, several work-items share one."""
    *leading, columns = shape
    rows = math.prod(leading)
    target = builder.target
    items, run = _share(rows, max(1, target.grain // columns), target.max_items)
    pieces, piece_run = _share(columns, target.grain, target.max_items // items)
    item = item_index(items * pieces)
    with builder.loop(*_run_of(item // pieces, run, rows), rows - 1) as row:
        with builder.loop(*_run_of(item % pieces, piece_run, columns), columns - 1) as column:
            coords = (*Position(leading, flat=row).coords, column)
            body(Position(shape, coords, row * columns + column))
    return items * pieces
