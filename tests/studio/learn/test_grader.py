"""The message of a test that fails: the test's words, what was expected and what came."""

import importlib.util
import json
import shutil
import sys

import numpy as np
import pytest

from tinyjax.studio.learn.exercises import PACKAGE


@pytest.fixture
def grader(tmp_path, monkeypatch):
    """The grader as it is in a work folder, with one exercise: `practice.toy:toy`."""
    monkeypatch.setattr(sys, "path", [*sys.path])  # it puts the folder there, and sets this:
    monkeypatch.setenv("TINYJAX_FAST", "0")
    copy = shutil.copy(PACKAGE / "studio/learn/grader.py", tmp_path)
    lesson = json.dumps(
        {"files": {}, "exercises": [{"name": "toy", "functions": ["practice.toy:toy"]}]}
    )
    (tmp_path / "lesson.json").write_text(lesson)
    spec = importlib.util.spec_from_file_location("grader", copy)
    grader = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(grader)
    return grader


@pytest.fixture
def lines_of(grader):
    """The message of a comparison that fails."""

    def lines_of(compare):
        with pytest.raises(AssertionError) as caught:
            compare()
        return grader.first_lines(caught.value)

    return lines_of


def test_what_a_test_says_of_two_arrays_is_told_before_them(lines_of):
    first, *arrays = lines_of(lambda: np.testing.assert_array_equal([1, 2], [1, 3], "a sum over j"))
    assert first == "a sum over j"
    assert [line.split(":")[0].strip() for line in arrays] == ["ACTUAL", "DESIRED"]


def test_arrays_alone_are_told_where_a_test_says_nothing_of_them(lines_of):
    got = lines_of(lambda: np.testing.assert_allclose(np.ones(2), np.zeros(2)))
    assert [line.split(":")[0].strip() for line in got] == ["ACTUAL", "DESIRED"]


@pytest.fixture
def failure_of(grader, tmp_path, monkeypatch):
    """The message of an error in the file of the exercise."""

    def failure_of(source):
        file = tmp_path / "src" / "practice" / "toy.py"
        file.parent.mkdir(parents=True)
        file.write_text(source)
        spec = importlib.util.spec_from_file_location("toy", file)
        toy = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(toy)
        with pytest.raises(Exception) as caught:  # noqa: PT011
            toy.toy(1)
        return grader.failure(caught.value)

    return failure_of


def test_an_error_is_told_in_the_line_of_the_function_to_write(failure_of):
    told = failure_of("def given(x):\n    return x.y\n\ndef toy(x):\n    return given(x)\n")
    assert told["place"] == "src/practice/toy.py:5, in toy: return given(x)"


def test_of_a_call_without_an_end_the_function_that_comes_back_is_told(failure_of):
    told = failure_of("def given(x):\n    return toy(x)\n\ndef toy(x):\n    return given(x)\n")
    assert told["message"][-1] == "What toy calls ends up in toy again, without an end."
    assert told["place"] == "src/practice/toy.py:5, in toy: return given(x)"


def test_the_line_of_the_test_is_told_and_not_that_of_a_hook_around_it(grader, tmp_path):
    (tmp_path / "tests").mkdir()
    files = {
        "conftest.py": "def hook(test):\n    test()\n",
        "test_toy.py": "def test_it():\n    assert 0\n",
    }
    names = {}
    for file, text in files.items():
        path = tmp_path / "tests" / file
        path.write_text(text)
        exec(compile(text, path, "exec"), names)
    with pytest.raises(AssertionError) as caught:
        names["hook"](names["test_it"])
    assert grader.failure(caught.value)["test"] == "tests/test_toy.py:2: assert 0"
