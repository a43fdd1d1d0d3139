"""A pass over a jaxpr that keeps small numbers."""

import numpy as np
import pytest
from judged import Thrown, error_passes, raises, unchanged
from practice.precise import precise, precise_jaxpr

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.core.jaxpr import all_jaxprs, check_jaxpr

small = np.float32(1e-9)  # 1 + small is 1


def log_of_sum(x):
    return jnp.log(1.0 + x)


def rewritten(fun, *args):
    """The changed jaxpr of fun, which is well-formed."""
    jaxpr = precise_jaxpr(jax.make_jaxpr(fun)(*args).jaxpr)
    check_jaxpr(jaxpr)
    return jaxpr


def names(jaxpr):
    return [eqn.primitive.name for eqn in jaxpr.eqns]


@pytest.mark.parametrize(
    "fun", [log_of_sum, lambda x: jnp.log(x + 1.0), lambda x: jnp.exp(x) - 1.0], ids="abc"
)
def test_what_is_small_is_not_lost(fun):
    assert float(fun(small)) == 0.0
    found = float(precise(fun)(small))
    assert found == small, (
        f"log(1 + x), log(x + 1) and exp(x) - 1 of {small} are {small}, not {found}"
    )


def test_arrays_are_numbers_element_by_element():
    x = np.array([1e-9, 2e-9], np.float32)
    np.testing.assert_array_equal(precise(log_of_sum)(x), x)
    for shape in ((), (0,), (2, 1, 3)):
        for dtype in ("float16", "float32", "complex64"):
            x = jnp.zeros(shape, dtype)
            for fun, name in ((log_of_sum, "log1p"), (lambda x: jnp.exp(x) - 1.0, "expm1")):
                assert name in names(rewritten(fun, x)), f"{name} of {dtype}{list(shape)}"


def test_other_sums_and_differences_stay_what_they_are():
    programs = [
        lambda x, y: jnp.log(2.0 + x),
        lambda x, y: jnp.log(x + y),
        lambda x, y: jnp.log(1.0 - x),
        lambda x, y: jnp.exp(x) - 2.0,
        lambda x, y: jnp.exp(x) - 1.0001,
        lambda x, y: 1.0 - jnp.exp(x),
        lambda x, y: jnp.exp(x) - y,
        lambda x, y: jnp.exp(x) + 1.0,
        lambda x, y: jnp.sin(1.0 + x) + jnp.log(x),
        lambda x, y: jnp.sin(x) - 1.0,
    ]
    for number, program in enumerate(programs):
        before = jax.make_jaxpr(program)(0.25, 0.5)
        after = rewritten(program, 0.25, 0.5)
        assert str(after) == str(before), f"program {number} must stay as it is:\n{before}{after}"


def test_an_equation_that_is_read_elsewhere_too_stays():
    def fun(x):
        sum_of_both = 1.0 + x
        return jnp.log(sum_of_both) * sum_of_both

    assert names(rewritten(fun, 0.25)) == ["add", "log1p", "mul"]
    np.testing.assert_allclose(precise(fun)(0.25), 1.25 * np.log(1.25), rtol=1e-6)

    def both(x):
        e, s = jnp.exp(x), 1.0 + x
        return e - 1.0, jnp.log(s), e, s

    given = rewritten(both, small)
    assert {"exp", "add", "expm1", "log1p"} <= {*names(given)}, "what the program gives stays too"


def test_the_sum_may_stand_far_before_its_logarithm_and_be_of_a_number_that_is_changed_too():
    def fun(x):
        y = jnp.exp(x) - 1.0
        z = 1.0 + y
        return jnp.sin(x) + jnp.log(z)

    assert [n for n in names(rewritten(fun, 0.25)) if n in ("log1p", "expm1")] == ["expm1", "log1p"]
    np.testing.assert_allclose(precise(fun)(small), 2 * small, rtol=1e-6)

    def long(x):
        for _ in range(20):
            x = jnp.log(1.0 + x)
        return x

    assert names(rewritten(long, small)).count("log1p") == 20


def test_within_a_jitted_function_the_program_is_changed_too():
    found = float(precise(lambda x: 2.0 * jax.jit(jax.jit(log_of_sum))(x))(small))
    assert found == 2 * small, f"the jaxpr within jit, within jit, has log(1 + x): {found}"


def test_so_are_the_body_of_a_loop_and_the_branches_of_a_cond():
    def fun(x):
        x, _ = lax.scan(lambda x, _: (log_of_sum(x), None), x, None, length=3)
        return lax.cond(x > 1.0, jnp.sin, lambda x: jnp.exp(x) - 1.0, x)

    found = float(precise(fun)(small))
    assert found == small, f"body and branch give x for a small x: {small}, not {found}"
    inside = {name for jaxpr in all_jaxprs(rewritten(fun, small)) for name in names(jaxpr)}
    assert "log" not in inside and "expm1" in inside


def test_a_changed_equation_is_of_the_line_that_it_was():
    for fun in (log_of_sum, lambda x: jnp.exp(x) - 1.0):
        lines = [eqn.source_info for eqn in jax.make_jaxpr(fun)(0.25).jaxpr.eqns]
        assert [eqn.source_info for eqn in rewritten(fun, 0.25).eqns][-1] == lines[-1]


def test_the_given_jaxpr_is_left_as_it_is():
    closed = jax.make_jaxpr(jax.jit(log_of_sum))(0.25)
    before = str(closed)
    precise_jaxpr(closed.jaxpr)
    assert str(closed) == before


def test_arrays_from_outside_and_several_arguments_are_as_before():
    weights = jnp.array([1.0, 2.0])
    found = precise(lambda x, y: jnp.sum(weights * jnp.log(x + 1.0)) - y)(0.5, 0.25)
    np.testing.assert_allclose(found, 3 * np.log(1.5) - 0.25, rtol=1e-6)


def test_it_goes_with_other_transformations():
    def softplus(x):
        return jnp.log(1.0 + jnp.exp(x))

    xs = jnp.array([-30.0, 0.0])
    np.testing.assert_allclose(jax.vmap(precise(softplus))(xs), [np.exp(-30.0), np.log(2.0)], 1e-5)
    np.testing.assert_allclose(jax.jit(precise(softplus))(-30.0), np.exp(-30.0), 1e-5)
    np.testing.assert_allclose(jax.jvp(precise(softplus), (0.0,), (2.0,))[1], 1.0, 1e-5)


def test_an_error_of_the_function_goes_on():
    with error_passes(Thrown()) as error:
        precise(raises(error))(1.0)


def test_each_call_is_of_the_function_as_it_is_then():
    scale = [1.0]
    fun = precise(lambda x: scale[0] * jnp.log(1.0 + x))
    for scale[0], x in [(1.0, small), (2.0, np.array([[1e-9], [2e-9]], np.float32))]:
        with unchanged(x=x):
            found = fun(x)
        np.testing.assert_array_equal(found, scale[0] * x)
    assert fun(jnp.float16(0)).dtype == np.float16


def test_effects_stay_each_one_and_in_order(capsys):
    def f(x):
        for text in ("twice", "twice", "last"):
            jax.debug.print(text)
        return jnp.log(1.0 + x)

    assert float(precise(f)(small)) == small
    assert capsys.readouterr().out == "twice\ntwice\nlast\n"


def test_of_three_branches_and_of_a_loop_within_a_loop_each_is_changed():
    steps = [lambda x: jnp.exp(x) - 1.0, log_of_sum, lambda x: jnp.log(x + 1.0)]

    def inner(x, _):
        return lax.switch(1, steps, x), None

    def outer(x, _):
        return lax.scan(inner, x, None, length=2)[0], None

    jaxpr = rewritten(lambda x: lax.scan(outer, x, None, length=2)[0], small)
    found = sorted(name for inside in all_jaxprs(jaxpr) for name in names(inside))
    assert (found.count("log1p"), found.count("expm1"), found.count("log")) == (2, 1, 0)
