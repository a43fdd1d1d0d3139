"""Record the loops of a function that runs eagerly: the carry before each iteration, and the last one.

Jitted functions run eagerly too, as compiled loops don't expose their carries. Nested loops are not recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tinyjax.core.bind import impl_rules
from tinyjax.core.config import config
from tinyjax.core.inlining import eager_jaxpr_fun
from tinyjax.core.jaxpr import SourceLine
from tinyjax.core.tracing import user_line
from tinyjax.lax.control_flow import scan as scan_module
from tinyjax.lax.control_flow import while_loop as while_module
from tinyjax.studio.viz.arrays.elements import Elements, elements_of
from tinyjax.transform.jit.primitive import jit_p

MAX_FRAMES = 60
MAX_BYTES = 2**26  # of all kept carries


@dataclass
class RecordedLoop:
    """A loop: `frames` maps iteration numbers to carries, for every `stride`-th iteration and the last."""

    kind: str  # "scan" or "while"
    line: SourceLine | None
    count: int = 0  # number of iterations so far
    stride: int = 1
    frames: dict[int, list[Elements]] = field(default_factory=dict)
    last: list[Elements] = field(default_factory=list)

    def add(self, carry: Sequence[Any], number: int) -> None:
        """Keep a carry; if there are too many, drop every other one."""
        self.count, self.last = number, [elements_of(x) for x in carry]
        if number % self.stride == 0:
            self.frames[number] = self.last
            nbytes = sum(x.nbytes for x in self.last)
            if len(self.frames) > max(2, min(MAX_FRAMES, MAX_BYTES // max(1, nbytes))):
                self.stride *= 2
                self.frames = {n: x for n, x in self.frames.items() if n % self.stride == 0}

    def all_frames(self) -> dict[int, list[Elements]]:
        return self.frames | {self.count: self.last}


class _Recorder:
    def __init__(self) -> None:
        self.loops: list[RecordedLoop] = []
        self.is_within = False  # a loop

    def run(self, kind: str, carry: Sequence[Any], loop: Callable[[RecordedLoop], Any]) -> Any:
        """Run a loop, and add its carries to the given RecordedLoop."""
        recorded = RecordedLoop(kind, user_line())
        self.loops.append(recorded)
        recorded.add(carry, 0)
        self.is_within = True
        try:
            return loop(recorded)
        finally:
            self.is_within = False

    def run_scan(self, step: Callable, carry: list[Any], *rest: Any) -> list[Any]:
        if self.is_within:
            return _run_scan(step, carry, *rest)

        def loop(recorded: RecordedLoop) -> list[Any]:
            def recorded_step(carry: list[Any], slices: list[Any]) -> tuple[list[Any], list[Any]]:
                carry, y = step(carry, slices)
                recorded.add(carry, recorded.count + 1)
                return carry, y

            return _run_scan(recorded_step, carry, *rest)

        return self.run("scan", carry, loop)

    def run_while(self, predicate: Callable, step: Callable, carry: list[Any]) -> list[Any]:
        if self.is_within:
            return _run_while(predicate, step, carry)

        def loop(recorded: RecordedLoop) -> list[Any]:
            def recorded_step(carry: list[Any]) -> list[Any]:
                carry = step(carry)
                recorded.add(carry, recorded.count + 1)
                return carry

            return _run_while(predicate, recorded_step, carry)

        return self.run("while", carry, loop)


_run_scan, _run_while = scan_module.run_scan, while_module.run_while


def _evaluate(*args: Any, jaxpr: Any, **params: Any) -> list[Any]:
    return eager_jaxpr_fun(jaxpr)(*args)


@contextmanager
def recording_loops() -> Iterator[list[RecordedLoop]]:
    """Within the block, loops are recorded in the returned list."""
    recorder = _Recorder()
    jit_rule = impl_rules[jit_p]
    scan_module.run_scan, while_module.run_while = recorder.run_scan, recorder.run_while  # type: ignore[assignment]
    impl_rules[jit_p] = _evaluate
    try:
        with config.set("tinyjax_fast", False):
            yield recorder.loops
    finally:
        impl_rules[jit_p] = jit_rule
        scan_module.run_scan, while_module.run_while = _run_scan, _run_while
