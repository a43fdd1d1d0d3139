"""Pictures of compiled programs: read from the dot source."""

import re

import numpy as np
import pytest

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.runtime.devices import devices
from tinyjax.studio import viz

pytestmark = pytest.mark.skipif(
    devices("cpu")[0].cl_device is None, reason="there is no OpenCL device"
)
X = np.ones(100, np.float32)


def frames(graph):
    """The titles of the frames."""
    return re.findall(r'label="?([^"]*?)"? class=title', graph.source)


def lowered(f):
    return jax.jit(f).lower(X)


def test_a_step_is_a_frame_with_its_equations():
    graph = viz.kernels(lowered(lambda x: jnp.sort(jnp.sin(x) * 2) + 1))
    assert frames(graph) == ["0: k0_sin_mul", "1: host sort", "2: k2_add"]
    assert re.findall(r"<b>(\w+)</b>", graph.source) == ["sin", "mul", "sort", "add"]


def test_what_is_stored_in_memory_has_a_thick_arrow():
    source = viz.kernels(lowered(lambda x: jnp.sort(jnp.sin(x) * 2))).source
    boxes = dict(re.findall(r"(n\d+) \[label=<.*<b>(\w+)</b>", source))
    arrows = re.findall(r"(n\d+) -> n\d+( \[penwidth=2.5\])?$", source, re.MULTILINE)
    assert [boxes[tail] for tail, thick in arrows if not thick] == ["sin"]  # in a register


def test_each_step_has_its_time_and_its_share():
    graph = viz.kernels(lowered(lambda x: jnp.sort(x * 2)), {(0,): 10.0, (1,): 30.0})
    assert frames(graph) == ["0: k0_mul   10.0 us, 25%", "1: host sort   30.0 us, 75%"]
    assert "penwidth=4.8" in graph.source


def test_what_is_one_launch_has_a_frame_around_it():
    graph = viz.kernels(lowered(lambda x: jnp.sort(x * 2) + 1), {(0,): 5.0, (1, 2): 5.0})
    assert frames(graph) == ["0: k0_mul   5.0 us, 50%", "one launch   5.0 us, 50%"] + [
        "1: host sort",
        "2: k2_add",
    ]


def test_the_steps_of_a_loop_are_frames_within():
    def f(x):
        return lax.fori_loop(0, 3, lambda i, c: lax.sort((c * 2, c), num_keys=2)[0], x)

    titles = frames(viz.kernels(lowered(f)))
    assert titles[:2] == ["0: loop scan", "scan: 3 steps"] and titles[-1].endswith("host sort")


def test_a_loop_that_is_one_kernel_has_its_body_as_one_frame():
    titles = frames(viz.kernels(lowered(lambda x: lax.fori_loop(0, 3, lambda i, c: c * 2, x))))
    assert titles == ["0: k0_scan", "scan: 3 steps"]


def test_a_compiled_function_is_drawn_with_the_times_of_its_steps():
    compiled = lowered(lambda x: jnp.sort(x * 2)).compile()
    graph = viz.kernels(compiled, jax.profiler.step_times(lambda: compiled(X)))
    assert all(re.search(r"\d us, \d+%", title) for title in frames(graph))


def test_a_jaxpr_is_refused_with_the_remedy():
    with pytest.raises(TypeError, match=r"jax.jit\(f\).lower"):
        viz.kernels(jax.make_jaxpr(jnp.sin)(X))


def test_what_a_loop_computes_of_its_operands_by_itself_is_drawn_in_its_step():
    def f(x):  # x * 2 is an operand that the loop's kernel makes
        return lax.scan(lambda c, y: ((c[1], c[0] + y), None), (x, x * 2), jnp.arange(3.0))

    drawn = viz.kernels(lowered(f))
    assert frames(drawn)[:2] == ["0: k0_iota", "1: k1_scan"]
    assert re.findall(r"<b>(\w+)</b>", drawn.source) == ["iota", "mul", "add"]


def test_a_first_carry_that_is_a_result_too_is_drawn_in_the_step_of_its_loop():
    def f(x):  # `first` is stored after the loop, whose kernel makes it by itself
        y = x * 2
        first = jnp.broadcast_to(y, (9, *x.shape))
        return y, first, lax.fori_loop(0, 3, lambda i, c: c * c, first)

    drawn = viz.kernels(lowered(f))
    assert frames(drawn)[:2] == ["0: k0_scan", "scan: 3 steps"]
