"""Atomic file writes, so that an interruption loses none of the learner's work.

When the disk is full or the command is interrupted, either the old file or the new one remains, and either
the old folder or a complete new one, which the next command moves into place.

Replacements for a part of a work folder are made in its folder `.new`; lesson.json is the last file. After
that `put_in_place` only renames files, and an interrupted run of it is resumed.
"""

from __future__ import annotations

import errno
import itertools
import json
import os
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from tinyjax.studio.learn.exercises import LearnError

NOTES = "lesson.json"  # a folder with this file is a work folder
NEW = ".new"
BEFORE = (
    "before"  # receives replaced files; before_2 and so on, if it already has a file of that name
)

# ---- files ----


def read(path: Path) -> str:
    with open(path, encoding="utf-8", newline="") as file:  # newline="": unchanged, byte for byte
        return file.read()


def read_source(path: Path) -> str:
    """The text of a Python file without a byte-order mark. Raises SyntaxError if it isn't UTF-8, as Python
    does."""
    content = path.read_bytes()
    try:
        return content.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        number = content.count(b"\n", 0, error.start) + 1
        line = content.split(b"\n")[number - 1].decode("utf-8", "replace")
        what = (
            f"byte {content[error.start]:#x} is not UTF-8: save the file as UTF-8 (editors call this its "
            f"encoding), or write this character again"
        )
        raise SyntaxError(what, (str(path), number, None, line)) from None


def write(path: Path, text: str) -> None:
    """Write a file atomically: on an error, the old one stays."""
    new = path.with_name(f".{path.name}.new")
    try:
        with open(new, "w", encoding="utf-8", newline="") as file:
            if path.exists():
                shutil.copymode(path, new)
            file.write(text)
        new.replace(path)
    except OSError as error:
        new.unlink(missing_ok=True)
        raise OSError(error.errno, error.strerror, str(path)) from None


def load_json(file: Path) -> dict[str, Any]:
    """The contents of a JSON file. Raises LearnError if it can't be parsed."""
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise LearnError(
            f"{file} is no file of notes as `learn` writes them: {error}. Move it away, and ask again."
        ) from None


def copy_tree(source: Path, target: Path) -> None:
    """Copy a folder, except files that another process is writing or has just replaced."""
    for folder, _, files in os.walk(source):
        there = target / Path(folder).relative_to(source)
        there.mkdir(parents=True, exist_ok=True)
        for name in files:
            if ".pyc." in name:
                continue
            try:
                shutil.copy2(Path(folder, name), there / name)
            except FileNotFoundError:
                if not name.endswith(".pyc"):
                    raise


# ---- folders ----


def begin_new(path: Path) -> Path:
    """An empty folder for the new contents of `path`."""
    shutil.rmtree(path / NEW, ignore_errors=True)
    (path / NEW).mkdir(parents=True)
    return path / NEW


def put_in_place(path: Path) -> Path | None:
    """Move the files in `.new` to their destinations and the replaced ones aside; return the folder of the
    latter. Does nothing if `.new` is incomplete."""
    new = path / NEW
    if not (new / NOTES).exists():
        return None
    aside = new / BEFORE
    for name in sorted(found.name for found in new.iterdir()):
        if name not in (NOTES, BEFORE):
            if (path / name).exists():
                aside.mkdir(exist_ok=True)
                (path / name).replace(aside / name)
            (new / name).replace(path / name)
    replaced = next(place for place in places_aside(path) if not place.exists())
    if aside.exists():
        aside.replace(replaced)
    (new / NOTES).replace(path / NOTES)
    new.rmdir()
    return replaced


def put_aside(path: Path, names: Iterable[str]) -> Path:
    """Copy files of a work folder to the folder of replaced files; return that folder."""
    there = [name for name in names if (path / name).exists()]
    places = places_aside(path)
    aside = next(p for p in places if not any((p / name).exists() for name in there))
    for name in there:
        (aside / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path / name, aside / name)
    return aside


def places_aside(path: Path) -> Iterator[Path]:
    """`before`, `before_2` and so on: the last existing one has the most recently replaced files."""
    return (path / (BEFORE if i == 1 else f"{BEFORE}_{i}") for i in itertools.count(1))


_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_NOT_OURS = {errno.EROFS, errno.EACCES, errno.EPERM}


def explained(error: OSError) -> LearnError | None:
    """Advice for an error of a full or read-only disk; None for any other error."""
    where = error.filename2 or error.filename or "a file"
    if error.errno in _FULL:
        return LearnError(
            f"The disk is full: {where} could not be written. What you wrote is as it was. Make room (a work "
            "folder takes about 10 MB), and give the command again."
        )
    if error.errno in _NOT_OURS:
        return LearnError(
            f"{where} may not be written ({error.strerror}). What you wrote is as it was. Work in a folder "
            "of your own: `learn start 02 DIR` makes one where you say."
        )
    return None
