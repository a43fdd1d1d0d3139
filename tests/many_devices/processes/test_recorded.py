"""What each of two processes sees, as recorded from JAX's own two processes."""

import json
from pathlib import Path

import pytest
from golden_cases.two_processes import CALLS, OTHERWISE, answers_of_two_processes
from processes import needs_mpi

RECORDED = json.loads((Path(__file__).parents[2] / "golden" / "two_processes.json").read_text())


@pytest.fixture(scope="module")
def answers():
    return answers_of_two_processes("tinyjax")


def test_all_calls_are_recorded():
    assert list(RECORDED) == CALLS


@pytest.mark.slow
@needs_mpi
@pytest.mark.parametrize("call", RECORDED)
def test_each_process_sees_what_it_sees_in_jax(answers, call):
    is_listed = any(part in call for part in OTHERWISE)
    is_equal = answers[call] == RECORDED[call]
    assert is_equal or is_listed, answers[call]
    assert not (is_equal and is_listed), "it is as in JAX, and listed as what is not"
