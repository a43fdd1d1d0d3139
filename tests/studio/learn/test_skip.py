"""`learn skip`, `learn test` of a function, and the brief `learn watch`: on a tinyjax of three functions."""

import json
from pathlib import Path

import pytest
import small_tinyjax
from small_tinyjax import EXERCISES, FILE, SOURCE, exercise

from tinyjax.__main__ import main
from tinyjax.studio.learn import exercises
from tinyjax.studio.learn.exercises import Exercise
from tinyjax.studio.learn.functions import function_text, with_function
from tinyjax.studio.learn.work_folder import WorkFolder

BOTH = Exercise(
    1,
    "both",
    1,
    ("tinyjax.three:one", "tinyjax.three:two"),
    "Write both.",
    ("a nudge", "the idea"),
    ("tests/test_three.py::test_one", "tests/test_three.py::test_two"),
    "01.1",
)
WRONG = "def three(): return 7\n"
LAST = exercise(1, "three", "test_three", number="01.2")


@pytest.fixture
def folder(tmp_path, monkeypatch, capsys):
    """One of a lesson with two exercises: to write `one` and `two`, and then `three`, which calls them."""
    small_tinyjax.use(tmp_path / "root", monkeypatch)
    monkeypatch.setattr(exercises, "load", lambda: [BOTH, LAST])
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert main(["learn", "start", "1"]) == 0
    capsys.readouterr()
    return Path("learn", "01_primitives").resolve()


def write(folder, **texts):
    path = folder / "src" / FILE
    source = path.read_text()
    for name, text in texts.items():
        source = with_function(source, name, text)
    path.write_text(source)


# ---- skip ----


def test_a_skipped_exercise_has_the_reference_and_later_ones_go_on(folder, capsys):
    assert main(["learn", "skip"]) == 0
    said = capsys.readouterr().out
    assert "01.1 both is skipped" in said and "does not count as passed" in said
    assert "learn reset 01.1" in said and "What was there" not in said
    write(folder, three=function_text(SOURCE, "three"))
    assert main(["learn", "test"]) == 0
    said = capsys.readouterr().out
    assert "skipped  01.1 both" in said and "passed   01.2 three" in said
    assert "1 of 2 in 01_primitives, 1 skipped" in said and "None is left." in said
    assert WorkFolder(folder).notes["passed"] == ["three"]
    main(["learn", "list"])
    assert "  - 01.1" in (listed := capsys.readouterr().out) and "  x 01.2" in listed


def test_a_lesson_can_begin_at_an_exercise(folder, tmp_path, capsys):
    assert main(["learn", "start", "1.2", str(tmp_path / "second")]) == 0
    said = capsys.readouterr().out
    assert "01.2 three" in said and "01.1 both" not in said
    assert "Skipped, with the reference: 01.1" in said and "learn reset 01.1" in said
    second = WorkFolder(tmp_path / "second")
    assert second.is_skipped(BOTH) and second.is_empty(LAST)


def test_an_exercise_that_does_not_exist_makes_no_folder(folder, tmp_path, capsys):
    assert main(["learn", "start", "1.7", str(tmp_path / "third")]) == 1
    assert "There are: 01.1, 01.2" in capsys.readouterr().err
    assert not (tmp_path / "third").exists()


@pytest.mark.slow
def test_an_exercise_is_skipped_no_longer_once_it_is_written(folder, capsys):
    main(["learn", "skip", "1.1"])
    here = WorkFolder(folder)
    assert here.is_skipped(here.exercises[0])
    write(folder, one="def one():\n    return 3 - 2\n")
    here = WorkFolder(folder)
    assert not here.is_skipped(here.exercises[0])
    assert main(["learn", "test"]) == 1
    assert "passed   01.1 both" in capsys.readouterr().out


@pytest.mark.slow
def test_what_was_written_is_kept_aside_and_is_not_passed_any_more(folder, capsys):
    write(folder, one="def one(): return 4 - 3\n", two="def two(): return 2\n")
    main(["learn", "test"])
    assert WorkFolder(folder).notes["passed"] == ["both"]
    main(["learn", "skip", "both"])
    assert "What was there is in learn/01_primitives/before" in capsys.readouterr().out
    assert "return 4 - 3" in (folder / "before" / "src" / FILE).read_text()
    assert WorkFolder(folder).notes["passed"] == []


def test_with_keep_a_skipped_exercise_is_named_as_tinyjaxs_own(folder, capsys, monkeypatch):
    monkeypatch.setattr(exercises, "load", lambda: [BOTH, LAST, EXERCISES[1]])
    main(["learn", "skip", "01.1"])
    capsys.readouterr()
    main(["learn", "start", "2", "--keep"])
    said = capsys.readouterr().out
    assert "Skipped, so tinyjax's own: 01.1" in said and "Not written yet" in said
    assert "Not carried on" not in said


def test_in_an_assignment_nothing_is_skipped(folder, capsys):
    notes = json.loads((folder / "lesson.json").read_text())
    notes["assignment"] = {"title": "Week 1", "exercises": ["both", "three"]}
    (folder / "lesson.json").write_text(json.dumps(notes))
    assert main(["learn", "skip"]) == 1
    assert "is off in Week 1" in capsys.readouterr().err
    assert WorkFolder(folder).is_empty(BOTH)


# ---- a function at a time ----


@pytest.mark.slow
def test_each_function_is_judged_beside_the_references_others(folder, capsys):
    write(folder, one="def one(): return 1\n", two="def two(): return 7\n")
    main(["learn", "test"])
    assert "which of its functions: python -m tinyjax learn test 01.1" in capsys.readouterr().out
    assert main(["learn", "test", "1.1"]) == 1
    said = capsys.readouterr().out
    assert "passed   one\nfailed   two: 1 of 2 tests pass\n" in said and "assert 7 == 2" in said


@pytest.mark.slow
def test_one_function_is_judged_while_the_others_are_empty(folder, capsys):
    write(folder, one="def one(): return 1\n")
    assert main(["learn", "test", "both", "one"]) == 0
    assert capsys.readouterr().out.endswith("passed   one\n")
    assert main(["learn", "test", "both"]) == 1
    assert capsys.readouterr().out.endswith("passed   one\nempty    two\n")
    assert main(["learn", "test", "01.1", "four"]) == 1
    assert "has no function 'four'. It has: one, two" in capsys.readouterr().err


# ---- watch ----


@pytest.mark.slow
def test_watch_says_what_fails_and_what_comes_next(folder, capsys, monkeypatch):
    looks = []

    def saved(self):
        looks.append(self)
        if len(looks) % 2 == 0:
            raise KeyboardInterrupt
        return {}

    monkeypatch.setattr(WorkFolder, "saved", saved)
    main(["learn", "watch"])
    said = capsys.readouterr().out
    assert "Next:\n01.1 both *\n    Write both." in said and "empty" not in said
    write(folder, one="def one(): return 1\n", two="def two(): return 2\n", three=WRONG)
    main(["learn", "watch"])
    said = capsys.readouterr().out
    assert "failed   01.2 three" in said and "Next:" not in said and "passed " not in said
