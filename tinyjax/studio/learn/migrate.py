"""Make fresh copies when the installed package has changed or the learner starts over.

Replaced files are moved to the folder `before`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from tinyjax.studio.learn import exercises as catalogue
from tinyjax.studio.learn.atomic_files import BEFORE, load_json, put_aside, read, write
from tinyjax.studio.learn.carry import carry
from tinyjax.studio.learn.changes import unreadable
from tinyjax.studio.learn.exercises import (
    NAMES,
    PRACTICE,
    STORY,
    Exercise,
    LearnError,
    in_clone,
    place_of,
)
from tinyjax.studio.learn.functions import function_text, is_empty_text, with_function
from tinyjax.studio.learn.handed_out import handed_out
from tinyjax.studio.learn.work_folder import (
    GIVEN,
    GRADER,
    WorkFolder,
    fingerprint,
    make,
    of_folder,
    test_files,
)

# A learner's function: its current place, the learner's file, and its name in that file.
Written = tuple[tuple[str, str], str, str]

# ---- when the installed package has changed, or what earlier lessons have made ----


def renew(folder: WorkFolder) -> list[str]:
    """If the installed package has changed, make a fresh copy and carry the learner's functions into it.
    Returns messages, in lines. Raises LearnError if the functions cannot be read."""
    if folder.notes["fingerprint"] == fingerprint(folder.exercises):
        return []
    own, kept, left = written(folder)
    kept, split = split_off(folder, kept)
    sources, told = carried(kept, {})
    places = {place for place, _, _ in kept}
    whole = [e for e in catalogue.load() if set(e.places) <= places]
    told_of_own = remake(folder, own, sources, whole)
    more = f", and {len(kept)} functions of other lessons" if kept else ""
    return [
        "tinyjax has changed. This is a fresh copy of it; carried over: "
        f"{names_of(own) or 'nothing, as nothing was written yet'}{more}.",
        *told_of_own,
        *told,
        *split,
        *left,
    ]


def split_off(folder: WorkFolder, kept: list[Written]) -> tuple[list[Written], list[str]]:
    """Move exercises that now belong to another lesson into a folder of that lesson, beside this one. Returns
    the other functions, and messages."""
    told: list[str] = []
    names = {e["name"] for e in folder.notes["exercises"]}
    elsewhere = [e for e in catalogue.load() if e.name in names and e.lesson != folder.lesson]
    for lesson in sorted({e.lesson for e in elsewhere}):
        places = {place for e in elsewhere if e.lesson == lesson for place in e.places}
        moved = [function for function in kept if function[0] in places]
        kept = [function for function in kept if function[0] not in places]
        path = folder.path.parent / NAMES[lesson]
        if path.exists():
            told.append(f"{names_of(moved)}: not moved, as {path} is there already. See {BEFORE}.")
        elif moved:
            told += begin_with(path, lesson, folder.notes, moved, carried(kept, {})[0])
    return kept, told


def begin_with(
    path: Path,
    lesson: int,
    notes: Mapping[str, Any],
    moved: list[Written],
    kept: Mapping[str, str],
) -> list[str]:
    """Make a folder for a lesson with these functions and their notes. Returns messages."""
    exercises = of_folder(lesson, notes)
    names = {e.name for e in exercises}
    whole = {e.name for e in exercises if set(e.places) <= {place for place, _, _ in moved}}
    own_notes = {
        **{key: notes[key] for key in ("kept", "assignment") if key in notes},
        "passed": [name for name in notes["passed"] if name in whole],
        **{
            key: {name: value for name, value in notes.get(key, {}).items() if name in names}
            for key in ("hints", "skipped")
        },
    }
    given = handed_out(lesson, kept, exercises)
    sources, told = carried(moved, given)
    make(path, lesson, own_notes, given, sources)
    return [f"Lesson {NAMES[lesson]} has its own folder, {path}: {names_of(moved)}.", *told]


def bring(
    folder: WorkFolder, sources: Mapping[str, str], kept_exercises: Iterable[Exercise]
) -> list[str]:
    """Make a fresh copy with the functions now carried over from earlier lessons, and with the learner's
    functions of this one. Returns messages, in lines; none if the folder already has them all."""
    if handed_out(folder.lesson, sources, folder.exercises) == load_json(folder.path / GIVEN):
        return []
    own, _, _ = written(folder)
    told = remake(folder, own, sources, kept_exercises)
    here = f", with what you wrote here: {names_of(own)}" if own else ""
    return [f"This is a fresh copy with the above{here}.", *told]


def remake(
    folder: WorkFolder,
    own: list[Written],
    kept: Mapping[str, str],
    kept_exercises: Iterable[Exercise],
) -> list[str]:
    """Make a fresh copy with these functions of the lesson and of earlier lessons. Returns messages."""
    given = handed_out(folder.lesson, kept, folder.exercises)
    sources, told = carried(own, given)
    whole = {e.name for e in folder.exercises if set(e.places) <= {place for place, _, _ in own}}
    notes = folder.notes | {
        # an exercise may have gained a function
        "passed": [name for name in folder.notes["passed"] if name in whole],
        "kept": [{"name": e.name, "functions": e.functions} for e in kept_exercises],
    }
    before = make(folder.path, folder.lesson, notes, given, sources)
    return [f"What was here is in {before}.", *told]


def names_of(functions: list[Written]) -> str:
    return ", ".join(name for (_, name), _, _ in functions)


def written(folder: WorkFolder) -> tuple[list[Written], list[Written], list[str]]:
    """The learner's functions of the lesson; those carried over from other lessons; and messages about
    functions that are no longer in any exercise. Raises LearnError if they can't be read."""
    own: list[Written] = []
    kept: list[Written] = []
    left = []
    for (file, name), place in places_then_and_now(folder).items():
        try:
            source = folder.source(file)
            if is_empty_text(function_text(source, name)):
                continue
        except SyntaxError:
            raise LearnError(
                "Your functions go into a fresh copy. First fix what cannot be read:\n"
                + "\n".join(unreadable(folder))
            ) from None
        except (KeyError, OSError):  # deleted
            continue
        if place is None:
            left.append(f"{name} is in no exercise any more, and was not carried over.")
        else:
            (own if place in folder.places else kept).append((place, source, name))
    return own, kept, left


def carried(
    functions: list[Written], sources: Mapping[str, str]
) -> tuple[dict[str, str], list[str]]:
    """Files based on `sources` with these functions inserted; and messages, in lines."""
    sources, told = dict(sources), []
    for (file, name), theirs, old_name in functions:
        done = carry(sources.get(file) or read(in_clone(file)), name, theirs, old_name)
        sources[file] = done.source
        if done.signature:
            told.append(f"{name} has another signature in the new tinyjax: {done.signature}")
        if done.helpers:
            told.append(f"carried over with {name}: {', '.join(done.helpers)}")
        told += [
            f"{name} uses {word}, which the fresh {Path(file).name} has not: see README.md and {BEFORE}."
            for word in done.missing
        ]
    return sources, told


def places_then_and_now(folder: WorkFolder) -> dict[tuple[str, str], tuple[str, str] | None]:
    """For each function that was given or carried over: its earlier file and name, and the current ones.

    If an exercise has as many functions as before, they are the same ones in order, under any name and in any
    file. Otherwise functions are found by name."""
    exercises = catalogue.load()
    everything = {e.name: e.places for e in exercises}
    by_name = {name: (file, name) for e in exercises for file, name in e.places}
    found: dict[tuple[str, str], tuple[str, str] | None] = {}
    for exercise in [*folder.notes["exercises"], *folder.notes.get("kept", [])]:
        then = [place_of(function, folder.path / "src") for function in exercise["functions"]]
        now = everything.get(exercise["name"], [])
        same = len(now) == len(then)
        found |= zip(then, now if same else [by_name.get(name) for _, name in then])
    return found


# ---- when the learner begins again ----


def begin_again(folder: WorkFolder) -> Path | None:
    """Empty all functions of the lesson and restore everything else; return the folder of the old files."""
    kept = {key: folder.notes[key] for key in ("kept", "assignment") if key in folder.notes}
    return make(folder.path, folder.lesson, kept, load_json(folder.path / GIVEN))


def empty_again(folder: WorkFolder, exercise: Exercise) -> Path:
    """Empty the functions of one exercise; return the folder of the old files. Raises LearnError if they
    can't be found."""
    return replace_functions(
        folder, exercise, lambda *place: function_text(folder.given(place[0]), place[1])
    )


def take_reference(folder: WorkFolder, exercise: Exercise) -> Path:
    """Use the reference for one exercise, and note that it is skipped; return the folder of the old files.
    Raises LearnError if its functions can't be found."""
    before = replace_functions(
        folder, exercise, lambda *place: function_text(read(in_clone(place[0])), place[1])
    )
    texts = [folder.text(*place) for place in exercise.places]
    folder.notes["skipped"] = folder.notes.get("skipped", {}) | {exercise.name: texts}
    folder.notes["passed"] = [name for name in folder.notes["passed"] if name != exercise.name]
    folder.save()
    return before


def replace_functions(
    folder: WorkFolder, exercise: Exercise, text_of: Callable[[str, str], str]
) -> Path:
    """Replace an exercise's functions by these texts; return the folder of the old files."""
    sources: dict[str, str] = {}
    for file, name in exercise.places:
        try:
            text = text_of(file, name)
            sources[file] = with_function(sources.get(file) or folder.source(file), name, text)
        except (SyntaxError, KeyError, FileNotFoundError):
            raise LearnError(
                f"{name} cannot be found in src/{file}: `learn reset {file}` puts the whole file back."
            ) from None
    before = put_aside(folder.path, [f"src/{file}" for file in sources])
    for file, source in sources.items():
        write(folder.path / "src" / file, source)
    return before


def put_back(folder: WorkFolder, file: str) -> tuple[list[str], Path]:
    """Restore a file of the package or of the tests, except the learner's own functions, if they can be read.
    Returns their names, and the folder of the old file.

    Raises LearnError if there is no such file."""
    file = file.removeprefix("src/")
    if not in_clone(file).is_file() or not file.startswith(
        (STORY, "tinyjax/", f"{PRACTICE}/", "tests/")
    ):
        files = ", ".join(dict.fromkeys(file for file, _ in folder.places))
        raise LearnError(f"There is no file {file!r} to put back. Those of this lesson: {files}")
    source = folder.given(file)
    place = file if file.startswith("tests/") else f"src/{file}"
    kept = []
    for own, name in folder.places:
        if own == file and (text := folder.text(file, name)) and not is_empty_text(text):
            source = with_function(source, name, text)
            kept.append(name)
    before = put_aside(folder.path, [place])
    (folder.path / place).parent.mkdir(parents=True, exist_ok=True)
    write(folder.path / place, source)
    return kept, before


def originals(folder: WorkFolder) -> list[str]:
    """Restore changed files among those that judge the learner. Returns messages, in lines."""
    told = []
    for file in test_files(folder.exercises):
        path = folder.path / file
        if in_clone(file).is_file() and not is_copy(path, in_clone(file)):
            _, before = put_back(folder, file)
            told.append(f"{file} was changed. The original is back; yours is in {before}.")
    grader = folder.path / "conftest.py"
    if not is_copy(grader, GRADER):
        write(grader, read(GRADER))
    return told


def is_copy(path: Path, original: Path) -> bool:
    return path.exists() and path.read_bytes() == original.read_bytes()
