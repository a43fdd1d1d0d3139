"""The recorder: `with viz.record() as recording:` records the block's events.

During a recording, the functions named in hooks.py are replaced by wrappers that record the operands, call
the original, and record its results. Afterwards the originals are restored, so programs that are not recorded
have no overhead.
"""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from types import FrameType
from typing import Any

from tinyjax.compile.record import recording
from tinyjax.core.avals import get_aval
from tinyjax.core.bind import Primitive, Trace, context
from tinyjax.core.config import config
from tinyjax.core.jaxpr import ClosedJaxpr, JaxprEqn, Var
from tinyjax.core.tracing import JaxprTrace, user_line
from tinyjax.runtime.step_program import StepProgram
from tinyjax.studio.viz import hooks
from tinyjax.studio.viz.events import CodeLine, EventValue, RecordedEvent, Values, params_text
from tinyjax.studio.viz.hooks import Call, Roles

MAX_EVENTS = 20_000  # some tens of megabytes


class Recording:
    """The events in order. `missed` counts the events over the limit, which are dropped."""

    def __init__(self) -> None:
        self.events: list[RecordedEvent] = []
        self.missed = 0
        # Each "bind" and "equation" for drawing, by number: equal variables are equal values.
        self.equations: dict[int, JaxprEqn] = {}
        # The result of a "trace" or of a compiler stage: a jaxpr, or OpenCL C.
        self.texts: dict[int, str] = {}
        # The line of the enclosing rule that caused an event.
        self.lines: dict[int, int] = {}

    def __repr__(self) -> str:
        missed = f", and {self.missed} more that were left out" if self.missed else ""
        return f"<recording of {len(self.events)} events{missed}>"


@contextmanager
def record(limit: int = MAX_EVENTS) -> Iterator[Recording]:
    """Within the block, record this thread's calls in tinyjax as the `events` of the returned recording.

    Results don't change. Calls take several times as long: shortcuts are off, and each step of a compiled
    program is awaited, to show its results. Functions traced or compiled before are not traced again
    (jax.clear_caches() drops the caches). The first `limit` events are kept. An exception ends the recording
    like the end of the block; the events that it left have it as `error`. Raises RuntimeError within another
    recording. Not in JAX."""
    recorder = Recorder(limit)
    with recorder.at_work():
        yield recorder.recording


_one_at_a_time = threading.Lock()


class Recorder:
    """Makes the events of one recording. `run_at` maps event numbers to functions that make the event's call
    instead: called as `(function, *args, **kwargs)`, like Pdb.runcall."""

    def __init__(self, limit: int = MAX_EVENTS, thumbnail: Callable | None = None):
        self.limit = limit
        self.recording = Recording()
        self.run_at: dict[int, Callable[..., Any]] = {}
        self.values = Values(thumbnail)
        self.variables: dict[int, Var] = {}  # by the id of the value
        self.thread = threading.get_ident()
        self.is_listening = False  # off while an event is described
        self.within: list[int] = []  # numbers of the events in progress
        self.originals: dict[int, Any] = {}  # originals, by the id of the replacement

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Within the block, record the calls of this thread."""
        if not _one_at_a_time.acquire(blocking=False):
            raise RuntimeError(
                "a recording is on already, and there is one at a time: end its `with viz.record()` "
                "block first, or look at the events of that one"
            )
        with ExitStack() as at_end:
            at_end.callback(_one_at_a_time.release)
            at_end.callback(self.values.name_variables)
            at_end.enter_context(config.set("tinyjax_fast", False))
            at_end.enter_context(recording())
            at_end.enter_context(self._replaced())
            self.is_listening = True
            at_end.callback(setattr, self, "is_listening", False)
            yield

    # ---- events ----

    def recorded(self, original: Callable, describe: Callable[..., Call]) -> Callable[..., Any]:
        """A wrapper of `original` that makes an event of each call."""

        def recorded(*args: Any, **kwargs: Any) -> Any:
            if not self.is_listening or threading.get_ident() != self.thread:
                return original(*args, **kwargs)
            if len(self.recording.events) >= self.limit:
                self.recording.missed += 1
                return original(*args, **kwargs)
            with self._deaf():
                call = describe(*args, **kwargs)
                event = self._begin(call)
            run = self.run_at.get(event.number)
            try:
                out = run(original, *args, **kwargs) if run else original(*args, **kwargs)
                with self._deaf():
                    self._end(event, call, out)
                return out
            except BaseException as error:
                event.error = f"{type(error).__name__}: {error}"
                raise
            finally:
                self.within.pop()

        recorded.__wrapped__ = original  # type: ignore[attr-defined]  # where inspect.unwrap looks
        self.originals[id(recorded)] = original
        return recorded

    @contextmanager
    def _deaf(self) -> Iterator[None]:
        """Record nothing while an event is described."""
        self.is_listening = False
        try:
            yield
        finally:
            self.is_listening = True

    def _begin(self, call: Call) -> RecordedEvent:
        if call.primitive is not None:  # its rules will be looked up
            self._replace_rules(call.primitive)
        line = user_line()
        event = RecordedEvent(
            number=len(self.recording.events),
            parent=self.within[-1] if self.within else None,
            stage=call.stage,
            name=call.name,
            trace=trace_names(context.trace),
            operands=self._described(call.operands),
            params=params_text(call.params),
            rule=call.rule,
            line=CodeLine(*line) if line else None,
        )
        if event.parent is not None:
            around = self.recording.events[event.parent].rule
            if (number := line_in(around)) is not None:
                self.recording.lines[event.number] = number
        self.recording.events.append(event)
        self.within.append(event.number)
        return event

    def _end(self, event: RecordedEvent, call: Call, out: Any) -> None:
        try:
            results = call.results(out)
        except Exception:  # an invalid result of a rule: its caller raises the error
            results = []
        if call.stage == "launch":
            for memory, _ in results:
                self.values.written(memory)
        event.results = self._described(results)
        if call.stage in ("trace", "compile"):  # with details that are now known
            event.operands = self._described(call.operands)
            event.params = params_text(call.params)
        if call.text:
            self.recording.texts[event.number] = call.text
        if call.primitive is not None:
            self._keep_equation(call.primitive, event, call, results)

    def _keep_equation(
        self, primitive: Primitive, event: RecordedEvent, call: Call, results: Roles
    ) -> None:
        def variables(values: Sequence[EventValue], xs: Roles) -> list[Var]:
            avals = [get_aval(x) for x, _ in xs]
            return [self.variables.setdefault(v.id, Var(a)) for v, a in zip(values, avals)]

        if all(value.aval for value in (*event.operands, *event.results)):
            invars = variables(event.operands, call.operands)
            outvars = variables(event.results, results)
            params = {k: v for k, v in call.params.items() if not callable(v)}  # nothing lives on
            self.recording.equations[event.number] = JaxprEqn(primitive, invars, outvars, params)

    def _described(self, values: Roles) -> tuple[EventValue, ...]:
        return tuple([self.values.describe(x, role) for x, role in values])

    # ---- what stands in place of what ----

    @contextmanager
    def _replaced(self) -> Iterator[None]:
        """Within the block, the functions named in hooks.py are replaced."""
        with ExitStack() as at_end:
            for owner, name, describe in hooks.METHODS:
                original = getattr(owner, name)
                at_end.callback(setattr, owner, name, original)
                setattr(owner, name, self.recorded(original, describe))
            at_end.callback(setattr, JaxprTrace, "finish", JaxprTrace.finish)
            JaxprTrace.finish = self._naming(JaxprTrace.finish)  # type: ignore[method-assign]

            at_end.callback(setattr, StepProgram, "run", StepProgram.run)
            StepProgram.run = self._with_steps(StepProgram.run)  # type: ignore[method-assign]

            at_end.callback(self._rules_as_before)
            for table, _ in hooks.TABLES:
                for primitive in list(table):
                    self._replace_rules(primitive)

            at_end.callback(replace_everywhere, self.originals)
            functions = {id(f): self.recorded(f, describe) for f, describe in hooks.FUNCTIONS}
            replace_everywhere(functions)
            yield

    def _replace_rules(self, primitive: Primitive) -> None:
        """Record the rules of a primitive, including those registered since."""
        for table, describe in hooks.TABLES:
            rule = table.get(primitive)
            if rule is not None and id(rule) not in self.originals:
                table[primitive] = self.recorded(rule, functools.partial(describe, primitive, rule))

    def _rules_as_before(self) -> None:
        for table, _ in hooks.TABLES:
            for primitive, rule in table.items():
                table[primitive] = self.originals.get(id(rule), rule)

    def _with_steps(self, run: Callable) -> Callable:
        """StepProgram.run, with each step recorded."""

        def do(step_program: StepProgram, step: Any, slots: list) -> None:
            profiler = type(step_program.queue).on_step
            profiler(step_program, step, slots) if profiler else step.run(step_program.queue, slots)

        recorded_step = self.recorded(do, hooks.launch)

        def run_with_steps(step_program: StepProgram, *args: Any, **places: Any) -> Any:
            if threading.get_ident() != self.thread:
                return run(step_program, *args, **places)
            step_program.queue.on_step = recorded_step
            try:
                return run(step_program, *args, **places)
            finally:
                vars(step_program.queue).pop("on_step", None)  # the loop body has recorded it

        return run_with_steps

    def _naming(self, finish: Callable) -> Callable:
        """JaxprTrace.finish, from which the recorder takes the variables' names."""

        def finish_and_name(trace: JaxprTrace, outs: Sequence[Any]) -> ClosedJaxpr:
            closed = finish(trace, outs)
            if self.is_listening and threading.get_ident() == self.thread:
                self.values.finished(closed.jaxpr)
            return closed

        return finish_and_name


def line_in(function: CodeLine | None) -> int | None:
    """The current line of a running function; None if it isn't running."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and function is not None:
        code = frame.f_code
        if (code.co_firstlineno, code.co_filename) == (function.line, function.file):
            return frame.f_lineno
        frame = frame.f_back
    return None


def trace_names(trace: Trace | None) -> tuple[str, ...]:
    """The traces that a bind in `trace` can reach, the outermost first."""
    names: list[str] = []
    while trace is not None:
        names.append(type(trace).__name__)
        trace = getattr(trace, "parent", None)
    return tuple(reversed(names))


def replace_everywhere(others: dict[int, Any]) -> None:
    """Replace functions, given by id, in all tinyjax modules that imported them by name."""
    for module_name, module in list(sys.modules.items()):
        if module_name.startswith("tinyjax"):
            for name, value in list(vars(module).items()):
                if id(value) in others:
                    setattr(module, name, others[id(value)])
