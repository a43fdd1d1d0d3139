"""Types for annotations."""

import typing

import numpy as np

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.typing import ArrayLike, DTypeLike


def test_arrays_and_numbers_are_like_arrays_and_lists_are_not():
    there = (jnp.ones(2), np.ones(2), np.float32(1), 1.0, 1, True)
    assert all(isinstance(x, typing.get_args(jax.typing.ArrayLike)) for x in there)
    assert not isinstance([1.0], typing.get_args(ArrayLike))


def test_names_and_types_are_like_dtypes():
    assert {str, np.dtype} < set(typing.get_args(DTypeLike))
