"""Carry over the learner's code from earlier lessons to the copy of a later one.

An exercise's functions are carried over if it passes both in its own lesson's folder and together with all
others. The rest keeps the reference's functions, and is listed.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterable, Set
from dataclasses import dataclass, field
from pathlib import Path

from tinyjax.studio.learn import exercises as catalogue
from tinyjax.studio.learn import migrate
from tinyjax.studio.learn.atomic_files import read
from tinyjax.studio.learn.carry import carry
from tinyjax.studio.learn.changes import unreadable
from tinyjax.studio.learn.exercises import Exercise, LearnError, in_clone, place_of
from tinyjax.studio.learn.functions import function_text, functions_of, names_of_module, names_used
from tinyjax.studio.learn.handed_out import empty_sources, of_lesson
from tinyjax.studio.learn.judge import judge
from tinyjax.studio.learn.work_folder import WorkFolder, write_copy, write_judges

NOT_WRITTEN = "is not written yet"
SKIPPED = "is skipped"


@dataclass
class Kept:
    """The result of carrying over: the files with the learner's functions and their exercises; and the
    exercises that keep tinyjax's functions, with the reason."""

    sources: dict[str, str] = field(default_factory=dict)
    exercises: list[Exercise] = field(default_factory=list)
    left: dict[str, str] = field(default_factory=dict)


def carried_on(
    folders: Iterable[WorkFolder], lesson: int | None, say: Callable[[str], None]
) -> Kept:
    """The functions to carry over from the folders of earlier lessons (of all, if `lesson` is None), judged
    as they are now. `say` is called with progress messages and changes. Raises LearnError if they can't be
    determined."""
    last = len(catalogue.NAMES) if lesson is None else lesson
    earlier = [
        folder for folder in folders if 0 < folder.lesson < last
    ]  # 0: nothing uses the story
    judged = [as_it_is_now(folder, say) for folder in earlier]
    apart: set[str] = set()
    while True:
        kept = gathered(judged, apart)
        if not kept.exercises:
            return kept
        say(f"Testing together what {len(kept.exercises)} exercises have made ...")
        failed = failing_together(kept, lesson, say)
        if not failed:
            return kept
        apart |= failed


def as_it_is_now(folder: WorkFolder, say: Callable[[str], None]) -> WorkFolder:
    """The folder, renewed if tinyjax has changed, and judged again if the learner's files have."""
    if told := migrate.renew(folder):
        say("\n".join([f"{folder.path}:", *told]))
        folder = WorkFolder(folder.path)
    if lines := unreadable(folder):
        say("\n".join([f"{folder.path} cannot be read:", *lines]))
        folder.note_passed([])
    elif folder.notes.get("judged") != folder.state():
        say(f"Testing {folder.path} as it is now ...")
        for line in migrate.originals(folder):
            say(line)
        run, verdicts = judge(folder)
        for line in run.broken:
            say(line)
        folder.note_passed([v.exercise.name for v in verdicts if v.state == "passed"])
        # notes that can't be written are computed again next time
        with contextlib.suppress(OSError):
            folder.save()
    return folder


def gathered(folders: Iterable[WorkFolder], apart: Set[str]) -> Kept:
    """The functions of all passing exercises in one set of files; without the exercises in `apart`."""
    folders = list(folders)
    homes = {e: f for f in folders for e in f.exercises if e.name in f.notes["passed"]}
    kept = Kept()
    for e in catalogue.load():
        there = [folder for folder in folders if folder.lesson == e.lesson]
        if not there:
            continue
        if e not in homes:
            kept.left[e.name] = why_not(e, there)
        elif e.name in apart:
            kept.left[e.name] = "passes in its own folder, but not with the others"
        elif why := put_in(kept.sources, homes[e], e):
            kept.left[e.name] = why
        else:
            kept.exercises.append(e)
    return kept


def why_not(exercise: Exercise, folders: list[WorkFolder]) -> str:
    """Why an exercise does not pass in the folders of its lesson."""
    if any(unreadable(folder) for folder in folders):
        return "its folder cannot be read"
    if all(f.is_empty(exercise) for f in folders):
        return NOT_WRITTEN
    return SKIPPED if any(f.is_skipped(exercise) for f in folders) else "does not pass"


def put_in(sources: dict[str, str], folder: WorkFolder, exercise: Exercise) -> str:
    """Put the learner's functions of an exercise into `sources`, or return why that is impossible."""
    new = dict(sources)
    for file, name in exercise.places:
        theirs, reference = folder.source(file), read(in_clone(file))
        fresh = new.get(file, reference)
        if others := unlike(theirs, fresh, reference, name):
            return (
                f"{name} calls {others[0]}, and another function of this name was carried on before"
            )
        done = carry(fresh, name, theirs, name)
        if done.missing:
            unknown = [n for n in done.missing if n not in names_of_module(theirs)]
            why = (
                f"{Path(file).name} neither imports nor defines"
                if unknown
                else "cannot be carried on"
            )
            return f"{name} uses {', '.join(unknown or done.missing)}, which {why}"
        new[file] = done.source
    sources.update(new)
    return ""


def unlike(theirs: str, fresh: str, reference: str, name: str) -> list[str]:
    """The learner's own helpers that a function uses and that the fresh file already has in another
    version."""
    own = functions_of(theirs).keys() & functions_of(fresh).keys() - functions_of(reference).keys()
    used = names_used(function_text(theirs, name))
    return [n for n in sorted(own & used) if function_text(theirs, n) != function_text(fresh, n)]


def failing_together(kept: Kept, lesson: int | None, say: Callable[[str], None]) -> set[str]:
    """The exercises that fail in one copy with everything that is carried over and nothing yet of this
    lesson; only exercises of tinyjax itself count. `say` is called when a lesson's tests begin."""
    judged = [e for e in kept.exercises if not e.stands_alone]
    if not judged:
        return set()
    with tempfile.TemporaryDirectory() as temporary:
        path = Path(temporary).resolve()
        emptied = of_lesson(lesson) if lesson is not None else []
        files = write_copy(path, empty_sources(emptied, kept.sources))
        write_judges(path, judged[-1].lesson, judged, {"files": files})
        folder = WorkFolder(path)
        folder.exercises = judged
        run, verdicts = judge(folder, by_lesson(judged, say))
    if run.broken:
        raise LearnError(
            "\n".join(["What you wrote in earlier lessons does not run together:", *run.broken])
        )
    return {v.exercise.name for v in verdicts if v.state != "passed"}


def by_lesson(exercises: list[Exercise], say: Callable[[str], None]) -> Callable[[str], None]:
    """A callback for each test's start: prints each lesson once."""
    lessons = {test: e.lesson for e in reversed(exercises) for test in e.tests}
    lessons |= {test.partition("[")[0]: lesson for test, lesson in lessons.items()}
    said: set[int] = set()

    def begun(test: str) -> None:
        lesson = lessons.get(test) or lessons.get(test.partition("[")[0])
        if lesson is not None and lesson not in said:
            said.add(lesson)
            here = [e for e in exercises if e.lesson == lesson]
            functions = [name.rpartition(".")[2] for e in here for _, name in e.places]
            shown = ", ".join(functions[:4]) + (", ..." if len(functions) > 4 else "")
            say(f"  {catalogue.NAMES[lesson]}: {shown}")

    return begun


def outdated(folder: WorkFolder, folders: Iterable[WorkFolder]) -> list[str]:
    """Functions carried over to a folder that have since changed in their own lesson's folder."""
    found = []
    for noted in folder.notes["kept"]:
        homes = [f for f in folders if any(e.name == noted["name"] for e in f.exercises)]
        for file, name in (
            place_of(function, folder.path / "src") for function in noted["functions"]
        ):
            texts = {text.strip() for f in homes if (text := f.text(file, name))}
            if texts and function_text(folder.given(file), name).strip() not in texts:
                found.append(f"{name} (lesson {catalogue.label_of(homes[0].lesson)})")
    return found


def listing(kept: Kept, course: Path, lesson: int) -> list[str]:
    """A line for each lesson that is carried over, and one for all that is not written yet."""
    lines = []
    for number, earlier in enumerate(catalogue.NAMES):
        functions = [name for e in kept.exercises if e.lesson == number for _, name in e.places]
        if functions:
            lines.append(f"  {earlier}: {', '.join(functions)}")
    if lines:
        lines.insert(0, "Yours, carried on from earlier lessons:")
    numbers = {e.name: e.number for e in catalogue.load()}
    for words, reason in (("Not written yet", NOT_WRITTEN), ("Skipped", SKIPPED)):
        if found := [numbers[name] for name, why in kept.left.items() if why == reason]:
            lines.append(f"{words}, so tinyjax's own: {', '.join(found)}")
    if lines or kept.left or lesson <= 1:
        return lines
    return [f"No work folder of an earlier lesson is in {course}: nothing is carried on."]


def refused(kept: Kept, lesson: int) -> list[str]:
    """Lists functions that are written but not carried over; printed last, as they need fixing."""
    numbers = {e.name: e.number for e in catalogue.load()}
    reasons = (NOT_WRITTEN, SKIPPED)
    written = {name: why for name, why in kept.left.items() if why not in reasons}
    if not written:
        return []
    label = catalogue.label_of(lesson)
    return [
        "\nNot carried on (what is there is tinyjax's own):",
        *[f"  {numbers[name]} {name}: {why}" for name, why in written.items()],
        f"Once these are fixed in their folders, `learn start {label} --keep` once more brings them.",
    ]
