"""Loads and stores as WebAssembly: numbers, vectors, and an array's last vector, which has fewer elements.

After this file you can say where an element is (an address, plus its index times its bytes) and what a
vector of bools or of 16-bit floats is in memory: lanes of 32 bits are widened when they are loaded, and
narrowed when they are stored. Builds on kernel_ir, webassembly_values and webassembly_module.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Self

import numpy as np

from tinyjax.compile.codegen.webassembly_module import Function
from tinyjax.compile.codegen.webassembly_operations import BOOL, Code, Form, number_type, sign_of
from tinyjax.compile.codegen.webassembly_values import ValueWriter, lane_count, lanes_in
from tinyjax.compile.kernel.indices import Index
from tinyjax.compile.kernel.kernel_ir import Buffer, Const, PrivateArray, Value
from tinyjax.compile.kernel.scalar_ops import HALVES

Memory = Buffer | PrivateArray

ZERO = ("v128.const", "i32x4", 0, 0, 0, 0)


class MemoryWriter(ValueWriter):
    """Writes loads and stores; `offsets` says where private arrays begin in the memory for those."""

    def __init__(self, function: Function, functions: dict[str, Function]):
        super().__init__(function, functions)
        self.offsets: dict[str, int] = {}

    # ---- addresses ----

    def address(self, memory: Memory, at: Index) -> Code:
        """Pushes the address of an element."""
        name, size, offset = memory.name, memory.dtype.itemsize, 0
        if isinstance(memory, PrivateArray):
            name, size, offset = "private", size * memory.width, self.offsets[name]
        code: Code = [("local.get", name)]
        if not at.is_const(0):
            code += [*self.index(at), ("i32.const", size), ("i32.mul",), ("i32.add",)]
        return [*code, ("i32.const", offset), ("i32.add",)] if offset else code

    def kept(self, name: str, code: Code) -> Code:
        """Sets a local, and says how to push it again."""
        local = self.local(f".{name}", "i32")
        self.emit(*code, ("local.set", local))
        return [("local.get", local)]

    def whole_or_part(
        self,
        value: Value,
        left: Index | None,
        whole: Callable[[], None],
        part: Callable[[Code], None],
    ) -> None:
        """Writes `whole`; or, if that many elements are left before an end, a choice between that and what
        `part` does for fewer than there are lanes, given how many."""
        if left is None:
            return whole()
        count = self.kept("count", self.index(left))
        self.emit(*count, ("i32.const", value.width), ("i32.ge_s",), ("if",))
        whole()
        self.emit(("else",))
        part(count)
        return self.emit(("end",))

    # ---- loads ----

    def load(self, target: Value, source: Memory, at: Index, end: Index | None) -> None:
        address = self.address(source, at)
        dtype = source.dtype
        if target.width == 1:
            return self.set(target, 0, [*address, *self.loaded(dtype, 0)])
        address = self.kept("address", address)
        parts = range(len(lanes_in(target)))

        def whole() -> None:
            for part in parts:
                self.set(target, part, self.loaded_vector(target, address, part))

        def first(count: Code) -> None:
            """Of lanes beyond the end, a copy of the first."""

            def lane(n: int) -> Code:
                is_there = [("i32.const", n), *count, ("i32.lt_s",), ("select",)]
                step: Code = [("i32.const", n * dtype.itemsize), ("i32.const", 0), *is_there]
                return [*address, *step, ("i32.add",), *self.loaded(dtype, 0)]

            for part in parts:
                self.set(target, part, self.by_lane(target, part, lane))

        return self.whole_or_part(target, None if end is None else end - at, whole, first)

    def loaded(self, dtype: np.dtype, offset: int) -> Code:
        """The number at the address that was pushed."""
        if dtype in HALVES:
            return [
                ("i32.load16_u", offset),
                *self.called(f"load_{dtype}", Form(np.dtype("int32"))),
            ]
        bits = "" if dtype.itemsize >= 4 else f"{dtype.itemsize * 8}_{sign_of(dtype)}"
        return [(f"{number_type(dtype)}.load{bits}", offset)]

    def loaded_vector(self, target: Value, address: Code, part: int) -> Code:
        """One vector of a value, of which all lanes are in memory."""
        dtype = target.dtype
        if not is_whole(target, part):
            number = lambda n: [*address, *self.loaded(dtype, n * dtype.itemsize)]  # noqa: E731
            return self.by_lane(target, part, number)
        offset = part * lane_count(dtype) * dtype.itemsize
        if dtype == BOOL:
            widened = [("i16x8.extend_low_i8x16_u",), ("i32x4.extend_low_i16x8_u",)]
            return [*address, ("v128.load32_zero", offset), *widened, ZERO, ("i32x4.ne",)]
        if dtype in HALVES:
            bits = [*address, ("v128.load16x4_u", offset)]
            return [*bits, *self.called(f"load_{dtype}", Form(np.dtype("int32"), True))]
        return [*address, ("v128.load", offset)]

    # ---- stores ----

    def store(
        self, destination: Memory, at: Index, value: Value | Const, end: Index | None
    ) -> None:
        address = self.address(destination, at)
        dtype = destination.dtype
        if not isinstance(value, Value) or value.width == 1:
            return self.emit(*address, *self.number(value), *self.stored(dtype, 0))
        address = self.kept("address", address)

        def lane(n: int) -> Code:
            return [*address, *self.number(value, lane=n), *self.stored(dtype, n * dtype.itemsize)]

        def whole() -> None:
            for part, lanes in enumerate(lanes_in(value)):
                first = part * lane_count(dtype)
                if is_whole(value, part):
                    vector = ("local.get", self.value(value, part))
                    stored = self.stored_vector(dtype, first * dtype.itemsize)
                    self.emit(*address, vector, *stored)
                else:
                    self.emit(*(one for n in range(first, first + lanes) for one in lane(n)))

        def first(count: Code) -> None:
            for n in range(value.width):
                self.emit(("i32.const", n), *count, ("i32.lt_s",), ("if",), *lane(n), ("end",))

        return self.whole_or_part(value, None if end is None else end - at, whole, first)

    def stored(self, dtype: np.dtype, offset: int) -> Code:
        """Stores the number that was pushed after its address."""
        if dtype in HALVES:
            return [
                *self.called(f"store_{dtype}", Form(np.dtype("float32"))),
                ("i32.store16", offset),
            ]
        bits = "" if dtype.itemsize >= 4 else f"{dtype.itemsize * 8}"
        return [(f"{number_type(dtype)}.store{bits}", offset)]

    def stored_vector(self, dtype: np.dtype, offset: int) -> Code:
        """Stores the lanes that were pushed after their address."""
        narrow: Code = [ZERO, ("i16x8.narrow_i32x4_u",)]
        if dtype == BOOL:
            one = ("v128.const", "i32x4", 1, 1, 1, 1)
            narrow = [one, ("v128.and",), *narrow, ZERO, ("i8x16.narrow_i16x8_u",)]
            return [*narrow, ("v128.store32_lane", offset, 0)]
        if dtype in HALVES:
            bits = self.called(f"store_{dtype}", Form(np.dtype("float32"), True))
            return [*bits, *narrow, ("v128.store64_lane", offset, 0)]
        return [("v128.store", offset)]

    def helper(
        self, name: str, parameters: list[tuple[str, str]], result: str | None
    ) -> Self | None:
        """A writer of a function of the module, if that is not there yet."""
        if name in self.functions:
            return None
        self.functions[name] = Function(name, parameters, result)
        return type(self)(self.functions[name], self.functions)


def is_whole(value: Value, part: int) -> bool:
    """Whether all lanes of a vector are in use, and one instruction loads or stores them."""
    is_small = value.dtype.itemsize < 4 and value.dtype not in (BOOL, *HALVES)
    return lanes_in(value)[part] == lane_count(value.dtype) and not is_small
