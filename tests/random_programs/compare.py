"""What a program gives eagerly, with vmap, jitted, jitted with vmap, and on JAX: what differs, whoever
runs its kernels.

Eager evaluation at each point is what all else is compared with.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple
from unittest import mock

import numpy as np

import tinyjax
import tinyjax.numpy as jnp
from random_programs.contenders import CONTENDERS, Contender, Coverage, kernels_run_by
from random_programs.program import POINTS, Argument, Program
from random_programs.writer import types_of
from tinyjax.core.bind import impl_rules

#: What results may differ by, of the largest value beside: of the least precise dtype.
TOLERANCES = {"bfloat16": 0.15, "float16": 0.03, "float32": 2e-3, "float64": 1e-7}


class Disagreement(NamedTuple):
    program: Program
    way: str  # 'jit', 'vmap', 'jit of vmap', 'JAX'
    contender: str  # 'built', 'interpreted', 'WebAssembly', 'naive loop nests'
    output: str  # which, or '' where all of the call failed
    message: str

    @property
    def how(self) -> str:
        return self.way if self.contender == "built" else f"{self.way}, {self.contender}"


def disagreements(
    programs: Sequence[Program],
    reference: Any = None,
    ways: Collection[str] = ("vmap", "jit", "jit of vmap", "JAX"),
    contenders: Callable[[Program], Sequence[str]] = lambda program: ["built"],
    coverage: Coverage | None = None,
) -> list[Disagreement]:
    """What differs in programs of the same x64; `reference` is JAX, or None to leave it out. `contenders`
    names the CONTENDERS that run a program's kernels; the first runs those of vmap without jit.

    All programs are compiled together, as building them is what takes the time. What differs so
    is run once more alone, if there are others."""
    with tinyjax.enable_x64(programs[0].x64), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = list(map(_eager, programs))
        found = [
            r for r in results if isinstance(r, Disagreement) and not _raises_too(r, reference)
        ]
        runs = [r for r in results if isinstance(r, Run)]
        by_names: dict[tuple[str, ...], list[Run]] = {}
        for run in runs:
            by_names.setdefault(tuple(contenders(run.program)), []).append(run)
            if coverage is not None:
                coverage.add_program(run.program)
        for names, alike in by_names.items():
            for way in [way for way in WAYS if way in ways]:
                batch = Batch(way, alike, coverage=coverage)
                for name in names if batch.way.is_jitted else names[:1]:
                    found += _different(batch, name)
        if reference is not None and "JAX" in ways and runs:
            with reference.enable_x64(programs[0].x64):
                found += _different(Batch("JAX", runs, reference), "built")
        return [d for d in found if not d.output or not _is_unstable(d)]


def refused_otherwise(program: Program, reference: Any) -> list[str]:
    """The statements that tinyjax refused while the program was drawn, and that JAX takes, or refuses with an
    error of another class: both errors, the types in scope, the statement."""
    found = []
    with reference.enable_x64(program.x64), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for error, statement, scope in program.refused:
            theirs = "JAX takes it"
            try:
                types_of(statement, scope, reference)
            except Exception as other:
                if type(other).__name__ == type(error).__name__:
                    continue
                theirs = f"JAX: {_line(other)}"
            used = [v for v in scope if v.name in statement.names()]
            found.append("\n".join([_line(error), theirs, *map(repr, used), *statement.lines()]))
    return found


class Run(NamedTuple):
    program: Program
    args: list[np.ndarray]
    expected: list[list[Any]]  # for each point, for each output


def _eager(program: Program) -> Run | Disagreement | None:
    """The results, or what eval_shape should have said. None: LAPACK has no form for the dtype, or a step
    needs more memory than there is (the identity for a vector of a million)."""
    args = program.values()
    try:
        expected = _at_points(program, args)
    except (NotImplementedError, MemoryError):
        return None
    except Exception as error:
        return Disagreement(program, "eager", "built", "", _line(error))
    return Run(program, args, expected)


def _raises_too(found: Disagreement, reference: Any) -> bool:
    """Does JAX raise an error of that class too, eagerly or jitted? Some programs can be traced, but not run:
    the JVP of a custom_vjp function, for instance. jit leaves it out where nothing needs it."""
    if reference is None:
        return False
    args = _at(found.program.args, found.program.values(), 0, reference)
    program = found.program.function(reference)
    with reference.enable_x64(found.program.x64):
        for way in program, reference.jit(program):
            try:
                way(*args)
            except Exception as error:
                if found.message.startswith(f"{type(error).__name__}: "):
                    return True
    return False


def _at_points(program: Program, args: Sequence[np.ndarray]) -> list[list[Any]]:
    """The outputs at each point, eagerly."""
    function = program.function(tinyjax)
    points = [_at(program.args, args, point, tinyjax) for point in range(POINTS)]
    return [function(*map(jnp.asarray, values)) for values in points]


def _at(args: Sequence[Argument], values: Sequence[np.ndarray], point: int, jax: Any) -> list[Any]:
    return [arg.at(v, point, jax) for arg, v in zip(args, values)]


# ---- ways to run programs: the outputs, for each program and point ----


def _point_by_point(jax: Any, runs: Sequence[Run]) -> Way:
    functions = [run.program.function(jax) for run in runs]
    call = lambda all_args: [f(*args) for f, args in zip(functions, all_args)]  # noqa: E731
    calls = [[_at(run.program.args, run.args, p, jax) for run in runs] for p in range(POINTS)]
    return Way(call, calls, lambda results: [list(of_points) for of_points in zip(*results)])


def _batched(jax: Any, runs: Sequence[Run]) -> Way:
    functions = [run.program.function(jax) for run in runs]
    batched = [jax.vmap(f, _axes(run.program)) for f, run in zip(functions, runs)]
    call = lambda all_args: [f(*args) for f, args in zip(batched, all_args)]  # noqa: E731

    def outputs(results: list[Any]) -> list[list[list[Any]]]:
        return [
            [[output[p] for output in outputs] for p in range(POINTS)] for outputs in results[0]
        ]

    return Way(call, [[_whole(run) for run in runs]], outputs)


def _axes(program: Program) -> tuple[int | None, ...]:
    axes = tuple(0 if arg.batched else None for arg in program.args)
    return axes if 0 in axes else (0, *axes[1:])


def _whole(run: Run) -> list[Any]:
    args, axes, values = run.program.args, _axes(run.program), run.args
    if not any(arg.batched for arg in args):
        values = [np.stack([values[0][0]] * POINTS), *values[1:]]
    return [
        arg.whole(v, tinyjax) if axis == 0 else jnp.asarray(arg.at(v, 0, tinyjax))
        for arg, v, axis in zip(args, values, axes)
    ]


class Way(NamedTuple):
    """Calls of one function that run programs, and how to read what they give."""

    function: Callable[..., Any]
    calls: list[Any]  # the arguments of each
    outputs: Callable[[list[Any]], list[list[list[Any]]]]  # for each program and point
    is_jitted: bool = True


WAYS: dict[str, Callable[[Any, Sequence[Run]], Way]] = {
    "vmap": lambda jax, runs: _batched(jax, runs)._replace(is_jitted=False),
    "jit": _point_by_point,
    "jit of vmap": _batched,
}


@dataclass
class Batch:
    """Programs that are run together, in one way. It is traced once, whoever runs its kernels."""

    name: str
    runs: Sequence[Run]
    jax: Any = tinyjax
    coverage: Coverage | None = None

    @cached_property
    def way(self) -> Way:
        return WAYS.get(self.name, _point_by_point)(self.jax, self.runs)

    @cached_property
    def lowered(self) -> Any:
        return self.jax.jit(self.way.function).lower(self.way.calls[0])

    def outputs(self, contender: Contender) -> list[list[list[Any]]]:
        """For each program and point."""
        with kernels_run_by(contender, self.coverage):
            function = lambda args: self.way.function(args)  # noqa: E731  nothing of it is compiled
            if self.way.is_jitted and contender.engine is None:
                function = self.jax.jit(function)
            elif self.way.is_jitted:
                function = contender.lowered(self.lowered).compile()
            return self.way.outputs([function(args) for args in self.way.calls])

    def alone(self, run: Run) -> Batch:
        return Batch(self.name, [run], self.jax)


# ---- comparing ----


def _different(batch: Batch, name: str) -> list[Disagreement]:
    runs = batch.runs
    try:
        results = batch.outputs(CONTENDERS[name])
    except Exception as error:
        if len(runs) == 1:
            if batch.name == "JAX" and _eager_jax_agrees(runs[0], batch.jax):
                return []
            return [Disagreement(runs[0].program, batch.name, name, "", _line(error))]
        return [d for run in runs for d in _different(batch.alone(run), name)]
    found = []
    for run, outputs in zip(runs, results):
        difference = _first_difference(run, outputs, batch.name)
        if difference is None:
            continue
        output, message = difference
        if batch.name == "JAX" and _eager_jax_agrees(run, batch.jax):
            continue
        alone = _different(batch.alone(run), name) if len(runs) > 1 else []
        way = batch.name + (", beside others" if len(runs) > 1 else "")
        found += alone or [Disagreement(run.program, way, name, output, message)]
    return found


def _eager_jax_agrees(run: Run, jax: Any) -> bool:
    """Does JAX give the same without jit? Then the difference is one between JAX and JAX: XLA without its
    optimizations computes some programs wrong, and weak types may depend on tracing."""
    function = run.program.function(jax)
    calls = [_at(run.program.args, run.args, point, jax) for point in range(POINTS)]
    try:
        results = [function(*args) for args in calls]
    except Exception:
        return False
    return _first_difference(run, results, "JAX") is None


def _first_difference(run: Run, results: list[list[Any]], way: str) -> tuple[str, str] | None:
    """Which output differs, and how."""
    tolerance = _tolerance(run.program)
    for point, (expected, got) in enumerate(zip(run.expected, results)):
        for name, e, g in zip(run.program.outputs, expected, got):
            message = _mismatch(e, g, tolerance, with_weak_type="vmap" not in way)
            if message:
                return name, f"at point {point}: {message}"
    return None


def _tolerance(program: Program) -> float:
    """That of the least precise dtype of the program."""
    text = program.source() + " ".join(arg.values for arg in program.args)
    for dtype in ("bfloat16", "float16"):
        if dtype in text:
            return TOLERANCES[dtype]
    return TOLERANCES["float32" if not program.x64 or "32" in text or "64'" in text else "float64"]


def _mismatch(expected: Any, got: Any, tolerance: float, with_weak_type: bool) -> str | None:
    types = [_type(v) for v in (expected, got)]
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
    if not same.all():
        where = tuple(map(int, np.argwhere(~same)[0]))
        values = [np.asarray(v)[where] for v in (got, expected)]
        count = f"{(~same).sum()} of {same.size} differ"
        return f"{values[0]} at {list(where)}, expected {values[1]} ({types[0]}; {count})"
    weak = [_is_weak(v) for v in (expected, got)]
    if with_weak_type and weak[0] != weak[1]:
        return f"weak type {weak[1]}, expected {weak[0]}: {types[0]}"
    return None


def _type(value: Any) -> str:
    value = jnp.asarray(value) if isinstance(value, bool | int | float | complex) else value
    return f"{value.dtype}{list(value.shape)}"


def _is_weak(value: Any) -> bool:
    is_number = isinstance(value, int | float | complex) and not isinstance(value, bool)
    return is_number or getattr(value, "weak_type", False)


def _line(error: Exception) -> str:
    lines = str(error).strip().splitlines() or [""]
    return f"{type(error).__name__}: {lines[0][:300]}"


def _is_unstable(found: Disagreement) -> bool:
    """Does a change of the arguments, or of what functions give, by the last bits change the output as much?

    Then rounding decides there, which way a comparison goes for instance, or what floor gives."""
    program = found.program.with_outputs([found.output])
    run = _eager(program)
    if not isinstance(run, Run) or "type " in found.message:
        return False
    for sign in (1, -1, 3):
        for function_sign in (0, sign):
            nearby = [_nudged(v, sign) for v in run.args]
            with _functions_nudged(function_sign):
                near = _at_points(program, nearby)
            if _first_difference(run._replace(expected=near), run.expected, "vmap") is not None:
                return True
    return False


#: Primitives that add their terms in an order which the implementation chooses.
ADDING = ("dot_general", "reduce_sum", "conv_general_dilated", "cumsum", "reduce_window_sum")


@contextmanager
def _functions_nudged(sign: int) -> Iterator[None]:
    """tanh, sums and the others are within some units in the last place, here and in kernels."""

    def nudged(rule: Callable[..., Any]) -> Callable[..., Any]:
        def near(*args: Any, **params: Any) -> Any:
            out = np.asarray(rule(*args, **params))
            return (
                np.nextafter(out, out.dtype.type(sign * np.inf)) if out.dtype.kind == "f" else out
            )

        return near

    changed = {
        p: nudged(rule)
        for p, rule in impl_rules.items()
        if sign and (isinstance(p.facts.cost, tuple) or p.name in ADDING)
    }
    with mock.patch.dict(impl_rules, changed):
        yield


def _nudged(values: np.ndarray, sign: int) -> np.ndarray:
    if values.dtype.kind in "biu":
        return values
    epsilon = tinyjax.numpy.finfo(values.dtype).eps
    signs = np.where(np.arange(values.size).reshape(values.shape) % 2, sign, -sign / 2)
    return (values * (1 + 2 * signs * float(epsilon))).astype(values.dtype)
