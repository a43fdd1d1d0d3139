"""`learn` for classes: submissions of students, and grades for teachers (docs/teachers.md)."""

import argparse
import json
from pathlib import Path

from tinyjax.studio.cli.learn_folders import course, print_exercise, shown
from tinyjax.studio.learn import assignment as assignments
from tinyjax.studio.learn import progress
from tinyjax.studio.learn.assignment import Assignment, read_assignment, whole_lessons
from tinyjax.studio.learn.blame import judge_fairly
from tinyjax.studio.learn.exercises import NAMES, LearnError
from tinyjax.studio.learn.grade import as_json, grade, of_verdict, table, write_csv
from tinyjax.studio.learn.submission import read_submission, write_submission
from tinyjax.studio.learn.work_folder import WorkFolder, start


def start_assignment(path: Path) -> int:
    """Make a work folder for each lesson of an assignment, with only the assigned exercises."""
    assignment = read_assignment(path)
    for lesson in assignment.lessons:
        place = (course() / NAMES[lesson]).resolve()
        names = [exercise.name for exercise in assignment.of_lesson(lesson)]
        notes = {"title": assignment.title, "exercises": names}
        folder = start(lesson, place, assignment=notes)
        print(f"{shown(place)} is ready. To be written there:\n")
        for exercise in folder.exercises:
            print_exercise(folder, exercise)
    print("Then, in such a folder: python -m tinyjax learn test, and at the end learn submit.")
    return 0


def test_as_json(folder: WorkFolder) -> int:
    """Print the state of a folder's exercises as JSON, one point per test; return 0 if all pass."""
    run, verdicts = judge_fairly(folder)
    assignment = Assignment(NAMES[folder.lesson], tuple(folder.exercises))
    results = {v.exercise.name: of_verdict(v, run, assignment) for v in verdicts}
    print(json.dumps(as_json(results, assignment), indent=1))
    return 0 if all(v.state == "passed" for v in verdicts) else 1


def submit_(options: argparse.Namespace) -> int:
    """write all that you wrote to one file, for your teacher"""
    path = options.file or Path("submission.json")
    numbers = write_submission(progress.folders(course()), path)
    print(f"wrote {path}, with {', '.join(numbers)}. Hand in this file.")
    return 0


def grade_(options: argparse.Namespace) -> int:
    """judge the submissions in a folder: points as a table, and in results.csv"""
    place: Path = options.folder
    if not place.is_dir():
        raise LearnError(f"There is no folder {place}.")
    submissions = sorted(place.glob("*.json"))
    if not submissions:
        raise LearnError(
            f"There are no submissions in {place}: files *.json, as `learn submit` writes."
        )
    assignment = _assignment(options.assignment, place, submissions)
    graded = grade(submissions, assignment, lambda line: print(line, flush=True))
    write_csv(place / "results.csv", graded, assignment)
    print("", table(graded, assignment), f"\nwrote {place / 'results.csv'}", sep="\n")
    return 0


def _assignment(path: Path | None, place: Path, submissions: list[Path]) -> Assignment:
    """The named assignment, else the folder's own, else all submitted lessons."""
    if path or (place / assignments.FILE).exists():
        return read_assignment(path or place / assignments.FILE)
    lessons: set[int] = set()
    for file in submissions:
        try:
            lessons |= set(read_submission(file).sources)
        except LearnError:
            continue  # grading reports it
    return whole_lessons(sorted(lessons & set(range(len(NAMES)))))
