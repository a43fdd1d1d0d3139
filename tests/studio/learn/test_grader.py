"""The message of a test that fails: the test's words, what was expected and what came."""

import importlib.util
import json
import shutil
import sys

import numpy as np
import pytest

from tinyjax.studio.learn.exercises import PACKAGE


@pytest.fixture
def lines_of(tmp_path, monkeypatch):
    """The message of a comparison that fails, by the grader in a work folder."""
    monkeypatch.setattr(sys, "path", [*sys.path])  # it puts the folder there, and sets this:
    monkeypatch.setenv("TINYJAX_FAST", "0")
    copy = shutil.copy(PACKAGE / "studio/learn/grader.py", tmp_path)
    (tmp_path / "lesson.json").write_text(json.dumps({"files": {}}))
    spec = importlib.util.spec_from_file_location("grader", copy)
    grader = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(grader)

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
