"""Equations that no kernel computes, as equations that kernels compute."""

import pytest

from tinyjax.compile.passes.expand import Expansions
from tinyjax.core.primitives import sin_p


def test_a_primitive_has_one_expansion():
    rules = Expansions()
    rules[sin_p] = first = lambda eqn: None
    with pytest.raises(ValueError, match="'sin' has an expansion already"):
        rules[sin_p] = lambda eqn: None
    assert rules[sin_p] is first
