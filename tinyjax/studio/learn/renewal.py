"""Fresh copies: when the installed package has changed, and when the learner begins again.

After this file you can say what becomes of the learner's functions then, and where files go that are
replaced: into the folder `before`. Builds on work_folder and renamed.
"""

from __future__ import annotations

import ast
import builtins
import itertools
import re
import shutil
import symtable
from pathlib import Path

from tinyjax.studio.learn.changes import other_statements, unreadable
from tinyjax.studio.learn.exercises import ROOT, Exercise, LearnError, place_of
from tinyjax.studio.learn.functions import function_text, functions_of, is_empty_text, with_function
from tinyjax.studio.learn.renamed import with_names_of_today
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
    written, left = [], []
    for (file, name), place in places_then_and_now(folder).items():
        try:
            source = folder.source(file)
            if is_empty_text(function_text(source, name)):
                continue
        except SyntaxError:
            raise LearnError(
                "tinyjax has changed, and your functions are to be carried into a fresh copy. First mend "
                "what cannot be read:\n" + "\n".join(unreadable(folder))
            ) from None
        except (KeyError, OSError):  # deleted
            continue
        if place is None:
            left.append(f"{name} is in no exercise any more, and was not carried over.")
        else:
            written.append((*place, source, name))
    put_all_aside(folder.path)
    fill(folder.path, folder.lesson, folder.notes)
    carried = ", ".join(name for _, name, _, _ in written) or "nothing, as nothing was written yet"
    told = [
        f"tinyjax has changed. This is a fresh copy of it; carried over: {carried}.",
        f"What was here is in {folder.path / BEFORE}.",
    ]
    for file, name, source, old_name in written:
        told += carry(folder.path / "src" / file, name, source, old_name)
    return told + left


def places_then_and_now(folder: WorkFolder) -> dict[tuple[str, str], tuple[str, str] | None]:
    """Of each function that was handed out: its file and name then, and those of today.

    Files are moved and functions renamed; an exercise keeps its name, and its functions their order."""
    today = {e.name: e.places for e in folder.exercises}
    found: dict[tuple[str, str], tuple[str, str] | None] = {}
    for exercise in folder.notes["exercises"]:
        then = [place_of(function, folder.path / "src") for function in exercise["functions"]]
        now = today.get(exercise["name"], [])
        by_name = {name: (file, name) for file, name in now}
        same = len(now) == len(then)
        found |= zip(then, now if same else [by_name.get(name) for _, name in then])
    return found


def carry(path: Path, name: str, theirs: str, old_name: str) -> list[str]:
    """Put the function `old_name` of the learner's file `theirs` into a fresh file, as `name`, with what
    the learner has put beside it; gives what is to be told, in lines."""
    fresh = read(path)
    old, new = old_name.rpartition(".")[2], name.rpartition(".")[2]
    text = re.sub(rf"\b{old}\b", new, function_text(theirs, old_name))
    text = with_names_of_today(text, fresh)
    told = []
    if (wanted := heading(function_text(fresh, name))) != heading(text):
        told.append(f"{name} has another signature in the new tinyjax: {wanted}")
    helpers = functions_beside(theirs, fresh, old_name, text)
    if helpers:
        told.append(f"carried over with {name}: {', '.join(helpers)}")
    own_class = old_name.rpartition(".")[0]
    for helper, body in helpers.items():
        if helper.rpartition(".")[0] == own_class:
            text = f"{body}\n\n{text}"
        else:
            fresh += f"\n\n{body}"
    fresh = with_function(fresh, name, text)
    everything = "\n".join([text, *helpers.values()])
    fresh = with_imports(fresh, theirs, names_missing(fresh, everything))
    told += [
        f"{name} uses {word}, which the fresh {path.name} does not have: see README.md and {BEFORE}."
        for word in names_missing(fresh, everything)
    ]
    write(path, fresh)
    return told


def functions_beside(theirs: str, fresh: str, name: str, text: str) -> dict[str, str]:
    """The functions of the learner's file that the function calls, its class's methods among them, and
    that the fresh file does not have."""
    found: dict[str, str] = {}
    own_class = name.rpartition(".")[0]
    methods = [f for f in functions_of(theirs) if own_class and f.startswith(f"{own_class}.")]
    todo = [text]
    while todo:
        used = todo.pop()
        attributes = {n.attr for n in ast.walk(ast.parse(used)) if isinstance(n, ast.Attribute)}
        called = [f for f in names_missing(fresh, used) if f in functions_of(theirs)]
        called += [f for f in methods if f.rpartition(".")[2] in attributes]
        for helper in called:
            if helper not in found and helper not in functions_of(fresh) and helper != name:
                found[helper] = with_names_of_today(function_text(theirs, helper), fresh)
                todo.append(found[helper])
    return found


def with_imports(fresh: str, theirs: str, words: list[str]) -> str:
    """`fresh` with the imports by which the learner's file has these names, but for those of tinyjax, whose
    files may have moved."""
    wanted = [
        ast.unparse(part)
        for part in other_statements(theirs)
        if isinstance(part, ast.Import | ast.ImportFrom)
        and (part.names[0].asname or part.names[0].name.partition(".")[0]) in words
        and not ast.unparse(part).split()[1].startswith(("tinyjax", "."))
    ]
    ends = [
        n.end_lineno or 0
        for n in ast.parse(fresh).body
        if isinstance(n, ast.Import | ast.ImportFrom)
    ]
    lines = fresh.splitlines(keepends=True)
    lines[max(ends, default=0) : max(ends, default=0)] = [f"{line}\n" for line in wanted]
    return "".join(lines)


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
    put_all_aside(folder.path)
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
        files = ", ".join(dict.fromkeys(file for file, _ in folder.places))
        raise LearnError(f"There is no file {file!r} to put back. Those of this lesson: {files}")
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


def put_all_aside(path: Path) -> None:
    """Move the copy and the tests to where those go that are replaced; what is there is kept beside it."""
    before = path / BEFORE
    if before.exists():
        taken = {found.name for found in path.iterdir()}
        before.replace(
            next(p for i in itertools.count(2) if (p := path / f"{BEFORE}_{i}").name not in taken)
        )
    put_aside(path, "src", "tests")


def put_aside(path: Path, *names: str) -> None:
    """Move files or folders of the work folder to where those go that are replaced."""
    for name in names:
        aside = path / BEFORE / name
        if aside.is_dir():
            shutil.rmtree(aside)
        aside.parent.mkdir(parents=True, exist_ok=True)
        if (path / name).exists():
            (path / name).replace(aside)
