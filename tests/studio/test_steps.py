"""The reading order: no chapter needs a later one, and none needs the breadth."""

import ast
import importlib.util
import itertools
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest
from source_imports import PACKAGE, imported_modules

import tinyjax as jax
from tinyjax.studio.steps import CHAPTERS, Chapter

NUMBERED = pytest.mark.parametrize("number", range(len(CHAPTERS)), ids=lambda n: CHAPTERS[n].title)


def path_of(step: str) -> Path:
    return PACKAGE.joinpath(*step.split(".")).with_suffix(".py")


@NUMBERED
def test_a_chapter_imports_only_its_own_files_and_those_of_earlier_ones(number):
    known = {name for c in CHAPTERS[: number + 1] for name in (*c.steps, *c.footnotes)}
    chapter = CHAPTERS[number]
    found = {name: imported_modules(path_of(name)) for name in (*chapter.steps, *chapter.footnotes)}
    late = {other: name for name, needs in found.items() for other in needs - known}
    assert late == {}, "\n".join(
        f"{name} imports {other}: add {other} to the footnotes of {chapter.title!r} in studio/steps.py"
        for other, name in late.items()
    )


@NUMBERED
def test_a_footnote_is_needed_in_its_chapter(number):
    chapter = CHAPTERS[number]
    files = (*chapter.steps, *chapter.footnotes)
    needed = {name for file in files for name in imported_modules(path_of(file))}
    assert set(chapter.footnotes) - needed == set()


@pytest.mark.parametrize("step", jax.STEPS)
def test_a_step_opens_with_what_it_is_and_then_says_more(step):
    """One line about what it is; then its source, or what must hold, or an example."""
    docstring = ast.get_docstring(ast.parse(path_of(step).read_text())) or ""
    what, _, more = docstring.partition("\n\n")
    assert what.endswith(".") and "\n" not in what and more.strip()


def test_every_step_is_a_module():
    assert all(importlib.util.find_spec(f"tinyjax.{step}") for step in jax.STEPS)


MAX_CHAPTER = 2_000  # lines, its footnotes included
TO_REVERSE_MODE = 5_000

FEATURES = ("many_devices", "refs", "sparse", "wasm")


def lines_of(files: Iterable[str]) -> int:
    return sum(len(path_of(file).read_text().splitlines()) for file in files)


def lines_with_footnotes(chapter: Chapter) -> int:
    return lines_of(chapter.steps) + lines_of(chapter.footnotes)


@NUMBERED
def test_a_chapter_can_be_read(number):
    chapter = CHAPTERS[number]
    assert lines_with_footnotes(chapter) <= MAX_CHAPTER


def test_the_chapters_up_to_reverse_mode_can_be_read():
    """All of differentiation and vectorization, with everything that it needs."""
    first = list(itertools.takewhile(lambda c: c.title != "A jaxpr as text", CHAPTERS))
    assert first[-1].title == "Reverse mode"
    assert sum(map(lines_with_footnotes, first)) <= TO_REVERSE_MODE


def test_the_story_can_be_read():
    assert jax.STEPS[0] == "core.bind" and len(jax.STEPS) <= 90 and lines_of(jax.STEPS) <= 18_000


def test_a_file_is_in_one_chapter():
    files = [file for c in CHAPTERS for file in (*c.steps, *c.footnotes)]
    assert [file for file, times in Counter(files).items() if times > 1] == []


def test_only_the_last_chapter_is_of_a_feature():
    files = {file for c in CHAPTERS[:-1] for file in (*c.steps, *c.footnotes)}
    assert CHAPTERS[-1].title == "Many devices"
    assert [file for file in files if file.startswith(FEATURES)] == []


TESTED_THROUGH_OTHERS = {
    *("core.api_util", "core.bodies", "transform.jvp_of_jaxpr"),
    *("transform.batching_of_jaxpr", "transform.transposition_of_jaxpr"),
    *("compile.fusion.groups", "compile.fusion.backward_slice"),
    "compile.kernel.builder",
    *("runtime.loops", "runtime.step_program_builder", "runtime.executable"),
}


def test_the_tests_of_a_step_are_where_its_name_says():
    """Those of core/bind.py in core/test_bind.py; those of several files of a folder under its name."""

    def is_tested(step: str) -> bool:
        *folders, name = step.split(".")
        folder = Path(__file__).parents[1].joinpath(*folders)
        return any((folder / f"test_{x}.py").exists() for x in (name, folders[-1]))

    assert {step for step in jax.STEPS if not is_tested(step)} == TESTED_THROUGH_OTHERS
