import numpy as np
import pytest

import tinyjax as jax
from tinyjax import lax
from tinyjax import numpy as jnp
from tinyjax.compile.codegen.codegen import CPU
from tinyjax.compile.kernel.scalarize import ScalarLoop, scalarized
from tinyjax.compile.passes.loops import loop_of
from tinyjax.compile.passes.pipeline import simplify
from tinyjax.compile.plan import all_names
from tinyjax.core.tracing import make_jaxpr

X = np.ones((4, 3), np.float32)


def last_loop(f, *args):
    """The loop that f ends with, and the names of all variables."""
    jaxpr = simplify(make_jaxpr(f)(*args)).jaxpr
    return loop_of(jaxpr.eqns[-1]), all_names(jaxpr)


def repeated(step):
    return lambda x: lax.fori_loop(0, 3, lambda i, c: step(c), x)


def test_arrays_become_scalars():
    loop, names = last_loop(repeated(lambda c: c * 2 + 1), X)
    scalar = scalarized(loop, names, CPU)
    assert scalar.shape == (4, 3)
    body = scalar.loop.body.jaxpr
    assert {v.aval.shape for v in [*body.invars, *body.outvars]} == {()}


def test_each_element_reads_its_own_of_what_is_the_same_in_all_iterations():
    f = lambda x, row: lax.fori_loop(0, 3, lambda i, c: c * row[::-1], x)  # noqa: E731
    loop, names = last_loop(f, X, X[0])
    scalar = scalarized(loop, names, CPU)
    (whole,) = scalar.elements.values()
    assert whole.aval.shape in ((4, 3), (1, 3))
    assert [eqn.primitive.name for eqn in scalar.invariant][0] == "rev"
    assert [eqn.primitive.name for eqn in scalar.loop.body.jaxpr.eqns] == ["mul"]


@pytest.mark.parametrize(
    "step, reason",
    [
        (lambda c: c[::-1], "rev in its body reads other elements"),
        (lambda c: c - c.sum(), "reduce_sum in its body reads other elements"),
        (
            lambda c: jax.debug.print("{}", c) or c * 2,
            "debug_print in its body has an effect",
        ),
        (
            lambda c: lax.while_loop(lambda y: y[0, 0] < 9, lambda y: y * 2, c),
            "a while_loop is inside",
        ),
    ],
)
def test_what_mixes_elements_is_no_loop_of_scalars(step, reason):
    assert scalarized(*last_loop(repeated(step), X), CPU) == reason


def test_scalars_alone_have_no_elements():
    assert scalarized(*last_loop(repeated(jnp.sin), X[0, 0]), CPU) == "its arrays are scalars"


def test_a_vmapped_while_is_one():
    f = jax.vmap(lambda x: lax.while_loop(lambda c: c < 9, lambda c: c * 2, x))
    assert isinstance(scalarized(*last_loop(f, X[0]), CPU), ScalarLoop)
