"""Large programs: arrows stay short, and above 500 equations parts are put together."""

import re

import pytest

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.core.jaxpr import Var
from tinyjax.studio import viz
from tinyjax.studio.viz import output
from tinyjax.studio.viz.fold import FoldedEqn, all_eqns, folded


def layers(count):
    """A network of `count` layers, and arguments for it."""

    def network(weights, x):
        for w in weights:
            x = jnp.tanh(w * x + 1.0)
        return x

    return network, ([2.0] * count, 3.0)


def chain(count):
    """`count` equations that repeat nothing."""

    def f(x):
        for i in range(count):
            x = x * float(i)
        return x

    return f


def jaxpr_of(f, *args):
    return jax.make_jaxpr(f)(*args).jaxpr


def test_500_equations_are_drawn_one_by_one():
    source = viz.dot(jax.make_jaxpr(chain(500))(1.0)).source
    assert source.count("<b>mul</b>") == 500
    assert "too many" not in source


def test_more_are_put_together_and_the_picture_says_so():
    source = viz.dot(jax.make_jaxpr(chain(501))(1.0)).source
    assert "501 equations are too many" in source
    assert source.count("<b>") <= 250


def test_repeated_layers_are_drawn_once_and_counted():
    network, args = layers(300)
    source = viz.dot(jax.make_jaxpr(network)(*args)).source
    assert "the same 298 times more" in source
    assert source.count("<b>tanh</b>") <= 2


def test_jaxprs_inside_are_folded_before_anything_else():
    inner = jax.jit(chain(300))
    source = viz.dot(jax.make_jaxpr(lambda x: inner(inner(x) + 1.0))(1.0)).source
    assert re.findall(r"<b>(\w+)</b>", source) == ["jit", "add", "jit"]
    assert "inside=300 equations" in source


@pytest.mark.parametrize("f", [chain(700), jax.jit(chain(700))])
def test_no_equation_is_lost(f):
    jaxpr = jaxpr_of(f, 1.0)
    drawn, _ = folded(jaxpr)
    assert len(list(all_eqns(drawn.eqns))) == len(list(all_eqns(jaxpr.eqns)))


def test_what_is_put_together_is_still_a_program():
    network, args = layers(300)
    drawn, _ = folded(jaxpr_of(jax.grad(network), *args), keep_ends=True)
    known = {*drawn.constvars, *drawn.invars}
    for eqn in drawn.eqns:
        assert {v for v in eqn.invars if isinstance(v, Var)} <= known
        known.update(eqn.outvars)


def test_the_function_itself_is_left_as_it_is():
    jaxpr = jaxpr_of(chain(600), 1.0)
    text = str(jaxpr)
    folded(jaxpr)
    assert str(jaxpr) == text
    assert not any(isinstance(eqn, FoldedEqn) for eqn in jaxpr.eqns)


def test_a_value_from_far_above_is_a_name_and_no_arrow():
    source = viz.dot(jax.make_jaxpr(lambda x: chain(120)(x) + x)(1.0)).source
    assert source.count('style="rounded,dotted"') == 1
    assert "comes from further up" in source
    small = viz.dot(jax.make_jaxpr(lambda x: chain(20)(x) + x)(1.0)).source
    assert "dotted" not in small


@pytest.mark.skipif(not output.layout_program(), reason="no layout program on this machine")
@pytest.mark.parametrize("draw", [viz.linearize, viz.transpose, viz.jvp])
def test_a_deep_network_is_laid_out(draw, tmp_path):
    network, args = layers(40)
    assert "</svg>" in viz.save(draw(network, *args), tmp_path / "network.svg").read_text()
