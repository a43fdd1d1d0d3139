"""Sparse arrays that are made: what is refused."""

import pytest

from tinyjax import sparse


@pytest.mark.parametrize("kwargs", [{"n_batch": 3}, {"n_dense": 3}, {"n_batch": -1}, {"nse": -1}])
def test_empty_has_no_more_axes_than_its_shape(kwargs):
    with pytest.raises(ValueError, match="Invalid inputs"):
        sparse.empty((2, 3), **kwargs)


def test_the_size_of_eye_is_a_number():
    with pytest.raises(TypeError, match="cannot be interpreted as an integer"):
        sparse.eye("a")


def test_grad_is_of_a_function():
    with pytest.raises(TypeError, match="Expected a callable value, got 3"):
        sparse.grad(3)
