"""Calls in line."""

import numpy as np
import pytest

import tinyjax.core.primitives as primitives
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.compile.passes.inline import inline
from tinyjax.compile.passes.pipeline import simplify
from tinyjax.compile.record import recording
from tinyjax.core.runtime_errors import JaxRuntimeError
from tinyjax.core.tracing import make_jaxpr
from tinyjax.transform.jit.api import jit


def primitive_names(f, *args):
    return [eqn.primitive.name for eqn in simplify(make_jaxpr(f)(*args)).eqns]


def test_nested_calls_are_inlined():
    assert primitive_names(lambda x: jit(jit(primitives.sin))(primitives.neg(x)), 1.0) == [
        "neg",
        "sin",
    ]


def test_constants_of_nested_calls_are_kept():
    table = np.arange(3.0, dtype=np.float32)
    closed = simplify(make_jaxpr(lambda x: jit(lambda y: primitives.mul(y, table))(x))(table))
    assert len(closed.consts) == 1


def test_functions_that_double_each_other_are_refused_before_they_take_all_memory():
    f = jit(jnp.sin)
    for _ in range(20):
        f = jit(lambda x, f=f: f(f(x)))
    with pytest.raises(JaxRuntimeError, match=r"has 1,048,576 equations .* at most 100,000"):
        f.lower(1.0)


def test_so_are_branches_that_share_a_function():
    f = jit(jnp.sin)
    for _ in range(20):
        f = jit(lambda x, f=f: lax.cond(x > 0, f, f, x))
    with pytest.raises(JaxRuntimeError, match=r"RESOURCE_EXHAUSTED"):
        f.lower(1.0)


def test_a_record_names_the_functions_that_are_called():
    def outer(x):
        return jit(primitives.sin)(x)

    with recording() as records:
        simplify(make_jaxpr(jit(outer))(1.0))
    assert [str(event) for event in records[0].events] == [
        "b = jit a: replaced by the equations of outer",
        "b = jit a: replaced by the equations of sin",
    ]


def test_parameters_that_no_program_reads_are_dropped():
    closed = make_jaxpr(jit(primitives.sin))(2.0)
    body = closed.eqns[0].params["jaxpr"]
    eqns = [eqn.replace(params={"accuracy": "high"}) for eqn in body.eqns]
    body = body.replace(jaxpr=body.jaxpr.replace(eqns=eqns))
    (call,) = closed.eqns
    call = call.replace(params=call.params | {"jaxpr": body})
    inlined = inline(closed.replace(jaxpr=closed.jaxpr.replace(eqns=[call])))
    assert [(eqn.primitive.name, eqn.params) for eqn in inlined.eqns] == [("sin", {})]
