"""What later lessons ask for is out of sight in the files of a lesson, and works."""

import importlib

import pytest
import small_tinyjax

from tinyjax.studio.learn.atomic_files import read
from tinyjax.studio.learn.exercises import NAMES, in_clone
from tinyjax.studio.learn.functions import function_text
from tinyjax.studio.learn.handed_out import handed_out, out_of_sight

FILE = "shown/pairs.py"
SOURCE = '''\
from __future__ import annotations

import functools
from collections.abc import Iterable


def double(x):
    return 2 * x


class Pair:
    def __init__(self, x, y):
        self.x, self.y = x, y

    @functools.cached_property
    def total(self) -> int:
        """The sum of both."""
        return double(self.x) + self.y


@functools.cache
def weighted(a, /, b: int = 3, *more: Iterable[int], c, d=5, **rest) -> int:
    return Pair(a, b).total + sum(more) + 10 * c + 100 * d + sum(rest.values())
'''


@pytest.fixture
def pairs(tmp_path, monkeypatch):
    """The module, with both functions out of sight; and its text."""
    later = [(4, FILE, "Pair.total"), (5, FILE, "weighted")]
    for file, text in out_of_sight({FILE: SOURCE}, later).items():
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    return importlib.import_module("shown.pairs"), (tmp_path / FILE).read_text()


def test_a_function_out_of_sight_does_what_it_did(pairs):
    module, text = pairs
    assert module.Pair(1, 2).total == 4
    assert module.weighted(1, 2, 3, c=4, e=6) == 4 + 3 + 40 + 500 + 6
    assert module.weighted.cache_info().misses == 1


def test_a_function_out_of_sight_shows_its_docstring_and_who_is_to_write_it(pairs):
    module, text = pairs
    shown = function_text(text, "Pair.total")
    assert '"""The sum of both."""' in shown and "Yours to write in lesson 04" in shown
    assert "double" not in shown and "sum(more)" not in text


def test_what_calls_the_finished_function_does_not_look_like_a_recursion(pairs):
    shown = function_text(pairs[1], "weighted")
    assert "from shown.later.pairs import weighted as finished" in shown
    assert "return finished(a, b, *more, c=c, d=d, **rest)" in shown


def test_in_the_files_of_a_lesson_only_later_lessons_are_out_of_sight(tmp_path, monkeypatch):
    small_tinyjax.use(tmp_path, monkeypatch)
    text = handed_out(2, {small_tinyjax.FILE: small_tinyjax.SOURCE})[small_tinyjax.FILE]
    assert "return 1\n" in text and "exercise 02.1" in text and "lesson 03" in text
    assert "one() + two()" not in text


def test_in_a_program_of_ones_own_from_an_earlier_lesson_too_later_lessons_are_out_of_sight():
    file = "practice/moving_mean.py"
    kept = read(in_clone(file)).replace("x, window", "xs, window")
    text = handed_out(2, {file: kept})[file]
    assert "sliding_window_view(xs, window" in text, "what the learner wrote"
    assert "in lesson 05" in function_text(text, "moving_mean_batch")
    assert "moveaxis(x" not in text


def test_programs_that_later_lessons_ask_for_are_out_of_sight():
    files = handed_out(7)
    finished = files["practice/later/gauss_newton.py"]
    assert "cg(" in finished and "cg(" not in files["practice/gauss_newton.py"]
    assert "practice/gauss_newton.py" not in handed_out(9)


@pytest.mark.parametrize("lesson", [pytest.param(i, id=n) for i, n in enumerate(NAMES)])
def test_what_is_handed_out_is_python(lesson):
    for file, text in handed_out(lesson).items():
        compile(text, file, "exec")
