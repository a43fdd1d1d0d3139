"""Every exercise can be done, and its tests tell right from wrong.

For each exercise, with the functions of those before it in its lesson written and all others of the lesson
empty: its tests fail and name the exercise to write; with the reference they pass. Then the functions of all
later lessons are empty too, but for exercises of practice/, which may use them. (With the whole lesson
written it is the reference, and its tests are among all others.) Wrong answers fail: see
test_wrong_answers.py.
"""

import functools
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tinyjax.studio.learn.atomic_files import read
from tinyjax.studio.learn.exercises import LESSONS, NAMES, ROOT, complaints, in_clone, load
from tinyjax.studio.learn.functions import function_text, with_function
from tinyjax.studio.learn.handed_out import empty_sources, of_lesson
from tinyjax.studio.learn.work_folder import fill

EXERCISES = load()
PROOF = ROOT / "tests" / "exercise_proof.py"
can_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="the proof forks")
each_exercise = pytest.mark.parametrize("e", EXERCISES, ids=lambda e: f"{e.number}_{e.name}")


# ---- what is written in exercises.toml ----


@each_exercise
def test_an_exercise_names_functions_and_tests_that_are_there(e):
    assert complaints(e) == []


def test_no_two_exercises_have_one_name():
    names = [e.name for e in EXERCISES]
    assert sorted(names) == sorted(set(names))


@pytest.mark.parametrize("name", NAMES)
def test_a_lesson_is_there_and_has_two_exercises_or_more(name):
    assert (ROOT / "tutorials" / f"{name}.py").exists()
    assert len(of_lesson(NAMES.index(name))) >= 2


def test_a_lesson_builds_on_earlier_ones():
    assert all(before < lesson for lesson, needed in LESSONS.items() for before in needed)


# ---- the proof ----


def answered(sources, exercise):
    """The sources with the reference's functions of an exercise in place."""
    sources = dict(sources)
    for file, name in exercise.places:
        text = function_text(read(in_clone(file)), name)
        sources[file] = with_function(sources[file], name, text)
    return sources


def states_of(lesson):
    """By name, each state of the lesson's functions and the tests to be run in it."""
    exercises = of_lesson(lesson)
    functions = [place for e in exercises for place in e.places]
    sources = empty_sources(exercises)
    states = {}
    for e in exercises:
        states[f"{e.name} empty"] = {"sources": sources, "tests": e.tests, "is_later_empty": False}
        sources = answered(sources, e)
        is_later_empty = not e.stands_alone
        states[f"{e.name} right"] = {
            "sources": sources, "tests": e.tests, "is_later_empty": is_later_empty
        }  # fmt: skip
    return {name: state | {"functions": functions} for name, state in states.items()}


def later_than(lesson):
    """The functions of later lessons, and the files in which they are empty."""
    later = [e for e in EXERCISES if e.lesson > lesson]
    functions = [place for e in later for place in e.places]
    return {"functions": functions, "sources": empty_sources(later)}


@functools.cache
def proof(lesson):
    """What happened in each state of the lesson: {state: {test: None, or what it said}}."""
    states = states_of(lesson)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary).resolve()
        fill(folder, lesson)
        done = subprocess.run(
            [sys.executable, PROOF, folder],
            input=json.dumps([list(states.values()), later_than(lesson)]),
            env={
                **os.environ,
                "PYTHONPATH": str(folder / "src"),
                "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            },
            cwd=folder,
            capture_output=True,
            text=True,
        )
    said = done.stdout.splitlines()
    assert done.returncode == 0 and said, done.stdout + done.stderr
    report = json.loads(said[-1])
    assert report["errors"] == []
    assert len(report["results"]) == len(states), done.stderr
    assert all(Path(file).is_relative_to(folder) for file in report["files"]), "another tinyjax ran"
    return dict(zip(states, report["results"]))


def failures(outcomes):
    """The tests that failed, each with the end of what it said."""
    return [f"{test}\n{said[-600:]}" for test, said in outcomes.items() if said is not None]


@pytest.mark.slow
@can_fork
@each_exercise
def test_an_emptied_exercise_fails_each_of_its_tests_which_say_what_to_write(e):
    outcomes = proof(e.lesson)[f"{e.name} empty"]
    assert outcomes
    names = [name.rpartition(".")[2] for _, name in e.places]
    for test, said in outcomes.items():
        assert said is not None, f"{test} passes without {names}"
        assert f"exercise {e.number}" in said or any(name in said for name in names), said


@pytest.mark.slow
@can_fork
@each_exercise
def test_with_the_reference_an_exercise_passes_and_needs_no_later_lesson(e):
    found = failures(proof(e.lesson)[f"{e.name} right"])
    assert not found, "\n\n".join(found)
