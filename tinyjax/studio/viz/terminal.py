"""The stepper: go through a recording at a prompt, event by event, forwards and backwards.

Each command selects an event and shows it. Only pdb needs the program itself: it runs the program again, and
stops within that event. studio/cli/step.py is the command.
"""

from __future__ import annotations

import cmd
import shutil
import textwrap
from collections.abc import Callable, Sequence
from typing import IO, Any

from tinyjax.core.jaxpr import Jaxpr, Var, subjaxprs
from tinyjax.core.pretty_printer import variable_names
from tinyjax.studio.viz.drawing import Drawing
from tinyjax.studio.viz.event_text import (
    changed_text,
    event_text,
    function_text,
    line_text,
    parts_text,
    value_text,
)
from tinyjax.studio.viz.events import RecordedEvent
from tinyjax.studio.viz.output import DotNotFound, save
from tinyjax.studio.viz.pdb_at_rule import PdbAtRule
from tinyjax.studio.viz.record import Recording

# Runs the program again with the calls of some events replaced: see Recorder.run_at.
Rerun = Callable[[dict[int, Callable[..., Any]]], object]

SHORT = {"n": "next", "i": "into", "s": "into", "step": "into", "b": "back", "o": "out"}
SHORT |= {"u": "out", "up": "out", "d": "into", "down": "into"}  # familiar to pdb's users
SHORT |= {"p": "print", "l": "list", "w": "list", "where": "list", "g": "graph"}
SHORT |= {"h": "help", "?": "help", "q": "quit", "exit": "quit", "EOF": "quit"}

HELP = """\
  next, n         the next event on this level, not what happens within this one
  next WORD       the next event in which the word stands: next cos, next jvp, next launch
  into, i, s      into this event: the first that happened within it
  out, o          the event within which this one happened
  back, b         the event before this one on its level; from the first, out
  12              event number 12
  print, p        all of this event: operands, parameters, results, the jaxpr or C that it made
  print NAME      one value: where it was made, and where it is used (a variable, or #7)
  list, l, w      where you are: the events around this one, and the lines of source at work
  graph, g        draws what there is so far: the equations written, or the operations done
  pdb             runs the program again, and stops in the rule of this event
  help, h         this
  quit, q         the end (Ctrl-D too)
An empty line does the last command again; at first, next."""


class Stepper(cmd.Cmd):
    """Answers commands about a recording until one of them is `quit`."""

    prompt = "(step) "
    lastcmd = "next"  # the first command of an empty line

    def __init__(
        self,
        recording: Recording,
        rerun: Rerun,
        stdin: IO[str] | None = None,
        stdout: IO[str] | None = None,
        colours: bool = False,
    ):
        super().__init__(stdin=stdin, stdout=stdout)
        self.use_rawinput = self.stdin.isatty() and stdin is None
        self.recording = recording
        self.events = recording.events
        self.rerun = rerun
        self.colours = colours
        self.number = 0
        self.children: dict[int | None, list[int]] = {}
        for event in self.events:
            self.children.setdefault(event.parent, []).append(event.number)

    # ---- lines in and out ----

    def say(self, text: str = "") -> None:
        print(text, file=self.stdout)

    def say_item(self, text: str) -> None:
        """Print a line of a list, wrapped if necessary."""
        self.say(textwrap.fill(text, self.width, initial_indent="  ", subsequent_indent="    "))

    def precmd(self, line: str) -> str:
        """Complete the command's name; echo the line if it was not typed here."""
        if not self.use_rawinput:
            self.say("" if line == "EOF" else line)
        word, _, rest = line.strip().partition(" ")
        if word.isdigit():
            return f"goto {word}"
        return f"{SHORT.get(word, word)} {rest}".strip()

    def default(self, line: str) -> None:
        self.say(f"{line.split()[0]!r} is no command: help lists them")

    def show(self) -> None:
        self.say(self.text_of(self.event))

    def text_of(self, event: RecordedEvent) -> str:
        within = len(self.children.get(event.number, ()))
        return event_text(event, len(self.around(event)), within, self.width, self.colours)

    @property
    def width(self) -> int:
        """The terminal's current columns."""
        return shutil.get_terminal_size().columns

    # ---- moving ----

    @property
    def event(self) -> RecordedEvent:
        return self.events[self.number]

    def around(self, event: RecordedEvent) -> list[RecordedEvent]:
        """The events around this one, the outermost first."""
        found: list[RecordedEvent] = []
        while event.parent is not None:
            event = self.events[event.parent]
            found.insert(0, event)
        return found

    def level(self) -> list[int]:
        """The current event's siblings."""
        return self.children[self.event.parent]

    def go(self, number: int | None, else_say: str) -> None:
        if number is None:
            self.say(else_say)
        else:
            self.number = number
            self.show()

    def do_next(self, word: str) -> None:
        """The next event on this level, or else on the one around it; with a word, one that has it."""
        for event in self.events[self.number + 1 :]:
            is_within = any(e.number == self.number for e in self.around(event))
            if word in parts_text(event) if word else not is_within:
                return self.go(event.number, "")
        what = f"no event with {word!r} comes" if word else "nothing comes"
        self.go(None, f"{what} after this: back, out, or quit")

    def do_into(self, _: str) -> None:
        """The first event within this one, or if there is none, the next."""
        within = self.children.get(self.number)
        if within is None:
            self.say("nothing happened within; the next:")
            self.do_next("")
        else:
            self.go(within[0], "")

    def do_out(self, _: str) -> None:
        """The event around this one."""
        self.go(self.event.parent, "this event is within no other")

    def do_back(self, _: str) -> None:
        """The event before this one on its level, or that around it."""
        before = [n for n in self.level() if n < self.number]
        number = before[-1] if before else self.event.parent
        self.go(number, "this is the first event")

    def do_goto(self, number: str) -> None:
        """The event of this number."""
        there_is = number.isdigit() and int(number) < len(self.events)
        last = len(self.events) - 1
        self.go(int(number) if there_is else None, f"events have the numbers 0 to {last}")

    # ---- looking ----

    def do_print(self, name: str) -> None:
        """All of this event, or one value."""
        if name:
            return self.print_value(name)
        event = self.event
        self.say(f"{event.stage} {event.name}, event {event.number}")
        for title, values in (("operand", event.operands), ("result", event.results)):
            for position, value in enumerate(values):
                self.say_item(f"{title} {position}  {value_text(value)}   {self.flow(value.id)}")
        for name, text in event.params.items():
            self.say_item(f"{name} = {text}")
        if event.error is not None:
            self.say_item(f"raised {event.error}")
        for line in self.recording.texts.get(event.number, "").splitlines():
            self.say(f"  | {changed_text(line) if self.colours else line}".rstrip())
        self.say_item(f"traces that a bind goes through here: {' > '.join(reversed(event.trace))}")

    def print_value(self, name: str) -> None:
        """Print the value of that name or number nearest to this event."""
        near = [*self.events[self.number :: -1], *self.events[self.number :]]
        for value in (v for event in near for v in (*event.results, *event.operands)):
            if name in (value.text, f"#{value.id}"):
                return self.say(f"{value_text(value)}   {self.flow(value.id)}")
        self.say(f"no value is called {name!r}: print lists this event's; pdb knows your variables")

    def flow(self, id: int) -> str:
        """Where a value was made, and which operations took it."""
        made = [e.number for e in self.events if any(v.id == id for v in e.results)]
        used = [e.number for e in self.events if any(v.id == id for v in e.operands)]
        taken = [n for n in used if self.events[n].stage in ("bind", "transpose rule", "launch")]
        parts = [f"#{id}"]
        if made and (not used or made[0] < used[0]):
            maker = made[0]
            while within := [n for n in self.children.get(maker, ()) if n in made]:
                maker = within[0]
            parts.append(f"made in {maker}")
        if taken:
            parts.append(f"taken by {' '.join(map(str, taken[:8]))}{' ...' * (len(taken) > 8)}")
        return ", ".join(parts)

    def do_list(self, _: str) -> None:
        """The current position: the events around it, the user's line, the rules in progress and applied."""
        for event in self.around(self.event):
            self.say(self.text_of(event).splitlines()[0])
        self.say(self.text_of(self.event))
        event, number = self.event, self.number
        if event.line is not None:
            self.say(f"\nyour program\n{line_text(event.line, self.width)}")
        around = None if event.parent is None else self.events[event.parent].rule
        if around is not None and number in self.recording.lines:
            at = self.recording.lines[number]
            self.say(f"\nin the middle of\n{function_text(around, at, self.width)}")
        if event.rule is not None:
            rule = function_text(event.rule, event.rule.line, self.width)
            self.say(f"\nwhat was applied\n{rule}")

    def do_graph(self, _: str) -> None:
        """Draws what there is so far to a file."""
        drawn = self.drawn()
        if not drawn:
            return self.say(
                "there is nothing to draw yet: no equation was written, and nothing bound"
            )
        try:
            path = save(graph_of(self.recording, drawn), f"step-{self.number}.svg")
        except (DotNotFound, OSError) as error:
            return self.say(str(error))
        self.say(f"wrote {path}, of {len(drawn)} equations")

    def drawn(self) -> list[RecordedEvent]:
        """The equations so far of the function being traced; else the binds of this level; else all outermost
        binds so far."""
        event = self.event
        traces = [e.number for e in (*self.around(event), event) if e.stage == "trace"]
        function = traces[-1] if traces else None
        so_far = self.events[: self.number + 1] if function != self.number else self.events
        within = [e for e in so_far if self.function_of(e) == function]
        binds = [e for e in within if e.stage == "bind"]
        found = (
            [e for e in within if e.stage == "equation"]
            or [e for e in binds if e.parent == event.parent]
            or [e for e in binds if not any(a in binds for a in self.around(e))]
        )
        return [e for e in found if e.number in self.recording.equations]

    def function_of(self, event: RecordedEvent) -> int | None:
        """The number of the innermost "trace" around an event."""
        traces = [e.number for e in self.around(event) if e.stage == "trace"]
        return traces[-1] if traces else None

    # ---- pdb ----

    def do_pdb(self, _: str) -> None:
        """Runs the program again, and stops in the rule of this event."""
        event = self.event
        debugger = PdbAtRule(event.rule, None if self.use_rawinput else self.stdin, self.stdout)
        self.say("the program runs again, to this event; q comes back here, c lets it end")
        self.rerun({event.number: debugger.runcall})
        if not debugger.has_arrived:
            self.say("this time the program went another way: the event was not met")
        self.show()

    # ---- the rest ----

    def do_help(self, _: str) -> None:
        """The commands."""
        self.say(HELP)

    def do_quit(self, _: str) -> bool:
        """The end."""
        return True


def graph_of(recording: Recording, events: Sequence[RecordedEvent]) -> Any:
    """The equations of these events as a graph with the values' texts at its edges."""
    eqns = [recording.equations[event.number] for event in events]
    names: dict[Var, str] = {}
    inputs: list[Var] = []
    for event, eqn in zip(events, eqns):
        for v, value in zip(eqn.invars, event.operands):
            if isinstance(v, Var) and v not in names:
                inputs.append(v)
                names[v] = value.text
        names |= {v: value.text for v, value in zip(eqn.outvars, event.results)}
        for inner in subjaxprs(eqn.params):
            names |= variable_names(inner)
    used = {v for eqn in eqns for v in eqn.invars}
    outputs = [v for eqn in eqns for v in eqn.outvars if v not in used]
    jaxpr = Jaxpr([], inputs, outputs, eqns)
    drawing = Drawing(jaxpr, names=names)
    drawing.whole(jaxpr)
    return drawing.finished()
