"""Which lesson teaches a public name or a term: the search shows this lesson first.

A function belongs to the lesson whose exercises are in the file that defines it. Any other name belongs to
the lesson under which the glossary has it, to one whose title has it, or if it is a name of `jax` itself, to
one that has half of its mentions.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import re
import warnings
from collections import Counter
from typing import Any

from tinyjax.studio.learn.exercises import NAMES, lesson_number, load
from website.lessons import title_of
from website.names import recorded
from website.pages import text_of

NAMED = ("jax", "jax.lax", "jax.random", "jax.tree", "jax.tree_util")  # by titles and the glossary


@functools.cache
def lessons_of_names() -> dict[str, str]:
    """The lesson of each public name, as "vmap" and "jax.vmap", and of each term of the glossary."""
    found = glossary_terms()
    titles = [(lesson, set(re.findall(r"\w+", title_of(lesson)))) for lesson in NAMES[1:]]
    files = lessons_of_files()
    for module, name in [(m, name) for m, names in recorded().items() for name in names]:
        lesson = files.get(defining_file(module, name), "")
        if not lesson and module in NAMED:
            with_title = [lesson for lesson, words in titles if name in words]
            lesson = found.get(name) or (with_title[0] if with_title else "")
        if not lesson and module == "jax":
            lesson = mostly_in(name)
        if lesson:
            found.setdefault(name, lesson)
            found[f"{module}.{name}"] = lesson
    return found


def glossary_terms() -> dict[str, str]:
    """The lesson of each term: the glossary has a section for each lesson."""
    sections = re.split(r"^## (\w+)\. .*$", text_of("tutorials/glossary.md"), flags=re.MULTILINE)
    return {
        re.sub(r" \(.*\)", "", term): NAMES[lesson_number(number)]
        for number, section in zip(sections[1::2], sections[2::2], strict=True)
        for terms in re.findall(r"\*\*(.+?)\*\*", section)
        for term in terms.split(", ")
    }


def lessons_of_files() -> dict[str, str]:
    """The lesson that has most of the exercises of a module's functions, by module."""
    counts: dict[str, Counter[int]] = {}
    for exercise in load():
        for function in exercise.functions:
            counts.setdefault(function.partition(":")[0], Counter())[exercise.lesson] += 1
    return {module: NAMES[found.most_common(1)[0][0]] for module, found in counts.items()}


def mostly_in(name: str) -> str:
    """The lesson that has at least half of a name's mentions, and three or more; "" if there is none."""
    mention = re.compile(rf"(?:`|jax\.){re.escape(name)}\b")
    counts = Counter(
        {n: len(mention.findall(text_of(f"tutorials/rendered/{n}.md"))) for n in NAMES[1:]}
    )
    lesson, most = counts.most_common(1)[0]
    return lesson if most >= 3 and 2 * most >= counts.total() else ""


def defining_file(module: str, name: str) -> str:
    """The module that defines a function or class; "" for other values, and where it cannot be imported."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value = getattr(importlib.import_module(module.replace("jax", "tinyjax", 1)), name)
    except (ImportError, AttributeError):
        return ""
    value = inspect.unwrap(value) if callable(value) else value
    return value.__module__ if inspect.isroutine(value) or inspect.isclass(value) else ""


def add_to_index(app: Any, doctree: Any) -> None:
    """Give the search what the page teaches, as entries of an index."""
    from sphinx.addnodes import index

    folder, _, lesson = app.env.docname.partition("/")
    names = [name for name, of in lessons_of_names().items() if of == lesson]
    if folder == "lessons" and names:
        doctree += index(entries=[("single", name, "", "main", None) for name in names])
