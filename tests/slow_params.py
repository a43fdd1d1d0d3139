"""Parameters of a test that are tried with the slow tests only."""

import pytest


def slow_params(*values):
    """The values as parameters with the marker `slow`."""
    return [pytest.param(value, marks=pytest.mark.slow) for value in values]
