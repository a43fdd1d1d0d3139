"""Transposition: rules called by hand, and linear jaxprs run backwards."""

import numpy as np
import pytest

import tinyjax as jax
from tinyjax.core import bind, primitives
from tinyjax.core.array import ShapedArray
from tinyjax.core.jaxpr import Jaxpr, JaxprEqn, Var
from tinyjax.core.primitives import add, mul, neg, sin
from tinyjax.transform.jvp import Zero
from tinyjax.transform.transposition import (
    UndefinedPrimal,
    backward_pass,
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


# ---- rules, called by hand ----


def assert_cotangent(got, want, where=""):
    assert np.shape(got) == np.shape(want), f"a cotangent has the shape of its operand; {where}"
    np.testing.assert_array_equal(got, want, where)


@pytest.mark.parametrize("axes, ct", [((0,), row), ((1,), row[:2]), ((0, 1), np.float32(7))])
def test_each_term_of_a_sum_gets_the_sums_cotangent(axes, ct):
    (got,) = transpose_rules[primitives.reduce_sum_p](ct, linear(2, 3), axes=axes)
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


@pytest.mark.parametrize(
    "shape, want", [((2, 3), X), ((1, 3), [[3, 5, 7]]), ((2, 1), [[3], [12]]), ((), 15)]
)
def test_a_stretched_operand_gets_the_sum_over_what_it_was_stretched_to(shape, want):
    assert_cotangent(unbroadcast(aval(*shape), X), want, f"operand of shape {shape}")


def test_a_sum_hands_its_cotangent_to_both_operands():
    x, y = transpose_rules[primitives.add_p](X, linear(2, 3), linear(1, 3))
    assert_cotangent(x, X)
    assert_cotangent(y, [[3, 5, 7]])


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


def test_a_product_of_two_linear_operands_is_not_linear():
    with pytest.raises(NotImplementedError, match="not linear: 'mul'"):
        transpose_rules[primitives.mul_p](X, linear(2, 3), linear(2, 3))


# ---- the backward pass ----


def pulled_back(fun, cotangents, *avals):
    """The cotangents of the arguments of a linear function of these avals."""
    closed = jax.make_jaxpr(fun)(*[jax.ShapeDtypeStruct(a.shape, a.dtype) for a in avals])
    return backward_pass(
        closed.jaxpr, closed.consts, [UndefinedPrimal(a) for a in avals], cotangents
    )


def test_equations_are_transposed_from_the_last_to_the_first():
    (ct,) = pulled_back(lambda x: mul(neg(x), 5.0), [1.0], aval())
    assert float(ct) == -5.0


def test_a_value_that_is_used_twice_gets_the_sum_of_the_cotangents():
    def fun(x):
        y = neg(x)
        return add(mul(y, 5.0), mul(y, 7.0))

    (ct,) = pulled_back(fun, [1.0], aval())
    assert float(ct) == -12.0, (
        "y is used twice, and counts 5 and 7: together 12, and x the negative"
    )


def test_a_result_that_is_used_further_on_gets_both_cotangents():
    def fun(x):
        y = neg(x)
        return y, mul(y, 5.0)

    (ct,) = pulled_back(fun, [1.0, 10.0], aval())
    assert float(ct) == -51.0, "y counts 1 as a result, and 10 * 5 as a factor"


def test_a_known_argument_is_a_factor_and_has_a_zero_cotangent():
    closed = jax.make_jaxpr(lambda a, x: mul(sin(a), x))(1.0, 1.0)
    got = backward_pass(closed.jaxpr, [], [2.0, linear()], [1.0])
    assert type(got[0]) is Zero, "arguments that have values are not differentiated"
    np.testing.assert_allclose(got[1], np.sin(2.0), rtol=1e-6)


def test_an_argument_that_no_result_needs_has_a_zero_cotangent():
    used, unused = pulled_back(lambda x, y: neg(x), [1.0], aval(), aval())
    assert float(used) == -1.0 and type(unused) is Zero


def test_an_equation_whose_result_has_no_cotangent_is_not_transposed():
    untransposable_p = bind.Primitive("untransposable")
    a, b, c = Var(aval()), Var(aval()), Var(aval())
    eqns = [
        JaxprEqn(primitives.neg_p, [a], [b], {}),
        JaxprEqn(untransposable_p, [a], [c], {}),
    ]
    (ct,) = backward_pass(Jaxpr([], [a], [b, c], eqns), [], [linear()], [1.0, Zero(aval())])
    assert float(ct) == -1.0
