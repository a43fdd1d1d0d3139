"""When all exercises of a lesson pass, check that all of tinyjax runs on the learner's functions.

The tests of an exercise judge it alone. Here small programs that use every transformation, and the lesson's
script, run on the learner's copy. The functions that a failing program called point to the exercise that
probably caused the failure. `check` runs the rest of this file in a separate process, in the copy.

    python -m tinyjax.studio.learn.whole TASK.json
"""

from __future__ import annotations

import contextlib
import functools
import io
import json
import os
import runpy
import shlex
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.studio.learn.exercises import NAMES, ROOT, STORY, place_of
from tinyjax.studio.learn.work_folder import WorkFolder

SECONDS = 300  # limit for the whole check
QUIETLY = {
    "TINYJAX_FAST": "0",
    "TINYJAX_BACKGROUND_BUILD": "0",
}  # errors are raised, not avoided by a fallback to NumPy
WITH_ASSERTS = {"PYTHONOPTIMIZE": ""}  # they judge
FunctionName = tuple[str, str]  # a file and the qualified name of a function in it


def scope(folder: WorkFolder) -> str:
    """A description of what `check` runs."""
    return (
        "the whole story" if folder.lesson == 0 else "all of tinyjax on it, and the lesson's script"
    )


def check(folder: WorkFolder) -> list[str]:
    """Errors in a folder whose exercises all pass, in lines; empty if everything runs."""
    src = folder.path / "src"
    if not (src / "tinyjax/studio/learn/whole.py").exists():
        return []  # a copy of an older tinyjax
    functions = [
        [str(src / file), name, f"{e.number} {e.name}"]
        for e in folder.exercises
        for file, name in e.places
    ]
    kept = [
        [str(src / file), name, f"{e['name']}, of an earlier lesson"]
        for e in folder.notes["kept"]
        for file, name in (place_of(function, src) for function in e["functions"])
    ]
    script = (
        src / STORY if folder.lesson == 0 else ROOT / "tutorials" / f"{NAMES[folder.lesson]}.py"
    )
    task: dict[str, Any] = {"functions": functions, "kept": kept}
    # Separate processes that run at the same time: a lesson may set the number of devices, which must happen
    # first.
    tasks = [task, {**task, "script": str(script)}] if script.exists() else [task]
    with ThreadPoolExecutor(len(tasks)) as pool:
        of_programs, *of_script = pool.map(lambda task: _run(src, task), tasks)
    if of_programs or not of_script:
        return of_programs
    if of_script[0]:
        # Observing the calls makes a script up to four times slower, so only failed ones run again.
        found = _run(src, {**tasks[1], "look": True}) or of_script[0]
        settings = " ".join(f"{name}={value}" for name, value in QUIETLY.items())
        place, program = shlex.quote(str(src)), shlex.quote(str(script))
        found.append(f"    all of it: {settings} PYTHONPATH={place} python {program}")
        return found
    return []


def _run(src: Path, task: dict[str, Any]) -> list[str]:
    """The complaints of `main`, run in a process on the copy in `src`."""
    with tempfile.TemporaryDirectory() as temporary:
        Path(temporary, "task.json").write_text(json.dumps(task), encoding="utf-8")
        command = [sys.executable, "-m", "tinyjax.studio.learn.whole", "task.json"]
        try:
            done = subprocess.run(
                command,
                cwd=temporary,
                env={**os.environ, **QUIETLY, **WITH_ASSERTS, "PYTHONPATH": str(src)},
                capture_output=True,
                text=True,
                errors="replace",
                timeout=SECONDS,
            )
        except subprocess.TimeoutExpired:
            return [f"tinyjax did not run its programs within {SECONDS} seconds on what you wrote."]
    if done.returncode == 0 and done.stdout:
        return json.loads(done.stdout.splitlines()[-1])
    return ["tinyjax could not run its programs on what you wrote:", *done.stderr.splitlines()[-2:]]


# ---- in the copy ----


def programs() -> dict[str, Callable[[], tuple[Any, Any]]]:
    """Small programs by description; each returns the result and the expected result."""

    def f(x: Any) -> Any:
        return jnp.sin(x) * x

    def loop(x: Any) -> Any:
        return jax.lax.scan(lambda carry, y: (carry * x + y, carry), 1.0, jnp.arange(3.0))[0]

    def size(x: Any) -> Any:
        return jnp.where(x > 0, x, 0.5 * x).sum()

    x, xs = 3.0, np.array([0.5, 1.0, 3.0], np.float32)
    slope, slopes = np.cos(x) * x + np.sin(x), np.cos(xs) * xs + np.sin(xs)
    curvature = 2 * np.cos(xs) - xs * np.sin(xs)
    return {
        "jit(f)(3.0)": lambda: (jax.jit(f)(x), np.sin(x) * x),
        "jvp(f, (3.0,), (1.0,))[1]": lambda: (jax.jvp(f, (x,), (1.0,))[1], slope),
        "vmap(f)(xs)": lambda: (jax.vmap(f)(xs), np.sin(xs) * xs),
        "grad(f)(3.0)": lambda: (jax.grad(f)(x), slope),
        "jit(grad(f))(3.0)": lambda: (jax.jit(jax.grad(f))(x), slope),
        "grad(jit(f))(3.0)": lambda: (jax.grad(jax.jit(f))(x), slope),
        "vmap(grad(f))(xs)": lambda: (jax.vmap(jax.grad(f))(xs), slopes),
        "hessian(sum of f)(xs)": lambda: (
            jax.hessian(lambda xs: f(xs).sum())(xs),
            np.diag(curvature),
        ),
        "grad of a scan of three steps": lambda: (jax.grad(loop)(x), 3 * x**2 + 1),
        "vmap(jit(grad of a scan))(xs)": lambda: (
            jax.vmap(jax.jit(jax.grad(loop)))(xs),
            3 * xs**2 + 1,
        ),
        "jit(grad(sum of where))(xs)": lambda: (jax.jit(jax.grad(size))(xs), np.ones(3)),
    }


class Called:
    """A context that records which of the exercises' functions are called."""

    def __init__(self, exercises: dict[FunctionName, str]):
        self.exercises = exercises
        self.names: dict[str, None] = {}

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        if event == "call" and (name := self.exercise_of(frame)):
            self.names[name] = None

    def exercise_of(self, frame: FrameType) -> str | None:
        code = frame.f_code
        return self.exercises.get((code.co_filename, code.co_qualname.partition(".<locals>")[0]))

    def in_traceback(self, error: BaseException) -> str | None:
        """The exercise of the innermost frame in the error's traceback."""
        frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
        return next((name for f in reversed(frames) if (name := self.exercise_of(f))), None)


def complaints(
    what: str,
    run: Callable[[], None],
    exercises: dict[FunctionName, str],
    kept: dict[FunctionName, str] | None = None,
    look: bool = True,
) -> list[str]:
    """The report of a failing program: its error, and the exercise that probably caused it, of this lesson
    or, if the traceback has one, of those carried over. `look`, which makes the program slower, also records
    the called exercises."""
    called = Called(exercises)
    if look:
        sys.setprofile(called)
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            run()
        return []
    except (Exception, SystemExit) as error:
        sys.setprofile(None)
        said = (str(error).splitlines() or [""])[0][:200]
        kind = "" if isinstance(error, AssertionError) else f"{type(error).__name__}: "
        likely = Called({**exercises, **(kept or {})}).in_traceback(error)
        where = [likely] if likely else list(called.names)
        told = [f"    what it called of yours: {', '.join(where)}"] if where else []
        return [f"{what}: {kind}{said}", *(told or ["    it called none of yours"] * look)]
    finally:
        sys.setprofile(None)


def compare(program: Callable[[], tuple[Any, Any]]) -> None:
    """Raises AssertionError if a result differs from the expected one."""
    got, want = (np.asarray(x) for x in program())
    same = got.shape == want.shape and np.allclose(got, want, rtol=1e-4, atol=1e-5)
    assert same, f"gives {got.tolist()}, not {np.round(want, 5).tolist()}"


def main(task: dict[str, Any]) -> None:
    """Run the task's script, or the programs if it names none; print the complaints."""
    exercises, kept = (
        {(file, name): exercise for file, name, exercise in task[which]}
        for which in ("functions", "kept")
    )
    found: list[str] = []
    if "script" in task:
        script = Path(task["script"])
        sys.argv = [str(script)]
        sys.path.append(str(script.parent))  # after the copy, which has its own practice/

        def lesson() -> None:
            runpy.run_path(str(script), run_name="__main__")

        look = task.get("look", False)
        found += complaints(f"{script.parent.name}/{script.name}", lesson, exercises, kept, look)
    else:
        for what, program in programs().items():
            compared = functools.partial(compare, program)
            found += complaints(what, compared, exercises, kept)
    print("\n" + json.dumps(found))


if __name__ == "__main__":
    main(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))
