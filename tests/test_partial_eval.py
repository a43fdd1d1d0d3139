"""Partial evaluation: what is known is computed, the rest is written down."""

import numpy as np
import pytest

import tinyjax as jax
from tinyjax.interpreters.partial_eval import linearize_flat, partial_eval_jaxpr
from tinyjax.primitives import cos, mul, sin


def f(x):
    return mul(sin(x), x)


def test_linearize_gives_the_value_and_a_linear_function():
    y, f_jvp = jax.linearize(f, 3.0)
    np.testing.assert_allclose(y, np.sin(3.0) * 3, rtol=1e-6)
    np.testing.assert_allclose(f_jvp(1.0), np.cos(3.0) * 3 + np.sin(3.0), rtol=1e-6)
    np.testing.assert_allclose(f_jvp(2.0), 2 * f_jvp(1.0), rtol=1e-6)


def test_the_linear_function_does_not_run_the_function_again():
    calls = []
    _, f_jvp = jax.linearize(lambda x: (calls.append(1), f(x))[1], 3.0)
    f_jvp(1.0), f_jvp(2.0)
    assert len(calls) == 1


def test_the_linear_jaxpr_has_only_what_involves_tangents():
    _, linearized = linearize_flat(lambda x: [f(x)], [3.0])
    assert [eqn.primitive.name for eqn in linearized.jaxpr.eqns] == ["mul", "mul", "mul", "add_any"]


def test_residuals_are_arrays_that_were_computed_with_the_primals():
    x = np.ones(3, np.float32)
    _, linearized = linearize_flat(lambda x: [f(x)], [x])
    values = [np.asarray(r) for r in linearized.residuals]
    assert any(np.array_equal(v, np.cos(x)) for v in values)
    assert any(v is x or np.array_equal(v, np.sin(x)) for v in values)


def test_a_jaxpr_is_split_into_a_known_and_an_unknown_part():
    closed = jax.make_jaxpr(lambda x, y: mul(sin(x), cos(y)))(1.0, 2.0)
    known, unknown, unknown_outs, known_outs, residuals = partial_eval_jaxpr(closed, (False, True))
    assert [eqn.primitive.name for eqn in known.eqns] == ["sin"]
    assert [eqn.primitive.name for eqn in unknown.eqns] == ["cos", "mul"]
    assert unknown_outs == (True,) and known_outs == [] and residuals == [("out", 0)]


def test_jit_gives_and_takes_the_linear_function():
    _, f_jvp = jax.jit(lambda x: jax.linearize(f, x))(3.0)
    tangent_out = jax.jit(lambda f_jvp, t: f_jvp(t))(f_jvp, 2.0)
    np.testing.assert_allclose(tangent_out, jax.jvp(f, (3.0,), (2.0,))[1], rtol=1e-6)


def test_linearize_takes_tangents_of_the_primals_shape():
    _, f_jvp = jax.linearize(f, np.ones(3, np.float32))
    with pytest.raises(ValueError, match=r"float32\[2\].*float32\[3\]"):
        f_jvp(np.ones(2, np.float32))
