"""Results while kernels build: NumPy computes the first calls, and then the compiled program takes over.

It saves: the first training step of an MLP has a result after 0.07 s instead of 0.95, or of 0.17 if an
earlier process built the kernels (benchmarks/first_result.py).

A driver takes a second to build kernels for a computation that NumPy does in a few milliseconds. A
`BackgroundBuild` stands in for the executable. One thread builds; until it is done, each call evaluates the
whole jaxpr eagerly. Results are the same up to rounding: a function of a float32 differs by at most four
units in the last place, and sums are added in another order, which was 1e-6 of the result for thousands of
numbers. Programs that take long in NumPy wait for their kernels instead, and so does `lower().compile()`.
If the first answer took long, the next call waits: NumPy and the compiler would slow each other down.
Estimates of loops are too high, so NumPy tries loops: if one is slow in its first tenth of a second, the
program waits.

`config.update("tinyjax_background_build", False)` turns it off, and no other shortcut: every call then waits
for its kernels. Use it when the first call must already have the compiled program's timing or bits.
"""

from __future__ import annotations

import atexit
import math
import os
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np

from tinyjax.compile.fusion.cost_record import eqn_cost
from tinyjax.compile.kernel.rules import Elementwise, IndexMap, lowering_of
from tinyjax.compile.passes.loops import (
    Branches,
    control_flow,
    has_unknown_length,
    is_control_flow,
    loop_of,
)
from tinyjax.compile.passes.pipeline import simplify
from tinyjax.compile.target import CPU
from tinyjax.core.array import ArrayImpl
from tinyjax.core.avals import get_aval, to_numpy
from tinyjax.core.bind import impl_rules
from tinyjax.core.compile_log import compiling_logger, log_level
from tinyjax.core.config import config
from tinyjax.core.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, all_jaxprs
from tinyjax.core.quiet import run_quietly
from tinyjax.core.shortcuts import shortcut_for
from tinyjax.fast.numpy_evaluation import Evaluation, OutOfTime
from tinyjax.runtime.devices import Device
from tinyjax.runtime.numpy_queue import is_listened
from tinyjax.transform.jit.primitive import build

if TYPE_CHECKING:
    from tinyjax.runtime.executable import Executable

# ---- what NumPy may compute meanwhile ----

# NumPy computes only programs that take less than this, by the estimate below: a build takes longer.
MAX_NUMPY_SECONDS = 0.5
SLOW_ANSWER = 0.08  # seconds: if the first takes longer, the next call waits
TRIAL_SECONDS = 0.1  # it tries a loop for so long
LOOP_PART = 0.16  # so much of a loop's estimate counts: it is up to thirty times too high
SECONDS_PER_EQUATION = 1e-5
SECONDS_PER_ELEMENT = 5e-9  # of operands and results
SECONDS_PER_BYTE = 0.4e-9  # where elements are only moved, or computed by a few operations
SECONDS_PER_FLOP = 0.5e-10  # of a matrix product: other arithmetic is cheap beside the elements


def numpy_seconds(jaxpr: Jaxpr) -> float:
    """A high estimate of NumPy's time for a simplified jaxpr, in which a loop of unknown length has one
    iteration; infinite if unknown."""
    return sum(_eqn_seconds(eqn) for eqn in jaxpr.eqns)


def _eqn_seconds(eqn: JaxprEqn) -> float:
    if eqn.primitive not in impl_rules:
        return math.inf
    if eqn.primitive.name in (
        "group_psum",
        "group_all_gather",
    ):  # other processes may be compiled already
        return math.inf
    if is_control_flow(eqn):
        found = control_flow(eqn)
        of_bodies = [numpy_seconds(body.jaxpr) for body in found.bodies.values()]
        if isinstance(found, Branches):
            return max(of_bodies)
        return (1 if found.length is None else found.length) * sum(of_bodies)
    cost = eqn_cost(eqn)
    if cost.transcendentals == 0 and isinstance(lowering_of(eqn, CPU), Elementwise | IndexMap):
        return SECONDS_PER_EQUATION + SECONDS_PER_BYTE * cost.bytes
    elements = sum(v.aval.size for v in [*eqn.invars, *eqn.outvars])
    return SECONDS_PER_EQUATION + SECONDS_PER_ELEMENT * elements + SECONDS_PER_FLOP * cost.flops


def may_answer(jaxpr: Jaxpr) -> bool:
    """Whether NumPy is fast enough for a program, or may try."""
    if may_end_early(jaxpr):
        parts = [_eqn_seconds(eqn) * (LOOP_PART if loop_of(eqn) else 1) for eqn in jaxpr.eqns]
        return sum(parts) < MAX_NUMPY_SECONDS
    return numpy_seconds(jaxpr) < MAX_NUMPY_SECONDS and not any(map(has_unknown_length, jaxpr.eqns))


def may_end_early(jaxpr: Jaxpr) -> bool:
    """Whether an evaluation may end before it has results: nothing happens that is seen twice."""
    used = {eqn.primitive for each in all_jaxprs(jaxpr) for eqn in each.eqns}
    return not any(primitive.has_effects or primitive.facts.calls_python for primitive in used)


def must_wait() -> bool:
    """Whether all calls wait for kernels: by configuration; because NaNs are checked for, which eager
    evaluation finds even if no result depends on them; or because a profiler measures kernels.
    """
    looks_for_nans = config.jax_debug_nans or config.jax_debug_infs
    return not config.tinyjax_background_build or looks_for_nans or is_listened()


@shortcut_for(build)
def build_in_background(
    plain: Callable, closed: ClosedJaxpr, device: Device, name: str, donated: Sequence[bool]
) -> Any:
    """The Executable of a jaxpr on a device, or its BackgroundBuild.

    Raises what compile_jaxpr does, if the call has to wait for it."""
    if must_wait() or device.cl_device is None:
        return plain(closed, device, name, donated)
    if not may_answer(simplify(closed).jaxpr):
        return plain(closed, device, name, donated)
    compiling_logger.log(log_level(), "NumPy answers jit(%s) until its kernels are built", name)
    return BackgroundBuild(closed, device, name, donated)


# ---- an executable that is being built ----


class BackgroundBuild:
    """Called like the executable. A failed build raises its error at the next call."""

    def __init__(self, closed: ClosedJaxpr, device: Device, name: str, donated: Sequence[bool]):
        self.closed = closed
        self.device = device
        self.name = name
        self.donated: Sequence[bool] = ()
        if any(donated):  # computed here, so that its warnings point to the call
            from tinyjax.compile.memory_plan import usable_donations

            self.donated = usable_donations(closed, donated)
        self.executable: Executable | None = None
        self.error: BaseException | None = None
        self.failed_at: TracebackType | None = None
        self.done = threading.Event()
        self.settings = dict(vars(config))  # the configuration set by `with` blocks of this thread
        self.is_begun = False
        self.is_slow = False  # whether NumPy took long for an answer
        build_thread.start()

    def __call__(self, args: Sequence[ArrayImpl]) -> list[ArrayImpl]:
        """The results, from the compiled program if it is ready."""
        if self.executable is None and (self.is_slow or must_wait() or self.is_in_a_fork()):
            self.wait()
        if self.executable is None and self.error is None:
            is_first, began = not self.is_begun, time.monotonic()
            try:
                return self.evaluate(args)
            except OutOfTime:
                self.wait()
            finally:
                self.is_slow |= is_first and time.monotonic() - began > SLOW_ANSWER
                self.begin()  # only now: the first evaluation gets all cores
        if self.error is not None:
            raise self.error.with_traceback(self.failed_at)  # not also from the calls before
        assert self.executable is not None
        return self.executable(args)

    def begin(self) -> None:
        """Queues it for the build thread, unless it is queued already."""
        if not self.is_begun:
            self.is_begun = True
            build_thread.todo.put(weakref.ref(self))

    def evaluate(self, args: Sequence[ArrayImpl]) -> list[ArrayImpl]:
        """The results, computed by NumPy; each in separate memory, like those of a compiled program."""
        donated = [number for number, is_donated in enumerate(self.donated) if is_donated]
        if donated:
            from tinyjax.runtime.executable import check_donated

            for number in donated:
                check_donated(number, args)
        simplified = simplify(self.closed)
        evaluation = Evaluation()
        if may_end_early(simplified.jaxpr):
            evaluation = Evaluation(MAX_NUMPY_SECONDS, TRIAL_SECONDS)
        values = [to_numpy(x, get_aval(x)) for x in args]
        outs = run_quietly(evaluation.function(simplified), *values)
        results = [
            ArrayImpl(np.array(out, aval.dtype), aval, None, self.device)
            for out, aval in zip(outs, self.closed.out_avals)
        ]
        for number in donated:
            args[number].delete()
        return results

    def is_in_a_fork(self) -> bool:
        """Whether this is a fork of the process of an earlier call. Builds can't work there, and the error is
        raised at once: otherwise it would depend on the build's progress whether NumPy computes the
        result."""
        return self.device.process != os.getpid()

    def wait(self) -> None:
        """Returns when the build has ended."""
        if self.is_in_a_fork():  # the thread that would build is not here
            self.build()
        else:
            self.begin()
            self.done.wait()

    def build(self) -> None:
        """Make the executable, and let the driver finish its kernels; runs in the build thread, which also
        imports the compiler."""
        try:
            from tinyjax.runtime.executable import compile_jaxpr

            with config.as_in(self.settings):
                executable = compile_jaxpr(self.closed, self.device, self.name, self.donated)
                executable.warm_up(until=lambda: build_thread.closed)
            self.executable = executable
        except BaseException as error:  # also BaseExceptions: they are raised where f is called
            self.error, self.failed_at = error, error.__traceback__
            said = f"{type(error).__name__}: {error}".partition("\n")[0]
            compiling_logger.warning(
                "the kernels of jit(%s) could not be built, and NumPy has answered so far (%s). The next "
                "call raises this; with TINYJAX_BACKGROUND_BUILD=0 the first does.",
                self.name,
                said,
            )
        self.done.set()


# ---- the thread ----


class BuildThread:
    """One thread that builds, in the order in which programs were first called. It holds only weak
    references: a function that is deleted before its turn is not built. Otherwise a program that makes many
    functions would fill the queue.

    A second one would gain nothing: PoCL compiles under a lock (of two threads that built programs, one
    always slept). `at_work` is held during a build: a fork, and the end of the process, wait for it, as
    neither may happen inside of a compiler."""

    def __init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """Resets to no thread and an empty queue; also in a fork, which lacks the thread."""
        self.todo: SimpleQueue[weakref.ref[BackgroundBuild]] = SimpleQueue()
        self.at_work = threading.Lock()
        self.closed = False
        self.thread: threading.Thread | None = None
        self.starting = threading.Lock()

    def start(self) -> None:
        """Starts the thread, unless it runs."""
        with self.starting:
            if self.thread is None:
                self.thread = threading.Thread(
                    target=self._run, name="tinyjax builder", daemon=True
                )
                self.thread.start()

    def _run(self) -> None:
        while not self.closed:
            waiting = self.todo.get()
            with self.at_work:
                build = waiting()
                if build is not None and not self.closed:
                    build.build()
            del build  # don't keep the last program alive while waiting for the next

    def close(self) -> None:
        """Begins no further build, and returns when none is at work."""
        self.closed = True
        self.at_work.acquire()


build_thread = BuildThread()
atexit.register(lambda: build_thread.close())
if hasattr(os, "fork"):  # Windows has none
    os.register_at_fork(
        before=lambda: build_thread.at_work.acquire(),
        after_in_parent=lambda: build_thread.at_work.release(),
        after_in_child=lambda: build_thread.restart(),
    )
