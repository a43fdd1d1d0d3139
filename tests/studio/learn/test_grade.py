"""A class hands in one file each: honest work gets its points, and cheats are found."""

import csv
import json
import textwrap

import pytest

from tinyjax.__main__ import main
from tinyjax.studio.learn import judge
from tinyjax.studio.learn.assignment import read_assignment
from tinyjax.studio.learn.exercises import LearnError, in_clone
from tinyjax.studio.learn.functions import with_function
from tinyjax.studio.learn.handed_out import handed_out
from tinyjax.studio.learn.submission import read_submission

FILE = "practice/dual.py"
HANDED_OUT = handed_out(2)[FILE]
PRODUCT = """\
def __mul__(self, other):
    other = as_dual(other)
    return Dual(self.primal * other.primal, self.primal * other.tangent + self.tangent * other.primal)
"""
QUOTIENT = """\
def __truediv__(self, other):
    other = as_dual(other)
    ratio = self.primal / other.primal
    return Dual(ratio, self.tangent / other.primal - ratio * other.tangent / other.primal)
"""
ASSIGNMENT = """\
title = "Homework"
exercises = ["02.1"]
[points]
dual_numbers = 12
[hidden]
"02.1" = ["hidden_dual.py::test_a_cube"]
"""
HIDDEN = """\
import numpy as np
from practice.dual import Dual

def test_a_cube():
    x = Dual(5.0, 1.0)
    np.testing.assert_allclose((x * x).primal, 25.0)
    assert (x * x * x).tangent == 75.0
"""


def submission(product, quotient=QUOTIENT):
    source = with_function(HANDED_OUT, "Dual.__mul__", textwrap.dedent(product))
    return {
        "format": 1,
        "sources": {"2": {FILE: with_function(source, "Dual.__truediv__", quotient)}},
    }


STUDENTS = {
    "honest": submission(PRODUCT),
    "half": submission(PRODUCT.replace("self.primal * other.tangent + ", "")),
    "by heart": submission("def __mul__(self, other):\n    return Dual(27.0, 27.0)\n"),
    "loads the original": submission(
        f"""\
        def __mul__(self, other):
            import importlib.util
            spec = importlib.util.spec_from_file_location("other", {str(in_clone(FILE))!r})
        """
    ),
    "reads the original": submission(  # which no reading of the text sees
        f"""\
        def __mul__(self, other):
            import numpy
            numpy.fromregex({str(in_clone(FILE))!r}, "x", [("a", "i4")])
        """
    ),
    "always equal": submission(
        """\
        def __mul__(self, other):
            class Number(float):
                def __eq__(self, other):
                    return True
            return Dual(Number(1), Number(1))
        """
    ),
    "replaces the judge": submission(
        """\
        def __mul__(self, other):
            import numpy as np
            vars_of = np.__doc__ and np
            vars_of.allclose = lambda *args: True
            return Dual(1.0, 1.0)
        """
    ),
    "patches a class": submission(  # under another name
        """\
        def __mul__(self, other):
            D, _ = Dual, 1
            D.__add__ = lambda self, other: self
            return Dual(1.0, 1.0)
        """
    ),
    "writes tests": submission(
        """\
        def __mul__(self, other):
            import numpy as np
            np.savetxt("tests/practice/test_dual.py", ["def test_a(): pass"], fmt="%s")
        """
    ),
    "an empty array": submission(  # NumPy compares no element of it
        """\
        def __mul__(self, other):
            import numpy as np
            return Dual(np.zeros(0), np.zeros(0))
        """
    ),
    "with a constant": submission(PRODUCT.replace("Dual(self", "Dual(ONE * self")),
    "another name": submission(PRODUCT.replace("other", "y")),
    "without an end": submission("def __mul__(self, other):\n    while True:\n        pass\n"),
    "no Python": submission(PRODUCT) | {"sources": {"2": {FILE: "def ("}}},
    "of another format": {"format": 2, "sources": {}},
}


STUDENTS["with a constant"]["sources"]["2"][FILE] += "\n\nONE = 1\n"


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """What results.csv says of each student."""
    folder = tmp_path_factory.mktemp("class")
    (folder / "assignment.toml").write_text(ASSIGNMENT, encoding="utf-8")
    (folder / "hidden_dual.py").write_text(HIDDEN, encoding="utf-8")
    for name, content in STUDENTS.items():
        (folder / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(judge, "SECONDS", 2)  # of the processor's time, which one of them uses up
        assert main(["learn", "grade", str(folder)]) == 0
    with open(folder / "results.csv", encoding="utf-8", newline="") as file:
        return {row["student"]: row for row in csv.DictReader(file)}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("student", "state", "points"),
    [
        ("honest", "passed", 12),
        ("half", "failed", 3.27),
        ("loads the original", "refused", 0),
        ("reads the original", "refused", 0),
        ("always equal", "refused", 0),
        ("replaces the judge", "refused", 0),
        ("patches a class", "refused", 0),
        ("writes tests", "refused", 0),
        ("with a constant", "passed", 12),
        ("another name", "failed", 10.91),
        ("without an end", "failed", 0),
        ("no Python", "unreadable", 0),
        ("of another format", "empty", 0),
    ],
)
def test_each_gets_what_is_due(rows, student, state, points):
    assert (rows[student]["state"], float(rows[student]["points"])) == (state, points)


@pytest.mark.slow
def test_an_answer_learned_by_heart_fails_hidden_tests(rows):
    assert rows["by heart"]["state"] == "failed"
    assert float(rows["by heart"]["points"]) < 12


@pytest.mark.slow
def test_another_signature_is_named(rows):
    first = rows["another name"]["first failure"]
    assert first.startswith("your `__mul__` has the parameter `y`, the exercise's is `other`")


@pytest.mark.slow
def test_an_empty_array_equals_no_number(rows):
    assert rows["an empty array"]["state"] == "failed"
    assert float(rows["an empty array"]["points"]) < 4


def test_a_submission_is_one_file_with_what_was_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["learn", "start", "02"]) == 0
    path = tmp_path / "learn" / "02_jvp" / "src" / FILE
    text = with_function(path.read_text(encoding="utf-8"), "Dual.__mul__", PRODUCT)
    path.write_text(with_function(text, "Dual.__truediv__", QUOTIENT), encoding="utf-8")
    assert main(["learn", "submit", "ada.json"]) == 0
    found = read_submission(tmp_path / "ada.json")
    assert found.student == "ada"
    assert {lesson: list(files) for lesson, files in found.sources.items()} == {2: [FILE]}


def test_an_assignment_is_a_folder_of_its_exercises_alone(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "homework.toml").write_text(ASSIGNMENT, encoding="utf-8")
    assert main(["learn", "start", "homework.toml"]) == 0
    notes = json.loads((tmp_path / "learn/02_jvp/lesson.json").read_text(encoding="utf-8"))
    assert [e["name"] for e in notes["exercises"]] == ["dual_numbers"]
    assert main(["learn", "diff", "02.1"]) == 1
    assert "off in Homework" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("exercises = 1 2", "is not TOML"),
        ("title = 'x'", "names no exercises"),
        ("exercises = ['99.1']", "no lesson or exercise '99.1'"),
        ("exercises = ['02.1']\nweight = 3", "'weight' is no key"),
        ("exercises = ['02.1']\n[points]\n'02.2' = 3", "[points] names"),
        ("exercises = 3", "exercises is a list"),
        ("exercises = '02.1'", "exercises is a list"),
        ("exercises = ['02.1']\npoints = 3", "[points] has numbers"),
        ("exercises = ['02.1']\n[points]\n'02.1' = nan", "[points] has numbers"),
        ("exercises = ['02.1']\n[points]\n'02.1' = 'x'", "[points] has numbers"),
        ("exercises = ['02.1']\nhidden = 3", "[hidden] has lists"),
        ("exercises = ['02.1']\n[hidden]\n'02.1' = 'h.py::test'", "[hidden] has lists"),
        ("exercises = ['02.1']\n[hidden]\n'02.1' = ['../h.py::test']", "[hidden] has lists"),
    ],
)
def test_a_wrong_assignment_is_explained(tmp_path, text, said):
    (tmp_path / "a.toml").write_text(text, encoding="utf-8")
    with pytest.raises(LearnError) as error:
        read_assignment(tmp_path / "a.toml")
    assert said in str(error.value)


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        "[1]",
        '{"format": 1, "sources": {"2": ["x"]}}',
        '{"format": ' + "9" * 5000 + ', "sources": {}}',
        '{"format": 1, "sources": {"2": {"../x": 1}}}',
        b"\xe4",
        None,
    ],
    ids=["nested", "list", "no files", "digits", "number", "latin", "folder"],
)
def test_a_file_that_is_no_submission_is_named(tmp_path, text):
    path = tmp_path / "ada.json"
    if text is None:
        path.mkdir()
    else:
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(LearnError, match=r"ada\.json is no submission"):
        read_submission(path)
