"""Traces that answer the puzzles of lesson 0: in words, in numbers, or with what they are handed."""

import numpy as np
from story_file import expect, load

story = load()


class Words:
    """A trace that answers with a text: "mul(x, y)"."""

    def process_primitive(self, primitive, args, params):
        words = [*map(str, args), *(f"{key}={value}" for key, value in sorted(params.items()))]
        return f"{primitive.name}({', '.join(words)})"


class Number(story.Tracer):
    """A number, or an array, in a trace of numbers. What tracers of other traces hold is another number here:
    an answer must not look for it."""

    def __init__(self, value):
        self.value, self.shape = value, np.shape(value)

    val = primal = tangent = property(lambda self: Number(np.add(self.value, 1)))


class Numbers:
    """A trace that computes with Python's numbers."""

    def process_primitive(self, primitive, args, params):
        operations = {"add": lambda x, y: x + y, "mul": lambda x, y: x * y, "neg": lambda x: -x}
        operations |= {"sin": np.sin, "cos": np.cos}
        operations["reduce_sum"] = lambda x: np.sum(x, **params)
        values = [x.value if isinstance(x, Number) else x for x in args]
        if primitive is story.broadcast_p:
            return Number(
                np.repeat(np.expand_dims(values[0], params["axis"]), params["size"], params["axis"])
            )
        return Number(operations[primitive.name](*values))


def in_trace(trace, fun, *args, **params):
    with story.set_current_trace(trace):
        return fun(*args, **params)


class Handed:
    """A trace that returns what it is handed. The first call raises `error`, if there is one."""

    def __init__(self, error=None):
        self.error = error

    def process_primitive(self, primitive, args, params):
        error, self.error = self.error, None
        if error:
            raise error
        return [*args], params


def of_all_kinds(message):
    """Errors that an answer may catch by mistake."""
    kinds = (
        TypeError,
        KeyError,
        ValueError,
        AttributeError,
        NotImplementedError,
        ZeroDivisionError,
    )
    return [kind(message) for kind in kinds]


def lets_errors_go_on(asked, fun, *args, **params):
    """Expects that an error of a primitive that `fun` binds reaches the caller, whatever its kind."""
    for error in of_all_kinds("of a test"):
        try:
            got = in_trace(Handed(error), fun, *args, **params)
        except Exception as raised:
            got = raised
        expect(f"{asked} in a trace that raises {error!r}", got is error, True)
