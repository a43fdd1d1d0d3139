"""Wrong answers to the exercises fail, and the message names the mistake.

The slow tests try all, those that were thought of and those that a machine makes; tools/try_wrong_answers.py
tries those of one lesson: run it on a lesson whose exercises or tests you change. A wrong answer that passes
needs a test more.
"""

import itertools
import os
import runpy

import pytest
import wrong_answers

from tinyjax.studio.learn.exercises import NAMES, ROOT

can_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="each answer is tried in a fork")
each_lesson = pytest.mark.parametrize("lesson", range(len(NAMES)), ids=NAMES)


# ---- what is written down ----


@each_lesson
def test_each_exercise_has_a_wrong_answer_that_was_thought_of(lesson):
    assert {m.exercise.name for m in wrong_answers.thought_of(lesson)} == set(
        wrong_answers.exercises_of(lesson)
    )


@each_lesson
def test_what_is_listed_as_equivalent_is_made_and_has_a_reason(lesson):
    made = {
        (m.exercise.name, m.says)
        for e in wrong_answers.exercises_of(lesson).values()
        for m in wrong_answers.made(e)
    }
    assert wrong_answers.equivalent(lesson) <= made
    assert all(entry["why"] for entry in wrong_answers.written(lesson).get("equivalent", []))


@pytest.mark.slow
def test_the_table_of_the_lessons_page_is_up_to_date():
    tool = runpy.run_path(str(ROOT / "tools" / "try_wrong_answers.py"))
    written = (ROOT / "tutorials" / "README.md").read_text(encoding="utf-8")
    assert tool["with_table"](written) == written, "run python tools/try_wrong_answers.py --table"


# ---- they fail ----


@pytest.mark.slow
@can_fork
def test_the_reference_passes():
    right = wrong_answers.Mutant(wrong_answers.thought_of(1)[0].exercise, "nothing", ())
    assert wrong_answers.failures_of([right]) == [None]


@can_fork
@pytest.mark.slow
def test_right_answers_in_another_style_pass():
    tried = [m for lesson in range(len(NAMES)) for m in wrong_answers.right(lesson)]
    assert tried
    found = zip(tried, wrong_answers.failures_of(tried))
    rejected = [f"{m.exercise.number}: {m.says}\n    {failure}" for m, failure in found if failure]
    assert not rejected, "\n".join(rejected)


@pytest.fixture(scope="module")
def tried(request):
    """By lesson, the wrong answers with what found each out: two processes import the tests, and try all."""
    tests = [
        t for t in request.session.items if t.path == request.path and "tried" in t.fixturenames
    ]
    chosen = sorted(test.callspec.params["lesson"] for test in tests)
    answers = [m for lesson in chosen for m in wrong_answers.of_lesson(lesson)]
    found = {lesson: [] for lesson in chosen}
    for answer, failure in zip(answers, wrong_answers.failures_of(answers), strict=True):
        found[answer.exercise.lesson].append((answer, failure))
    return found


@can_fork
@pytest.mark.slow
@each_lesson
def test_wrong_answers_fail_those_made_by_a_machine_too(lesson, tried):
    said = "\n".join(filter(None, itertools.starmap(wrong_answers.complaint, tried[lesson])))
    assert not said, said
