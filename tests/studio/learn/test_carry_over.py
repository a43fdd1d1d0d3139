"""What a learner wrote in earlier lessons, carried on to the next."""

import dataclasses
from pathlib import Path

import pytest
import small_tinyjax
from small_tinyjax import EXERCISES, FILE, SOURCE, exercise

from tinyjax.__main__ import main
from tinyjax.studio.learn import carry_over, changes, exercises, progress, work_folder
from tinyjax.studio.learn.functions import function_text, with_function
from tinyjax.studio.learn.judge import judge
from tinyjax.studio.learn.work_folder import WorkFolder

MINE = {
    "one": "def one():\n    return 3 - 2\n",
    "two": "def two():\n    return helper(1)\n\n\ndef helper(x):\n    return 2 * x\n",
}


@pytest.fixture
def course(tmp_path, monkeypatch):
    """An empty folder to learn in."""
    small_tinyjax.use(tmp_path / "root", monkeypatch)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here" / "learn"


def do(lesson, text, *options):
    """Begin a lesson, and write its function."""
    assert main(["learn", "start", str(lesson), *options]) == 0
    folder = progress.folders(Path("learn"))[-1]
    path = folder.path / "src" / FILE
    path.write_text(with_function(path.read_text(), folder.exercises[0].name, text))
    return folder


@pytest.mark.slow
def test_functions_that_pass_are_carried_on_with_what_they_need(course, capsys):
    do(1, MINE["one"])
    do(2, MINE["two"], "--keep")
    capsys.readouterr()
    folder = do(3, function_text(SOURCE, "three"), "--keep")
    said = capsys.readouterr().out
    assert "Yours, carried on from earlier lessons:\n  01_primitives: one\n  02_jvp: two\n" in said
    assert folder.text(FILE, "one") == MINE["one"]
    assert "def helper" in folder.source(FILE)
    assert main(["learn", "test"]) == 0
    assert "changed, which is not part of this lesson" not in capsys.readouterr().out
    main(["learn", "progress"])
    assert "3 of these 3 functions of tinyjax are your own in learn" in capsys.readouterr().out


@pytest.mark.slow
def test_what_does_not_pass_is_tinyjaxs_and_is_named(course, capsys):
    do(1, "def one():\n    return 4\n")
    main(["learn", "start", "2"])
    capsys.readouterr()
    folder = do(3, "def three(): return 3\n", "--keep")
    said = capsys.readouterr().out
    assert "Not written yet, so tinyjax's own: 02.1\n" in said
    last = "\n".join(said.splitlines()[-3:])
    assert "Not carried on" in last and "01.1 one: does not pass" in last and "once more" in last
    assert folder.text(FILE, "one") == function_text(SOURCE, "one")


@pytest.mark.slow
def test_what_was_changed_since_it_passed_is_judged_again(course, capsys):
    folder = do(1, MINE["one"])
    main(["learn", "test"])
    path = folder.path / "src" / FILE
    path.write_text(with_function(path.read_text(), "one", "def one():\n    return 4\n"))
    capsys.readouterr()
    do(2, MINE["two"], "--keep")
    assert "01.1 one: does not pass" in capsys.readouterr().out


@pytest.mark.slow
def test_what_passes_alone_and_not_with_the_others_is_not_carried_on(course, capsys, monkeypatch):
    alone = exercise(2, "two", "test_two", "test_a_sum", number="02.1")
    monkeypatch.setattr(exercises, "load", lambda: [EXERCISES[0], alone, EXERCISES[2]])
    do(1, "def one():\n    return type('Odd', (int,), {'__add__': lambda a, b: 4})(1)\n")
    do(2, "def two():\n    return 2\n")
    capsys.readouterr()
    do(3, "def three(): return 3\n", "--keep")
    said = capsys.readouterr().out
    assert "  01_primitives: one\n" in said
    assert "02.1 two: passes in its own folder, but not with the others" in said


def test_of_each_lesson_it_is_said_when_its_tests_begin():
    said = []
    begun = carry_over.by_lesson(EXERCISES[:2], said.append)
    for test in EXERCISES[0].tests + EXERCISES[1].tests:
        begun(f"{test}[1]")
    assert said == ["  01_primitives: one", "  02_jvp: two"]


@pytest.mark.slow
def test_who_judges_is_told_of_each_test_that_begins(course):
    folder, begun = do(1, MINE["one"]), []
    judge(folder, begun.append)
    assert begun == list(EXERCISES[0].tests)


def test_two_functions_of_one_name_that_are_not_the_same_are_not_both_carried_on(course):
    texts = {"one": "def helper(): return 1\n", "two": "def helper(): return 2\n"}
    folders = []
    for lesson, (name, helper) in enumerate(texts.items(), start=1):
        folder = do(lesson, f"def {name}():\n    return helper()\n\n\n{helper}")
        folder.notes["passed"] = [name]
        folders.append(folder)
    kept = carry_over.gathered(folders, set())
    assert [e.name for e in kept.exercises] == ["one"]
    assert "two calls helper, and another function of this name" in kept.left["two"]


def test_what_is_carried_on_is_there_after_a_reset(course, monkeypatch):
    main(["learn", "start", "1"])
    kept = with_function(SOURCE, "one", MINE["one"])
    monkeypatch.setattr(carry_over, "failing_together", lambda *_: set())
    monkeypatch.setattr(
        carry_over, "gathered", lambda *_: carry_over.Kept({FILE: kept}, [EXERCISES[0]])
    )
    folder = do(2, MINE["two"], "--keep")
    monkeypatch.setattr("sys.stdin.readline", lambda: "y", raising=False)
    main(["learn", "reset"])
    assert folder.text(FILE, "one") == MINE["one"]
    assert WorkFolder(folder.path).is_empty(EXERCISES[1])


@pytest.mark.slow
def test_what_is_carried_on_comes_along_when_tinyjax_changes(course, tmp_path, capsys):
    do(1, MINE["one"])
    folder = do(2, MINE["two"], "--keep")
    reference = tmp_path / "root" / FILE
    reference.write_text(reference.read_text() + "\n\ndef four(): ...\n")
    assert main(["learn", "test"]) == 0
    assert "carried over: two, and 1 functions of other lessons" in capsys.readouterr().out
    assert folder.text(FILE, "one") == MINE["one"] and "def four" in folder.source(FILE)


@pytest.mark.slow
def test_what_was_mended_since_is_told_and_brought_to_a_folder_that_is_there(course, capsys):
    first = do(1, MINE["one"])
    folder = do(2, MINE["two"], "--keep")
    fixed = "def one():\n    return 4 - 3\n"
    path = first.path / "src" / FILE
    path.write_text(with_function(path.read_text(), "one", fixed))
    capsys.readouterr()
    assert main(["learn", "test", "2"]) == 0
    assert "Rewritten in an earlier lesson: one (lesson 01)." in capsys.readouterr().out
    assert main(["learn", "start", "2", "--keep"]) == 0
    assert "with what you wrote here: two" in capsys.readouterr().out
    assert folder.text(FILE, "one") == fixed and folder.text(FILE, "two") in MINE["two"]
    main(["learn", "start", "2", "--keep"])
    assert "All of this is in learn/02_jvp already" in capsys.readouterr().out
    assert main(["learn", "test", "2"]) == 0
    assert "Rewritten" not in capsys.readouterr().out


def test_a_folder_that_cannot_be_read_is_told_and_what_is_to_be_done(course, capsys):
    folder = do(1, MINE["one"])
    (folder.path / "src" / FILE).write_text("def one(:\n")
    capsys.readouterr()
    for lesson in ("2", "3"):  # not only the first time
        assert main(["learn", "start", lesson, "--keep"]) == 0
        said = capsys.readouterr().out
        assert "learn/01_primitives cannot be read:" in said and "three.py:1: def one(:" in said
        assert "01.1 one: its folder cannot be read" in said
        assert f"`learn start {int(lesson):02} --keep` once more brings them" in said


def test_a_change_of_what_was_carried_on_is_told_as_one_that_later_lessons_do_not_see(course):
    kept = with_function(SOURCE, "one", MINE["one"])
    folder = work_folder.start(2, course / "two", {FILE: kept}, [EXERCISES[0]])
    assert changes.others(folder) == []
    path = folder.path / "src" / FILE
    path.write_text(with_function(path.read_text(), "one", "def one():\n    return 1\n"))
    told = "\n".join(changes.others(folder))
    assert "one is yours from an earlier lesson" in told and "change it there too" in told


def test_without_earlier_lessons_nothing_is_carried_on(course, capsys):
    assert main(["learn", "start", "3", "--keep"]) == 0
    assert "No work folder of an earlier lesson is in" in capsys.readouterr().out


def test_a_program_of_practice_is_carried_on_though_it_uses_what_the_lesson_empties():
    use = dataclasses.replace(exercise(2, "two", "test_two"), functions=("practice.two:two",))
    assert carry_over.failing_together(carry_over.Kept({}, [use]), 3, print) == set()
