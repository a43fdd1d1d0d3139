"""Updates of zeros become updates of the sum that reads them."""

import numpy as np
import pytest

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.compile.passes.cse import cse
from tinyjax.compile.passes.late_rules import LATE_RULES, late_rules
from tinyjax.compile.passes.pipeline import run_passes
from tinyjax.compile.record import recording, run_pass
from tinyjax.core.jaxpr import jaxpr_as_fun
from tinyjax.core.tracing import make_jaxpr
from tinyjax.transform.jvp import add_any_p

TABLE = np.arange(12, dtype=np.float32).reshape(6, 2)
ROWS = np.array([1, 1, 5])


def zeros_with(update):
    return jnp.zeros((6, 2)).at[ROWS].add(update)


def product(x, y, axes=(1, 0), precision=None):
    return lax.dot_general(x, y, (([axes[0]], [axes[1]]), ([], [])), precision=precision)


def added_to_zeros(update, begin=0, dtype="float32", dimensions=2):
    return jnp.full((6, 2)[:dimensions], begin, dtype).at[ROWS].add(update)


def with_operand(f, operand):
    """A program that returns f(operand), and the operand."""
    return lambda *args: (lambda x: (f(x), x))(operand(*args))


SQUARE = np.arange(4, dtype=np.float32).reshape(2, 2)
CUBE = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
SMALL = TABLE.astype("int16")
MIXED = (lax.Precision.HIGHEST, lax.Precision.DEFAULT)

# patterns, and programs that their rules apply to, with arguments
APPLIES = [
    ("dot_general x (transpose y)", lambda x, y: product(x, y.T), SQUARE, TABLE),
    ("dot_general (transpose x) y", lambda x, y: product(x.T, y), TABLE, TABLE),
    ("transpose (dot_general x y)", lambda x, y: product(x, y).T, TABLE, SQUARE),
    ("transpose (dot_general x y)", lambda x, y: product(x, y, precision=MIXED).T, TABLE, SQUARE),
    ("add x (scatter-add z ...)", lambda x: lax.add(x, zeros_with(x[:3])), TABLE),
    ("add (scatter-add z ...) x", lambda x: lax.add(zeros_with(x[:3]), x), TABLE),
    ("add_any x (scatter-add z ...)", lambda x: add_any_p.bind(x, zeros_with(x[:3])), TABLE),
    ("add_any (scatter-add z ...) x", lambda x: add_any_p.bind(zeros_with(x[:3]), x), TABLE),
    ("add x (scatter-add z ...)", lambda x: x + added_to_zeros(x[:3], dtype=x.dtype), SMALL),
]
# programs that look alike, to which no rule applies
NOT = [
    # the axes that are kept come out in another order
    (lambda x, y: product(lax.transpose(x, (2, 1, 0)), y, (2, 0)), CUBE, SQUARE),
    (lambda x, y: lax.transpose(product(x, y, (0, 0)), (0, 2, 1)), CUBE, SQUARE),
    # others read the product, or the updated zeros
    (with_operand(lambda xy: xy.T, product), TABLE, SQUARE),
    (with_operand(lambda zeros: zeros + TABLE, lambda x: zeros_with(x[:3])), TABLE),
    # what is updated is no array of zeros
    (lambda x: x + added_to_zeros(x[:3], 1), TABLE),
    (lambda x, z: x + z.at[ROWS].add(x[:3]), TABLE, TABLE),
    (lambda x: x + (x * 2).at[ROWS].add(x[:3]), TABLE),
    (lambda x, n: x + added_to_zeros(x[:3], n), TABLE, np.float32(0)),
    # the sum is of 16-bit floats, or with a number
    (lambda x: x + added_to_zeros(x[:3], dtype=x.dtype), TABLE.astype("float16")),
    (lambda x: 1 + zeros_with(x[:3]), TABLE),
]


def test_every_late_rule_has_an_example():
    rules = [rule for rules in LATE_RULES.values() for rule in rules]
    assert {pattern for pattern, *_ in APPLIES} == {rule.pattern for rule in rules}


@pytest.mark.parametrize("number", range(len(APPLIES)))
def test_a_late_rule_applies_to_its_example(number):
    pattern, f, *args = APPLIES[number]
    closed = cse(make_jaxpr(f)(*args))
    with recording() as records:
        simpler = run_pass("late_rules", late_rules, closed)
    assert any(event.why.startswith(f"{pattern} = ") for event in records[0].events)
    np.testing.assert_allclose(*(jaxpr_as_fun(c)(*args)[0] for c in (simpler, closed)), rtol=1e-6)


@pytest.mark.parametrize("number", range(len(APPLIES)))
def test_a_late_rule_keeps_infinities_and_nan(number):
    values = [1, np.inf, 0, np.nan, 2, -1, -0.0, 3, -np.inf, 0, 4]
    _, f, *args = APPLIES[number]
    args = [np.resize(values[at:], x.shape).astype(np.float32) for at, x in enumerate(args)]
    closed = cse(make_jaxpr(f)(*args))
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(
            *(jaxpr_as_fun(c)(*args)[0] for c in (late_rules(closed), closed))
        )


@pytest.mark.parametrize("number", range(len(NOT)))
def test_no_late_rule_applies_to_what_looks_alike(number):
    f, *args = NOT[number]
    closed = cse(make_jaxpr(f)(*args))
    assert str(late_rules(closed)) == str(closed)


def names_of(f, *args):
    return [eqn.primitive.name for eqn in run_passes(make_jaxpr(f)(*args)).jaxpr.eqns]


def test_the_gradient_of_an_array_indexed_twice_is_one_array_with_two_updates():
    grad = jax.grad(lambda x: (x[ROWS] ** 2).sum() + jnp.sin(x[ROWS[::-1] - 1]).sum())
    names = names_of(grad, TABLE)
    assert names.count("scatter-add") == 2 and "add_any" not in names
    np.testing.assert_allclose(jax.jit(grad)(TABLE), grad(TABLE), rtol=1e-6)


def test_either_operand_is_updated_and_the_other_stays():
    for f in (lambda x: zeros_with(x[:3]) + x, lambda x: x + zeros_with(x[:3])):
        assert "add" not in names_of(f, TABLE)
        x = jnp.asarray(TABLE)
        np.testing.assert_array_equal(jax.jit(f)(x), f(x))
        np.testing.assert_array_equal(x, TABLE)


def test_what_others_read_or_begins_otherwise_is_added():
    def read_twice(x):
        y = zeros_with(x[:3])
        return x + y, y

    def of_ones(x):
        return x + jnp.ones((6, 2)).at[ROWS].add(x[:3])

    for f in (read_twice, of_ones):
        assert "add" in names_of(f, TABLE)


def test_updates_of_16_bits_are_added_up_before_they_meet_a_large_element():
    def f(y, i):
        return y + jnp.zeros_like(y).at[i].add(1)

    y, i = jnp.full(5, 256, jnp.bfloat16), jnp.zeros(100, int)
    assert float(jax.jit(f)(y, i)[0]) == 356
