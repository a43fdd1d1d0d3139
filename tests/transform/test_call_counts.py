"""Following a value stays possible: how many Python calls a debugger would step through, and that the
rules which the lessons show are among them, at each call."""

import gc
import sys

import pytest

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.core import bind, jaxpr
from tinyjax.lax import ignored_jax_params
from tinyjax.runtime import placement
from tinyjax.transform import jvp, transposition


@pytest.fixture(autouse=True)
def nobody_watches(monkeypatch):
    """As in a process in which no array was put on a device yet, and no feature has registered."""
    monkeypatch.setattr(bind, "watchers", [])
    hooks = (bind.bind_bodies, bind.check_values, bind.prepare_operands, jaxpr.prepare_jaxpr)
    registered = [list(hook) for hook in hooks]
    for hook in hooks:
        hook.clear()
    yield
    for hook, functions in zip(hooks, registered):
        hook.extend(functions)


def f(x):
    return jnp.sin(x) * x


def python_calls(fun, *args):
    """The code of each function that the third call calls, in order; but for what lets programs written for
    JAX bind, which another test may have imported."""
    fun(*args), fun(*args)
    calls = []

    def note(frame, event, arg):
        if event == "call" and frame.f_code.co_filename != ignored_jax_params.__file__:
            calls.append(frame.f_code)

    gc.collect()
    gc.disable()  # what other tests have left is not freed within the call
    sys.setprofile(note)
    try:
        fun(*args)
    finally:
        sys.setprofile(None)
        gc.enable()
    return calls


def test_jvp_takes_at_most_150_python_calls():
    assert len(python_calls(lambda x: jax.jvp(f, (x,), (1.0,)), 3.0)) <= 150


def test_grad_takes_at_most_250_python_calls():
    """Without shortcuts."""
    with jax.config.set("tinyjax_fast", False):
        assert len(python_calls(jax.grad(f), jnp.float32(3.0))) <= 250


def test_a_jitted_call_takes_at_most_70_python_calls(monkeypatch):
    """Without shortcuts. (Some of them are those by which tests poison new memory.)"""
    monkeypatch.setattr(placement, "places", None)
    with jax.config.set("tinyjax_fast", False):
        assert len(python_calls(jax.jit(f), jnp.float32(3.0))) <= 70


def test_a_first_jit_takes_at_most_1000_python_calls(monkeypatch):
    """Without shortcuts, and after another function was jitted: modules are loaded then, and C functions
    known. Each call is of a new function."""
    monkeypatch.setattr(placement, "places", None)
    if checks := sys.modules.get("definite_assignment"):  # not in a learner's folder
        monkeypatch.setattr(checks, "check_assignment", id)
    with jax.config.set("tinyjax_fast", False):
        assert len(python_calls(lambda x: jax.jit(lambda x: f(x))(x), jnp.float32(3.0))) <= 1000


FORWARD = [jvp.sin_jvp, jvp.mul_jvp_x, jvp.mul_jvp_y]
BACKWARD = [transposition.backward_pass, transposition.mul_transpose_x]


@pytest.mark.parametrize(
    ("derivative", "rules"),
    [
        (lambda x: jax.jvp(f, (x,), (1.0,)), FORWARD),
        (lambda x: jax.linearize(f, x), FORWARD),
        (lambda x: jax.vjp(f, x)[1](1.0), FORWARD + BACKWARD),
        (jax.grad(f), FORWARD + BACKWARD),
        (jax.value_and_grad(f), FORWARD + BACKWARD),
        (jax.grad(jax.grad(f)), [*FORWARD, jvp.cos_jvp, *BACKWARD]),
        (jax.grad(lambda x: jnp.mean(jax.nn.silu(jnp.sin(x) * x))), FORWARD + BACKWARD),
    ],
    ids=["jvp", "linearize", "vjp", "grad", "value_and_grad", "nested grad", "library functions"],
)
def test_each_call_runs_the_rules(derivative, rules):
    calls = python_calls(derivative, 3.0)
    assert [rule.__name__ for rule in rules if rule.__code__ not in calls] == []
