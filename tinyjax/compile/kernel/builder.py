"""Writing a kernel's statements: one element of a value at a time, back through the rules.

`element(v, position)` calls the rule of v's equation, which requests the operands' elements at the places it
needs, and so on back to the values in memory. An element requested before is reused.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any

import numpy as np

from tinyjax.compile.kernel import kernel_ir as ir
from tinyjax.compile.kernel.complex_pairs import Pair, constant_pair, pair_operation
from tinyjax.compile.kernel.functions.notation import Array, StatementWriter
from tinyjax.compile.kernel.indices import Index, index, index_var
from tinyjax.compile.kernel.known import NOT_LINEAR, index_of, known_result
from tinyjax.compile.kernel.memref import MemRef
from tinyjax.compile.kernel.rules import (
    Elementwise,
    IndexMap,
    Lowering,
    LoweringRuleContext,
    Operand,
    Position,
    Reduction,
    greatest,
    least,
    lowering_of,
    sum_dtype,
)
from tinyjax.compile.kernel.scalar_ops import scalar_ops
from tinyjax.compile.kernel.writer import COMPARISONS, Number
from tinyjax.compile.target import Target
from tinyjax.core.jaxpr import Atom as JaxprAtom
from tinyjax.core.jaxpr import JaxprEqn, Literal, Var

Known = dict[Index, dict[JaxprAtom, ir.Scalar]]  # flat position -> the elements computed there


class Builder(StatementWriter):
    """Writes statements into `body`. `places` maps values to memory, `producer` the others to equations."""

    def __init__(self, names: dict[Var, str], target: Target):
        super().__init__()
        self.names = names
        self.target = target
        self.producer: dict[Var, JaxprEqn] = {}
        self.places: dict[Var, MemRef] = {}
        self.known: Known = defaultdict(dict)
        self.taken: dict[str, int] = {}  # how often a name has been used
        self.unnamed: set[ir.Value] = set()  # values without a variable's name, or not named yet
        # The index that an integer equals; or if only its range is known, an index of its name
        self.indices: dict[ir.Value, Index] = {}
        self.ranged: set[str] = set()  # these names

    # ---- statements ----

    def let(self, op: str, args: Sequence[ir.Argument], dtype: np.dtype) -> ir.Scalar:
        """The result of an operation; a known result needs no statement."""
        if op not in scalar_ops and op not in ("convert", "bitcast"):
            raise NotImplementedError(f"no operation '{op}' in compile/kernel/scalar_ops.py")
        indices = [self._index_if_known(arg) for arg in args]
        known = args
        if op in COMPARISONS:
            known = [arg if at is None else at for arg, at in zip(args, indices)]
        if (found := known_result(op, known, dtype)) is not None:
            return found
        target = self.new_value("t", dtype)
        self.unnamed.add(target)
        self.body.append(ir.Let(target, op, tuple(args)))
        if dtype.kind in "iu" and (at := index_of(op, indices, dtype)) is not None:
            self._set_range(target, at.lo, at.hi)
            # An index must not contain numbers of other dtypes than C's int
            is_int = (op != "convert" and dtype == np.int32) or not at.names & self.ranged
            if is_int and at.op not in NOT_LINEAR:
                self.indices[target] = at
        return target

    def _set_range(self, value: ir.Value, lo: int, hi: int) -> None:
        self.indices[value] = index_var(value.name, lo, hi)
        self.ranged.add(value.name)

    def _index_if_known(self, atom: ir.Argument) -> Index | None:
        """The index that an integer equals, or one of its name and range; None if its range isn't known."""
        if isinstance(atom, Index):
            return atom
        if atom.dtype.kind not in "iub":
            return None
        if isinstance(atom, ir.Const):
            return index(int(atom.value)) if atom.dtype.kind != "b" else None
        if atom not in self.indices and atom.dtype.itemsize <= 2:
            lo, hi = (0, 1) if atom.dtype.kind == "b" else (least(atom.dtype), greatest(atom.dtype))
            self._set_range(atom, lo, hi)
        return self.indices.get(atom)

    def operation(self, name: str, operands: Sequence[Any], dtype: np.dtype) -> Any:
        """The result of one operation, or of its expansion on pairs."""
        for operand in operands:
            if dtype.kind == "c" or getattr(operand, "dtype", dtype).kind == "c":
                return pair_operation(self, name, operands, dtype)
        return self.let(name, operands, dtype)

    def constant(self, value: Any, dtype: np.dtype) -> Number:
        if dtype.kind == "c":
            return Number(self, constant_pair(value, dtype))
        return super().constant(value, dtype)

    def read(self, place: MemRef, at: Index, name: str = "t") -> Any:
        """Element number `at` of the value at `place`."""
        places = place.parts(at)
        targets = [self.new_value(name, place.memory.dtype) for _ in places]
        self.body += [ir.Load(v, place.memory, i) for v, i in zip(targets, places)]
        return Pair(*targets) if place.is_complex else targets[0]

    def write(self, place: MemRef, at: Index, value: Any) -> None:
        """Stores an element that `read` returned."""
        parts = (value.real, value.imag) if isinstance(value, Pair) else (value,)
        for part_at, part in zip(place.parts(at), parts):
            self.body.append(ir.Store(place.memory, part_at, part))

    def number(self, at: Index, dtype: np.dtype) -> Number:
        """The value of an index, of that dtype."""
        return self.op("convert", at, dtype=dtype)

    def fresh(self, name: str) -> str:
        """`name`, with a number if it was used before; t and i always get a number: t1, t2, ..., i1, i2, ...

        No name without a digit is an OpenCL keyword or function: those get a number as well."""
        count = self.taken[name] = self.taken.get(name, 0) + 1
        plain = count == 1 and len(name) == 1 and name not in "ti"
        return name if plain else f"{name}{count}"

    @contextmanager
    def block(self) -> Iterator[ir.Body]:
        """Statements within the block go to a separate body; its elements are forgotten afterwards."""
        outer_body, outer_known = self.body, self.known
        self.body, self.known = [], defaultdict(dict, {k: dict(v) for k, v in outer_known.items()})
        try:
            yield self.body
        finally:
            self.body, self.known = outer_body, outer_known

    @contextmanager
    def axis(self, name: str, size: int) -> Iterator[Index]:
        """A For of `size` iterations, whose variable has that name."""
        variable = index_var(name, 0, size - 1)
        with self.block() as body:
            yield variable
        self.body.append(ir.For(variable, index(0), index(size), body))

    @contextmanager
    def loop(self, size: int) -> Iterator[Index]:
        """A For of `size` iterations. A single one needs no loop; with none, the statements are dropped."""
        if size == 1:
            yield index(0)
            return
        with self.axis(self.fresh("i"), size) as variable:
            yield variable
        if size == 0:
            self.body.pop()

    @contextmanager
    def loops(self, shape: Sequence[int], names: Sequence[str] = ()) -> Iterator[Position]:
        """Nested loops, one for each axis. With `names` for the variables, axes of size 1 have loops too."""
        loops = map(self.axis, names, shape) if names else map(self.loop, shape)
        with ExitStack() as stack:
            yield Position(shape, list(map(stack.enter_context, loops)))

    def loops_along(
        self, v: JaxprAtom, axes: Sequence[int], sizes: Sequence[int] | None = None
    ) -> AbstractContextManager[Position]:
        """A loop for each of the axes of `v`, of these sizes or its own."""
        sizes = v.aval.shape if sizes is None else sizes
        return self.loops([sizes[axis] for axis in axes])

    def clamped_index(self, number: Number, size: int) -> Index:
        """An integer as an index, clamped into 0 .. size - 1 by bounds of its dtype; it fits C's int."""
        if size == 1:  # a single element may be in a variable, which has no index
            return index(0)
        if isinstance(number.value, ir.Const):
            return index(min(max(int(number.value.value), 0), size - 1))
        at = self._index_if_known(number.value)
        if at is None or at.lo < 0 or at.hi >= size:
            last = min(size - 1, np.iinfo(number.dtype).max)
            number = self.op("min", self.op("max", number, 0), last)
        value = number.astype(np.dtype("int32" if size <= 2**31 else "int64")).value
        return self.indices.get(value) or index_var(value.name, 0, size - 1)

    # ---- elements ----

    def element(self, atom: JaxprAtom, position: Position) -> ir.Scalar:
        """The element of `atom` at `position`, computed, loaded or known from before.

        Operands at the same place are computed first, from a list rather than by recursion, as chains
        of elementwise equations can be longer than Python's stack."""
        if isinstance(atom, Literal):
            return self.constant(np.asarray(atom.val)[()], atom.aval.dtype).value
        known = self.known[position.flat]
        pending = [(atom, ir.origin())]  # with the equation that reads it
        while pending:
            v, reader = pending[-1]
            if v in known:
                pending.pop()
            elif v in self.places:
                with ir.statements_of(reader):
                    known[v] = self.read(self.places[v], position.flat, self.names[v])
            else:
                eqn = self.producer[v]
                lowering = lowering_of(eqn, self.target)
                read = eqn.invars if isinstance(lowering, Elementwise) else []
                same = [u for u in read if isinstance(u, Var) and u.aval.shape == v.aval.shape]
                missing = [(u, eqn) for u in same if u not in known]
                pending += missing
                if not missing:
                    with ir.statements_of(eqn):
                        known |= self._emit(v, eqn, lowering, position)
        return known[atom]

    def _emit(
        self, v: Var, eqn: JaxprEqn, lowering: Lowering, position: Position
    ) -> dict[JaxprAtom, ir.Scalar]:
        """Writes the statements for the element of `v` at `position`. Returns that element, and those of the
        equation's other results if they are known now."""
        operands: list[Any] = []
        if isinstance(lowering, Elementwise):
            operands = [self.element(u, position.broadcast_from(u.aval.shape)) for u in eqn.invars]
            if lowering.emit is None:
                result = self.operation(lowering.op, operands, v.aval.dtype)
                return {v: self._named(result, self.names[v])}
            operands = [Number(self, operand) for operand in operands]
        elif isinstance(lowering, IndexMap):
            operands = [Operand(self, u) for u in eqn.invars]
        ctx = LoweringRuleContext(self, eqn, v, position)
        if isinstance(lowering, Elementwise | IndexMap) and lowering.emit:
            found = lowering.emit(ctx, *operands, **eqn.params)
            numbers = zip(eqn.outvars, found) if isinstance(found, list) else [(v, found)]
            results = {u: number.value for u, number in numbers}
        else:
            assert isinstance(lowering, Reduction), f"{eqn.primitive} runs on the host"
            results = {v: self._reduce(ctx, eqn, lowering)}
        return {u: self._named(atom, self.names[u]) for u, atom in results.items()}

    def set_element(self, v: Var, position: Position, value: ir.Scalar) -> None:
        """From now on, that is the element of `v` at `position`."""
        self.known[position.flat][v] = self._named(value, self.names[v])

    def _named(self, atom: ir.Scalar, name: str) -> ir.Scalar:
        """Names the last statement's value after its variable. A complex number refers to its parts by their
        names, so these stay."""
        if isinstance(atom, Pair):
            self.unnamed -= {atom.real, atom.imag}
        last = self.body[-1] if self.body else None
        if isinstance(last, ir.Let) and last.target == atom and atom in self.unnamed:
            renamed = ir.Value(self.fresh(name), atom.dtype)
            self.body[-1] = ir.Let(renamed, last.op, last.args)
            if (at := self.indices.get(atom)) is not None:
                if last.target.name in at.names:
                    self._set_range(renamed, at.lo, at.hi)
                else:
                    self.indices[renamed] = at
            return renamed
        return atom

    # ---- reductions ----

    def _reduce(self, ctx: LoweringRuleContext, eqn: JaxprEqn, rule: Reduction) -> ir.Scalar:
        """Loops over the axes of the combined elements; an accumulator takes in one term after the other.
        Returns its value, converted to the result's dtype. (Halves are added up in float32.) Without
        elements, it is the rule's identity. The rule gives the sizes, because products have no parameter
        `axes`.
        """
        sizes, dtype = rule.sizes(eqn), eqn.outvars[0].aval.dtype
        if 0 in sizes:  # nothing to combine, and no place to ask rules about
            return ir.Const(rule.identity(dtype), dtype)
        total = self.accumulator(rule, dtype)
        with self.loops(sizes) as reduced:
            total.combine(rule.op, self.term(ctx, eqn, rule, reduced))
        return total.now.astype(dtype).value

    def term(
        self, ctx: LoweringRuleContext, eqn: JaxprEqn, rule: Reduction, reduced: Position
    ) -> Number:
        """One of the elements that a reduction combines."""
        operands = (Operand(self, v) for v in eqn.invars)
        return rule.term(ctx, reduced, *operands, **eqn.params)

    def accumulator(self, rule: Reduction, dtype: np.dtype) -> Array:
        """A variable, for a result of `dtype`, set to the identity."""
        dtype = sum_dtype(dtype)
        return self.array("acc", dtype, initial=rule.identity(dtype))
