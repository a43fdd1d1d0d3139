"""The picture of a pmap: where its program is cut."""

import tinyjax as jax
from tinyjax import lax
from tinyjax.studio.viz.pmap import pieces
from tinyjax.transform.batching import AxisData


def test_the_program_is_cut_at_its_collectives():
    def f(x):
        y = jax.numpy.sin(x) * x
        return lax.psum(y, "i") * 2

    jaxpr = jax.make_jaxpr(f, axis_env=[("i", 2)])(1.0)
    found = [
        (piece.is_collective, [eqn.primitive.name for eqn in piece.jaxpr.eqns])
        for piece in pieces(jaxpr, AxisData("i", 2))
    ]
    assert found == [(False, ["sin", "mul"]), (True, ["psum"]), (False, ["mul"])]


def test_a_loop_with_a_collective_in_it_is_one_piece():
    def f(x):
        return lax.fori_loop(0, 3, lambda i, c: c + lax.psum(c, "i"), x)

    jaxpr = jax.make_jaxpr(f, axis_env=[("i", 2)])(1.0)
    assert [piece.is_collective for piece in pieces(jaxpr, AxisData("i", 2))] == [True]
