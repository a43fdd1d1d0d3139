"""The product of two batches, whose axes have to be brought together."""

import numpy as np
import pytest
from judged import unchanged
from practice.line_up import batch_product


def assert_is_batch(x, x_dim, y, y_dim, examples):
    """That the result is what a loop over the examples gives."""

    def part(z, dim, i):
        return z if dim is None else np.take(z, i, axis=dim)

    loop = [part(x, x_dim, i) * part(y, y_dim, i) for i in range(examples)]
    about = f"x has shape {x.shape}, batch dim {x_dim}; y has shape {y.shape}, batch dim {y_dim}"
    out = batch_product(x, x_dim, y, y_dim)
    assert np.shape(out) == np.shape(loop), about
    np.testing.assert_array_equal(out, loop, err_msg=about)


def numbers(*shape):
    return np.arange(1.0, 1.0 + np.prod(shape)).reshape(shape)


@pytest.mark.parametrize("x_dim, y_dim", [(0, 0), (0, 1), (1, 0), (1, 1)])
def test_wherever_the_batch_dims_are_examples_are_multiplied_one_by_one(x_dim, y_dim):
    x, y = numbers(4, 3), numbers(3, 4).T ** 2
    assert_is_batch(x if x_dim == 0 else x.T, x_dim, y if y_dim == 0 else y.T, y_dim, 4)


@pytest.mark.parametrize("x_dim, y_dim", [(0, 1), (1, 0), (1, 1)])
def test_that_the_shapes_fit_does_not_mean_that_the_examples_do(x_dim, y_dim):
    assert_is_batch(numbers(3, 3), x_dim, numbers(3, 3) ** 2, y_dim, 3)


def test_an_operand_may_be_shared():
    assert_is_batch(numbers(2, 3), 0, numbers(3), None, 2)
    assert_is_batch(numbers(3), None, numbers(3, 2), 1, 2)
    assert_is_batch(numbers(3, 3), 1, numbers(3), None, 3)


def test_a_shared_operand_may_have_as_many_axes_as_the_whole_batch():
    assert_is_batch(numbers(3, 3, 3), 1, numbers(3, 3), None, 3)
    assert_is_batch(numbers(3, 3), None, numbers(3), 0, 3)


def test_examples_may_be_numbers_in_one_operand_and_arrays_in_the_other():
    assert_is_batch(numbers(2, 3), 0, numbers(2), 0, 2)
    assert_is_batch(numbers(3), 0, numbers(3, 3), 1, 3)


def test_examples_may_be_rows_in_one_operand_and_matrices_in_the_other():
    assert_is_batch(numbers(3, 3), 0, numbers(3, 3, 3), 0, 3)
    assert_is_batch(numbers(2, 4, 5), 0, numbers(5, 2), 1, 2)
    assert_is_batch(numbers(3, 3, 2), 2, numbers(2, 3), 0, 2)


@pytest.mark.parametrize("x_axes", [0, 1, 2, 3])
@pytest.mark.parametrize("y_axes", [0, 1, 2, 3])
def test_examples_of_any_two_ranks_are_multiplied_wherever_their_batch_dims_are(x_axes, y_axes):
    shape = (4, 2, 5)
    x, y = numbers(3, *shape[3 - x_axes :]), numbers(3, *shape[3 - y_axes :]) ** 2
    for x_dim in range(x.ndim):
        for y_dim in range(y.ndim):
            assert_is_batch(np.moveaxis(x, 0, x_dim), x_dim, np.moveaxis(y, 0, y_dim), y_dim, 3)
        assert_is_batch(np.moveaxis(x, 0, x_dim), x_dim, y[0], None, 3)
        assert_is_batch(y[0], None, np.moveaxis(x, 0, x_dim), x_dim, 3)


def test_a_batch_may_be_of_one_or_of_none_and_operands_are_left_as_they_are():
    for size in (1, 0):
        x, y = numbers(2, size).astype(np.float16), numbers(size, 3, 2).astype(np.float16)
        with unchanged(x=x, y=y):
            out = batch_product(x, 1, y, 0)
        assert out.shape == (size, 3, 2) and out.dtype == np.float16
    x, y = numbers(2, 3), numbers(2, 3)
    with unchanged(x=x, y=y):
        batch_product(x, 0, y, 0)
    x = np.array([1.0, np.nan, np.inf])
    np.testing.assert_array_equal(batch_product(x, 0, np.array(2.0), None), [2, np.nan, np.inf])
    for left in (bool, np.int8, np.float16, np.complex64):
        for right in (bool, np.int16, np.float32, np.complex64):
            a, b = np.ones((2, 3), left), np.ones((3, 2, 1), right)
            for other, dim in ((b, 0), (b[0], None)):
                out = batch_product(a, 1, other, dim)
                want = a[:, :1].T * b
                assert out.dtype == want.dtype, f"NumPy's dtype of {a.dtype} and {b.dtype}"
    five = numbers(2, 3, 1, 2, 1, 3)
    np.testing.assert_array_equal(
        batch_product(five, 0, numbers(2, 3), 0), five * numbers(2, 3)[:, None, None, None, None]
    )
    truths = np.array([True, False])
    np.testing.assert_array_equal(batch_product(truths, 0, truths[::-1], 0), [False, False])
    shared, each = numbers(2, 1, 3, 2, 3), numbers(2, 3) ** 2
    for got in (batch_product(each, 0, shared, None), batch_product(shared, None, each, 0)):
        np.testing.assert_array_equal(got, [shared * row for row in each], "shared, of five axes")
