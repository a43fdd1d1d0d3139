"""The memory of a compiled call over time: bars, the peak and why it is one, and a run beside the plan."""

import pytest

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import viz
from tinyjax.runtime.devices import devices
from tinyjax.studio.viz.memory_use.memory import _chart_of
from tinyjax.transform.transposition import transpose_rules

pytestmark = pytest.mark.skipif(
    devices("cpu")[0].cl_device is None, reason="there is no OpenCL device"
)
W, X = jnp.ones((16, 16)), jnp.ones((64, 16))


def layer(w, h):
    return jnp.tanh(h @ w)


def loss(w, x):
    return jnp.sum(layer(w, layer(w, layer(w, x))))


@pytest.fixture(scope="module")
def gradient():
    return viz.memory(jax.grad(loss), W, X)


def test_the_chart_has_the_bytes_of_the_memory_plan(gradient):
    chart, lowered = _chart_of(jax.grad(loss), (W, X), ())
    assert chart.live == lowered.plan.memory.live
    assert gradient.charts[0].peak == gradient.peaks["as it runs"]


def test_a_run_has_as_many_bytes_as_the_plan(gradient):
    (chart,) = gradient.charts
    assert chart.measured == chart.live and "as many bytes at each step" in repr(gradient)


def test_the_peak_names_residuals_with_their_lines(gradient):
    (chart,) = gradient.charts
    residuals = [bar for bar in chart.at(chart.peak_step) if bar.kind == "residual"]
    assert residuals and all(bar.type == "f32[64,16]" for bar in residuals)
    assert "return jnp.tanh(h @ w), kept for step" in residuals[0].why
    arguments = [bar.name for bar in chart.bars if bar.kind == "argument"]
    assert arguments == ["w", "x"]


def test_memory_that_is_not_reused_makes_the_peak_higher(gradient):
    peaks = gradient.peaks
    assert peaks["each array alone, until its last reader"] > peaks["as it runs"]
    assert peaks["with all arguments donated"] <= peaks["as it runs"]


def test_a_donated_argument_has_the_result_in_its_memory_and_stays_valid_here():
    shown = viz.memory(lambda w, g: w - 0.1 * g, W, W + 1, donate_argnums=0)
    (chart,) = shown.charts
    assert [bar.kind for bar in chart.bars] == ["result", "argument"]
    assert chart.bars[0].name.startswith("w → sub ")
    assert not W.is_deleted()


def test_two_functions_have_one_scale_and_the_rules_are_as_before():
    rules = dict(transpose_rules)
    shown = viz.memory(jax.grad(loss), W, X, compare=lambda w, x: jnp.sum(w) + jnp.sum(x))
    assert len(shown.charts) == 2 and len(shown.peaks) == 6
    assert shown.fragment.count("<svg class=memory") == 2 and "style=" not in shown.fragment
    assert transpose_rules == rules


def test_an_iteration_of_a_loop_has_a_bar_of_its_own():
    def step(w, h):
        return w @ jnp.linalg.svd(h)[0]  # a step of the host

    (chart,) = viz.memory(lambda w: jax.lax.fori_loop(0, 3, lambda _, h: step(w, h), w), W).charts
    (planned,) = [b for b in chart.bars if b.kind == "body"]
    assert planned.nbytes > 0 and chart.peak == max(chart.live)


def test_types_are_enough_for_the_plan():
    shown = viz.memory(loss, *map(jax.eval_shape, [lambda: W, lambda: X]))
    assert "no run was measured" in repr(shown) and shown.charts[0].peak > W.nbytes + X.nbytes


def test_a_function_of_constants_has_a_chart_too():
    assert "after the call" in repr(viz.memory(lambda x: 2.0, 1.0))
