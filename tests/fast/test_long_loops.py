"""Long loops: what they give is what Python's loop gives, and short ones stay in Python."""

import numpy as np
import pytest

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.fast import long_loops
from tinyjax.lax.control_flow.scan import run_eagerly
from tinyjax.transform.jit import primitive


@pytest.fixture
def programs(monkeypatch):
    """The jaxprs that are compiled, or found compiled; every loop is long."""
    monkeypatch.setattr(long_loops, "WORTH_IT", 10)
    jaxprs, plain = [], primitive.compiled
    monkeypatch.setattr(primitive, "compiled", lambda *args: jaxprs.append(args[0]) or plain(*args))
    run_eagerly.shortcut = long_loops.run_compiled
    return jaxprs


def is_a_scan(program):
    return [eqn.primitive.name for eqn in program.jaxpr.eqns] == ["scan"]


def step(carry, x):
    return carry * 0.5 + x, jnp.sin(carry)


@pytest.mark.parametrize("reverse", [False, True])
def test_the_results_are_those_of_a_loop_in_python(programs, reverse):
    def loop():
        return lax.scan(step, jnp.ones(3), jnp.arange(12.0).reshape(4, 3), reverse=reverse)

    compiled = loop()
    assert len(programs) == 1 and is_a_scan(programs[0])
    with jax.config.set("tinyjax_fast", False):
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, 1e-6), compiled, loop())
    assert len(programs) == 1


def test_a_body_that_is_jitted_or_closes_over_arrays_is_compiled_with_the_loop(programs):
    y = jnp.arange(3.0)
    f = jax.jit(lambda c: c * 0.5 + y)
    out = lax.fori_loop(0, 20, lambda i, c: f(c), jnp.ones(3))
    np.testing.assert_allclose(out, 2 * y, 1e-5, 1e-5)
    assert programs and all(map(is_a_scan, programs))


def test_a_loop_that_is_run_again_is_not_built_again(programs):
    for _ in range(2):
        lax.scan(step, jnp.ones(3), jnp.ones((9, 3)))
    first, second = programs
    assert first is second


def test_short_loops_stay_in_python(programs, monkeypatch):
    monkeypatch.setattr(long_loops, "WORTH_IT", 1000)
    lax.scan(step, jnp.ones(3), jnp.ones((9, 3)))
    assert programs == []


def test_a_nan_that_is_looked_for_is_found_at_its_primitive(programs):
    with jax.debug_nans(True), pytest.raises(FloatingPointError, match="log"):
        lax.scan(lambda c, _: (jnp.log(c), None), -1.0, None, length=20)
    assert programs == []


def test_a_gradient_of_a_long_loop(programs):
    def loss(x):
        return lax.scan(lambda c, _: (jnp.sin(c) * 1.5, None), x, None, length=20)[0]

    slope = jax.grad(loss)(0.5)
    with jax.config.set("tinyjax_fast", False):
        np.testing.assert_allclose(slope, jax.grad(loss)(0.5), 1e-4)
    assert any(map(is_a_scan, programs))
