"""What a program gives eagerly, with vmap, jitted, jitted with vmap, and on JAX: what differs.

Eager evaluation at each point is what all else is compared with.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np

import tinyjax
import tinyjax.numpy as jnp
from random_programs.program import POINTS, Argument, Program
from random_programs.writer import types_of
from tinyjax.compile.kernel import interpret as interpreter
from tinyjax.runtime import queues as runtime
from tinyjax.runtime.queues import SharedMemoryQueue
from tinyjax.runtime.schedule_builder import ScheduleBuilder

#: What results may differ by, of the largest value beside: of the least precise dtype.
TOLERANCES = {"bfloat16": 0.15, "float16": 0.03, "float32": 2e-3, "float64": 1e-7}


#: Elements of the arrays of a program whose kernels may be interpreted.
MAX_INTERPRETED = 300


class Disagreement(NamedTuple):
    program: Program
    how: str  # 'jit', 'vmap', 'jit of vmap', 'JAX'
    output: str  # which, or '' where all of the call failed
    message: str


def disagreements(
    programs: Sequence[Program],
    reference: Any = None,
    hows: Sequence[str] | None = None,
    interpret: bool | str = False,
) -> list[Disagreement]:
    """What differs in programs of the same x64; `reference` is JAX, or None to leave it out. With
    interpret="webassembly", interpreted kernels run as WebAssembly too, which must agree.

    All programs are compiled together, as building them is what takes the time. What differs so
    is run once more alone, if there are others."""
    with tinyjax.enable_x64(programs[0].x64), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = list(map(_eager, programs))
        found = [r for r in results if isinstance(r, Disagreement)]
        runs = [r for r in results if isinstance(r, Run)]
        small = [r for r in runs if interpret and r.program.max_size <= MAX_INTERPRETED]
        large = [r for r in runs if not any(r is s for s in small)]
        for how, run in WAYS.items():
            if hows is not None and how not in hows:
                continue
            with interpreted_kernels(
                CheckingQueue if interpret == "webassembly" else InterpretingQueue
            ):
                found += _different(how, run, tinyjax, small)
            found += _different(how, run, tinyjax, large)
        if reference is not None and (hows is None or "JAX" in hows):
            with reference.enable_x64(programs[0].x64):
                found += _different("JAX", _jitted, reference, runs)
        return [d for d in found if not d.output or not _is_unstable(d)]


def wrongly_refused(program: Program, reference: Any) -> list[str]:
    """The statements that tinyjax refused while the program was drawn, but JAX takes, and why."""
    found = []
    with reference.enable_x64(program.x64), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for message, statement, scope in program.refused:
            try:
                types_of(statement, scope, reference)
            except Exception:
                continue
            used = [v for v in scope if v.name in statement.names()]
            found.append("\n".join([message, *map(repr, used), *statement.lines()]))
    return found


class Run(NamedTuple):
    program: Program
    args: list[np.ndarray]
    expected: list[list[Any]]  # for each point, for each output


def _eager(program: Program) -> Run | Disagreement | None:
    """The results, or what eval_shape should have said. None: LAPACK has no form for the dtype."""
    args = program.values()
    try:
        expected = _at_points(program, args)
    except NotImplementedError:
        return None
    except Exception as error:
        return Disagreement(program, "eager", "", _line(error))
    return Run(program, args, expected)


def _at_points(program: Program, args: Sequence[np.ndarray]) -> list[list[Any]]:
    """The outputs at each point, eagerly."""
    function = program.function(tinyjax)
    points = [_at(program.args, args, point) for point in range(POINTS)]
    return [function(*map(jnp.asarray, values)) for values in points]


def _at(args: Sequence[Argument], values: Sequence[np.ndarray], point: int) -> list[np.ndarray]:
    return [v[point if arg.batched else 0] for arg, v in zip(args, values)]


# ---- ways to run programs: the outputs, for each program and point ----


def _jitted(jax: Any, runs: Sequence[Run]) -> list[list[list[Any]]]:
    functions = [run.program.function(jax) for run in runs]
    jitted = jax.jit(lambda all_args: [f(*args) for f, args in zip(functions, all_args)])
    points = range(POINTS)
    results = [jitted([_at(run.program.args, run.args, p) for run in runs]) for p in points]
    return [list(of_points) for of_points in zip(*results)]


def _batched(jax: Any, runs: Sequence[Run], jit: bool) -> list[list[list[Any]]]:
    functions = [run.program.function(jax) for run in runs]
    batched = [jax.vmap(f, _axes(run.program)) for f, run in zip(functions, runs)]
    call = lambda all_args: [f(*args) for f, args in zip(batched, all_args)]  # noqa: E731
    results = (jax.jit(call) if jit else call)([_whole(run) for run in runs])
    return [[[output[p] for output in outputs] for p in range(POINTS)] for outputs in results]


def _axes(program: Program) -> tuple[int | None, ...]:
    axes = tuple(0 if arg.batched else None for arg in program.args)
    return axes if 0 in axes else (0, *axes[1:])


def _whole(run: Run) -> list[np.ndarray]:
    axes, values = _axes(run.program), run.args
    if not any(arg.batched for arg in run.program.args):
        values = [np.stack([values[0][0]] * POINTS), *values[1:]]
    return [jnp.asarray(v if axis == 0 else v[0]) for v, axis in zip(values, axes)]


class InterpretingQueue(SharedMemoryQueue):
    """Runs kernels in Python, which takes less time than it takes to build them."""

    def launch(
        self, kernel: Any, items: int, local_size: int, memories: Any, inline: bool = False
    ) -> None:
        self.finish()  # copies
        interpreter.interpret_kernel(kernel, [memory.host.reshape(-1) for memory in memories])


class CheckingQueue(InterpretingQueue):
    """Runs them as WebAssembly, too. Functions of float64 are the host's, and max may take 0.0 for -0.0."""

    def launch(
        self, kernel: Any, items: int, local_size: int, memories: Any, inline: bool = False
    ) -> None:
        from webassembly import run_kernel  # in wasmtime, which not all tests need

        self.finish()
        memories = list(memories)
        arrays = [memory.host.reshape(-1) for memory in memories]
        found = [array.copy() for array in arrays]
        super().launch(kernel, items, local_size, memories, inline)
        run_kernel(kernel, found)
        for buffer, x, y in zip(kernel.buffers, found, arrays, strict=True):
            with np.errstate(all="ignore"):
                same = (x == y) | ((x != x) & (y != y))
                if x.dtype == np.float64:
                    same |= np.abs(x - y) <= 1e-13 * np.abs(y)
            if not same.all():
                text = f"{x[~same]} as WebAssembly, {y[~same]} interpreted"
                raise AssertionError(f"{kernel.name}: {buffer}: {text}\n{kernel}")


@contextmanager
def interpreted_kernels(queue: type = InterpretingQueue) -> Iterator[None]:
    """In this context kernels are interpreted, not built."""
    device = tinyjax.devices()[0]
    queues = {device: queue(device)}
    kernels = lambda builder, name, text, inline: [  # noqa: E731
        launch.kernels[0] for launch in builder.kernels[inline].values()
    ]
    # They are checked when they are made; those that write over an operand look unstored here.
    unchecked = patch.object(interpreter, "check_kernel", lambda kernel: None)
    plain = tinyjax.config.set("tinyjax_fast", False)  # no kernel of several
    built = patch.object(ScheduleBuilder, "_build", kernels)
    with patch.dict(runtime._queues, queues), built, unchecked, plain:
        yield


WAYS: dict[str, Callable[[Any, Sequence[Run]], list[list[list[Any]]]]] = {
    "vmap": lambda jax, runs: _batched(jax, runs, jit=False),
    "jit": _jitted,
    "jit of vmap": lambda jax, runs: _batched(jax, runs, jit=True),
}


# ---- comparing ----


def _different(
    how: str, run_all: Callable[..., Any], jax: Any, runs: list[Run]
) -> list[Disagreement]:
    if not runs:
        return []
    try:
        results = run_all(jax, runs)
    except Exception as error:
        if len(runs) == 1:
            return [Disagreement(runs[0].program, how, "", _line(error))]
        return [d for run in runs for d in _different(how, run_all, jax, [run])]
    found = []
    for run, outputs in zip(runs, results):
        difference = _first_difference(run, outputs, how)
        if difference and len(runs) > 1:
            found += _different(how, run_all, jax, [run]) or [
                difference._replace(how=f"{how}, beside others")
            ]
        elif difference:
            found.append(difference)
    return found


def _first_difference(run: Run, results: list[list[Any]], how: str) -> Disagreement | None:
    tolerance = _tolerance(run.program)
    for point, (expected, got) in enumerate(zip(run.expected, results)):
        for name, e, g in zip(run.program.outputs, expected, got):
            message = _mismatch(e, g, tolerance, with_weak_type="vmap" not in how)
            if message:
                return Disagreement(run.program, how, name, f"at point {point}: {message}")
    return None


def _tolerance(program: Program) -> float:
    """That of the least precise dtype of the program."""
    text = program.source() + " ".join(arg.values for arg in program.args)
    for dtype in ("bfloat16", "float16"):
        if dtype in text:
            return TOLERANCES[dtype]
    return TOLERANCES["float32" if not program.x64 or "32" in text or "64'" in text else "float64"]


def _mismatch(expected: Any, got: Any, tolerance: float, with_weak_type: bool) -> str | None:
    types = [_type(v, with_weak_type) for v in (expected, got)]
    if types[0] != types[1]:
        return f"type {types[1]}, expected {types[0]}"
    e, g = np.asarray(expected), np.asarray(got)
    if e.dtype.kind in "biu":
        same = e == g
    else:
        wide = np.complex128 if e.dtype.kind == "c" else np.float64
        e, g = e.astype(wide), g.astype(wide)
        with np.errstate(all="ignore"):
            finite = np.abs(e[np.isfinite(e)])
            scale = max(1.0, finite.max(initial=0.0))
            same = (np.abs(e - g) <= tolerance * scale) | (e == g) | (np.isnan(e) & np.isnan(g))
    if same.all():
        return None
    where = tuple(map(int, np.argwhere(~same)[0]))
    values = [np.asarray(v)[where] for v in (got, expected)]
    count = f"{(~same).sum()} of {same.size} differ"
    return f"{values[0]} at {list(where)}, expected {values[1]} ({types[0]}; {count})"


def _type(value: Any, with_weak_type: bool) -> str:
    value = jnp.asarray(value) if isinstance(value, bool | int | float | complex) else value
    weak = "~" if with_weak_type and getattr(value, "weak_type", False) else ""
    return f"{weak}{value.dtype}{list(value.shape)}"


def _line(error: Exception) -> str:
    lines = str(error).strip().splitlines() or [""]
    return f"{type(error).__name__}: {lines[0][:300]}"


def _is_unstable(found: Disagreement) -> bool:
    """Does a change of the arguments by their last bits change the output as much?

    Then rounding decides there, which way a comparison goes for instance."""
    program = found.program.with_outputs([found.output])
    run = _eager(program)
    if not isinstance(run, Run) or "type " in found.message:
        return False
    for sign in (1, -1, 3):
        nearby = [_nudged(v, sign) for v in run.args]
        near = _at_points(program, nearby)
        if _first_difference(run._replace(expected=near), run.expected, "vmap") is not None:
            return True
    return False


def _nudged(values: np.ndarray, sign: int) -> np.ndarray:
    if values.dtype.kind in "biu":
        return values
    epsilon = tinyjax.numpy.finfo(values.dtype).eps
    signs = np.where(np.arange(values.size).reshape(values.shape) % 2, sign, -sign / 2)
    return (values * (1 + 2 * signs * float(epsilon))).astype(values.dtype)
