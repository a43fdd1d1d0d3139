"""Values as WebAssembly's locals: a number is one, a vector as many vectors of 128 bits as it takes.

A `Let` pushes its operands, then comes its instruction, and the result on the stack is stored in a local. If
vectors have no such instruction, each lane is taken out and put back.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tinyjax.compile.kernel.indices import Index
from tinyjax.compile.kernel.kernel_ir import Argument, Buffer, Const, PrivateArray, Value
from tinyjax.wasm.module import TYPES, Function, Instruction
from tinyjax.wasm.operations import (
    BOOL,
    SHIFTS,
    VECTORS,
    Code,
    constant,
    instruction,
    is_small,
    narrowed,
    number_type,
    sign_of,
)

INT32 = np.dtype("int32")


def lane_count(dtype: np.dtype) -> int:
    """The lanes of a vector of 128 bits: a bool has one of 32."""
    return 2 if dtype.itemsize == 8 else 4


def part_count(value: Value) -> int:
    """How many vectors hold a value; a number is one."""
    return -(-value.width // lane_count(value.dtype))


def operand_dtype(args: Sequence[Argument]) -> np.dtype:
    return next((arg.dtype for arg in args if not isinstance(arg, Index)), INT32)


def shuffle(*lanes: int) -> Instruction:
    """Chooses lanes of 32 bits, of two vectors of four."""
    return ("i8x16.shuffle", *(4 * lane + byte for lane in lanes for byte in range(4)))


# ---- memory ----

Memory = Buffer | PrivateArray

ZERO = ("v128.const", "i32x4", 0, 0, 0, 0)
ONE = ("v128.const", "i32x4", 1, 1, 1, 1)
NARROW = [ZERO, ("i16x8.narrow_i32x4_u",)]
# By the bytes of an element: the instruction that loads a vector, and what makes lanes of 32 bits of it
WIDEN = [("i16x8.extend_low_i8x16_u",), ("i32x4.extend_low_i16x8_u",), ZERO, ("i32x4.ne",)]
LOADS: dict[int, tuple[str, Code]] = {
    1: ("v128.load32_zero", WIDEN),
    2: ("v128.load16x4_u", []), 4: ("v128.load", []), 8: ("v128.load", []),
}  # fmt: skip
# What makes elements of the lanes, and the instruction that stores them
STORES: dict[int, tuple[Code, str]] = {
    1: ([ONE, ("v128.and",), *NARROW, ZERO, ("i8x16.narrow_i16x8_u",)], "v128.store32_lane"),
    2: (NARROW, "v128.store64_lane"), 4: ([], "v128.store"), 8: ([], "v128.store"),
}  # fmt: skip
SMALL = tuple(map(np.dtype, ("int8", "uint8", "int16")))  # of uint16 are the bits of 16-bit floats


def is_whole(memory: Memory, width: int) -> bool:
    """Whether instructions load or store all lanes of a vector of `width` elements."""
    return width % lane_count(memory.dtype) == 0 and memory.dtype not in SMALL


# ---- values ----


class ValueWriter:
    """Writes the instructions of a function, a value at a time."""

    def __init__(self, function: Function, functions: dict[str, Function]):
        self.function = function
        self.functions = functions  # of the module, by name
        self.offsets: dict[str, int] = {}  # of private arrays, in the memory for those
        self.known: dict[tuple[str, str], str] = {p: p[0] for p in function.parameters}

    def emit(self, *code: Instruction) -> None:
        self.function.body.extend(code)

    def local(self, name: str, of: str) -> str:
        """The local of this name and type: branches may have variables of one name and two types."""
        if (name, of) not in self.known:
            is_taken = any((name, other) in self.known for other in TYPES)
            self.known[name, of] = f"{name}.{of}" if is_taken else name
            self.function.locals.append((self.known[name, of], of))
        return self.known[name, of]

    def value(self, value: Value, part: int = 0) -> str:
        """The local that holds a number, or one of the vectors of a value."""
        if value.width == 1:
            return self.local(value.name, number_type(value.dtype))
        return self.local(value.name if part_count(value) == 1 else f"{value.name}.{part}", "v128")

    # ---- operands ----

    def number(self, atom: Argument, of: np.dtype = INT32) -> Code:
        """Pushes a number; an index is one of any dtype `of`."""
        if isinstance(atom, Index):
            converted = instruction("convert", INT32, of, is_vector=False)
            return self.index(atom) + ([(converted,)] if converted else [])
        if isinstance(atom, Const):
            return [constant(atom.dtype, atom.value, is_vector=False)]
        return [("local.get", self.value(atom))]

    def lane(self, vector: Value, number: int) -> Code:
        """Pushes a lane of a vector."""
        part, lane = divmod(number, lane_count(vector.dtype))
        lanes = VECTORS[number_type(vector.dtype)]
        code: Code = [("local.get", self.value(vector, part)), (f"{lanes}.extract_lane", lane)]
        return code + ([("i32.const", 1), ("i32.and",)] if vector.dtype == BOOL else [])

    def vector(self, atom: Argument, part: int, of: np.dtype) -> Code:
        """Pushes the lanes of a value, as an operation on `of` wants them; what is uniform is repeated."""
        if isinstance(atom, Const):
            return [constant(BOOL if atom.dtype == BOOL else of, atom.value, is_vector=True)]
        if isinstance(atom, Index) or atom.width == 1:
            if not isinstance(atom, Index) and atom.dtype == BOOL:
                return [("i32.const", 0), *self.number(atom), ("i32.sub",), ("i32x4.splat",)]
            return [*self.number(atom, of), (f"{VECTORS[number_type(of)]}.splat",)]
        if atom.dtype == BOOL and lane_count(of) == 2:  # each bool as 64 bits
            extended = (f"i64x2.extend_{'high' if part % 2 else 'low'}_i32x4_s",)
            return [("local.get", self.value(atom, part // 2)), extended]
        return [("local.get", self.value(atom, part))]

    def index(self, at: Index) -> Code:
        """Pushes a position, or a loop's variable."""
        if at.op == "const":
            return [("i32.const", at.args[0])]
        if at.op == "var":
            return [("local.get", self.local(at.args[0], "i32"))]
        a, b = map(self.index, at.args)
        if at.op in ("min", "max"):
            return [*a, *b, *a, *b, ("i32.lt_s" if at.op == "min" else "i32.gt_s",), ("select",)]
        op = {"+": "add", "-": "sub", "*": "mul", "/": "div_s", "%": "rem_s"}[at.op]
        return [*a, *b, (f"i32.{op}",)]

    # ---- operations ----

    def let(self, target: Value, op: str, args: Sequence[Argument]) -> None:
        """target = op(args), an instruction for each vector of 128 bits."""
        if target.width == 1:
            self.emit(*self._number(target, op, args), ("local.set", self.value(target)))
            return
        if op == "reverse":
            return self.by_lane(target, "copy", args, backwards=True)
        for part in range(part_count(target)):
            code = self._vector(target, op, args, part)
            if code is None:
                return self.by_lane(target, op, args)
            self.emit(*code, ("local.set", self.value(target, part)))

    def by_lane(
        self, target: Value, op: str, args: Sequence[Argument], backwards: bool = False
    ) -> None:
        """The same, for each lane as a number; the last one first if `backwards`."""
        lanes = [Value(f"{target.name}.lane{n}", target.dtype) for n in range(target.width)]
        for n, lane in enumerate(lanes):
            operands: list[Argument] = []
            for number, arg in enumerate(args):
                operands.append(arg)
                if isinstance(arg, Value) and arg.width > 1:
                    operands[-1] = one = Value(f".operand{number}", arg.dtype)
                    self.emit(*self.lane(arg, n), ("local.set", self.value(one)))
            self.let(lane, op, operands)
        self.let(target, "vector", lanes[::-1] if backwards else lanes)

    def _number(self, target: Value, op: str, args: Sequence[Argument]) -> Code:
        """A number that is a result."""
        first = args[0]
        if isinstance(first, Value) and first.width > 1:
            match op:
                case "low" | "high":
                    return self.lane(first, int(op == "high"))
                case "any":
                    return self._any(first)
                case "lane":
                    return self.lane(first, int(args[1].value))  # type: ignore[union-attr]
        of = target.dtype if op == "select" else operand_dtype(args)
        found = instruction(op, of, target.dtype, is_vector=False)
        code: Code = [] if found == "" else [(found,) if found else self._call(op, args)]
        pushed = [self.number(arg, of) for arg in _pushed(op, args)]
        return [*(one for some in pushed for one in some), *code, *narrowed(target.dtype)]

    def _call(self, op: str, args: Sequence[Argument]) -> Instruction:
        """Calls a function. Without a definition, it is the host's: Math.exp and other functions of a
        float64.
        """
        if (dtype := operand_dtype(args)) != np.float64:
            raise NotImplementedError(f"'{op}' of {dtype} needs a definition in kernel/functions")
        parameters = [(x, "f64") for x in "xy"[: len(args)]]
        name = f"Math.{op.removesuffix('_of_driver')}"
        self.functions[name] = Function(name, parameters, "f64", is_imported=True)
        return ("call", name)

    def _any(self, bools: Value) -> Code:
        code: Code = [("v128.const", "i32x4", *[0] * 4)]
        for part in range(part_count(bools)):
            used = (-1 if 4 * part + lane < bools.width else 0 for lane in range(4))
            code += [("local.get", self.value(bools, part)), ("v128.const", "i32x4", *used)]
            code += [("v128.and",), ("v128.or",)]
        return [*code, ("v128.any_true",)]

    def _vector(self, target: Value, op: str, args: Sequence[Argument], part: int) -> Code | None:
        """One vector of an operation's result; None if there is no such instruction."""
        first, lanes = args[0], lane_count(target.dtype)
        match op:
            case "vector":
                code: Code = [constant(target.dtype, 0, is_vector=True)]
                for lane, number in enumerate(args[part * lanes :][:lanes]):
                    one = self.number(number)
                    one = [("i32.const", 0), *one, ("i32.sub",)] if target.dtype == BOOL else one
                    code += [*one, (f"{VECTORS[number_type(target.dtype)]}.replace_lane", lane)]
                return code
            case "ramp":
                assert isinstance(args[1], Const)
                numbers = [int(args[1].value) * lane for lane in range(4 * part, 4 * part + 4)]
                rest: Code = [("v128.const", "i32x4", *numbers), ("i32x4.add",)]
                return [*self.number(first), ("i32x4.splat",), *rest]
            case "low":
                return self.vector(first, part, target.dtype)
            case "high" if target.width >= lanes:
                return self.vector(first, part + part_count(target), target.dtype)
            case "high":
                half = self.vector(first, 0, target.dtype)
                return [*half, *half, shuffle(2, 3, 2, 3)]
        of = target.dtype if op == "select" else operand_dtype(args)
        found, to = instruction(op, of, target.dtype, is_vector=True), target.dtype
        by_number = op in SHIFTS and not isinstance(args[1], Const)
        if found is None or by_number or (op != "copy" and (is_small(of) or is_small(to))):
            return None

        def made(part: int) -> Code:
            pushed = [self.vector(arg, part, of) for arg in _pushed(op, args)]
            if op in SHIFTS:
                pushed[1] = self.number(Const(args[1].value, INT32))  # type: ignore[union-attr]
            return [*(one for some in pushed for one in some), *([(found,)] if found else [])]

        if lane_count(of) < lanes:  # four of 32 bits, from two of each of two vectors
            two = (0, 1) if found.endswith("_zero") else (0, 2)
            return [*made(2 * part), *made(2 * part + 1), shuffle(*two, *(n + 4 for n in two))]
        if lane_count(of) > lanes:
            half = self.vector(first, part // 2, of)
            half += [*half, shuffle(2, 3, 2, 3)] if part % 2 else []
            return [*half, (found,)]
        return made(part)

    # ---- memory ----

    def address(self, memory: Memory, at: Index, width: int) -> Code:
        """Pushes the address of an element; where a vector begins, it is kept in a local."""
        name, size, offset = memory.name, memory.dtype.itemsize, 0
        if isinstance(memory, PrivateArray):
            name, size, offset = "private", size * memory.width, self.offsets[name]
        code: Code = [("local.get", name)]
        if not at.is_const(0):
            code += [*self.index(at), ("i32.const", size), ("i32.mul",), ("i32.add",)]
        code += [("i32.const", offset), ("i32.add",)] if offset else []
        if width == 1:
            return code
        local = self.local(".address", "i32")
        self.emit(*code, ("local.set", local))
        return [("local.get", local)]

    def load(self, target: Value, source: Memory, at: Index) -> None:
        address, dtype = self.address(source, at, target.width), source.dtype
        if target.width == 1:
            bits = "" if dtype.itemsize >= 4 else f"{dtype.itemsize * 8}_{sign_of(dtype)}"
            self.emit(*address, (f"{number_type(dtype)}.load{bits}", 0))
            return self.emit(("local.set", self.value(target)))
        name, widened = LOADS[dtype.itemsize]
        for part in range(part_count(target)):
            offset = part * lane_count(dtype) * dtype.itemsize
            self.emit(*address, (name, offset), *widened, ("local.set", self.value(target, part)))

    def store(self, destination: Memory, at: Index, value: Argument) -> None:
        width, dtype = getattr(value, "width", 1), destination.dtype
        address = self.address(destination, at, width)
        if width == 1:
            bits = "" if dtype.itemsize >= 4 else f"{dtype.itemsize * 8}"
            code = (*self.number(value), (f"{number_type(dtype)}.store{bits}", 0))
            return self.emit(*address, *code)
        assert isinstance(value, Value)
        narrow, name = STORES[dtype.itemsize]
        for part in range(part_count(value)):
            offset = part * lane_count(dtype) * dtype.itemsize
            lane = (0,) if name.endswith("lane") else ()
            vector = ("local.get", self.value(value, part))
            self.emit(*address, vector, *narrow, (name, offset, *lane))


def _pushed(op: str, args: Sequence[Argument]) -> Sequence[Argument]:
    """The operands in the order in which an instruction takes them."""
    return (*args[1:], args[0]) if op == "select" else args
