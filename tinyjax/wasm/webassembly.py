"""Kernels as WebAssembly, which is what a browser runs: the second printer of the kernel language.

A module works on memory that it is given: a function's parameters are the addresses of the kernel's buffers,
that of `private_bytes` bytes for its private arrays, and the work-items that it runs one after the other,
from `first` to before `past`. A private array whose indices are all constants is kept in locals. Functions of
the kernel language (exp, sin, ...) are inlined; long scalar ones are functions of the module. Vectors that
are constants are made first.

Source: the WebAssembly Core Specification 2.0, https://webassembly.github.io/spec/core/
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tinyjax.compile.codegen.index_type import index_type
from tinyjax.compile.kernel import kernel_ir as ir
from tinyjax.compile.kernel.functions.kernel_function import KernelFunction, changed, widened
from tinyjax.compile.kernel.indices import Index, index, index_var
from tinyjax.compile.kernel.scalar_ops import EXACT, HALVES
from tinyjax.compile.kernel.substitution import every_statement
from tinyjax.core.dtypes import kind
from tinyjax.wasm.module import Function, Module, make_constants_first
from tinyjax.wasm.operations import BOOL, FLOAT32, Code, made_of, number_type
from tinyjax.wasm.values import INT32, Memory, ValueWriter, is_whole, operand_dtype

UINT16 = np.dtype("uint16")
OF_HALVES = ("load_", "round_", "store_")  # functions from and to their bits, and to the nearest
SHIFTS = ("shift_left", "shift_right_logical", "shift_right_arithmetic")
MOST_INLINED = 8  # statements of a function of numbers that stand where it is called
MOST_LOCALS = 64  # elements of a private array that is kept in locals


def webassembly(kernels: Sequence[ir.Kernel]) -> Module:
    """A module with a function for each kernel, and those that they call."""
    functions: dict[str, Function] = {}
    private_bytes = 0
    for kernel in kernels:
        if index_type(kernel) != "int":
            what = "WebAssembly's addresses have 32 bits: lower the function for smaller arrays"
            raise NotImplementedError(f"{kernel.name} has indices of more. {what}")
        if kernel.local_size > 1:
            what = "WebAssembly has no work-groups: lower the function for a CPU"
            raise NotImplementedError(f"{kernel.name} works in groups with local memory. {what}")
        names = [*(buffer.name for buffer in kernel.buffers), "private", "first", "past"]
        function = Function(kernel.name, [(name, "i32") for name in names], exported=True)
        writer = Writer(function, functions)
        writer.kernel(kernel)
        make_constants_first(function)
        functions[f"kernel {kernel.name}"] = function
        private_bytes = max(private_bytes, writer.private_bytes)
    return Module(list(functions.values()), {"private_bytes": private_bytes})


# ---- statements ----


class Writer(ValueWriter):
    """Writes statements as the instructions of a function."""

    last_item = 0
    private_bytes = 0
    origin: Any = None  # the equation of the statement that is written
    indexed: frozenset[str] = frozenset()  # private arrays that are in memory

    def __init__(self, function: Function, functions: dict[str, Function]):
        super().__init__(function, functions)
        self.less: dict[str, list[str]] = {}  # by a condition: the smaller operand, and the greater

    def kernel(self, kernel: ir.Kernel) -> None:
        self.last_item = kernel.items - 1
        self.indexed = frozenset(_indexed(kernel.body))
        first, past = (index_var(name, 0, kernel.items) for name in ("first", "past"))
        self.loop(index_var("item", 0, self.last_item), first, past, kernel.body)

    def body(self, statements: Sequence[ir.Statement]) -> None:
        outer = self.origin
        for statement in statements:
            self.origin = statement.origin or outer
            self.emit((";;", next(ir.statement_lines(statement)), self.origin))
            self.statement(statement)
        self.origin = outer

    def statement(self, statement: ir.Statement) -> None:
        match statement:
            case ir.Let(target, op, args):
                self.let(target, op, args)
            case ir.Load():
                self.load_statement(statement)
            case ir.Store():
                self.store_statement(statement)
            case ir.Allocate(array, initial):
                self.allocate(array, initial)
            case ir.Combine(array, at, op, value):
                so_far = ir.Value(f"{array.name}.so_far", array.dtype, array.width)
                self.statement(ir.Load(so_far, array, at))
                combined = replace(so_far, name=f"{array.name}.next")
                self.let(combined, op, (so_far, value))
                self.statement(ir.Store(array, at, combined))
            case ir.For(variable, start, stop, body, step):
                self.loop(variable, start, stop, body, step)
            case ir.While(head, holds, body):
                self.emit(("block",), ("loop",))
                self.body(head)
                self.emit(*self.number(holds), ("i32.eqz",), ("br_if", 1))
                self.body(body)
                self.emit(("br", 0), ("end",), ("end",))
            case ir.If(condition, body, otherwise):
                self.emit(*self.number(condition), ("if",))
                self.body(body)
                if otherwise:
                    self.emit(("else",))
                    self.body(otherwise)
                self.emit(("end",))
            case ir.IfLast(_, body):
                is_last = ir.Value("is_last", BOOL)
                numbers = index_var("item", 0, self.last_item), index(self.last_item)
                self.body([ir.Let(is_last, "eq", numbers), ir.If(is_last, body)])

    def loop(
        self,
        variable: Index,
        start: Index,
        stop: Index,
        body: Sequence[ir.Statement],
        step: int = 1,
    ) -> None:
        """A loop that tests its condition before the first iteration and after each one."""
        i, at = self.local(variable.args[0], "i32"), self.index(variable)
        goes_on: Code = [*at, *self.index(stop), ("i32.lt_s",)]
        self.emit(*self.index(start), ("local.set", i), *goes_on, ("if",), ("loop",))
        self.body(body)
        self.emit(*at, ("i32.const", step), ("i32.add",), ("local.set", i))
        self.emit(*goes_on, ("br_if", 0), ("end",), ("end",))

    # ---- memory ----

    def element(self, memory: Memory, at: Index) -> ir.Value | None:
        """An element that is kept in locals, as a value that is assigned again."""
        if not isinstance(memory, ir.PrivateArray) or memory.name in self.indexed:
            return None
        name = memory.name if memory.size == 1 else f"{memory.name}.{at}"
        return ir.Value(name, memory.dtype, memory.width)

    def load_statement(self, load: ir.Load) -> None:
        """16-bit floats are loaded as their bits. Lanes beyond the end are copies of the first."""
        target, memory, at, width = load.target, load.memory, load.index, load.target.width
        if (element := self.element(memory, at)) is not None:
            return self.let(target, "copy", (element,))
        if memory.dtype in HALVES:
            bits = ir.Value(f"{target.name}.bits", INT32, width)
            self.load_statement(replace(load, target=bits, memory=replace(memory, dtype=UINT16)))
            return self.let(target, f"load_{target.dtype}", (bits,))
        is_dense = load.end is None and load.stride == 1
        if width == 1 or (is_dense and is_whole(memory, width)):
            return self.load(target, memory, at)
        memory, at = _as_lanes(memory, at)
        lanes = [ir.Value(f"{target.name}.lane{n}", target.dtype) for n in range(width)]
        part: list[ir.Statement] = []
        for n, lane in enumerate(lanes):
            place = at + n * load.stride
            if load.end is not None and n:
                is_there, step = ir.Value(".there", BOOL), ir.Value(".step", INT32)
                part.append(ir.Let(is_there, "gt", (load.end - at, index(n))))
                part.append(ir.Let(step, "select", (is_there, index(n), index(0))))
                place = at + index_var(step.name, 0, n)
            part.append(ir.Load(lane, memory, place))
        self.whole_or(load, width, [*part, ir.Let(target, "vector", tuple(lanes))])

    def store_statement(self, store: ir.Store) -> None:
        """Lanes beyond the end have no place."""
        memory, at, value, width = store.memory, store.index, store.value, ir.width_of(store)
        if (element := self.element(memory, at)) is not None:
            return self.let(element, "copy", (value,))
        if memory.dtype in HALVES:
            bits = ir.Value(f"{memory.name}.bits", INT32, width)
            self.let(bits, f"store_{memory.dtype}", (value,))
            memory = replace(memory, dtype=UINT16)
            return self.store_statement(replace(store, memory=memory, value=bits))
        is_dense = store.end is None and store.stride == 1
        if width == 1 or (is_dense and is_whole(memory, width)):
            return self.store(memory, at, value)
        memory, at = _as_lanes(memory, at)
        lane, is_there = ir.Value(".lane", value.dtype), ir.Value(".there", BOOL)
        part: list[ir.Statement] = []
        for n in range(width):
            of_lane = ir.Let(lane, "lane", (value, ir.Const(n, INT32)))
            one: list[Any] = [of_lane, ir.Store(memory, at + n * store.stride, lane)]
            if store.end is not None:
                one = [ir.Let(is_there, "gt", (store.end - at, index(n))), ir.If(is_there, one)]
            part += one
        self.whole_or(store, width, part)

    def whole_or(self, s: ir.Load | ir.Store, width: int, part: list[ir.Statement]) -> None:
        """What is written for a part of a vector; the statement itself if, at its end, all of it is left."""
        if s.end is None:
            return self.body(part)
        is_whole = ir.Value(".whole", BOOL)
        is_left = ir.Let(is_whole, "ge", (s.end - s.index, index(width)))
        return self.body([is_left, ir.If(is_whole, [replace(s, end=None)], part)])

    def allocate(self, array: ir.PrivateArray, initial: ir.Const | None) -> None:
        is_indexed = array.name in self.indexed
        if is_indexed and array.name not in self.offsets:
            self.offsets[array.name] = self.private_bytes
            size = array.size * array.width * array.dtype.itemsize
            self.private_bytes += -(-size // 16) * 16
        if initial is None:
            return
        start = ir.Value(f"{array.name}.initial", array.dtype, array.width)
        self.let(start, "copy", (initial,))
        if is_indexed:
            i = index_var(f"{array.name}.i", 0, array.size - 1)
            self.loop(i, index(0), index(array.size), [ir.Store(array, i, start)])
        else:
            for number in range(array.size):
                self.statement(ir.Store(array, index(number), start))

    # ---- operations ----

    def let(self, target: ir.Value, op: str, args: Sequence[ir.Argument]) -> None:
        """An instruction, or the statements of what an operation is made of: those for the parts of a vector
        follow each other, and do not wait for one another."""
        of, to = operand_dtype(args), target.dtype
        op = "copy" if op == "convert" and of == to else op
        if op in ("lt", "gt"):
            self.less[target.name] = [*map(str, args if op == "lt" else args[::-1])]
        elif op == "select" and target.width > 1 and kind(to) == "f" and to not in HALVES:
            less, chosen = self.less.get(str(args[0])), [*map(str, args[1:])]  # -0.0 is not 0.0
            if less in (chosen, chosen[::-1]):
                op, args = "pmin" if less == chosen else "pmax", args[2:0:-1]
        given: Any = to if op == "convert" else None
        if op in SHIFTS and isinstance(args[1], ir.Const):
            given = int(args[1].value)
        function = made_of(op, of, target.width > 1, given)
        if function is not None and function.is_rare and target.width > 1:
            return self.by_lane(target, op, args)
        if function is not None:
            is_exact = to not in HALVES or op.startswith(OF_HALVES)
            name = target.name if is_exact else ".exact"
            result = ir.Value(name, function.result.dtype, target.width)
            self.write(function, result, args)
            return None if is_exact else self.let(target, "convert", (result,))
        if to in HALVES and op not in EXACT:
            wide = ir.Value(".wide", FLOAT32, target.width)
            super().let(wide, op, args)
            return self.let(target, f"round_{to}", (wide,))
        return super().let(target, op, args)

    def write(
        self, function: KernelFunction, result: ir.Value, args: Sequence[ir.Argument]
    ) -> None:
        """A call of a function of numbers, if it is long; else its statements, with names for their values
        that are not those of other functions."""
        if result.width == 1 and len(function.body) > MOST_INLINED:
            self.emit(*(one for arg in args for one in self.number(arg)))
            return self.emit(("call", self.defined(function)), ("local.set", self.value(result)))
        known: dict[str, Any] = {function.result.name: result}
        for p, arg in zip(function.parameters, args):  # a 16-bit float is computed with as float32
            known[p.name] = arg if isinstance(arg, Index) else replace(arg, dtype=p.dtype)
        name = lambda v: known.get(v.name) or replace(v, name=f"{function.name}.{v.name}")  # noqa: E731
        return self.body(changed(widened(function, result.width), name).body)

    def defined(self, function: KernelFunction) -> str:
        """A function of the module, which is written when it is first called."""
        name = function.name
        if name not in self.functions:
            of, *types = [number_type(v.dtype) for v in (function.result, *function.parameters)]
            parameters = [(value.name, of) for value, of in zip(function.parameters, types)]
            made = self.functions[name] = Function(name, parameters, of)
            writer = Writer(made, self.functions)
            writer.body(function.body)
            writer.emit(("local.get", writer.value(function.result)))
        return name


def _as_lanes(memory: Memory, at: Index) -> tuple[Memory, Index]:
    """An element of a private array of vectors, as the first of the array's lanes that it has."""
    if not isinstance(memory, ir.PrivateArray) or memory.width == 1:
        return memory, at
    return replace(memory, size=memory.size * memory.width, width=1), at * memory.width


def _indexed(body: Sequence[ir.Statement]) -> Iterator[str]:
    """The private arrays that need memory: they are accessed by indices that are not constant, or as vectors
    of neighbours.
    """
    for statement in every_statement(body):
        match statement:
            case ir.Allocate(ir.PrivateArray(name, _, size)) if size > MOST_LOCALS:
                yield name
            case ir.Load() | ir.Store() | ir.Combine() if isinstance(
                memory := statement.memory, ir.PrivateArray
            ):
                if statement.index.op != "const" or ir.width_of(statement) > memory.width:
                    yield memory.name
