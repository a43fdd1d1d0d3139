"""Printed jaxprs equal JAX's letter for letter."""

from functools import cache
from pathlib import Path

import pytest
from golden_cases import chapters, jaxprs
from golden_cases.differences import marks

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax

GOLDEN = Path(__file__).parent / "golden"
SECTIONS = (*jaxprs.SECTIONS, *chapters.having("jaxprs").values())


def _recorded(file_name):
    text = (GOLDEN / file_name).read_text()
    return dict(part.split("\n", 1) for part in text.removeprefix("== ").split("\n== "))


EXPECTED = _recorded("jaxprs.txt")
for _chapter in chapters.having("jaxprs"):
    EXPECTED |= _recorded(f"{_chapter}.jaxprs.txt")


@cache
def _section(index):
    return SECTIONS[index](jax, jnp, lax)


def _thunk(name):
    for index in range(len(SECTIONS)):
        if name in _section(index):
            return _section(index)[name]
    raise KeyError(f"{name!r} is recorded, but is no case any more: run tools/record_golden.py")


def _case(name):
    return pytest.param(name, id=name, marks=marks(name, ""))


@pytest.mark.parametrize("name", [_case(name) for name in EXPECTED])
def test_jaxpr(name):
    text = str(_thunk(name)()).rstrip()
    expected = EXPECTED[name].rstrip()
    assert text == expected, f"\n---- JAX prints ----\n{expected}\n---- tinyjax ----\n{text}"


def test_every_case_is_recorded():
    names = [name for index in range(len(SECTIONS)) for name in _section(index)]
    assert sorted(names) == sorted(EXPECTED)


@pytest.mark.parametrize("chapter", chapters.CHAPTERS)
def test_a_chapter_is_named_as_a_module_or_as_the_folder_that_it_is_in(chapter):
    package, (folder, _, name) = Path(jax.__file__).parent, chapter.rpartition("/")
    is_module = (package / f"{chapter}.py").exists()
    assert is_module or folder.endswith(name) and (package / folder).is_dir()


def test_data_without_cases_is_found():
    recorded = {
        path.relative_to(GOLDEN).as_posix().partition(".")[0] for path in GOLDEN.glob("*/**/*.*")
    }
    assert recorded <= set(chapters.CHAPTERS)
