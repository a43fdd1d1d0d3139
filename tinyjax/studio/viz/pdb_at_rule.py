"""A pdb that starts at the beginning of a rule, however it is called.

Python reports each line to the debugger, and it does not stop until the line is in the rule.

Source: https://docs.python.org/3/library/bdb.html
"""

from __future__ import annotations

import pdb
from types import FrameType
from typing import IO, Any

from tinyjax.studio.viz.events import CodeLine, inner_rule


class PdbAtRule(pdb.Pdb):
    """Stops first at the beginning of a rule; from there on it is pdb."""

    def __init__(self, rule: CodeLine | None, stdin: IO[str] | None, stdout: IO[str] | None):
        super().__init__(stdin=stdin, stdout=None if stdin is None else stdout, nosigint=True)
        self.rule = rule
        self.has_arrived = False

    def runcall(self, function: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Call a rule, even one that would return a cached result."""
        remembers = function
        while remembers is not None:
            getattr(remembers, "cache_clear", lambda: None)()
            remembers = inner_rule(remembers)
        return super().runcall(function, *args, **kwargs)

    def _arrives(self, frame: FrameType) -> bool:
        code, rule = frame.f_code, self.rule
        # no Python code to stop in: stop before the call
        if rule is None or rule.function.startswith("np."):
            self.has_arrived = True
        elif (code.co_filename, code.co_firstlineno) == (rule.file, rule.line):
            self.has_arrived = True
        return self.has_arrived

    def precmd(self, line: str) -> str:
        """Echo commands that were not typed here, as the stepper does."""
        if not self.use_rawinput:
            self.message(line)
        return super().precmd(line)

    def user_line(self, frame: FrameType) -> None:
        if self._arrives(frame):
            super().user_line(frame)

    def user_call(self, frame: FrameType, argument_list: Any) -> None:
        if self.has_arrived:
            super().user_call(frame, argument_list)

    def user_return(self, frame: FrameType, return_value: Any) -> None:
        if self.has_arrived:
            super().user_return(frame, return_value)

    def user_exception(self, frame: FrameType, exc_info: Any) -> None:
        if self.has_arrived:
            super().user_exception(frame, exc_info)
