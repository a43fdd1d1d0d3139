"""Find the wrong answer when another exercise's test fails.

Exercises build on each other, so a wrong answer may pass its own tests and break those of the next. A failing
exercise is judged again with the reference's answers to all others. If it then passes, another answer is
wrong: the one whose replacement makes it pass.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Set
from dataclasses import replace
from pathlib import Path

from tinyjax.studio.learn.carry_over import put_in
from tinyjax.studio.learn.exercises import Exercise, LearnError
from tinyjax.studio.learn.judge import Begun, Run, Verdict, judge, verdict_of_written
from tinyjax.studio.learn.judging_copy import JudgingCopy
from tinyjax.studio.learn.work_folder import WorkFolder

# Runs the tests of all written exercises, with the learner's answers to only some of them.
RunWith = Callable[[list[Exercise]], Run]


def judge_fairly(folder: WorkFolder, begun: Begun = lambda test: None) -> tuple[Run, list[Verdict]]:
    """Like `judge`, but "failed" marks the exercises whose own answers are wrong."""
    run, verdicts = judge(folder, begun)
    written = [v.exercise for v in verdicts if v.state in ("passed", "failed")]
    if len(written) < 2 or all(v.state != "failed" for v in verdicts):
        return run, verdicts
    with tempfile.TemporaryDirectory() as temporary:
        copy = JudgingCopy(Path(temporary).resolve(), folder.lesson)

        def run_with(answers: list[Exercise]) -> Run:
            sources: dict[str, str] = {}
            for exercise in answers:
                put_in(sources, folder, exercise)
            return copy.run(sources, written)

        # An answer that can't be put into the copy would seem to pass, as the reference would run.
        apart = {e.name for e in written if put_in({}, folder, e)}
        blame(verdicts, run_with, apart)
    return run, verdicts


def judge_functions(
    folder: WorkFolder, exercise: Exercise, function: str | None = None
) -> dict[str, Verdict]:
    """A verdict for each function of an exercise, or for the named one: each is judged alone, with the
    reference's answers to all else. Raises LearnError if the exercise has no such function."""
    chosen = {
        name: replace(exercise, functions=(place,))
        for place, (_, name) in zip(exercise.functions, exercise.places)
    }
    if function is not None:
        known = ", ".join(chosen)
        chosen = {n: e for n, e in chosen.items() if function in (n, n.rpartition(".")[2])}
        if not chosen:
            raise LearnError(f"{exercise.number} has no function {function!r}. It has: {known}")
    with tempfile.TemporaryDirectory() as temporary:
        copy = JudgingCopy(Path(temporary).resolve(), folder.lesson)
        return {name: _judge_alone(folder, e, copy) for name, e in chosen.items()}


def _judge_alone(folder: WorkFolder, exercise: Exercise, copy: JudgingCopy) -> Verdict:
    if folder.is_empty(exercise):
        return Verdict(exercise, "empty")
    sources: dict[str, str] = {}
    if missing := put_in(sources, folder, exercise):
        return Verdict(exercise, "failed", failure={"message": [missing]})
    return verdict_of_written(exercise, copy.run(sources, [exercise]))


def blame(verdicts: list[Verdict], run_with: RunWith, apart: Set[str] = frozenset()) -> None:
    """Change the verdict of each exercise that fails because of another one: it becomes "passed", and the
    other one's "failed". Exercises in `apart` can't be judged without the others, and keep their verdicts.
    """
    written = [v for v in verdicts if v.state in ("passed", "failed")]
    if len(written) < 2:
        return  # no other can be wrong
    for v in written:
        if v.exercise.name in apart:
            continue
        if v.state == "failed" and _passes(v, run_with([v.exercise])):
            for other in _suspects(v, written):
                rest = [w.exercise for w in written if w is not other]
                if _passes(v, run_with(rest)):
                    _exchange(v, other)
                    break


def _suspects(v: Verdict, written: list[Verdict]) -> list[Verdict]:
    """The other exercises: first those that fail too, then those whose functions the failed test called."""
    called = v.failure.get("called", [])
    others = [w for w in written if w is not v]
    return sorted(others, key=lambda w: (w.state == "passed", w.exercise.name not in called))


def _exchange(v: Verdict, guilty: Verdict) -> None:
    if guilty.state == "passed":
        said = f"its own tests pass, but a test of {v.exercise.number} {v.exercise.name} fails with it:"
        message = [said, *v.failure.get("message", [])]
        guilty.state, guilty.test = "failed", v.test
        guilty.failure = {**v.failure, "message": message, "called": []}
    v.state, v.passed, v.test, v.failure = "passed", len(v.exercise.tests), "", {}


def _passes(v: Verdict, run: Run) -> bool:
    return verdict_of_written(v.exercise, run).state == "passed"
