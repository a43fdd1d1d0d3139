"""What is dropped."""

import tinyjax.core.primitives as primitives
from tinyjax.compile.passes.pipeline import simplify
from tinyjax.core.tracing import make_jaxpr


def primitive_names(f, *args):
    return [eqn.primitive.name for eqn in simplify(make_jaxpr(f)(*args)).eqns]


def test_what_no_output_needs_is_dropped():
    def f(x):
        primitives.sin(x)
        return primitives.neg(x)

    assert primitive_names(f, 1.0) == ["neg"]


def test_all_arguments_are_kept():
    closed = simplify(make_jaxpr(lambda x, y: primitives.neg(x))(1.0, 2.0))
    assert len(closed.jaxpr.invars) == 2
