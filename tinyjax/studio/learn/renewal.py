"""Fresh copies: when the installed package has changed, and when the learner begins again.

After this file you can say what becomes of the learner's functions then, and where files go that are
replaced: into the folder `before`. Builds on work_folder.
"""

from __future__ import annotations

import ast
import builtins
import shutil
import symtable
from pathlib import Path

from tinyjax.studio.learn.changes import unreadable
from tinyjax.studio.learn.exercises import ROOT, Exercise, LearnError
from tinyjax.studio.learn.functions import function_text, functions_of, is_empty_text, with_function
from tinyjax.studio.learn.work_folder import (
    GRADER,
    WorkFolder,
    empty_sources,
    fill,
    fingerprint,
    read,
    test_files,
    write,
)

BEFORE = "before"

# ---- when the installed package has changed ----


def renew(folder: WorkFolder) -> list[str]:
    """If the installed package has changed, make a fresh copy and carry the learner's functions into it.
    Gives what is to be told, in lines. Raises LearnError if the functions cannot be read."""
    if folder.notes["fingerprint"] == fingerprint(folder.exercises):
        return []
    written = {}
    for file, name in folder.places:
        try:
            text = function_text(folder.source(file), name)
        except (SyntaxError, OSError):
            raise LearnError(
                "tinyjax has changed, and your functions are to be carried into a fresh copy. First mend "
                "what cannot be read:\n" + "\n".join(unreadable(folder))
            ) from None
        except KeyError:  # new among the exercises, or deleted
            continue
        if not is_empty_text(text):
            written[file, name] = text
    put_aside(folder.path, "src", "tests")
    fill(folder.path, folder.lesson, folder.notes)
    carried = ", ".join(name for _, name in written) or "nothing, as nothing was written yet"
    told = [
        f"tinyjax has changed. This is a fresh copy of it; carried over: {carried}.",
        f"What was here is in {folder.path / BEFORE}.",
    ]
    for (file, name), text in written.items():
        told += carry(folder.path / "src" / file, name, text)
    return told


def carry(path: Path, name: str, text: str) -> list[str]:
    """Put the learner's function into a fresh file; gives what does not fit there, in lines."""
    source = read(path)
    told = [
        f"{name} uses {word}, which the fresh {path.name} does not have: copy it from {BEFORE}."
        for word in names_missing(source, text)
    ]
    if (new := heading(function_text(source, name))) != heading(text):
        told.append(f"{name} has another signature in the new tinyjax: {new}")
    write(path, with_function(source, name, text))
    return told


def heading(text: str) -> str:
    """The signature of a function, in one line."""
    (node,) = functions_of(text).values()
    return f"def {node.name}({ast.unparse(node.args)})"


def names_missing(source: str, text: str) -> list[str]:
    """The names that a function takes from its module, and that the module `source` does not have."""
    module = symtable.symtable(source, "", "exec").get_symbols()
    there = {s.get_name() for s in module if s.is_assigned() or s.is_imported()} | set(
        dir(builtins)
    )
    used = set()
    tables = symtable.symtable(text, "", "exec").get_children()
    while tables:
        table = tables.pop()
        used |= {s.get_name() for s in table.get_symbols() if s.is_global() and s.is_referenced()}
        tables += table.get_children()
    return sorted(used - there)


# ---- when the learner begins again ----


def begin_again(folder: WorkFolder) -> None:
    """Empty all functions of the lesson, and put everything else back too."""
    put_aside(folder.path, "src", "tests")
    fill(folder.path, folder.lesson)


def empty_again(folder: WorkFolder, exercise: Exercise) -> None:
    """Empty the functions of one exercise. Raises LearnError if they cannot be found."""
    put_aside(folder.path, *(f"src/{file}" for file, _ in exercise.places))
    for file, name in exercise.places:
        text = function_text(empty_sources([exercise])[file], name)
        try:
            source = with_function(read(folder.path / BEFORE / "src" / file), name, text)
        except (SyntaxError, KeyError):
            raise LearnError(
                f"{name} cannot be found in src/{file}: `learn reset {file}` puts the whole file back."
            ) from None
        write(folder.path / "src" / file, source)


def put_back(folder: WorkFolder, file: str) -> list[str]:
    """Put a file of the package or of the tests back as it was handed out, but for the functions that are
    the learner's to write, where these can be read; gives their names.

    Raises LearnError if there is no such file."""
    file = file.removeprefix("src/")
    if not (ROOT / file).is_file() or not file.startswith(("tinyjax/", "tests/")):
        raise LearnError(f"There is no file {file!r} to put back: name it as tinyjax/core/bind.py.")
    source = empty_sources(folder.exercises).get(file) or read(ROOT / file)
    place = f"src/{file}" if file.startswith("tinyjax/") else file
    kept = []
    for own, name in folder.places:
        if own == file and (text := folder.text(file, name)) and not is_empty_text(text):
            source = with_function(source, name, text)
            kept.append(name)
    put_aside(folder.path, place)
    write(folder.path / place, source)
    return kept


def originals(folder: WorkFolder) -> list[str]:
    """Put back what judges the learner, where it was changed. Gives what is to be told, in lines."""
    told = []
    for file in test_files(folder.exercises):
        path = folder.path / file
        if (ROOT / file).is_file() and not (path.exists() and read(path) == read(ROOT / file)):
            put_back(folder, file)
            told.append(
                f"{file} was changed. The original is back; yours is in {folder.path / BEFORE}."
            )
    write(folder.path / "conftest.py", read(GRADER))
    return told


def put_aside(path: Path, *names: str) -> None:
    """Move files or folders of the work folder to where those go that are replaced."""
    for name in names:
        aside = path / BEFORE / name
        if aside.is_dir():
            shutil.rmtree(aside)
        aside.parent.mkdir(parents=True, exist_ok=True)
        if (path / name).exists():
            (path / name).replace(aside)
