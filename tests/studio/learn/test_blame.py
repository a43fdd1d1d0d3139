"""The exercise that is wrong is the one that fails, whosever test found it."""

from tinyjax.studio.learn.blame import blame
from tinyjax.studio.learn.exercises import Exercise
from tinyjax.studio.learn.judge import Run, verdict_of_written


def exercise(name):
    return Exercise(6, name, 1, (), "", (), (f"test_{name}",), f"06.{name}")


FIRST, SECOND, THIRD = exercise("1"), exercise("2"), exercise("3")
WRITTEN = [FIRST, SECOND, THIRD]


def states_after(run_with):
    """The states of the three when the wrong one has been looked for."""
    run = run_with(WRITTEN)
    verdicts = [verdict_of_written(e, run) for e in WRITTEN]
    blame(verdicts, run_with)
    return verdicts


def failing(*tests):
    failures = {test: {"message": ["not equal"]} for test in tests}
    return Run(passed={t for e in WRITTEN for t in e.tests} - set(tests), failures=failures)


def test_an_answer_that_fails_alone_is_wrong_itself():
    first, second, third = states_after(lambda own: failing(*["test_2"] * (SECOND in own)))
    assert (first.state, second.state, third.state) == ("passed", "failed", "passed")


def test_an_answer_that_breaks_another_one_is_named():
    first, second, third = states_after(
        lambda own: failing(*["test_3"] * (SECOND in own and THIRD in own))
    )
    assert (first.state, second.state, third.state) == ("passed", "failed", "passed")
    assert second.failure["message"] == [
        "its own tests pass, but a test of 06.3 3 fails with it:",
        "not equal",
    ]


def test_one_that_fails_too_is_suspected_first():
    first, second, third = states_after(
        lambda own: failing(*["test_1"] * (FIRST in own), *["test_3"] * (FIRST in own))
    )
    assert (first.state, second.state, third.state) == ("failed", "passed", "passed")
    assert first.failure["message"] == ["not equal"]


def test_two_wrong_answers_are_both_named():
    verdicts = states_after(
        lambda own: failing(*["test_1"] * (FIRST in own), *["test_2"] * (SECOND in own))
    )
    assert [v.state for v in verdicts] == ["failed", "failed", "passed"]


def test_an_answer_that_runs_only_in_its_own_file_keeps_its_verdict():
    def run_with(own):  # the first fails, and breaks the third; put into a copy, it seems to pass
        return failing("test_1", "test_3") if len(own) == len(WRITTEN) else failing()

    run = run_with(WRITTEN)
    verdicts = [verdict_of_written(e, run) for e in WRITTEN]
    blame(verdicts, run_with, apart={FIRST.name})
    assert [v.state for v in verdicts] == ["failed", "passed", "passed"]
    assert verdicts[0].failure["message"] == ["not equal"]
