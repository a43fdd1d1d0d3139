"""Following a value stays possible: how many Python calls a debugger would step through."""

import sys

import tinyjax as jax
import tinyjax.numpy as jnp


def f(x):
    return jnp.sin(x) * x


def python_calls(fun, *args):
    fun(*args)  # warm
    calls = 0

    def count(frame, event, arg):
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    try:
        fun(*args)
    finally:
        sys.setprofile(None)
    return calls


def test_jvp_takes_at_most_150_python_calls():
    assert python_calls(lambda x: jax.jvp(f, (x,), (1.0,)), 3.0) <= 150


def test_grad_takes_at_most_500_python_calls():
    assert python_calls(jax.grad(f), 3.0) <= 500
