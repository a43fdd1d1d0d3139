"""The files given to a learner: a lesson's functions are empty, and those of later lessons hidden.

A function of a later lesson is reduced to its docstring and a call of the finished one in the package's
folder `later`: in all files that the learner writes in, and in all programs of practice/.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping

from tinyjax.studio.learn import exercises as catalogue
from tinyjax.studio.learn.atomic_files import read
from tinyjax.studio.learn.exercises import STORY, Exercise, in_clone, label_of
from tinyjax.studio.learn.functions import (
    emptied,
    function_text,
    functions_of,
    names_of_module,
    names_used,
    with_body,
)

HEAD = '''\
"""Functions of {file} as later lessons ask for them, finished: read no further."""

from __future__ import annotations

{imports}
'''


def of_lesson(lesson: int) -> list[Exercise]:
    return [e for e in catalogue.load() if e.lesson == lesson]


def handed_out(
    lesson: int, kept: Mapping[str, str] | None = None, only: Iterable[Exercise] | None = None
) -> dict[str, str]:
    """The files of a lesson's folder that differ from tinyjax's. `kept` are those that already contain the
    learner's functions; `only` lists the exercises to write, if not all of the lesson."""
    exercises = of_lesson(lesson) if only is None else list(only)
    sources = empty_sources(exercises, kept)
    files = {file for e in exercises for file, _ in e.places}
    later = [
        (e.lesson, file, name)
        for e in catalogue.load()
        if e.lesson > lesson
        for file, name in e.places
        if file in files or file.startswith("practice/")
    ]
    whole = {file: read(in_clone(file)) for _, file, _ in later if file not in sources}
    return out_of_sight(sources | whole, later)


def empty_sources(
    exercises: Iterable[Exercise], kept: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Each file with functions of an exercise, with these emptied; and the files `kept`."""
    sources = dict(kept or {})
    for exercise in exercises:
        for place, (file, name) in enumerate(exercise.places):
            source = sources.get(file) or read(in_clone(file))
            says = file == STORY and place == 0  # the story's blanks are described in the story
            goal = f"{exercise.number}: {exercise.goal}" if says else ""
            sources[file] = emptied(source, name, exercise.message(name), goal)
    return sources


# ---- what is out of sight ----


def out_of_sight(
    sources: Mapping[str, str], later: Iterable[tuple[int, str, str]]
) -> dict[str, str]:
    """The files in which these functions (each a lesson, a file and a name) call the finished versions; and
    the files with the finished versions."""
    found = dict(sources)
    finished: dict[str, list[str]] = {}
    for lesson, file, name in later:
        finished.setdefault(file, []).append(name)
        flat, module = name.replace(".", "_"), module_name(beside(file))
        body = [
            f"# Yours to write in lesson {label_of(lesson)}. Until then a finished one does it.",
            f"from {module} import {flat} as finished",
            "",
            f"return finished({arguments(functions_of(sources[file])[name].args)})",
        ]
        found[file] = with_body(found[file], name, body)
    for file, names in finished.items():
        found[beside(file)] = module_of(file, sources[file], names)
    return found


def module_of(file: str, source: str, names: list[str]) -> str:
    """The text of a module with these functions of a file."""
    texts = [bare(function_text(source, name), name.replace(".", "_")) for name in names]
    used = names_used("\n".join(texts)) & names_of_module(source)
    imports = [f"from {module_name(file)} import {name}\n" for name in sorted(used)]
    return "\n\n".join([HEAD.format(file=file, imports="".join(imports)), *texts])


def bare(text: str, name: str) -> str:
    """The function under this name, without types and without its decorators, which stay at the caller."""
    (node,) = functions_of(text).values()
    node.name, node.decorator_list, node.returns = name, [], None
    for part in ast.walk(node.args):
        if isinstance(part, ast.arg):
            part.annotation = None
    return ast.unparse(node) + "\n"


def arguments(parameters: ast.arguments) -> str:
    """The arguments that pass all parameters on, as text."""
    plain = [a.arg for a in [*parameters.posonlyargs, *parameters.args]]
    more = [f"*{parameters.vararg.arg}"] if parameters.vararg else []
    named = [f"{a.arg}={a.arg}" for a in parameters.kwonlyargs]
    rest = [f"**{parameters.kwarg.arg}"] if parameters.kwarg else []
    return ", ".join([*plain, *more, *named, *rest])


def beside(file: str) -> str:
    """The file of a file's finished functions."""
    package, _, rest = file.partition("/")
    return f"{package}/later/{rest.replace('/', '_')}"


def module_name(file: str) -> str:
    return file.removesuffix(".py").replace("/", ".")
