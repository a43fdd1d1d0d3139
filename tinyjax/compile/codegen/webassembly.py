"""Kernels as WebAssembly, which is what a browser runs: the second printer of the kernel language.

After this file you can read the instructions of any kernel and say which statement they are. A module works
on memory that it is given: a function's parameters are the addresses of the kernel's buffers, that of
`private_bytes` bytes for its private arrays, and the work-items that it runs one after the other, from
`first` to before `past`. A private array whose elements are all asked for by numbers that are known here
is kept in locals. Functions of the kernel language (exp, sin, ...) are functions of the module for numbers;
for vectors, their statements stand where they are called. Vectors that are constants are made first.
Builds on kernel_ir, functions/, webassembly_memory and webassembly_module.

Source: the WebAssembly Core Specification 2.0, https://webassembly.github.io/spec/core/
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from tinyjax.compile.codegen.index_type import index_type
from tinyjax.compile.codegen.webassembly_memory import Memory, MemoryWriter
from tinyjax.compile.codegen.webassembly_module import Function, Module, make_constants_first
from tinyjax.compile.codegen.webassembly_operations import TWO_OPERANDS, Code, Form, number_type
from tinyjax.compile.codegen.webassembly_values import lane_count, operand_dtype
from tinyjax.compile.kernel import kernel_ir as ir
from tinyjax.compile.kernel.functions.kernel_function import KernelFunction, changed, widened
from tinyjax.compile.kernel.functions.table import function_of
from tinyjax.compile.kernel.indices import Index, index, index_var
from tinyjax.compile.kernel.substitution import every_statement

MOST_LOCALS = 64  # elements of a private array that is kept in locals

# ---- modules ----


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


class Writer(MemoryWriter):
    """Writes statements as the instructions of a function."""

    last_item = 0
    private_bytes = 0
    origin: Any = None  # the equation of the statement that is written
    indexed: frozenset[str] = frozenset()  # private arrays that are in memory

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
            case ir.Load(target, source, at, end):
                if (element := self.element(source, at)) is None:
                    self.load(target, source, at, end)
                else:
                    self.let(target, "copy", (element,))
            case ir.Store(destination, at, value, end):
                if (element := self.element(destination, at)) is None:
                    self.store(destination, at, value, end)
                else:
                    self.let(element, "copy", (value,))
            case ir.Allocate(array, initial):
                self.allocate(array, initial)
            case ir.Combine(array, at, op, value):
                so_far = ir.Value(f"{array.name}.so_far", array.dtype, array.width)
                self.statement(ir.Load(so_far, array, at))
                self.let(so_far, op, (so_far, value))
                self.statement(ir.Store(array, at, so_far))
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
                item = self.index(index_var("item", 0, self.last_item))
                last = self.index(index(self.last_item))
                self.emit(*item, *last, ("i32.eq",), ("if",))
                self.body(body)
                self.emit(("end",))

    def loop(
        self,
        variable: Index,
        start: Index,
        stop: Index,
        body: Sequence[ir.Statement],
        step: int = 1,
    ) -> None:
        """Asks before the first iteration, and after each, whether there is another one."""
        i, at = self.local(variable.args[0], "i32"), self.index(variable)
        goes_on: Code = [*at, *self.index(stop), ("i32.lt_s",)]
        self.emit(*self.index(start), ("local.set", i), *goes_on, ("if",), ("loop",))
        self.body(body)
        self.emit(*at, ("i32.const", step), ("i32.add",), ("local.set", i))
        self.emit(*goes_on, ("br_if", 0), ("end",), ("end",))

    # ---- private arrays ----

    def element(self, memory: Memory, at: Index) -> ir.Value | None:
        """An element that is kept in locals, as a value that is assigned again."""
        if not isinstance(memory, ir.PrivateArray) or memory.name in self.indexed:
            return None
        name = memory.name if memory.size == 1 else f"{memory.name}.{at}"
        return ir.Value(name, memory.dtype, memory.width)

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

    # ---- functions ----

    def let(self, target: ir.Value, op: str, args: Sequence[ir.Atom]) -> None:
        """Writes a function's statements for a whole vector in place of a call. Those for its parts of 128
        bits follow each other, and do not wait for one another, as the statements for one part do."""
        dtype = operand_dtype(args)
        function = function_of(f"{op}_{dtype}", dtype) or function_of(op, dtype)
        if target.width == 1 or function is None or not has_as_many_lanes(function):
            return super().let(target, op, args)
        own = self.renamed(widened(function, target.width))
        for parameter, arg in zip(own.parameters, args):
            super().let(parameter, "convert", (arg,))
        self.body(own.body)
        return super().let(target, "convert", (own.result,))

    def call(self, name: str, form: Form) -> Code | None:
        """What has no definition is the host's: Math.exp and other functions of a float64."""
        function = function_of(name, form.dtype)
        if function is None:
            return None if form.is_vector else [("call", self.imported(name, form))]
        if not form.is_vector:
            return [("call", self.defined(function))]
        return self.inlined(function) if has_as_many_lanes(function) else None

    def imported(self, name: str, form: Form) -> str:
        if form.number != "f64":
            raise NotImplementedError(
                f"'{name}' of {form.dtype} needs a definition in kernel/functions"
            )
        parameters = [(x, "f64") for x in ("xy" if name in TWO_OPERANDS else "x")]
        self.functions[f"Math.{name}"] = Function(
            f"Math.{name}", parameters, "f64", is_imported=True
        )
        return f"Math.{name}"

    def defined(self, function: KernelFunction) -> str:
        """A function of the kernel language, written into the module when it is first called."""
        of, *types = [number_type(v.dtype) for v in (function.result, *function.parameters)]
        parameters = [(value.name, of) for value, of in zip(function.parameters, types)]
        if (writer := self.helper(function.name, parameters, of)) is not None:
            writer.body(function.body)
            writer.emit(("local.get", writer.value(function.result)))
        return function.name

    def inlined(self, function: KernelFunction) -> Code:
        """The statements of a function of one vector of 128 bits, in place of a call; its operands were
        pushed."""
        own = self.renamed(widened(function, lane_count(function.result.dtype)))
        outer, self.function.body = self.function.body, []
        for parameter in reversed(own.parameters):
            self.emit(("local.set", self.value(parameter)))
        self.body(own.body)
        self.emit(("local.get", self.value(own.result)))
        code, self.function.body = self.function.body, outer
        return code

    def renamed(self, function: KernelFunction) -> KernelFunction:
        """With names for its values that are not those of other functions."""
        return changed(function, lambda one: replace(one, name=f"{function.name}.{one.name}"))


def has_as_many_lanes(function: KernelFunction) -> bool:
    """Whether a vector of 128 bits makes one such vector."""
    return lane_count(function.parameters[0].dtype) == lane_count(function.result.dtype)


def _indexed(body: Sequence[ir.Statement]) -> Iterator[str]:
    """The private arrays that need memory: elements are asked for by numbers that are not known here, or
    as vectors of neighbours."""
    for statement in every_statement(body):
        match statement:
            case ir.Allocate(ir.PrivateArray(name, _, size)) if size > MOST_LOCALS:
                yield name
            case (
                ir.Load(value, ir.PrivateArray(name, _, _, width), at)
                | ir.Store(ir.PrivateArray(name, _, _, width), at, value)
                | ir.Combine(ir.PrivateArray(name, _, _, width), at, _, value)
            ) if at.op != "const" or getattr(value, "width", 1) > width:
                yield name
