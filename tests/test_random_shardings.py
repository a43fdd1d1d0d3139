"""Random jitted programs with shardings give what they give without: tools/check_random_shardings.py."""

import pytest
from random_shardings import disagreement, draw
from slow_params import slow_params


@pytest.mark.parametrize("seed", [2, 5, 7, *slow_params(*range(10, 50))])
def test_a_random_program_gives_what_it_gives_without_shardings(seed):
    program = draw(seed)
    assert disagreement(program) is None, str(program)
