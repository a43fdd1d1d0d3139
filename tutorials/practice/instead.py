"""A custom trace: it answers some operations in another way.

This exchanges what an operation does in a program that you did not write. Every transformation has this form:
a trace, and a function that makes it the current one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tinyjax.core.bind import Primitive, Trace, context, set_current_trace

Answers = dict[Primitive, Callable[..., Any]]  # primitive -> (*operands, **params) -> result


class InsteadTrace(Trace):
    """Leaves each primitive to `parent`, but for those in `answers`."""

    def __init__(self, parent: Trace, answers: Answers):
        self.parent = parent
        self.answers = answers

    def process_primitive(self, primitive: Primitive, args: Sequence[Any], params: dict) -> Any:
        """The result of the function in `answers` for these operands and parameters; while it runs, the
        parent is the current trace, so that what it binds is not answered again. A primitive that is not in
        `answers` goes to the parent as it is."""
        if primitive not in self.answers:
            return self.parent.process_primitive(primitive, args, params)
        with set_current_trace(self.parent):
            return self.answers[primitive](*args, **params)


def instead(answers: Answers, fun: Callable[..., Any]) -> Callable[..., Any]:
    """`fun`, with an InsteadTrace in charge while it runs. The parent is the trace that is current when the
    new function is called."""

    def fun_instead(*args: Any) -> Any:
        with set_current_trace(InsteadTrace(context.trace, answers)):
            return fun(*args)

    return fun_instead
