"""Exercises judged in this process, as in a browser."""

import sys

import pytest

import tinyjax as jax
from tinyjax.studio.learn import in_process
from tinyjax.studio.learn.atomic_files import read
from tinyjax.studio.learn.exercises import LearnError, find, in_clone, load
from tinyjax.studio.learn.functions import function_text
from tinyjax.studio.learn.in_process import judge_text
from tinyjax.studio.learn.judge import is_of


def reference(number):
    """The right text of each function of an exercise."""
    exercise = find(load(), number)
    places = zip(exercise.functions, exercise.places)
    return {
        function: function_text(read(in_clone(file)), name) for function, (file, name) in places
    }


def test_an_exercise_that_is_not_there_is_told():
    with pytest.raises(LearnError, match="There is no exercise '02.99'"):
        judge_text("02.99", {})


@pytest.mark.slow
def test_a_puzzle_of_the_story_says_what_was_expected_and_what_came():
    bind = "story:Primitive.bind"
    right = reference("00.1")
    assert judge_text("00.1", right)["state"] == "passed"
    found = judge_text("00.1", {bind: right[bind].replace("args, params)", "args, {})")})
    assert found["state"] == "failed" and found["passed"] == 1
    assert found["lines"][-2:] == [
        "expected: broadcast(x, axis=0, size=3)",
        "got:      broadcast(x)",
    ]


@pytest.mark.slow
def test_what_is_not_written_yet_is_empty_and_no_test_runs():
    found = judge_text("02.2", {})
    assert found["state"] == "empty" and found["passed"] == 0 and found["lines"] == []


@pytest.mark.slow
def test_a_text_that_is_no_python_is_told_with_its_line():
    found = judge_text("02.2", dict.fromkeys(reference("02.2"), "# mine\ndef f(:\n    pass\n"))
    assert found["state"] == "not run"
    assert found["lines"][0].endswith(", line 2: def f(:")
    assert "SyntaxError" in found["lines"][1]


@pytest.mark.slow
def test_an_error_names_the_line_of_the_function_that_was_written():
    """Also of one below another that has got longer."""
    first, *others = right = reference("02.2")
    longer = {first: right[first].replace("):\n", "):\n    # mine\n", 1)}
    wrong = {
        name: right[name].replace("return ", "return 1 / 0 and ") for name in others or [first]
    }
    found = judge_text("02.2", longer | wrong)
    place = next(line for line in found["lines"] if "return 1 / 0" in line)
    name, _, number = place.partition(":")[0].partition(", line ")
    text = next(text for function, text in wrong.items() if function.endswith(f":{name}"))
    assert "return 1 / 0" in text.splitlines()[int(number) - 1]


@pytest.mark.slow
def test_right_and_wrong_answers_are_told_apart_and_all_modules_stay():
    modules, right = dict(sys.modules), reference("02.2")
    of = len(find(load(), "02.2").tests)
    assert judge_text("02.2", right) == {"state": "passed", "passed": of, "of": of, "lines": []}
    wrong = {name: text.replace("return ", "return 2 * ") for name, text in right.items()}
    found = judge_text("02.2", wrong)
    assert found["state"] == "failed" and 0 <= found["passed"] < of
    assert any("test_jvp.py" in line for line in found["lines"])
    assert judge_text("02.2", right)["state"] == "passed"
    ours = {n: m for n, m in sys.modules.items() if n.partition(".")[0] == "tinyjax"}
    assert all(modules.get(name, module) is module for name, module in ours.items())
    assert sys.modules["tinyjax"] is jax


@pytest.mark.slow
def test_a_test_that_cannot_run_here_is_left_out_and_told(monkeypatch):
    run = in_process._run

    def without_one(folder, exercise):
        found = run(folder, exercise)
        found.passed = {name for name in found.passed if not is_of(exercise.tests[0], name)}
        found.failures = {
            exercise.tests[0]: {"message": ["was skipped: no driver"], "skipped": True}
        }
        return found

    monkeypatch.setattr(in_process, "_run", without_one)
    found = judge_text("02.2", reference("02.2"))
    of = len(find(load(), "02.2").tests)
    assert (found["state"], found["passed"], found["of"]) == ("passed", of - 1, of)
    assert found["lines"][0] == "A test was skipped: no driver."
