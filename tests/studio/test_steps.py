"""The reading order: no chapter needs a later one, and none needs the breadth."""

import ast
import importlib.util
from pathlib import Path

import pytest
from source_imports import PACKAGE, imported_modules

import tinyjax as jax
from tinyjax.studio.steps import CHAPTERS

NUMBERED = pytest.mark.parametrize("number", range(len(CHAPTERS)), ids=lambda n: CHAPTERS[n].title)


def path_of(step: str) -> Path:
    return PACKAGE.joinpath(*step.split(".")).with_suffix(".py")


@NUMBERED
def test_a_chapter_imports_only_its_own_files_and_those_of_earlier_ones(number):
    known = {name for c in CHAPTERS[: number + 1] for name in (*c.steps, *c.footnotes)}
    chapter = CHAPTERS[number]
    found = {name: imported_modules(path_of(name)) for name in (*chapter.steps, *chapter.footnotes)}
    assert {name: late for name, needs in found.items() if (late := needs - known)} == {}


@NUMBERED
def test_a_footnote_is_needed_in_its_chapter(number):
    chapter = CHAPTERS[number]
    files = (*chapter.steps, *chapter.footnotes)
    needed = {name for file in files for name in imported_modules(path_of(file))}
    assert set(chapter.footnotes) - needed == set()


@pytest.mark.parametrize("step", jax.STEPS)
def test_a_step_opens_with_what_the_reader_can_do_after_it(step):
    docstring = ast.get_docstring(ast.parse(path_of(step).read_text()))
    assert docstring and "Builds on" in docstring


def test_every_step_is_a_module():
    assert all(importlib.util.find_spec(f"tinyjax.{step}") for step in jax.STEPS)


def test_the_story_can_be_read():
    lines = sum(len(path_of(step).read_text().splitlines()) for step in jax.STEPS)
    assert jax.STEPS[0] == "core.bind" and len(jax.STEPS) <= 90 and lines <= 17_500


TESTED_THROUGH_OTHERS = {
    *("core.api_util", "core.bodies", "transform.jvp_of_jaxpr"),
    *("transform.batching_of_jaxpr", "compile.kernel.scalar_ops"),
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
