"""Values as WebAssembly's locals: a number is one, a vector as many vectors of 128 bits as it takes.

After this file you can say what a `Let` becomes: its operands are pushed, its instructions follow, and what
is left on the stack is set. Where vectors have no instruction for it, each lane is taken out and put back.
Builds on kernel_ir, webassembly_operations and webassembly_module.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tinyjax.compile.codegen.webassembly_module import OPCODES, Function, Instruction
from tinyjax.compile.codegen.webassembly_operations import (
    BOOL,
    SHIFTS,
    VECTORS,
    Code,
    Form,
    constant_word,
    joined,
    narrowed,
    number_type,
    of_vectors,
    operation_words,
    shuffle,
    sign_of,
    word_instructions,
)
from tinyjax.compile.kernel.indices import Index
from tinyjax.compile.kernel.kernel_ir import Atom, Const, Value
from tinyjax.compile.kernel.scalar_ops import EXACT, HALVES

KNOWN = {*OPCODES, ";;"}  # instructions, and remarks
FLOAT32, INT32 = np.dtype("float32"), np.dtype("int32")


def lane_count(dtype: np.dtype) -> int:
    """The lanes of a vector of 128 bits: a bool has one of 32."""
    return 2 if dtype.itemsize == 8 else 4


def lanes_in(value: Value) -> list[int]:
    """How many lanes are used in each of a value's vectors."""
    lanes = lane_count(value.dtype)
    return [min(lanes, value.width - start) for start in range(0, value.width, lanes)]


def is_vector(atom: Atom) -> bool:
    return isinstance(atom, Value) and atom.width > 1


# ---- values ----


class ValueWriter:
    """Writes the instructions of a function, a value at a time."""

    def __init__(self, function: Function, functions: dict[str, Function]):
        self.function = function
        self.functions = functions  # of the module, by name
        self.known: dict[tuple[str, str], str] = {p: p[0] for p in function.parameters}

    def emit(self, *code: Instruction) -> None:
        self.function.body.extend(code)

    def call(self, name: str, form: Form) -> Code | None:
        """A call of a function for numbers or vectors; None if there is none for vectors."""
        raise NotImplementedError

    def called(self, name: str, form: Form) -> Code:
        """A call of a function that there is."""
        code = self.call(name, form)
        assert code is not None, f"there is no {name} of {form}"
        return code

    def local(self, name: str, of: str) -> str:
        """The local of this name and type: branches may have variables of one name and two types."""
        if (name, of) not in self.known:
            taken = name in self.known.values()
            self.known[name, of] = f"{name}.{of}" if taken else name
            self.function.locals.append((self.known[name, of], of))
        return self.known[name, of]

    def value(self, value: Value, part: int = 0) -> str:
        """The local that holds a number, or one of the vectors of a value."""
        if value.width == 1:
            return self.local(value.name, number_type(value.dtype))
        name = value.name if len(lanes_in(value)) == 1 else f"{value.name}.{part}"
        return self.local(name, "v128")

    # ---- operands ----

    def number(self, atom: Atom, of: str = "", lane: int = 0) -> Code:
        """Pushes a number, or a lane of a vector; an index is a number of any type `of`."""
        if isinstance(atom, Index):
            change = {
                "i64": "i64.extend_i32_s",
                "f32": "f32.convert_i32_s",
                "f64": "f64.convert_i32_s",
            }
            return self.index(atom) + ([(change[of],)] if of in change else [])
        if isinstance(atom, Const):
            return [Form(atom.dtype).constant(number_type(atom.dtype), atom.value)]
        lanes = lane_count(atom.dtype)
        code: Code = [("local.get", self.value(atom, lane // lanes))]
        if atom.width > 1:
            code.append((f"{VECTORS[number_type(atom.dtype)]}.extract_lane", lane % lanes))
            code += [("i32.const", 1), ("i32.and",)] if atom.dtype == BOOL else []
        return code

    def vector(self, atom: Atom, part: int, form: Form) -> Code:
        """Pushes the lanes of a value, as an operation of a form wants them; what is uniform is repeated."""
        if is_vector(atom):
            assert isinstance(atom, Value)
            if atom.dtype == BOOL and lane_count(form.dtype) == 2:  # each bool as 64 bits
                half = "high" if part % 2 else "low"
                extended = (f"i64x2.extend_{half}_i32x4_s",)
                return [("local.get", self.value(atom, part // 2)), extended]
            return [("local.get", self.value(atom, part))]
        if not isinstance(atom, Index) and atom.dtype == BOOL:
            return [("i32.const", 0), *self.number(atom), ("i32.sub",), ("i32x4.splat",)]
        if isinstance(atom, Const):
            return [form.constant(form.number, atom.value)]
        return [*self.number(atom, form.number), (f"{VECTORS[form.number]}.splat",)]

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

    def instructions(self, words: str, form: Form, push: Callable[[int], Code]) -> Code | None:
        """An operation as instructions; `push` pushes an operand. None if vectors have none of these."""
        code: Code = []
        names: dict[str, str] = {}
        for word in words.split():
            found = self._word(word, form, push, names)
            if found is None or any(one[0] not in KNOWN for one in found):
                return None
            code += found
        return code

    def _word(
        self, word: str, form: Form, push: Callable[[int], Code], names: dict[str, str]
    ) -> Code | None:
        if word.isdigit():
            return push(int(word))
        if word[0] in "#%":
            return [constant_word(word, form)]
        if word[0] == "$":
            return [("local.get", names[word[1:]])]
        if "=" in word:
            of, name = word.split("=")
            number = form.integer if of else form.number
            names[name] = self.local(f".{name}", "v128" if form.is_vector else number)
            return [("local.set", names[name])]
        if word[-1] == "!":
            return self.call(word[:-1], form)
        if word == "round":
            return self.call(f"round_{form.dtype}", form) if form.dtype in HALVES else []
        return word_instructions(word, form)

    def let(self, target: Value, op: str, args: Sequence[Atom]) -> None:
        """target = op(args)"""
        if target.width == 1:
            self.emit(*self._number(target, op, args), ("local.set", self.value(target)))
            return
        for part in range(len(lanes_in(target))):
            code = self._vector_result(target, op, args, part)
            if code is None:
                code = self.by_lane(target, part, lambda n: self._number(target, op, args, n))
            self.set(target, part, code)

    def set(self, target: Value, part: int, code: Code) -> None:
        self.emit(*code, ("local.set", self.value(target, part)))

    def by_lane(self, target: Value, part: int, number: Callable[[int], Code]) -> Code:
        """One vector of a value, from the number for each of its lanes."""
        lanes = lane_count(target.dtype)
        numbers = range(target.width)[part * lanes :][:lanes]
        return self.lanes(target.dtype, [number(n) for n in numbers])

    def lanes(self, dtype: np.dtype, numbers: Sequence[Code]) -> Code:
        """Pushes a vector with the numbers in its lanes."""
        number = number_type(dtype)
        code: Code = [Form(dtype, True).constant(number, 0)]
        for lane, pushed in enumerate(numbers):
            if dtype == BOOL:
                pushed = [("i32.const", 0), *pushed, ("i32.sub",)]
            code += [*pushed, (f"{VECTORS[number]}.replace_lane", lane)]
        return code

    def _number(self, target: Value, op: str, args: Sequence[Atom], lane: int = 0) -> Code:
        """One number of a result: of a vector, that of a lane."""
        first = args[0]
        match op:
            case "vector":
                return self.number(args[lane])
            case "low" | "high":
                return self.number(first, lane=lane + (target.width if op == "high" else 0))
            case "any" if isinstance(first, Value) and first.width > 1:
                return self._any(first)
            case "lane":
                assert isinstance(first, Value)
                return self._lane(first, args[1])
        return self._operation(op, target.dtype, args, lane)

    def _any(self, bools: Value) -> Code:
        code: Code = [("v128.const", "i32x4", *[0] * 4)]
        for part, count in enumerate(lanes_in(bools)):
            used = ("v128.const", "i32x4", *(-1 if lane < count else 0 for lane in range(4)))
            code += [("local.get", self.value(bools, part)), used, ("v128.and",), ("v128.or",)]
        return [*code, ("v128.any_true",)]

    def _lane(self, vector: Value, number: Atom) -> Code:
        code = self.number(vector)
        for lane in range(1, vector.width):
            is_other = [*self.number(number), ("i32.const", lane), ("i32.ne",)]
            code += [*self.number(vector, lane=lane), *is_other, ("select",)]
        return code

    def _operation(self, op: str, dtype: np.dtype, args: Sequence[Atom], lane: int = 0) -> Code:
        """An operation on numbers, or on a lane of vectors; the result is of `dtype`."""
        form = Form(dtype if op == "select" else operand_dtype(args))

        def push(n: int) -> Code:
            return self.number(args[n], "" if op == "select" and n == 0 else form.number, lane)

        code = self.instructions(operation_words(op, form.dtype, dtype, _count(args)), form, push)
        assert code is not None, f"there is no '{op}' of {form.dtype}"
        return [*code, *self._rounded(op, dtype, False), *_wrapped(dtype)]

    def _rounded(self, op: str, dtype: np.dtype, is_vector: bool) -> Code:
        if dtype not in HALVES or op in EXACT:
            return []
        return self.called(f"round_{dtype}", Form(FLOAT32, is_vector))

    def _vector_result(
        self, target: Value, op: str, args: Sequence[Atom], part: int
    ) -> Code | None:
        """One vector of an operation's result; None if there are no such instructions."""
        dtypes = [target.dtype, *(arg.dtype for arg in args if not isinstance(arg, Index))]
        is_small = any(dtype.itemsize < 4 and dtype not in (BOOL, *HALVES) for dtype in dtypes)
        if is_small or op == "vector":
            return None
        if op == "ramp":
            first, stride = args
            assert isinstance(stride, Const)
            numbers = [int(stride.value) * lane for lane in range(4 * part, 4 * part + 4)]
            rest: Code = [("v128.const", "i32x4", *numbers), ("i32x4.add",)]
            return [*self.number(first), ("i32x4.splat",), *rest]
        if op in ("low", "high"):
            count = len(lanes_in(target))
            if target.width % lane_count(target.dtype):
                return None
            return self.vector(
                args[0], part + (count if op == "high" else 0), Form(target.dtype, True)
            )
        if op in ("convert", "truncate"):
            return self._vector_conversion(target, args[0], part)
        form = Form(target.dtype if op == "select" else operand_dtype(args), True)
        words = (
            "0" if op == "bitcast" else operation_words(op, form.dtype, target.dtype, _count(args))
        )
        if op in SHIFTS and not isinstance(args[1], Const):
            return None
        return self._vector_operation(words, op, target.dtype, args, form, part)

    def _vector_operation(
        self, words: str, op: str, dtype: np.dtype, args: Sequence[Atom], form: Form, part: int
    ) -> Code | None:
        def made(part: int) -> Code | None:
            return self.instructions(words, form, lambda n: self.vector(args[n], part, form))

        if lane_count(form.dtype) < lane_count(dtype):  # a comparison of 64 bits
            return joined(made, part, (0, 2))
        code = made(part)
        return None if code is None else [*code, *self._rounded(op, dtype, True)]

    def _vector_conversion(self, target: Value, arg: Atom, part: int) -> Code | None:
        of, to = operand_dtype([arg]), target.dtype
        if of == BOOL:
            return self._vector_operation("#1 #0 0 select", "copy", to, [arg], Form(to, True), part)
        form = Form(of, True)
        if to == BOOL:
            return self._vector_operation("0 #0 ne", "copy", to, [arg], form, part)
        fewer, more = lane_count(of) < lane_count(to), lane_count(of) > lane_count(to)
        if fewer and to in HALVES:
            return None
        _, *words = operation_words("convert", of, to).split()
        change = [] if words == ["i32.wrap_i64"] else list(map(of_vectors, words))
        if any(one[0] not in OPCODES for one in change):
            return None
        if fewer:
            lanes = (0, 1) if change else (0, 2)
            return joined(lambda part: [*self.vector(arg, part, form), *change], part, lanes)
        code = self.vector(arg, part // 2 if more else part, form)
        code += [*code, shuffle(2, 3, 2, 3)] if more and part % 2 else []
        return [*code, *change, *self._rounded("convert", to, True)]


def operand_dtype(args: Sequence[Atom]) -> np.dtype:
    return next((arg.dtype for arg in args if not isinstance(arg, Index)), INT32)


def _count(args: Sequence[Atom]) -> int | None:
    """By how many places is shifted, if that is a constant."""
    match args:
        case [_, Const(value, dtype)] if dtype.kind in "iu":
            return int(value)
    return None


def _wrapped(dtype: np.dtype) -> Code:
    """Integers of 8 and 16 bits wrap around."""
    if dtype == BOOL or dtype.kind not in "iu":
        return []
    return narrowed(dtype.itemsize, sign_of(dtype))
