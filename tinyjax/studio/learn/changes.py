"""Find a learner's changes outside of the exercises by reading the files, without importing them.

New functions and new imports are not reported.
"""

from __future__ import annotations

import ast

from tinyjax.studio.learn.exercises import in_clone, place_of
from tinyjax.studio.learn.functions import function_text, functions_of
from tinyjax.studio.learn.work_folder import WorkFolder


def unreadable(folder: WorkFolder) -> list[str]:
    """A message for each changed file that isn't valid Python: where and why."""
    told = []
    for file in folder.changed_files():
        try:
            # the whole path, from which Python reads the line that it shows
            compile(folder.source(file), str(folder.path / "src" / file), "exec")
        except FileNotFoundError:
            told.append(f"src/{file} is gone: `learn reset {file}` puts it back.")
        except SyntaxError as error:  # wrong indentation is one
            told.append(f"src/{file}:{error.lineno}: {(error.text or '').strip()}")
            told.append(f"    {type(error).__name__}: {error.msg}")
    return told


def others(folder: WorkFolder) -> list[str]:
    """A line for each change or deletion outside of the learner's own functions."""
    told = []
    for file in folder.changed_files():
        if not in_clone(file).exists():
            continue  # a new file
        own = {name for place, name in folder.places if place == file}
        found = differences(folder.given(file), folder.source(file), own)
        told += [f"src/{file}: {line}" for line in found]
        if found:
            told.append(f"    `learn reset {file}` puts this back, and keeps what you wrote.")
        for name in kept_functions(folder, file):
            if folder.text(file, name) != function_text(folder.given(file), name):
                told.append(
                    f"    {name} is yours from an earlier lesson. Later ones take it from the folder"
                )
                told.append("    of that lesson, not from here: change it there too.")
    return told


def kept_functions(folder: WorkFolder, file: str) -> list[str]:
    """The functions in a file that were carried on from earlier lessons."""
    kept = [place_of(function) for e in folder.notes["kept"] for function in e["functions"]]
    return [name for place, name in kept if place == file]


def differences(before: str, after: str, own: set[str]) -> list[str]:
    """The differences between two versions of a file, except the functions `own`."""
    told = []
    old, new = functions_of(before), functions_of(after)
    for name, node in old.items():
        if name not in new:
            told.append(f"the function {name} is gone.")
        elif name not in own and ast.dump(new[name]) != ast.dump(node):
            told.append(
                f"{name} (line {new[name].lineno}) is changed, which is not part of this lesson."
            )
    there = [ast.dump(node) for node in other_statements(after)]
    for statement in other_statements(before):
        if ast.dump(statement) not in there:
            told.append(f"gone or changed: {ast.unparse(statement).splitlines()[0]}")
    return told


def other_statements(source: str) -> list[ast.stmt]:
    """The statements of a module except functions and classes; an import is split by name."""
    parts: list[ast.stmt] = []
    for node in ast.parse(source).body:
        if isinstance(node, ast.Import):
            parts += [ast.Import([alias]) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            parts += [ast.ImportFrom(node.module, [alias], node.level) for alias in node.names]
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            parts.append(node)
    return parts
