"""What is computed once."""

import tinyjax as jax
import tinyjax.core.primitives as primitives
from tinyjax import debug, numpy
from tinyjax.compile.passes.cse import cse
from tinyjax.compile.passes.pipeline import simplify
from tinyjax.core.tracing import make_jaxpr


def primitive_names(f, *args):
    return [eqn.primitive.name for eqn in simplify(make_jaxpr(f)(*args)).eqns]


def test_the_same_computation_is_done_once():
    assert primitive_names(lambda x: primitives.mul(primitives.sin(x), primitives.sin(x)), 1.0) == [
        "sin",
        "mul",
    ]


def test_literals_of_different_sign_or_type_are_told_apart():
    def f(x):
        return primitives.mul(primitives.mul(x, 0.0), primitives.mul(x, -0.0))

    assert primitive_names(f, 1.0) == ["mul", "mul", "mul"]


def test_what_reads_a_dropped_equation_reads_the_first_and_may_be_dropped_too():
    def f(x):
        return primitives.add(primitives.sin(primitives.cos(x)), primitives.sin(primitives.cos(x)))

    found = cse(make_jaxpr(f)(1.0))
    assert [eqn.primitive.name for eqn in found.eqns] == ["cos", "sin", "add"]


def test_where_nothing_is_computed_twice_the_jaxpr_itself_is_given():
    closed = make_jaxpr(lambda x: primitives.sin(primitives.cos(x)))(1.0)
    assert cse(closed) is closed


def test_consts_stay():
    array = numpy.arange(3.0)
    f = lambda x: primitives.mul(primitives.mul(x, array), primitives.mul(x, array))  # noqa: E731
    closed = make_jaxpr(f)(1.0)
    assert list(cse(closed).consts) == list(closed.consts) != []


def test_equations_with_effects_are_all_kept():
    def f(x):
        debug.print("{}", x)
        debug.print("{}", x)
        return x

    assert primitive_names(f, 1.0) == ["debug_print"] * 2
    shout = jax.jit(lambda x: debug.print("{}", x) or primitives.sin(x))
    found = cse(make_jaxpr(lambda x: primitives.add(shout(x), shout(x)))(1.0))
    names = [eqn.primitive.name for eqn in found.eqns]
    assert names == ["jit", "jit", "add"], "also where what prints is in a jaxpr within"


def test_a_result_that_was_computed_before_is_given():
    closed = simplify(make_jaxpr(lambda x: (primitives.sin(x), primitives.sin(x)))(1.0))
    assert [eqn.primitive.name for eqn in closed.eqns] == ["sin"]
    assert closed.jaxpr.outvars == closed.eqns[0].outvars * 2
