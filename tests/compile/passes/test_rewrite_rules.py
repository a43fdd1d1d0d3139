"""The rules of simplification: where each applies, where not, and that no bit differs."""

import warnings

import numpy as np
import pytest

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.compile.passes.pipeline import simplify
from tinyjax.compile.passes.rewrite_rules import ARITHMETIC, RULES, rewrite
from tinyjax.core.jaxpr import Literal, eval_jaxpr
from tinyjax.core.tracing import make_jaxpr

HALVES = np.array([0.0, -0.0, 1.5, np.inf, np.nan, 6e-8], np.float16)
F = np.array([0.0, -0.0, 1.5, -2.0, np.inf, -np.inf, np.nan, 1e-45, 3e38], np.float32)
I = np.array([0, 1, -1, 5, 2**31 - 1, -(2**31)], np.int32)  # noqa: E741
B = np.array([True, False])
M = np.arange(6, dtype=np.float32).reshape(2, 3)
ONE, ZERO = np.float32(1), np.float32(0)
BROADCAST = "broadcast_in_dim"


def names(f, *args):
    return [eqn.primitive.name for eqn in simplify(make_jaxpr(f)(*args)).eqns]


# what is computed, on what -> the primitives that are left
APPLIES = [
    (lambda x: lax.neg(lax.neg(x)), F, []),
    (lambda x: lax.bitwise_not(lax.bitwise_not(x)), I, []),
    (lambda x: lax.add(x, np.int32(0)), I, []),
    (lambda x: lax.add(np.int32(0), x), I, []),
    (lambda x: lax.add(x, -ZERO), F, []),
    (lambda x: lax.add(-ZERO, x), F, []),
    (lambda x: lax.sub(x, ZERO), F, []),
    (lambda x: lax.sub(x, x), I, ["broadcast_in_dim"]),
    (lambda x: lax.mul(x, ONE), F, []),
    (lambda x: lax.mul(np.int32(1), x), I, []),
    (lambda x: lax.mul(x, -ONE), F, ["neg"]),
    (lambda x: lax.mul(-ONE, x), F, ["neg"]),
    (lambda x: lax.mul(x, np.int32(0)), I, ["broadcast_in_dim"]),
    (lambda x: lax.mul(np.int32(0), x), I, ["broadcast_in_dim"]),
    (lambda x: lax.div(x, ONE), F, []),
    (lambda x: lax.div(x, np.float32(8)), F, ["mul"]),
    (lambda x: lax.max(x, x), F, []),
    (lambda x: lax.min(x, x), I, []),
    (lambda x: lax.max(x, np.float32(-np.inf)), F, []),
    (lambda x: lax.max(np.float32(-np.inf), x), F, []),
    (lambda x: lax.min(x, np.float32(np.inf)), F, []),
    (lambda x: lax.min(np.float32(np.inf), x), F, []),
    (lambda x: lax.bitwise_and(x, x), B, []),
    (lambda x: lax.bitwise_or(x, x), I, []),
    (lambda x: lax.bitwise_and(x, np.int32(0)), I, ["broadcast_in_dim"]),
    (lambda x: lax.bitwise_or(x, np.int32(0)), I, []),
    (lambda x: lax.bitwise_xor(x, x), I, ["broadcast_in_dim"]),
    (lambda x: lax.bitwise_xor(x, np.int32(0)), I, []),
    (lambda x: lax.integer_pow(x, 1), F, []),
    (lambda x: lax.integer_pow(x, 2), F, ["mul"]),
    (lambda x: lax.select(x > 0, x, x), F, []),
    (lambda x: lax.select(jnp.zeros(x.shape, bool), -x, x), F, []),
    (lambda x: lax.select(jnp.ones(x.shape, bool), x, -x), F, []),
    (lambda x: lax.stop_gradient(x), F, []),
    (lambda x: lax.mul(x, lax.broadcast_in_dim(ONE, x.shape, ())), F, []),
    # elements that move
    (lambda x: x.T.T, M, []),
    (lambda x: lax.transpose(lax.transpose(x[None], (2, 0, 1)), (2, 0, 1)), M, None),
    (lambda x: x.reshape(6).reshape(3, 2), M, ["reshape"]),
    (lambda x: x.reshape(6).reshape(2, 3), M, []),
    (lambda x: jnp.broadcast_to(jnp.broadcast_to(x, (4, 2, 3)), (5, 4, 2, 3)), M, None),
    (lambda x: lax.reduce_sum_p.bind(x, axes=()), F, []),
    (lambda x: lax.concatenate([x, x[:0], -x], 0), F, ["neg", "concatenate"]),
]

NOT = [
    (lambda x: lax.add(x, ZERO), F, ["add"]),  # -0.0 + 0.0 is 0.0
    (lambda x: lax.sub(x, -ZERO), F, ["sub"]),
    (lambda x: lax.sub(x, x), F, ["sub"]),  # inf - inf is NaN
    (lambda x: lax.mul(x, ZERO), F, ["mul"]),
    (lambda x: lax.div(x, x), F, ["div"]),
    (lambda x: lax.div(x, np.float32(3)), F, ["div"]),
    (lambda x: lax.div(x, np.int32(2)), I, ["div"]),
    (lambda x: lax.max(x, np.float32(np.inf)), F, ["max"]),  # of NaN, NaN
    (lambda x: lax.integer_pow(x, 3), F, ["integer_pow"]),
    (lambda x: lax.neg(lax.abs(x)), F, ["abs", "neg"]),
    (lambda x: lax.exp(lax.log(x)), F, ["log", "exp"]),
    (lambda x: x.T.reshape(6), M, ["transpose", "reshape"]),
    # divisors without an exact inverse of the dtype, or that would change the shape
    (lambda x: lax.div(x, np.float16(8)), HALVES, ["div"]),
    (lambda x: lax.div(x, ZERO), F, ["div"]),
    (lambda x: lax.div(x, np.float32(2.0**110)), F, ["div"]),
    (
        lambda x: lax.div_p.bind(x[0], lax.full((3,), 8 * ONE)),
        F,
        ["slice", "squeeze", BROADCAST, "div"],
    ),
    (lambda x: lax.concatenate([x, x], 0), F, ["concatenate"]),
    # a part of each operand of a stack, or of one
    (lambda x: jnp.stack([x, -x])[:, 0], M, ["neg", "stack", "slice", "squeeze"]),
    (lambda x: jnp.stack([x, -x])[1, :1], M, ["neg", "stack", "slice", "squeeze"]),
    (lambda x: jnp.broadcast_to(x, (2, 9)).reshape(18), F, [BROADCAST, "reshape"]),
]


@pytest.mark.parametrize("f, x, left", APPLIES + NOT)
def test_a_rule_applies_where_no_bit_can_differ_and_only_there(f, x, left):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        closed = make_jaxpr(f)(x)
        simplified = simplify(closed)
        found = [eqn.primitive.name for eqn in simplified.eqns]
        assert found == left if left is not None else len(found) < len(closed.eqns)
        (expected,) = eval_jaxpr(closed.jaxpr, closed.consts, x)
        (result,) = eval_jaxpr(simplified.jaxpr, simplified.consts, x)
    expected, result = np.asarray(expected), np.asarray(result)
    assert (result.dtype, result.shape) == (expected.dtype, expected.shape)
    np.testing.assert_array_equal(result, expected)
    if result.dtype.kind == "f":
        numbers = ~np.isnan(expected)
        assert (np.signbit(result) == np.signbit(expected))[numbers].all()


def rewritten(f, *args):
    """What the rules make of the last equation of a function."""
    *before, eqn = make_jaxpr(f)(*args).eqns
    return rewrite(eqn, {v: made_by for made_by in before for v in made_by.outvars})


def divided_by(number):
    return rewritten(lambda x: lax.div(x, np.float32(number)), F)


@pytest.mark.parametrize("number", [8.0, -0.25, 1024.0])
def test_division_by_a_power_of_two_is_a_multiplication(number):
    eqn = divided_by(number)
    assert eqn.primitive.name == "mul", f"{number} is a power of two: its inverse is exact"
    assert eqn.invars[1].val == 1 / number and eqn.params == {}
    assert isinstance(eqn.invars[1].val, np.float32), "a number of the result's dtype"


def test_division_by_an_array_of_one_number_is_a_multiplication_by_the_number():
    *_, division = make_jaxpr(lambda x: lax.div(x, lax.full(x.shape, ONE * 8)))(F).eqns
    eqn = rewritten(lambda x: lax.div(x, lax.full(x.shape, ONE * 8)), F)
    assert eqn.primitive.name == "mul"
    assert isinstance(eqn.invars[1], Literal) and eqn.invars[1].aval.shape == ()
    assert len(division.invars) == 2 and not isinstance(eqn.invars[0], Literal)


@pytest.mark.parametrize("exponent", [-140, -110, 110, 127])
def test_division_by_a_power_of_two_that_is_far_from_one_stays(exponent):
    number = float(np.ldexp(1.0, exponent))
    assert divided_by(number).primitive.name == "div", (
        f"1 / {number} may be none of float32's numbers"
    )


def test_of_64_bits_a_divisor_counts_to_its_last_bit():
    with jax.enable_x64(True):
        for number in (2.0**50, -(2.0**-50), 2.0**50 * (1 + 2.0**-52), 8 * (1 - 2.0**-53), 2.0**99):
            x = np.ones(3, np.float64)
            eqn = rewritten(lambda x: lax.div(x, np.float64(number)), x)  # noqa: B023
            want = "mul" if abs(np.frexp(number)[0]) == 0.5 else "div"
            assert eqn.primitive.name == want, f"{number!r}: the inverse is exact, or it is not"
            if want == "mul":
                assert eqn.invars[1].val == 1 / number and eqn.invars[1].val.dtype == np.float64


@pytest.mark.parametrize("number", [-8.0, -0.25, -2.0, 0.5, 2.0**90, 2.0**-90])
def test_a_power_of_two_may_have_either_sign_and_be_large_or_small(number):
    eqn = rewritten(lambda x: lax.div(x, np.float32(number)), F)
    assert eqn.primitive.name == "mul", f"{number} is a power of two"
    assert eqn.invars[1].val == 1 / number
    assert eqn.source_info[0] == __file__, "the new equation is of the line of the old one"
    for divisor in (float(number), np.float32(number)):
        divided = lambda x, divisor=divisor: lax.div(x, divisor)  # noqa: E731
        *_, before = make_jaxpr(divided)(F).eqns
        after = rewritten(divided, F)
        assert after.invars[1].aval == before.invars[1].aval, "the factor is as weak as the divisor"
    for exponent in (-101, -100, 99, 100):
        for x in (F, np.ones((2, 1, 3), np.float32)):
            eqn = rewritten(lambda x, n=2.0**exponent: lax.div(x, np.float32(n)), x)
            is_near = abs(exponent + 1) <= 100
            assert (eqn.primitive.name == "mul") == is_near, f"2**{exponent}"


def test_division_of_bfloat16_and_of_complex_numbers_stays():
    for dtype in ("bfloat16", "complex64"):
        x = jnp.ones(3, dtype)
        eqn = rewritten(lambda x: lax.div(x, x.dtype.type(8)), x)
        assert eqn.primitive.name == "div", f"of {dtype}"


def test_division_of_halves_stays():
    assert rewritten(lambda x: lax.div(x, np.float16(8)), HALVES).primitive.name == "div"


def test_division_of_a_number_by_an_array_stays():
    eqn = rewritten(lambda s: lax.div_p.bind(s, lax.full((3,), ONE * 8)), ONE)
    assert eqn.primitive.name == "div", "the product with a number would be a number"


@pytest.mark.parametrize("number", [3.0, 6.0, 0.1])
def test_division_by_a_number_whose_inverse_is_rounded_stays(number):
    assert divided_by(number).primitive.name == "div", f"1 / {number} is rounded"


@pytest.mark.parametrize("number", [0.0, np.inf, np.nan])
def test_division_by_what_has_no_inverse_stays(number):
    assert divided_by(number).primitive.name == "div", f"{number} has no inverse"


def test_division_of_integers_and_by_variables_stays():
    assert rewritten(lambda i: lax.div(i, np.int32(8)), I).primitive.name == "div"
    assert rewritten(lambda x: lax.div(x, x), F).primitive.name == "div"


def test_every_line_of_the_table_is_a_rule():
    lines = [line.split("|")[0].strip() for line in ARITHMETIC.strip().splitlines()]
    patterns = [rule.pattern for rules in RULES.values() for rule in rules]
    assert len(lines) > 30 and set(lines) <= set(patterns)


def test_every_rule_says_why_no_bit_differs():
    assert all(rule.why and rule.kinds for rules in RULES.values() for rule in rules)


def test_a_simpler_equation_keeps_its_line_of_python():
    (eqn,) = simplify(make_jaxpr(lambda x: lax.mul(x, -ONE))(F)).eqns
    assert eqn.primitive.name == "neg" and eqn.source_info[0] == __file__


def test_what_one_rule_leaves_is_met_by_the_next():
    assert names(lambda x: lax.neg(lax.mul(lax.integer_pow(x, 1), -ONE)), F) == []


def test_a_result_can_be_a_number():
    closed = simplify(make_jaxpr(lambda i: lax.sub(i, i))(np.int32(3)))
    (out,) = closed.jaxpr.outvars
    assert not closed.eqns and isinstance(out, Literal) and out.val == 0


@pytest.mark.parametrize(
    "f",
    [
        lambda: lax.mul(np.float32(-0.5), lax.full((40, 40), -ONE)),
        lambda: lax.div(np.float32(0.5), lax.full((40, 40), np.float32(2))),
    ],
    ids=["a number times minus one", "a number by a power of two"],
)
def test_what_numbers_make_of_an_array_keeps_its_shape(f):
    closed = simplify(make_jaxpr(f)())
    (out,) = eval_jaxpr(closed.jaxpr, closed.consts)
    assert out.shape == (40, 40)
