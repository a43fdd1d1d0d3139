"""Flags of JAX's that have no effect here."""

import pytest

import tinyjax as jax
from tinyjax.core.config import config


def test_flags_that_mean_nothing_here_are_kept_for_who_reads_them():
    assert config.jax_optimization_level == "UNKNOWN"
    with config.set("jax_optimization_level", "O1"):
        assert config.jax_optimization_level == "O1"


def test_a_check_that_there_is_not_is_no_silent_promise():
    with pytest.warns(UserWarning, match="indices out of bounds are not found"):
        with config.set("jax_check_static_indices", True):
            pass
    with jax.transfer_guard("allow"):  # asks for nothing
        pass
    with pytest.raises(ValueError, match="one of"):  # other random bits are no check
        config.update("jax_high_dynamic_range_gumbel", True)
