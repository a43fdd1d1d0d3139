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
        local = self.temporary(name, "i32")
        self.emit(*code, ("local.set", local))
        return [("local.get", local)]

    def each_vector(
        self,
        value: Value,
        before: Index | None,
        whole: Callable[[int, int], None],
        partly: Callable[[int, Code], None],
    ) -> None:
        """Asks for each vector of a value, and its first lane's number: all of it, if so many elements are
        before the end; else some of it, by that number and how many there are."""
        starts = [part * lane_count(value.dtype) for part in range(len(lanes_in(value)))]
        count = self.kept("count", self.index(before)) if before is not None else []
        if before is not None:
            self.emit(*count, ("i32.const", value.width), ("i32.ge_s",), ("if",))
        for part, start in enumerate(starts):
            whole(part, start)
        if before is not None:
            self.emit(("else",))
            for part, start in enumerate(starts):
                partly(part, [("i32.const", start), *count])
            self.emit(("end",))

    # ---- loads ----

    def load(self, target: Value, source: Memory, at: Index, end: Index | None) -> None:
        address = self.address(source, at)
        dtype = source.dtype
        if target.width == 1:
            return self.set(target, 0, [*address, *self.loaded(dtype, 0)])
        address = self.kept("address", address)

        def whole(part: int, start: int) -> None:
            self.set(
                target, part, self.loaded_vector(target, address, start * dtype.itemsize, part)
            )

        def partly(part: int, lanes: Code) -> None:
            self.set(target, part, [*address, *lanes, ("call", self.partial_load(dtype))])

        return self.each_vector(target, None if end is None else end - at, whole, partly)

    def loaded(self, dtype: np.dtype, offset: int) -> Code:
        """The number at the address that was pushed."""
        if dtype in HALVES:
            return [
                ("i32.load16_u", offset),
                *self.called(f"load_{dtype}", Form(np.dtype("int32"))),
            ]
        bits = "" if dtype.itemsize >= 4 else f"{dtype.itemsize * 8}_{sign_of(dtype)}"
        return [(f"{number_type(dtype)}.load{bits}", offset)]

    def loaded_vector(self, target: Value, address: Code, offset: int, part: int) -> Code:
        """One vector of a value, of which all lanes are in memory."""
        dtype, size = target.dtype, target.dtype.itemsize
        if not is_whole(target, part):
            starts = range(offset, offset + lanes_in(target)[part] * size, size)
            return self.lanes(dtype, [[*address, *self.loaded(dtype, start)] for start in starts])
        if dtype == BOOL:
            widened = [("i16x8.extend_low_i8x16_u",), ("i32x4.extend_low_i16x8_u",)]
            return [*address, ("v128.load32_zero", offset), *widened, ZERO, ("i32x4.ne",)]
        if dtype in HALVES:
            bits = [*address, ("v128.load16x4_u", offset)]
            return [*bits, *self.called(f"load_{dtype}", Form(np.dtype("int32"), True))]
        return [*address, ("v128.load", offset)]

    def partial_load(self, dtype: np.dtype) -> str:
        """A function that loads the lanes from `start` on which are before `count`; others are copies of the
        element at the address."""
        name, parameters = f"load_part_{dtype}", ("address", "start", "count")
        writer = self.helper(name, [(parameter, "i32") for parameter in parameters], "v128")
        if writer is not None:
            numbers = []
            for lane in range(lane_count(dtype)):
                own = [("local.get", "start"), ("i32.const", lane), ("i32.add",)]
                inside = [*own, ("local.get", "count"), ("i32.lt_s",), ("select",)]
                step = [
                    *own,
                    ("i32.const", 0),
                    *inside,
                    ("i32.const", dtype.itemsize),
                    ("i32.mul",),
                ]
                address = [("local.get", "address"), *step, ("i32.add",)]
                numbers.append([*address, *writer.loaded(dtype, 0)])
            writer.emit(*writer.lanes(dtype, numbers))
        return name

    # ---- stores ----

    def store(
        self, destination: Memory, at: Index, value: Value | Const, end: Index | None
    ) -> None:
        address = self.address(destination, at)
        dtype = destination.dtype
        if not isinstance(value, Value) or value.width == 1:
            return self.emit(*address, *self.number(value), *self.stored(dtype, 0))
        address = self.kept("address", address)

        def whole(part: int, start: int) -> None:
            if is_whole(value, part):
                lanes = ("local.get", self.value(value, part))
                return self.emit(
                    *address, lanes, *self.stored_vector(dtype, start * dtype.itemsize)
                )
            for lane in range(start, start + lanes_in(value)[part]):
                stored = self.stored(dtype, lane * dtype.itemsize)
                self.emit(*address, *self.number(value, lane=lane), *stored)
            return None

        def partly(part: int, lanes: Code) -> None:
            given = [*lanes, ("local.get", self.value(value, part))]
            self.emit(*address, *given, ("call", self.partial_store(dtype)))

        return self.each_vector(value, None if end is None else end - at, whole, partly)

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

    def partial_store(self, dtype: np.dtype) -> str:
        """A function that stores the lanes from `start` on which are before `count`."""
        name, parameters = (
            f"store_part_{dtype}",
            [(n, "i32") for n in ("address", "start", "count")],
        )
        writer = self.helper(name, [*parameters, ("lanes", "v128")], None)
        if writer is not None:
            lanes = Value("lanes", dtype, lane_count(dtype))
            for lane in range(lanes.width):
                own = [("local.get", "start"), ("i32.const", lane), ("i32.add",)]
                writer.emit(*own, ("local.get", "count"), ("i32.lt_s",), ("if",))
                step = [*own, ("i32.const", dtype.itemsize), ("i32.mul",), ("i32.add",)]
                number = writer.number(lanes, lane=lane)
                writer.emit(
                    ("local.get", "address"), *step, *number, *writer.stored(dtype, 0), ("end",)
                )
        return name

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
