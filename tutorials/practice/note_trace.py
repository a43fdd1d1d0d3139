"""Lesson 6: a trace that takes notes.

    notes = take_notes(lambda x: jnp.sin(x) * x, 3.0)
    print(notes)         # b:float32[] = sin a
                         # c:float32[] = mul b a

It is `make_jaxpr` with names instead of variables.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from tinyjax.core import (
    Primitive,
    ShapedArray,
    Trace,
    Tracer,
    abstract_eval_rules,
    get_aval,
    set_current_trace,
)


class Equation(NamedTuple):
    """`result = primitive operands`: a str among the operands is a name, all else is a value."""

    result: str
    aval: ShapedArray  # of the result
    primitive: Primitive
    operands: tuple[Any, ...]
    params: dict[str, Any]

    def __str__(self) -> str:
        return f"{self.result}:{self.aval} = {self.primitive} {' '.join(map(str, self.operands))}"


class Note(Tracer):
    """Stands for an array of which there is a name and an aval, and no value."""

    def __init__(self, trace: NoteTrace, name: str, aval: ShapedArray):
        self._trace, self.name, self.aval = trace, name, aval


class NoteTrace(Trace):
    """Computes nothing, and writes down each operation. (Of primitives with one result.)"""

    def __init__(self) -> None:
        self.equations: list[Equation] = []
        self.names = iter("abcdefghijklmnopqrstuvwxyz")

    def new_note(self, aval: ShapedArray) -> Note:
        """A note with the next name that is free."""
        return Note(self, next(self.names), aval)

    def process_primitive(self, primitive: Primitive, args: Sequence[Any], params: dict) -> Note:
        """Adds an Equation to `self.equations`, and gives a new note that stands for its result.

        The operands stand in it as they are, but for notes, of which the name does. The aval of the
        result is what the primitive's rule in `abstract_eval_rules` makes of the operands' avals
        (`get_aval(x)`) and of the parameters."""
        rule = abstract_eval_rules[primitive]
        note = self.new_note(rule(*[get_aval(x) for x in args], **params))
        operands = tuple(x.name if isinstance(x, Note) else x for x in args)
        self.equations.append(Equation(note.name, note.aval, primitive, operands, params))
        return note


@dataclass
class Notes:
    """A program: the names of its arguments, its equations, and the name (or value) of its result."""

    arguments: list[str]
    equations: list[Equation]
    result: Any

    def __str__(self) -> str:
        return "\n".join(map(str, self.equations))


def take_notes(fun: Callable, *args: Any) -> Notes:
    """What `fun` does to arguments with the avals of `args`."""
    trace = NoteTrace()
    notes = [trace.new_note(get_aval(x)) for x in args]
    with set_current_trace(trace):
        out = fun(*notes)
    result = out.name if isinstance(out, Note) else out
    return Notes([note.name for note in notes], trace.equations, result)
