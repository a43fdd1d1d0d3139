"""debug.breakpoint: a small command line at a point of a running program, even a compiled one.

The Python frames are saved while tracing. The tracers among their variables are the arguments of a
debug.callback, which replaces them with their values.

Source: https://docs.jax.dev/en/latest/debugging/print_breakpoint.html
"""

from __future__ import annotations

import cmd
import linecache
import pprint
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import IO, Any

from tinyjax import lax
from tinyjax.core.bind import Tracer
from tinyjax.core.tracing import PACKAGE_FOLDER
from tinyjax.core.tree_util import tree_flatten, tree_unflatten
from tinyjax.lax.callback import pure_callback
from tinyjax.lax.debugging import debug_callback

# ---- frames ----


@dataclass
class Frame:
    """A saved Python frame: its location and its variables."""

    file: str
    line: int
    function: str
    variables: dict[str, Any]
    globals: dict[str, Any]


def _frames(start: FrameType | None, filter_frames: bool, num_frames: int | None) -> list[Frame]:
    """The frames from `start` outwards, without tinyjax's own if `filter_frames`."""
    frames: list[Frame] = []
    while start is not None and len(frames) != num_frames:
        code = start.f_code
        if not (filter_frames and code.co_filename.startswith(PACKAGE_FOLDER)):
            variables, line = dict(start.f_locals), start.f_lineno
            frames.append(Frame(code.co_filename, line, code.co_name, variables, start.f_globals))
        start = start.f_back
    return frames


def _without_tracers(frames: Sequence[Frame]) -> tuple[list[Tracer], Callable]:
    """The tracers among the variables, and a function that replaces them with values."""
    tracers: list[Tracer] = []
    traced: list[tuple[Frame, str, list[Any], Any]] = []  # variables that hold tracers, flat
    for frame in frames:
        for name, value in frame.variables.items():
            try:
                leaves, tree = tree_flatten(value)
            except Exception:  # a user's container that can't be flattened
                continue
            found = [x for x in leaves if isinstance(x, Tracer)]
            if found:
                tracers += found
                traced.append((frame, name, leaves, tree))

    def with_values(values: Sequence[Any]) -> list[Frame]:
        rest = iter(values)
        shown = {id(f): Frame(**(vars(f) | {"variables": dict(f.variables)})) for f in frames}
        for frame, name, leaves, tree in traced:
            filled = [next(rest) if isinstance(x, Tracer) else x for x in leaves]
            shown[id(frame)].variables[name] = tree_unflatten(tree, filled)
        return list(shown.values())

    return tracers, with_values


class CommandLine(cmd.Cmd):
    """Answers commands about frames until one of them continues the program."""

    prompt = "(jdb) "
    intro = "Entering jdb:"

    def __init__(
        self, frames: Sequence[Frame], stdin: IO[str] | None = None, stdout: IO[str] | None = None
    ):
        super().__init__(stdin=stdin, stdout=stdout)
        self.use_rawinput = stdin is None
        self.frames = frames
        self.number = 0

    @property
    def frame(self) -> Frame:
        return self.frames[self.number]

    def say(self, text: str) -> None:
        print(text, file=self.stdout)

    def show(self, expression: str, as_text: Callable[[Any], str]) -> None:
        try:
            self.say(as_text(eval(expression, self.frame.globals | self.frame.variables)))
        except Exception as error:
            self.say(f"*** {type(error).__name__}: {error}")

    def show_source(self, lines_around: int) -> None:
        self.say(f"> {self.frame.file}({self.frame.line}){self.frame.function}")
        first = max(1, self.frame.line - lines_around)
        for number in range(first, self.frame.line + lines_around + 1):
            text = linecache.getline(self.frame.file, number).rstrip()
            if text:
                self.say(f"{'->' if number == self.frame.line else '  '} {text}")

    def default(self, line: str) -> None:
        if line == "EOF":
            return self.do_quit("")
        return self.show(line, repr)

    def emptyline(self) -> bool:
        return False  # cmd.Cmd would repeat the last command

    def do_p(self, expression: str) -> None:
        """p expression: prints its value in this frame; the expression alone does the same."""
        self.show(expression, repr)

    def do_pp(self, expression: str) -> None:
        """pp expression: prints its value on several lines."""
        self.show(expression, pprint.pformat)

    def do_where(self, _: str) -> None:
        """w(here), bt: the frames, the innermost last."""
        for frame in reversed(self.frames):
            mark = ">" if frame is self.frame else " "
            self.say(f"{mark} {frame.file}({frame.line}){frame.function}")
            self.say(f"    {linecache.getline(frame.file, frame.line).strip() or '<no source>'}")

    def do_list(self, _: str) -> None:
        """l(ist): the source around this frame's line."""
        self.show_source(5)

    def do_up(self, _: str) -> None:
        """u(p): to the frame that called this one."""
        self.move(1)

    def do_down(self, _: str) -> None:
        """d(own): to the frame that this one called."""
        self.move(-1)

    def move(self, step: int) -> None:
        if 0 <= self.number + step < len(self.frames):
            self.number += step
        else:
            self.say("At topmost frame." if step > 0 else "At bottommost frame.")
        self.show_source(2)

    def do_continue(self, _: str) -> bool:
        """c(ont(inue)): goes on with the program."""
        return True

    def do_quit(self, _: str) -> None:
        """q(uit), exit, or the end of the input: leaves the program."""
        sys.exit(0)

    do_w = do_bt = do_where
    do_l = do_list
    do_u, do_d = do_up, do_down
    do_c = do_cont = do_continue
    do_q = do_exit = do_quit


def breakpoint(
    *,
    backend: str | None = None,
    filter_frames: bool = True,
    num_frames: int | None = None,
    ordered: bool = False,
    token: Any = None,
    stdin: IO[str] | None = None,
    stdout: IO[str] | None = None,
) -> Any:
    """Open a command line here whenever the program runs, compiled or not; `help` lists its commands.

    It shows the `num_frames` innermost Python frames (None: all), by default without tinyjax's own. `stdin`
    and `stdout` are files to use instead of the terminal. Under vmap it opens for each example. `backend`
    chooses among JAX's debuggers; here there is only one. With `token`, an array or a pytree of arrays, it
    opens when the token is computed and returns it; it opens only if the program uses the returned value.
    Raises ValueError for both `ordered` and `token`."""
    if ordered and token is not None:
        raise ValueError(
            "`ordered` and `token` are mutually exclusive arguments: a token is an order"
        )
    frames = _frames(sys._getframe(1), filter_frames, num_frames)
    tracers, with_values = _without_tracers(frames)

    def open_command_line(*values: Any) -> None:
        CommandLine(with_values(values), stdin, stdout).cmdloop()

    def hand_through(token: Any, *values: Any) -> Any:
        open_command_line(*values)
        return token

    if token is None:
        return debug_callback(open_command_line, *tracers, ordered=ordered)
    token, tracers = lax.stop_gradient((token, tracers))
    return pure_callback(hand_through, token, token, *tracers)
