"""Exercises in a notebook, as nbgrader hands them out and judges them."""

import ast
import json

import pytest

from tinyjax.__main__ import main
from tinyjax.studio.learn import in_notebook
from tinyjax.studio.learn.exercises import LearnError, find, load

TESTS = len(find(load(), "02.1").tests)


class Shell:
    """What a notebook's kernel is asked for when the extension is loaded."""

    def register_magic_function(self, function, magic_kind, magic_name):
        self.magic = {(magic_kind, magic_name): function}

    def push(self, names):
        self.names = names


@pytest.fixture
def shell(monkeypatch):
    monkeypatch.setattr(in_notebook, "_answers", {})
    shell = Shell()
    in_notebook.load_ipython_extension(shell)
    return shell


@pytest.fixture
def cells(tmp_path, monkeypatch):
    """The cells of lesson 2 that have nbgrader's metadata, by their grade_id."""
    monkeypatch.chdir(tmp_path)
    assert main(["learn", "notebook", "02", "--nbgrader"]) == 0
    written = json.loads((tmp_path / "02_jvp.ipynb").read_text(encoding="utf-8"))["cells"]
    known = [cell for cell in written if "nbgrader" in cell["metadata"]]
    return {cell["metadata"]["nbgrader"]["grade_id"]: cell for cell in known}


def test_a_solution_stands_between_nbgraders_marks_below_the_docstring(cells):
    text = "".join(cells["dual_numbers"]["source"])
    assert text.startswith("%%exercise 02.1\n\n\ndef __mul__(")
    assert text.count("    ### BEGIN SOLUTION\n") == text.count("    ### END SOLUTION") == 2
    assert text.index('"""') < text.index("### BEGIN SOLUTION")


def test_tests_are_locked_and_a_point_each(cells):
    assert cells["dual_numbers_tests"]["metadata"]["nbgrader"] == {
        "schema_version": 3,
        "grade_id": "dual_numbers_tests",
        "grade": True,
        "locked": True,
        "solution": False,
        "task": False,
        "points": TESTS,
    }


def test_the_solutions_pass(cells, shell, capsys):
    heading, _, answer = "".join(cells["dual_numbers"]["source"]).partition("\n")
    shell.magic["cell", "exercise"](heading.removeprefix("%%exercise "), answer)
    shell.names["check"]("02.1")
    assert f"all {TESTS} tests pass" in capsys.readouterr().out


def test_a_wrong_answer_fails_with_what_the_judge_says(cells, shell):
    text = "".join(cells["dual_numbers"]["source"]).partition("\n")[2]
    shell.magic["cell", "exercise"]("02.1", text.replace("self.tangent * other.primal + ", ""))
    with pytest.raises(AssertionError, match=rf"failed: \d of {TESTS} tests pass"):
        shell.names["check"]("02.1")


def test_an_answer_that_was_not_given_is_asked_for(shell):
    with pytest.raises(AssertionError, match="Run the cell that begins with %%exercise 02.1"):
        shell.names["check"]("02.1")


def test_a_function_that_is_missing_is_named(shell):
    shell.magic["cell", "exercise"]("02.1", "def __mul__(self, other):\n    return self\n")
    with pytest.raises(LearnError, match="no function __truediv__"):
        shell.names["check"]("02.1")


def test_a_solution_in_one_line_stands_between_the_marks():
    (cell,) = [c for c in in_notebook.nbgrader_cells([find(load(), "00.3")]) if c["id"] == "minus"]
    text = "".join(cell["source"]).partition("\n")[2]
    assert ast.parse(text) and text.count("    ### BEGIN SOLUTION\n    return ") == 3
