import numpy as np

import tinyjax.core as core
from tinyjax.interpreters.jit import jit
from tinyjax.interpreters.tracing import make_jaxpr
from tinyjax.opencl.simplify import simplify


def primitives(f, *args):
    return [eqn.primitive.name for eqn in simplify(make_jaxpr(f)(*args)).eqns]


def test_nested_calls_are_inlined():
    assert primitives(lambda x: jit(jit(core.sin))(core.neg(x)), 1.0) == ["neg", "sin"]


def test_constants_of_nested_calls_are_kept():
    table = np.arange(3.0, dtype=np.float32)
    closed = simplify(make_jaxpr(lambda x: jit(lambda y: core.mul(y, table))(x))(table))
    assert len(closed.consts) == 1


def test_the_same_computation_is_done_once():
    assert primitives(lambda x: core.mul(core.sin(x), core.sin(x)), 1.0) == ["sin", "mul"]


def test_literals_of_different_sign_or_type_are_told_apart():
    def f(x):
        return core.mul(core.mul(x, 0.0), core.mul(x, -0.0))

    assert primitives(f, 1.0) == ["mul", "mul", "mul"]


def test_what_no_output_needs_is_dropped():
    def f(x):
        core.sin(x)
        return core.neg(x)

    assert primitives(f, 1.0) == ["neg"]


def test_all_arguments_are_kept():
    closed = simplify(make_jaxpr(lambda x, y: core.neg(x))(1.0, 2.0))
    assert len(closed.jaxpr.invars) == 2
