"""The parts of a recording: events, the values in them, and positions in source files.

Equal ids mean the same value. Events keep only short texts of values, never the arrays. record.py makes the
events.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import re
import sys
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from tinyjax.core.api_util import FlatFun, fun_name
from tinyjax.core.array import ArrayImpl, ShapedArray
from tinyjax.core.avals import get_aval
from tinyjax.core.bind import Primitive, Tracer
from tinyjax.core.jaxpr import ClosedJaxpr, Jaxpr, Literal, Var
from tinyjax.core.pretty_printer import variable_names
from tinyjax.core.tracing import JaxprTracer
from tinyjax.runtime.memory import Memory
from tinyjax.transform.batching import BatchTracer
from tinyjax.transform.custom.calls import SymbolicZero
from tinyjax.transform.jvp import JVPTracer, Zero
from tinyjax.transform.transposition import UndefinedPrimal


class CodeLine(NamedTuple):
    """A line of a source file, and the function that it is in."""

    file: str
    line: int
    function: str


@dataclass
class EventValue:
    """An operand or result. `kind` is "array", "tracer" or "other" (a scalar, a Zero, an aval); equal
    `id`s are the same value. `role` is its role for a rule: "primal", "tangent", "batch dim 0", ..."""

    aval: str  # as in printed jaxprs, f32[3]; "" where there is none
    text: str
    kind: str
    id: int
    role: str = ""
    picture: tuple[str, str] = ("", "")  # of an array with many elements, and its summary


@dataclass
class RecordedEvent:
    """An event; `parent` is the number of the enclosing one.

    `stage` is "bind", "impl", "abstract eval", "jvp rule", "batch rule", "transpose rule", "partial eval
    rule", "equation" (written to a jaxpr), "trace" (a whole function), "compile" or "launch". `trace`
    has the names of the traces from the outermost to the current one. `rule` is the function that was
    applied, `line` the user's line, and `error` the exception that was raised, if any."""

    number: int
    parent: int | None
    stage: str
    name: str
    trace: tuple[str, ...] = ()
    operands: tuple[EventValue, ...] = ()
    params: dict[str, str] = field(default_factory=dict)
    results: tuple[EventValue, ...] = ()
    rule: CodeLine | None = None
    line: CodeLine | None = None
    error: str | None = None


# ---- values ----

MAX_ELEMENTS = 12  # a larger array is shown by its first elements
MAX_READ_BYTES = 2**20  # larger arrays in a device's own memory are not fetched


class Values:
    """Describes values, and recognizes those seen before.

    It holds weak references to arrays, so a recording keeps none alive. The variables of a jaxpr get their
    printed names when it is finished: until `name_variables`, texts have their numbers in braces.
    `thumbnail`, if given, makes pictures of arrays."""

    def __init__(self, thumbnail: Callable[[np.ndarray], tuple[str, str]] | None = None) -> None:
        self.thumbnail = thumbnail
        self.pictures: dict[int, tuple[str, str]] = {}  # of arrays, by their numbers
        self.numbers = itertools.count(1)
        self.ids: dict[Any, int] = {}  # of variables, scalars, and containers of values
        self.arrays: dict[int, tuple[weakref.ref, int]] = {}  # by the id() of the array
        self.texts: dict[int, str] = {}  # of arrays, by their numbers
        self.names: dict[int, str] = {}  # of variables, by their numbers
        self.unnamed: list[EventValue] = []

    def describe(self, x: Any, role: str = "") -> EventValue:
        """The description of a value: an array, a tracer, a scalar or any other argument of rules."""
        try:
            return self._describe(x, role)
        except Exception as error:  # an error in a description must not stop the recorded program
            return EventValue(
                "", f"{type(x).__name__} ({error})", "other", next(self.numbers), role
            )

    def _describe(self, x: Any, role: str) -> EventValue:
        if isinstance(x, ShapedArray):
            return EventValue(_aval_text(x), "", "other", self._id(x), role)
        if isinstance(x, Var):
            return self._named(
                EventValue(_aval_text(x.aval), f"{{{self._id(x)}}}", "tracer", self._id(x), role)
            )
        if isinstance(x, Literal):
            return self._describe(x.val, role)
        if isinstance(x, UndefinedPrimal):
            return EventValue(_aval_text(x.aval), "?", "other", next(self.numbers), role)
        if isinstance(x, (Zero, SymbolicZero)):
            return EventValue(_aval_text(x.aval), "Zero", "other", self._id(("Zero", x.aval)), role)
        if x is None or callable(x):
            text = "None" if x is None else fun_name(x)
            return EventValue("", text, "other", self._id(("", text)), role)
        if isinstance(x, Memory):
            aval = _aval_text(ShapedArray(x.shape, x.dtype))
            return EventValue(aval, self._text(x), "array", self._id(x), role, self._picture(x))
        kind = "tracer" if isinstance(x, Tracer) else "array" if _is_array(x) else "other"
        picture = self._picture(x) if kind == "array" else ("", "")
        return self._named(
            EventValue(_aval_text(get_aval(x)), self._text(x), kind, self._id(x), role, picture)
        )

    def _named(self, value: EventValue) -> EventValue:
        """A value whose text will get the names of variables."""
        if "{" in value.text:
            self.unnamed.append(value)
        return value

    # ---- which value it is ----

    def written(self, memory: Memory) -> None:
        """Note that this memory now holds another value."""
        if memory.host is not None:
            self.arrays[id(memory.host)] = weakref.ref(memory.host), next(self.numbers)

    def _id(self, x: Any) -> int:
        if isinstance(x, JaxprTracer):
            x = x.atom if isinstance(x.atom, Var) else x.atom.key
        elif isinstance(x, JVPTracer):
            x = "jvp", self._id(x.primal), self._id(x.tangent)
        elif isinstance(x, BatchTracer):
            x = "batch", self._id(x.val), x.batch_dim
        elif isinstance(x, Zero):
            x = "Zero", x.aval
        if isinstance(x, Tracer) or _is_array(x) or isinstance(x, Memory):
            return self._id_of_array(x)
        key = x if isinstance(x, (Var, tuple, ShapedArray)) else (type(x), repr(x))
        if key not in self.ids:
            self.ids[key] = next(self.numbers)
        return self.ids[key]

    def _id_of_array(self, x: Any) -> int:
        """The number of an array, which may be known by its NumPy array."""
        memory = x if isinstance(x, Memory) else getattr(x, "buffer", None)
        host = getattr(memory, "host", None)
        same = [host, getattr(x, "_host", None), None if x is memory else x]
        same = [array for array in same if array is not None]
        number = next(filter(None, map(self._known, same)), 0) or next(self.numbers)
        for array in same:
            self.arrays[id(array)] = weakref.ref(array), number
        return number

    def _known(self, array: Any) -> int:
        """The number of an array seen before, or 0."""
        ref, number = self.arrays.get(id(array), (None, 0))
        return number if ref is not None and ref() is array else 0

    # ---- as text ----

    def _text(self, x: Any) -> str:
        if isinstance(x, JVPTracer):
            return f"JVP({self._text(x.primal)}, {self._text(x.tangent)})"
        if isinstance(x, BatchTracer):
            return f"Batch({self._text(x.val)}, dim {x.batch_dim})"
        if isinstance(x, JaxprTracer):
            return f"{{{self._id(x)}}}"
        if isinstance(x, Tracer):
            return type(x).__name__
        if isinstance(x, Zero):
            return "Zero"
        if isinstance(x, ArrayImpl):  # shown by many events, and immutable
            number = self._id(x)
            if number not in self.texts:
                self.texts[number] = self._text_of_stored(x)
            return self.texts[number]
        if isinstance(x, Memory):
            return self._text_of_stored(x)
        return _numbers_text(np.asarray(x))

    def _text_of_stored(self, x: ArrayImpl | Memory) -> str:
        elements = self._elements(x)
        return elements if isinstance(elements, str) else _numbers_text(elements)

    def _elements(self, x: ArrayImpl | Memory) -> np.ndarray | str:
        """Read the elements without marking the array as read; or return why that isn't possible."""
        if isinstance(x, ArrayImpl) and not x.is_unread:
            return x._value
        memory = x if isinstance(x, Memory) else x.buffer
        if memory is None:
            return "deleted"
        if isinstance(memory, Memory) and memory.host is None and memory.nbytes > MAX_READ_BYTES:
            return "on the device"
        return memory.read()

    def _picture(self, x: ArrayImpl | Memory | np.ndarray) -> tuple[str, str]:
        number = self._id(x)
        if self.thumbnail is not None and number not in self.pictures:
            elements = x if isinstance(x, np.ndarray) else self._elements(x)
            is_large = isinstance(elements, np.ndarray) and elements.size > MAX_ELEMENTS
            self.pictures[number] = self.thumbnail(elements) if is_large else ("", "")  # type: ignore[arg-type]
        return self.pictures.get(number, ("", ""))

    # ---- variables ----

    def finished(self, jaxpr: Jaxpr) -> None:
        """Take the printed names of a jaxpr's variables."""
        names = variable_names(jaxpr)
        unread = {v: "_" for eqn in jaxpr.eqns for v in eqn.outvars}
        for v, name in (unread | names).items():
            self.names.setdefault(self._id(v), name)

    def name_variables(self) -> None:
        """Put names into the texts; a variable of an unfinished jaxpr is named by its number."""
        for value in self.unnamed:
            value.text = re.sub(
                r"\{(\d+)\}", lambda n: self.names.get(int(n[1]), f"v{n[1]}"), value.text
            )
        self.unnamed.clear()


def _is_array(x: Any) -> bool:
    return isinstance(x, (ArrayImpl, np.ndarray))


def _aval_text(aval: ShapedArray) -> str:
    return aval.str_short(short_dtypes=True)


def _numbers_text(x: np.ndarray) -> str:
    """An array on one line; a large one by its first elements."""
    if x.dtype.names:  # random keys: their words
        x = x[x.dtype.names[0]]
    if x.size <= MAX_ELEMENTS:
        return _nested_text(x.tolist())
    row = x[(0,) * (x.ndim - 1)]
    text = " ".join(map(_nested_text, row[:3].tolist()))
    for size in reversed((*x.shape[:-1], len(row) - 2)):
        text = f"[{text} ...]" if size > 1 else f"[{text}]"
    return text


def _nested_text(x: Any) -> str:
    """A number in six digits, enough to recognize it; or a list of them."""
    if isinstance(x, list):
        return f"[{' '.join(map(_nested_text, x))}]"
    if isinstance(x, float):
        return str(float(f"{x:.6g}"))
    return f"{x:.6g}" if isinstance(x, complex) else str(x)


# ---- parameters ----

MAX_TEXT = 120  # characters


def params_text(params: dict[str, Any]) -> dict[str, str]:
    return {name: _param_text(value) for name, value in params.items() if value is not None}


def _param_text(value: Any) -> str:
    if isinstance(value, (Jaxpr, ClosedJaxpr)):
        return f"a jaxpr of {len(value.eqns)} equations"
    if callable(value):
        return fun_name(wrapped_function(value))
    if isinstance(value, (tuple, list)) and any(
        isinstance(x, (Jaxpr, ClosedJaxpr)) or callable(x) for x in value
    ):
        return f"({', '.join(map(_param_text, value))})"
    text = re.sub(r" at 0x[0-9a-f]+", "", str(value))  # differs between runs
    return text if len(text) <= MAX_TEXT else text[: MAX_TEXT - 3] + "..."


# ---- functions and places ----


def wrapped_function(flat_fun: Callable) -> Callable:
    """The user's function inside its wrapper for flat lists of arrays."""
    if isinstance(flat_fun, FlatFun):
        return wrapped_function(flat_fun.fun)
    names = getattr(getattr(flat_fun, "__code__", None), "co_freevars", ())
    if "fun" in names and getattr(flat_fun, "__name__", "") == "call":
        return wrapped_function(flat_fun.__closure__[names.index("fun")].cell_contents)  # type: ignore[index]
    return flat_fun


def inner_rule(rule: Any) -> Any:
    """The rule that a wrapper calls: via functools.wraps, a partial, or a helper's closure variable `rule`.
    None if the rule isn't a wrapper."""
    if hasattr(rule, "__wrapped__"):
        return rule.__wrapped__
    if isinstance(rule, functools.partial):
        given = [f for x in rule.args if isinstance(x, tuple) for f in x if callable(f)]
        return (given or [rule.func])[0]
    names = getattr(getattr(rule, "__code__", None), "co_freevars", ())
    inner = rule.__closure__[names.index("rule")].cell_contents if "rule" in names else None
    return inner if callable(inner) else None


def place_of(rule: Any, primitive: Primitive | None = None) -> CodeLine | None:
    """The source location of a function; for a wrapper, that of its rule; for a NumPy function, the line that
    makes it a rule of `primitive`."""
    while (inner := inner_rule(rule)) is not None:
        rule = inner
    code = getattr(rule, "__code__", None) or getattr(type(rule).__call__, "__code__", None)
    if code is not None:
        return CodeLine(code.co_filename, code.co_firstlineno, code.co_name)
    return None if primitive is None else _line_with(primitive, f"np.{rule.__name__}")


@functools.cache
def _line_with(primitive: Primitive, text: str) -> CodeLine | None:
    """The line of a tinyjax module that contains both a primitive and `text`."""
    for name, module in list(sys.modules.items()):
        if name.startswith("tinyjax.") and module.__file__:
            variables = [key for key, value in vars(module).items() if value is primitive]
            source = inspect.getsource(module).splitlines() if variables else []
            for number, line in enumerate(source, 1):
                if text in line and any(v in line for v in variables):
                    return CodeLine(module.__file__, number, text)
    return None
