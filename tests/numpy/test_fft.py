"""Fourier transforms where the recorded values say nothing."""

import pytest

import tinyjax.numpy as jnp


def test_ihfft_of_an_axis_without_elements_asks_for_a_length():
    with pytest.raises(ValueError, match="without elements: axis -1 .* Give a length"):
        jnp.fft.ihfft(jnp.zeros((2, 0)))
    assert jnp.fft.ihfft(jnp.zeros((2, 0)), 4).shape == (2, 3)
