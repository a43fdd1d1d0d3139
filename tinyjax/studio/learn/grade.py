"""Judge the submissions of a class, each in a fresh process, trusting nothing in a submission.

Only the assigned functions of a submission and their helpers are copied, into a tinyjax with the reference's
answers to everything else. The answers are screened first (screen.py), then run under guard.py within limits
of time and memory. An exercise that fails beside the student's other answers is judged again alone, so that
each mistake is counted once.
"""

from __future__ import annotations

import ast
import csv
import os
import queue
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from tinyjax.studio.learn.assignment import Assignment
from tinyjax.studio.learn.atomic_files import read
from tinyjax.studio.learn.blame import blame
from tinyjax.studio.learn.carry import carry
from tinyjax.studio.learn.exercises import Exercise, LearnError, in_clone
from tinyjax.studio.learn.functions import functions_of
from tinyjax.studio.learn.judge import Run, Verdict, verdict_of_written, why
from tinyjax.studio.learn.judging_copy import JudgingCopy
from tinyjax.studio.learn.screen import refusals
from tinyjax.studio.learn.submission import Submission, read_submission

LONG = 6  # lines of a function: two equal ones of this length were probably copied


@dataclass
class Result:
    """The state of a student's exercise: "passed", "failed", "empty", "refused" or "unreadable"."""

    state: str
    points: float = 0.0
    passed: int = 0  # of its tests
    tests: int = 0
    # the first failure, or the reason of the refusal
    lines: list[str] = field(default_factory=list)


@dataclass
class Graded:
    """A student's results, by the exercises' names; `notes` are for the teacher to look at."""

    student: str
    results: dict[str, Result] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    @property
    def points(self) -> float:
        return sum(result.points for result in self.results.values())


def grade(
    paths: Sequence[Path], assignment: Assignment, say: Callable[[str], None]
) -> list[Graded]:
    """The results of the submissions in these files, in order. `say` is called with a line for each. Raises
    LearnError if a file of hidden tests is missing."""
    if missing := [file for file in assignment.hidden if not file.is_file()]:
        raise LearnError(
            f"There is no file {missing[0]}, which the assignment has hidden tests in."
        )
    submissions: list[Submission | Graded] = []
    for path in paths:
        try:
            submissions.append(read_submission(path))
        except LearnError as error:
            submissions.append(Graded(path.stem, {}, [str(error)]))
    with tempfile.TemporaryDirectory() as temporary:
        graded = _grade_all(submissions, assignment, Path(temporary).resolve(), paths, say)
    _note_the_same(submissions, graded, assignment)
    return graded


def _grade_all(
    submissions: list[Submission | Graded],
    assignment: Assignment,
    place: Path,
    paths: Sequence[Path],
    say: Callable[[str], None],
) -> list[Graded]:
    workers = min(os.cpu_count() or 1, max(len(submissions), 1))
    copies: queue.Queue[dict[int, JudgingCopy]] = queue.Queue()
    for i in range(workers):
        copies.put(
            {n: _copy(place / f"{i}_{n:02}", n, assignment, paths) for n in assignment.lessons}
        )

    def one(submission: Submission | Graded) -> Graded:
        if isinstance(submission, Graded):
            return submission
        mine = copies.get()
        try:
            found = Graded(submission.student)
            for lesson, copy in mine.items():
                found.results |= _of_lesson(submission, copy, assignment, lesson)
        finally:
            copies.put(mine)
        found.notes += [
            f"{name}: {result.state}: {result.lines[0]}"
            for name, result in found.results.items()
            if result.state in ("refused", "unreadable")
        ]
        say(f"{found.student}: {found.points:g}")
        return found

    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(one, submissions))


def _copy(
    path: Path, lesson: int, assignment: Assignment, submissions: Sequence[Path]
) -> JudgingCopy:
    copy = JudgingCopy(path, lesson, assignment.hidden)
    copy.add_guard(submissions)
    return copy


def _of_lesson(
    submission: Submission, copy: JudgingCopy, assignment: Assignment, lesson: int
) -> dict[str, Result]:
    """The results of a student's exercises of one lesson."""
    results: dict[str, Result] = {}
    answers: list[Exercise] = []  # runnable ones
    for exercise in assignment.of_lesson(lesson):
        if refused := _not_run(submission, exercise):
            results[exercise.name] = refused
        else:
            answers.append(exercise)
    if not answers:
        return results

    def run_with(exercises: list[Exercise]) -> Run:
        return copy.run(_together(submission, exercises), answers)

    run = run_with(answers)
    verdicts = [verdict_of_written(exercise, run) for exercise in answers]
    if run.broken and len(answers) > 1:  # possibly because of only one of them
        for exercise in answers:
            alone = run_with([exercise])
            found_alone = verdict_of_written(exercise, alone)
            results[exercise.name] = of_verdict(found_alone, alone, assignment)
        return results
    blame(verdicts, run_with)
    for verdict in verdicts:
        results[verdict.exercise.name] = of_verdict(verdict, run, assignment)
    return results


def _not_run(submission: Submission, exercise: Exercise) -> Result | None:
    """The result of an exercise that isn't run: empty, unreadable or refused."""
    state = submission.state(exercise)
    if state != "written":
        return Result("empty") if state == "empty" else Result("unreadable", lines=[state])
    try:
        sources = _together(submission, [exercise])
        refused = []
        for file, source in sources.items():
            names = [name for place, name in exercise.places if place == file]
            refused += refusals(source, read(in_clone(file)), names)
    except (SyntaxError, ValueError, KeyError, RecursionError) as error:
        return Result("unreadable", lines=[str(error)])
    return Result("refused", lines=refused) if refused else None


def _together(submission: Submission, exercises: Iterable[Exercise]) -> dict[str, str]:
    """The files with the student's functions of these exercises in them."""
    sources: dict[str, str] = {}
    for exercise in exercises:
        for file, name in exercise.places:
            fresh = sources.get(file) or read(in_clone(file))
            theirs = submission.source(exercise.lesson, file)
            sources[file] = carry(fresh, name, theirs, name).source
    return sources


def of_verdict(verdict: Verdict, run: Run, assignment: Assignment) -> Result:
    """The result for a verdict: points in proportion to the passed tests. An answer that fails though all of
    its own tests pass loses those of one."""
    exercise, state = verdict.exercise, verdict.state
    lines = [] if state in ("passed", "empty") else run.broken or why(verdict.failure)
    if run.broken and run.broken[0].startswith("refused: "):
        state, lines = "refused", [line.removeprefix("refused: ") for line in run.broken]
    elif state == "not run":
        state = "failed"
    total = len(exercise.tests)
    passed = verdict.passed if state == "passed" else min(verdict.passed, total - 1)
    share = 0.0 if state == "refused" else passed / total
    points = round(assignment.points_of(exercise) * share, 2)
    return Result(state, points, verdict.passed, total, lines)


# ---- the same answer twice ----


def _note_the_same(
    submissions: list[Submission | Graded], graded: list[Graded], assignment: Assignment
) -> None:
    """Note long answers that equal another submission's, or the reference's."""
    for exercise in assignment.exercises:
        written = {
            s.student: _form(s.source(exercise.lesson, file), name)
            for file, name in exercise.places[:1]
            for s in submissions
            if isinstance(s, Submission) and s.state(exercise) == "written"
        }
        file, name = exercise.places[0]
        reference = _form(read(in_clone(file)), name)
        many = Counter(written.values())
        for result in graded:
            form = written.get(result.student)
            if form and form == reference:
                result.notes.append(f"{exercise.name}: as the reference")
            elif form and many[form] > 1:
                others = [
                    s for s, other in written.items() if other == form and s != result.student
                ]
                result.notes.append(f"{exercise.name}: as {', '.join(others)}")


def _form(source: str, name: str) -> str | None:
    """The function without docstring, types and its own names, which stays equal when a copy is renamed. None
    if it is short."""
    node = functions_of(source)[name]
    body = node.body[ast.get_docstring(node) is not None :]
    text = "\n".join(ast.unparse(statement) for statement in body)
    if len(text.splitlines()) < LONG:
        return None
    names: dict[str, str] = {}
    tree = ast.parse(text)
    for part in ast.walk(node.args):
        if isinstance(part, ast.arg):
            names.setdefault(part.arg, f"v{len(names)}")
    for part in ast.walk(tree):
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
            names.setdefault(part.id, f"v{len(names)}")
    for part in ast.walk(tree):
        if isinstance(part, ast.Name):
            part.id = names.get(part.id, part.id)
    return ast.unparse(tree)


# ---- what a teacher gets ----


def table(graded: list[Graded], assignment: Assignment) -> str:
    """A line for each student with the points of each exercise and in all; then notes for the teacher."""
    heads = ["student", *(e.number for e in assignment.exercises), "points"]
    rows = [
        [g.student, *(_cell(g, e) for e in assignment.exercises), f"{g.points:g}"] for g in graded
    ]
    most = [f"{assignment.points_of(e):g}" for e in assignment.exercises]
    of = sum(assignment.points_of(e) for e in assignment.exercises)
    rows.append(["of", *most, f"{of:g}"])
    widths = [max(len(row[i]) for row in [heads, *rows]) for i in range(len(heads))]
    lines = [
        "  ".join(
            cell.rjust(w) if i else cell.ljust(w) for i, (cell, w) in enumerate(zip(row, widths))
        )
        for row in [heads, *rows]
    ]
    notes = [f"{g.student}: {note}" for g in graded for note in g.notes]
    return "\n".join([*lines, *(["", "To look at:", *notes] if notes else [])])


def _cell(graded: Graded, exercise: Exercise) -> str:
    result = graded.results.get(exercise.name, Result("empty"))
    return {"empty": "-", "refused": "refused", "unreadable": "?"}.get(
        result.state, f"{result.points:g}"
    )


def write_csv(path: Path, graded: list[Graded], assignment: Assignment) -> None:
    """Write a row for each student and exercise, for a spreadsheet or a learning platform."""
    with open(path, "w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(
            [
                "student",
                "exercise",
                "name",
                "state",
                "points",
                "of",
                "passed",
                "tests",
                "first failure",
            ]
        )
        for one in graded:
            for exercise in assignment.exercises:
                r = one.results.get(exercise.name, Result("empty"))
                of = assignment.points_of(exercise)
                first = " | ".join(r.lines[:3])
                cells: list[str | float] = [
                    one.student,
                    exercise.number,
                    exercise.name,
                    r.state,
                    r.points,
                    of,
                ]
                rows.writerow([_plain(c) for c in [*cells, r.passed, r.tests, first]])


def _plain(cell: str | float) -> str | float:
    """The text, escaped so that a spreadsheet doesn't read it as a formula."""
    return f"'{cell}" if isinstance(cell, str) and cell[:1] in ("=", "+", "-", "@") else cell


def as_json(results: Mapping[str, Result], assignment: Assignment) -> dict[str, object]:
    """Results as JSON: for each exercise its state, points, and first failure."""
    exercises = [
        {
            "number": e.number,
            "name": e.name,
            "state": results[e.name].state,
            "points": results[e.name].points,
            "of": assignment.points_of(e),
            "tests_passed": results[e.name].passed,
            "tests": len(e.tests),
            "lines": results[e.name].lines,
        }
        for e in assignment.exercises
    ]
    total = sum(result.points for result in results.values())
    most = sum(assignment.points_of(e) for e in assignment.exercises)
    return {"title": assignment.title, "points": total, "of": most, "exercises": exercises}
