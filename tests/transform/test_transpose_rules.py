"""Transpose rules, called by hand."""

import numpy as np
import pytest
from judged import (
    SMALL_FLOAT,
    each_error,
    error_passes,
    every_error_passes,
    raises,
)

import tinyjax as jax
from tinyjax.core import bind, primitives
from tinyjax.core.array import ShapedArray
from tinyjax.transform.transposition import (
    UndefinedPrimal,
    mul_transpose_x,
    mul_transpose_y,
    product_transpose,
    transpose_rules,
    unbroadcast,
)

X = np.arange(6, dtype=np.float32).reshape(2, 3)
row = np.array([1, 10, 100], np.float32)


def aval(*shape):
    return ShapedArray(shape, np.dtype("float32"))


def linear(*shape):
    """An operand without a value."""
    return UndefinedPrimal(aval(*shape))


def the_one(cts):
    """The cotangent of a rule's only operand."""
    assert isinstance(cts, list | tuple) and len(cts) == 1, "a list, with a cotangent an operand"
    return cts[0]


def assert_cotangent(got, want, where=""):
    assert np.shape(got) == np.shape(want), f"a cotangent has the shape of its operand; {where}"
    np.testing.assert_array_equal(got, want, where)


@pytest.mark.parametrize("axes, ct", [((0,), row), ((1,), row[:2]), ((0, 1), np.float32(7))])
def test_each_term_of_a_sum_gets_the_sums_cotangent(axes, ct):
    got = the_one(transpose_rules[primitives.reduce_sum_p](ct, linear(2, 3), axes=axes))
    want = np.broadcast_to(np.expand_dims(ct, axes), (2, 3))
    assert_cotangent(got, want, f"sum over axes {axes}, cotangent {ct}")


@pytest.mark.parametrize(
    "shape, dimensions, want",
    [
        ((3,), (1,), [3.0, 5.0, 7.0]),  # X has two copies of it, one a row
        ((2,), (0,), [3.0, 12.0]),  # three copies, one a column
        ((), (), 15.0),
        ((2, 3), (0, 1), X),  # no copies
    ],
)
def test_what_was_copied_gets_the_sum_over_its_copies(shape, dimensions, want):
    rule = transpose_rules[primitives.broadcast_in_dim_p]
    (got,) = rule(X, linear(*shape), shape=(2, 3), broadcast_dimensions=dimensions)
    assert_cotangent(got, want, f"{shape} at dimensions {dimensions} of (2, 3)")


def test_an_axis_of_size_1_that_was_copied_keeps_its_size():
    rule = transpose_rules[primitives.broadcast_in_dim_p]
    (got,) = rule(X, linear(1, 3), shape=(2, 3), broadcast_dimensions=(0, 1))
    assert_cotangent(got, [[3, 5, 7]])


KINDS = [np.float32, np.complex64, SMALL_FLOAT, np.float16]


def some(shape, dtype=np.float32):
    """A cotangent of small whole numbers, or of complex ones."""
    ct = (np.arange(int(np.prod(shape))).reshape(shape) % 7).astype(dtype)
    return ct * (1 + 2j) if dtype == np.complex64 else ct


def added_up(ct, shape, dimensions):
    """The sum over the copies, element by element: axis i of the operand is at dimensions[i] of ct."""
    want = np.zeros(shape, np.complex64)
    for index in np.ndindex(ct.shape):
        want[tuple(0 if n == 1 else index[d] for d, n in zip(dimensions, shape))] += ct[index]
    return want.astype(ct.dtype) if ct.dtype == np.complex64 else want.real.astype(ct.dtype)


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize("axes", [(), (0,), (1, 3), (2,), (0, 1, 2, 3), (3, 0), (1, 2, 3)])
def test_the_terms_of_a_sum_may_have_any_axes_and_dtype(axes, dtype):
    x = UndefinedPrimal(ShapedArray((2, 3, 1, 2), np.dtype(dtype)))
    kept = [n for axis, n in enumerate(x.aval.shape) if axis not in axes]
    ct = some(kept, dtype)
    (got,) = transpose_rules[primitives.reduce_sum_p](ct, x, axes=axes)
    assert_cotangent(got, np.broadcast_to(np.expand_dims(ct, axes), x.aval.shape), f"{axes}")
    assert got.dtype == dtype


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize(
    "shape, dimensions, out_shape",
    [
        ((1,), (0,), (0,)),  # no copy at all: the sum is 0, and of shape (1,)
        ((1, 3), (0, 2), (0, 2, 3)),
        ((1, 1, 3), (0, 1, 2), (2, 4, 3)),
        ((2, 1), (0, 2), (2, 5, 3)),
        ((1,), (1,), (2, 1)),
        ((0,), (1,), (2, 0)),
        ((2, 3, 2, 1), (0, 1, 2, 4), (2, 3, 2, 4, 5)),
        ((1, 1), (0, 1), (1, 1)),
    ],
)
def test_what_was_copied_may_have_any_axes_and_dtype(shape, dimensions, out_shape, dtype):
    rule, x = (
        transpose_rules[primitives.broadcast_in_dim_p],
        UndefinedPrimal(ShapedArray(shape, np.dtype(dtype))),
    )
    ct = some(out_shape, dtype)
    (got,) = rule(ct, x, shape=out_shape, broadcast_dimensions=dimensions)
    assert_cotangent(
        got, added_up(ct, shape, dimensions), f"{shape} at {dimensions} of {out_shape}"
    )
    assert got.dtype == dtype


def bound(fun, *args):
    """Which primitives it binds: only what they compute can be traced, and differentiated once more."""
    return [eqn.primitive.name for eqn in jax.make_jaxpr(fun)(*args).eqns]


def test_sums_and_copies_are_primitives_and_their_errors_go_on():
    copies = lambda ct: transpose_rules[primitives.reduce_sum_p](ct, linear(2, 3), axes=(0,))  # noqa: E731
    rule = transpose_rules[primitives.broadcast_in_dim_p]
    a_sum = lambda ct: rule(ct, linear(1, 3), shape=(2, 3), broadcast_dimensions=(0, 1))  # noqa: E731
    every_error_passes(lambda: copies(row), lambda: a_sum(X))
    assert bound(copies, row) and bound(a_sum, X)
    cube = np.arange(32, dtype=np.float32).reshape(2, 2, 2, 2, 2)
    for axes in ((0, 1, 2, 3), (0, 1, 2, 3, 4), (1, 2, 3, 4)):
        kept = [axis for axis in range(5) if axis not in axes]
        shape = (2,) * len(kept)
        (got,) = rule(cube, linear(*shape), shape=cube.shape, broadcast_dimensions=kept)
        assert_cotangent(got, cube.sum(axes), f"summed over {axes}")
    (got,) = rule(
        cube, linear(1, 1, 1, 2, 1), shape=cube.shape, broadcast_dimensions=(0, 1, 2, 3, 4)
    )
    assert_cotangent(got, cube.sum((0, 1, 2, 4), keepdims=True), "of four axes of size 1")
    empty = transpose_rules[primitives.reduce_sum_p](
        np.ones(2, np.float32), linear(2, 0), axes=(1,)
    )
    assert isinstance(empty, list), "a list, though there is one cotangent"
    assert_cotangent(empty[0], np.ones((2, 0)), "of an operand without elements")
    (got,) = transpose_rules[primitives.reduce_sum_p](row, linear(2, 3), axes=(np.int64(0),))
    assert_cotangent(got, np.broadcast_to(row, (2, 3)), "of an axis that is a number of NumPy")


@pytest.mark.parametrize(
    "shape, want", [((2, 3), X), ((1, 3), [[3, 5, 7]]), ((2, 1), [[3], [12]]), ((), 15)]
)
def test_a_stretched_operand_gets_the_sum_over_what_it_was_stretched_to(shape, want):
    assert_cotangent(unbroadcast(aval(*shape), X), want, f"operand of shape {shape}")


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize(
    "shape, stretched",
    [
        ((2, 1, 1), (2, 4, 3)),
        ((1, 3, 1), (2, 3, 4)),
        ((1, 1, 1, 2), (3, 2, 2, 2)),
        ((1, 1), (0, 3)),
        ((), (0,)),
        ((), (2, 1, 3)),
        ((), ()),
        ((0, 1), (0, 3)),
        ((1, 1), (1, 1)),
    ],
)
def test_an_operand_may_be_stretched_along_several_axes_and_have_any_dtype(shape, stretched, dtype):
    ct = some(stretched, dtype)
    got = unbroadcast(ShapedArray(shape, np.dtype(dtype)), ct)
    assert_cotangent(got, added_up(ct, shape, range(len(shape))), f"{shape} as {stretched}")
    assert got.dtype == dtype


def test_what_was_stretched_is_added_up_by_primitives_and_their_errors_go_on():
    every_error_passes(
        lambda: unbroadcast(aval(1, 3), X),
        lambda: unbroadcast(aval(), X),
        lambda: transpose_rules[primitives.add_p](X, linear(), 2.0),
        lambda: transpose_rules[primitives.add_p](X, linear(2, 3), linear(2, 1)),
    )
    for shape in [(1, 3), ()]:
        assert bound(lambda ct, shape=shape: unbroadcast(aval(*shape), ct), X)


def test_a_sum_hands_its_cotangent_to_both_operands():
    x, y = transpose_rules[primitives.add_p](X, linear(2, 3), linear(1, 3))
    assert_cotangent(x, X)
    assert_cotangent(y, [[3, 5, 7]])
    same = linear(2, 3)
    twice = transpose_rules[primitives.add_p](X, same, same)
    assert isinstance(twice, list), "a list of two"
    for got in twice:
        assert_cotangent(got, X, "also where both are one operand")
    for got in transpose_rules[primitives.add_p](
        np.ones((2, 1, 2, 1, 2), np.float32), linear(), linear()
    ):
        assert_cotangent(got, 8.0, "of a scalar that was stretched to rank 5")
    six = np.ones((2,) * 6, np.float32)
    assert_cotangent(unbroadcast(aval(*(1,) * 6), six), np.full((1,) * 6, 64), "along six axes")


def test_a_known_operand_of_a_sum_gets_no_cotangent():
    x, y = transpose_rules[primitives.add_p](X, 2.0, linear(2, 3))
    assert x is None, "an operand that has a value is not linear: None"
    assert_cotangent(y, X)


def test_a_factor_gets_the_cotangent_times_the_other_factor():
    x, y = transpose_rules[primitives.mul_p](X, linear(2, 3), X + 1)
    assert_cotangent(x, X * (X + 1))
    assert y is None, "an operand that has a value is not linear: None"
    x, y = transpose_rules[primitives.mul_p](X, 2.0, linear(2, 3))
    assert_cotangent(y, X * 2)
    assert x is None


def test_a_stretched_factor_gets_a_cotangent_of_its_own_shape():
    x, _ = transpose_rules[primitives.mul_p](X, linear(1, 3), X)
    assert_cotangent(x, [(X * X).sum(0)])
    _, y = transpose_rules[primitives.mul_p](X, X, linear())
    assert_cotangent(y, (X * X).sum())


@pytest.mark.parametrize("dtype", KINDS)
def test_a_factor_is_not_conjugated_and_may_have_any_dtype(dtype):
    ct, factor = some((2, 3), dtype), some((2, 3), dtype) + 1
    for shape in [(2, 3), (1, 3), (2, 1), (1, 1), ()]:
        x = UndefinedPrimal(ShapedArray(shape, np.dtype(dtype)))
        want = added_up(ct * factor, shape, range(len(shape)))
        for got in (mul_transpose_x(ct, x, factor), mul_transpose_y(ct, factor, x)):
            assert_cotangent(got, want, f"of a factor of shape {shape}")
            assert got.dtype == dtype
    for number in (1.0, 0.0, np.float32(1)):
        for got in (
            mul_transpose_x(X, linear(1, 3), number),
            mul_transpose_y(X, number, linear(1, 3)),
        ):
            assert_cotangent(got, number * X.sum(0, keepdims=True), f"times {number!r}")


@each_error
def test_an_error_of_a_rule_of_a_product_goes_on(error):
    for x, y in [(linear(), 2.0), (2.0, linear())]:
        with error_passes(error()) as raised:
            product_transpose(primitives.mul_p, raises(raised), raises(raised), 1.0, x, y)
    ct = bind.as_array(X)  # an Array, whose operators bind primitives too
    every_error_passes(
        lambda: mul_transpose_x(ct, linear(2, 3), X), lambda: mul_transpose_y(ct, X, linear(1, 3))
    )


def test_a_product_of_two_linear_operands_is_not_linear():
    with pytest.raises(NotImplementedError, match="not linear: 'mul'"):
        transpose_rules[primitives.mul_p](X, linear(2, 3), linear(2, 3))
    with pytest.raises(NotImplementedError, match="not linear: 'other'"):
        product_transpose(bind.Primitive("other"), None, None, X, linear(), linear())


def test_the_rules_of_a_product_are_given_its_parameters():
    for x, y, want in [(linear(), 2.0, (20.0, None)), (2.0, linear(), (None, 30.0))]:
        rules = lambda ct, x, y, *, by: 2 * by * ct, lambda ct, x, y, *, by: 3 * by * ct  # noqa: E731
        assert product_transpose(primitives.mul_p, *rules, 1.0, x, y, by=10) == want
    got = []
    rule = lambda ct, x, y, **params: got.append(params)  # noqa: E731
    product_transpose(primitives.mul_p, rule, rule, 1.0, linear(), 2.0, by=None, n=0)
    product_transpose(primitives.mul_p, rule, rule, 1.0, 2.0, linear(), by=None, n=0)
    assert got == [{"by": None, "n": 0}] * 2, "parameters may be None or 0"
