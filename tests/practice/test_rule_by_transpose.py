"""The toy of lesson 9: custom_vjp for one array."""

import numpy as np
import pytest
from drawn import draws, equal
from judged import each_error, error_passes, raises, unchanged
from practice.rule_by_transpose import jvp_of_with_vjp, linear_p, transpose_of_linear, with_vjp_p

import tinyjax as jax
from tinyjax.core.primitives import cos, cos_p, mul, sin


def f(x):
    return mul(sin(x), x)


def f_fwd(x):
    return f(x), cos(x)


def f_bwd(residual, ct):
    return mul(mul(10.0, residual), ct)  # no derivative of f: so that one sees whose it is


def with_rule(x):
    return with_vjp_p.bind(x, fun=f, fwd=f_fwd, bwd=f_bwd)


def no_bwd(residual, ct):
    pytest.fail("bwd was called, and nothing has gone backwards yet")


def test_the_result_is_that_of_fwd():
    fwd = lambda x: (mul(7.0, x), x)  # noqa: E731
    y, _ = jax.vjp(lambda x: with_vjp_p.bind(x, fun=f, fwd=fwd, bwd=f_bwd), 3.0)
    assert float(y) == 21.0


def test_the_gradient_is_that_of_bwd():
    np.testing.assert_allclose(jax.grad(with_rule)(3.0), 10 * np.cos(3.0), rtol=1e-5)


def test_what_comes_back_to_the_call_goes_through_bwd():
    found = jax.grad(lambda x: mul(5.0, with_rule(mul(2.0, x))))(3.0)
    np.testing.assert_allclose(found, 2 * 10 * np.cos(6.0) * 5, rtol=1e-5)


def test_fwd_runs_once_and_bwd_waits():
    ran = []

    def fwd(x):
        ran.append("fwd")
        return f_fwd(x)

    def bwd(residual, ct):
        ran.append("bwd")
        return f_bwd(residual, ct)

    _, f_vjp = jax.vjp(lambda x: with_vjp_p.bind(x, fun=f, fwd=fwd, bwd=bwd), 3.0)
    assert ran == ["fwd"], f"before a cotangent is there, {ran} ran"
    f_vjp(1.0)
    assert ran == ["fwd", "bwd"]


def test_the_tangent_is_linear_of_the_residual_and_the_tangent():
    def jvp(x, x_dot):
        return jvp_of_with_vjp([x], [x_dot], fun=f, fwd=f_fwd, bwd=no_bwd)

    jaxpr = jax.make_jaxpr(jvp)(3.0, 1.0).jaxpr
    (eqn,) = [eqn for eqn in jaxpr.eqns if eqn.primitive is linear_p]
    (residual,) = [e.outvars[0] for e in jaxpr.eqns if e.primitive is cos_p]
    assert eqn.params == {"bwd": no_bwd}
    assert eqn.invars == [residual, jaxpr.invars[1]]
    assert jaxpr.outvars[1] is eqn.outvars[0]


def test_a_residual_has_no_cotangent_and_the_tangent_that_of_bwd():
    bwd = lambda residual, ct: ("bwd of", residual, ct)  # noqa: E731
    found = transpose_of_linear(5.0, 2.0, "undefined", bwd=bwd)
    assert list(found) == [None, ("bwd of", 2.0, 5.0)]


def test_without_differentiation_the_function_runs():
    np.testing.assert_allclose(with_rule(3.0), np.sin(3.0) * 3.0, rtol=1e-5)


@each_error
def test_errors_of_fwd_and_bwd_go_on(error):
    with error_passes(error()) as raised:
        jvp_of_with_vjp((1.0,), (1.0,), fun=f, fwd=raises(raised), bwd=no_bwd)
    with error_passes(error()) as raised:
        transpose_of_linear(1.0, 2.0, None, bwd=raises(raised))


def test_rules_take_what_is_zero_or_an_array_and_leave_their_operands():
    ct, residual = np.array([0.0, np.nan, 2.0], np.float16), np.float16([3, 4, 5])
    with unchanged(ct=ct, residual=residual):
        nothing, found = transpose_of_linear(ct, residual, None, bwd=lambda r, ct: r * ct)
    assert nothing is None
    np.testing.assert_array_equal(found, [0, np.nan, 10])
    assert transpose_of_linear(0.0, 0.0, None, bwd=lambda r, ct: r + ct + 7.0) == [None, 7.0]
    x = np.ones((2, 1, 3), np.float32)
    assert jax.grad(lambda x: with_rule(x).sum())(x).shape == (2, 1, 3)
    y, seen = np.float16([-0.0, 1.0]), []
    rule = lambda: jvp_of_with_vjp((y,), (y,), fun=None, fwd=lambda x: (x, x), bwd=no_bwd)  # noqa: E731
    jax.make_jaxpr(lambda: seen.append(rule()[0]) or 1.0)()
    assert seen[0] is y, "the result is what fwd gives, and fun is not run"


def test_of_any_chain_of_calls_each_runs_its_own_rules_once():
    for draw in draws(20):
        shape, ran, stages = draw.shape(2), [], []
        for i in range(draw.count(1)):
            after, back = (float(draw.choice([-2, 1, 3])) for _ in range(2))

            def fwd(x, i=i, after=after, ran=ran):
                ran.append(f"fwd {i}")
                return mul(after, x), mul(x, 2.0)

            def bwd(residual, ct, i=i, back=back, ran=ran):
                ran.append(f"bwd {i}")
                return mul(back, mul(residual, ct))

            stages.append((fwd, bwd, after, back))

        def chain(x, stages=stages):
            for fwd, bwd, *_ in stages:
                x = with_vjp_p.bind(x, fun=lambda x: mul(7.0, x), fwd=fwd, bwd=bwd)
            return x

        x, ct = draw.whole(shape), draw.whole(shape)
        jax.vjp(chain, x)
        assert len(ran) == len(stages), f"{ran} ran"
        ran.clear()  # a second call runs all rules again
        out, pull_back = jax.vjp(chain, x)
        expected, value, count = np.asarray(ct, np.float64), np.asarray(x, np.float64), len(stages)
        for _, _, after, back in stages:  # a residual is twice what the stage was called with
            expected, value = expected * back * 2 * value, value * after
        about = {"x": x, "ct": ct, "factors": [stage[2:] for stage in stages]}
        equal(out, value, **about)
        assert ran == [f"fwd {i}" for i in range(count)], f"of {about}: first {ran} ran"
        equal(pull_back(ct)[0], expected, 1e-5, **about)
        assert ran[count:] == [f"bwd {i}" for i in range(count)][::-1], f"of {about}: {ran} ran"
