"""The work folders of `learn`: create, find and reset them."""

import argparse
import shlex
import sys
import textwrap
from pathlib import Path

from tinyjax.studio.learn import exercises as catalogue
from tinyjax.studio.learn import migrate, progress
from tinyjax.studio.learn.atomic_files import NOTES, put_in_place
from tinyjax.studio.learn.carry_over import Kept, carried_on, listing, refused
from tinyjax.studio.learn.exercises import NAMES, PACKAGE, Exercise, LearnError
from tinyjax.studio.learn.work_folder import WorkFolder, check_place, start

# ---- which folder ----


def enclosing_folder() -> Path | None:
    """The work folder around the shell's current folder."""
    here = Path.cwd()
    for path in (here, *here.parents):
        put_in_place(path)  # left unfinished by an interrupted command
        if (path / NOTES).exists():
            return path
    return None


def course() -> Path:
    """The folder of work folders: the parent of the current work folder, else the current folder if it holds
    some, else learn/ here."""
    inside, here = enclosing_folder(), Path.cwd()
    return inside.parent if inside else here if progress.paths(here) else here / "learn"


def this_folder(lesson: str | None = None) -> WorkFolder:
    """The current work folder, else the one last used in the course (for the named lesson, if any). It is
    renewed if tinyjax has changed."""
    if (PACKAGE.parent.parent / NOTES).exists():
        copy = shlex.quote(str(PACKAGE.parent.parent))
        raise LearnError(f"This ran the copy that you work on. First: cd {copy}")
    number = catalogue.lesson_number(lesson) if lesson else None
    paths = [p for p in [enclosing_folder(), *reversed(progress.paths(course()))] if p]
    path = next((p for p in paths if number in (None, WorkFolder(p).lesson)), None)
    if path is None:
        which = f" for lesson {catalogue.label_of(number)}" if number else ""
        raise LearnError(
            f"There is no work folder{which} here, nor in {shown(course())}: python -m tinyjax learn start "
            f"{catalogue.label_of(number or 0)}"
        )
    put_in_place(path)
    folder = WorkFolder(path)
    if told := migrate.renew(folder):
        print(*told, "", sep="\n")
        folder = WorkFolder(path)
    return folder


def folder_of(exercise: str | None) -> WorkFolder:
    """The work folder for an exercise's lesson, by number ("11.3") or name; without one, the current
    folder."""
    lesson, dot, _ = (exercise or "").partition(".")
    if dot and lesson[:1].isdecimal():
        return this_folder(lesson)
    named = [NAMES[e.lesson] for e in catalogue.load() if e.name == exercise]
    return this_folder(named[0] if named else None)


def shown(path: Path) -> str:
    """A path relative to the current folder."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def chosen(folder: WorkFolder, text: str | None) -> Exercise | None:
    """The named exercise, or else the first one neither passed nor skipped."""
    if text is not None:
        return catalogue.find(folder.exercises, text)
    left = [e for e in folder.exercises if e.name not in folder.notes["passed"]]
    return next((e for e in left if not folder.is_skipped(e)), None)


# ---- making one ----


def start_(options: argparse.Namespace) -> int:
    """make a folder to work in: a copy of tinyjax in which a lesson's functions are emptied"""
    lesson = catalogue.lesson_number(options.lesson.partition(".")[0])
    exercises = [e for e in catalogue.load() if e.lesson == lesson]
    first = catalogue.find(exercises, options.lesson) if "." in options.lesson else None
    path = (options.folder or course() / NAMES[lesson]).resolve()
    put_in_place(path)  # an earlier `start` may have been interrupted in its last step
    again = options.keep and (path / NOTES).exists() and WorkFolder(path).lesson == lesson
    if not again:
        check_place(lesson, path)
    kept = Kept()
    if options.keep:
        beside = progress.folders(path.parent)
        kept = carried_on(beside, lesson, lambda line: print(line, flush=True))
        print(*listing(kept, path.parent, lesson), "", sep="\n")
    if again:
        told = migrate.bring(WorkFolder(path), kept.sources, kept.exercises)
        told = told or [f"All of this is in {shown(path)} already."]
        print(*told, *refused(kept, lesson), sep="\n")
        return 0
    folder = start(lesson, path, kept.sources, kept.exercises)
    skipped = folder.exercises[: exercises.index(first)] if first else []
    for e in skipped:
        migrate.take_reference(folder, e)
    left = folder.exercises[len(skipped) :]
    print(f"{shown(path)} is ready. To be written there:\n")
    for e in left[:1] if lesson == 0 else left:  # the story's puzzles are given one at a time
        print_exercise(folder, e)
    if skipped:
        numbers = ", ".join(e.number for e in skipped)
        print(
            f"Skipped, with the reference: {numbers}. `learn reset {skipped[0].number}` empties one."
        )
    if lesson == 0:
        print(f"{len(left) - 1} more follow in the same file. Then, there or here:")
        print("    python -m tinyjax learn watch   # judges what you write when you save it")
        print("    python -m tinyjax learn hint    # when stuck")
    else:
        print("Then, there or here: python -m tinyjax learn test (and hint, when stuck).")
    readme = shown(path / "README.md")
    print(f"The same and more is in {readme}.", *refused(kept, lesson), sep="\n")
    return 0


def print_exercise(folder: WorkFolder, e: Exercise) -> None:
    print(f"{e.number} {e.name} {'*' * e.grade}")
    print(textwrap.fill(e.goal, 100, initial_indent="    ", subsequent_indent="    "))
    for file, name in e.places:
        print(f"    {name}: {shown(folder.path / 'src' / file)}:{folder.line(file, name)}")
    print()


def skip(options: argparse.Namespace) -> int:
    """take the reference for an exercise (by default, the next), so that others can build on it"""
    folder = folder_of(options.exercise)
    if assignment := folder.notes.get("assignment"):
        raise LearnError(f"`learn skip` takes the reference, and is off in {assignment['title']}.")
    e = chosen(folder, options.exercise)
    if e is None:
        print("There is nothing to skip: all exercises of this lesson have passed.")
        return 0
    is_empty = folder.is_empty(e)
    before = migrate.take_reference(folder, e)
    files = " and ".join(dict.fromkeys(shown(folder.path / "src" / file) for file, _ in e.places))
    print(
        f"{e.number} {e.name} is skipped: {files} has the reference now. It does not count as passed."
    )
    print(f"To write it after all: python -m tinyjax learn reset {e.number}")
    if not is_empty:
        print(f"What was there is in {shown(before)}.")
    return 0


def reset(options: argparse.Namespace) -> int:
    """begin again: with the whole lesson, one exercise (02.1), or a file (tinyjax/core/bind.py)"""
    what = options.what
    folder = folder_of(what)
    is_file = what is not None and what.endswith(".py")
    exercise = None if what is None or is_file else catalogue.find(folder.exercises, what)
    words = what if is_file else exercise.number if exercise else f"all of {folder.path}"
    print(f"Reset {words}? What is there now is kept aside. [y/N] ", end="", flush=True)
    if sys.stdin.readline().strip().lower() != "y":
        print("Nothing was changed.")
        return 1
    before: Path | None
    if is_file:
        kept, before = migrate.put_back(folder, what)
        print(f"{what} is back" + (f", with your {', '.join(kept)}." if kept else "."))
    elif exercise:
        before = migrate.empty_again(folder, exercise)
        print(f"{exercise.number} is empty again.")
    else:
        before = migrate.begin_again(folder)
        print("All is as it was handed out.")
    print(f"What was there is in {shown(before or folder.path)}.")
    return 0
