"""Pictures of what transformations make of a function: read from the dot source."""

import re
import shutil
import sysconfig
from pathlib import Path

import pytest

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.studio import viz
from tinyjax.studio.viz import output


def f(x):
    return jnp.sin(x) * x


def softmax(x):
    e = jnp.exp(x - jnp.max(x))
    return e / jnp.sum(e)


def rnn(w, h, xs):
    def step(h, x):
        h = jnp.tanh(w * h + x)
        return h, 2 * h

    return lax.scan(step, h, xs)


def dot(function, *args):
    return viz.dot(jax.make_jaxpr(function)(*args)).source


def boxes(graph):
    """The primitive of each equation's box, and the lines below the first."""
    found = {}
    for label in re.findall(r"label=<(.*?)>(?: class| fill| margin| shape|\])", graph.source):
        if "<b>" in label:
            title, *lines = re.split("<br/>|</td>", label)
            texts = [re.sub(r"<[^>]*>", "", line) for line in lines]
            found[re.search("<b>(.*)</b>", title)[1]] = [text for text in texts if text]
    return found


def frames(source):
    return re.findall(r'label="?([^"]*?)"? class=title', source)


# ---- values ----


def test_each_node_has_its_value():
    found = boxes(viz.values(f, 3.0))
    assert found == {"sin": ["0.1411"], "mul": ["0.4234"]}


def test_a_large_array_is_shown_by_its_range_and_its_mean():
    assert boxes(viz.values(jnp.sin, jnp.zeros(100))) == {"sin": ["0.0 .. 0.0, mean 0.0"]}


def test_only_the_branch_that_is_taken_has_values():
    found = boxes(viz.values(lambda x: lax.cond(x > 0, jnp.sin, jnp.cos, x), 3.0))
    assert (found["sin"], found["cos"]) == (["0.1411"], [])


def test_two_calls_of_one_function_have_their_own_values():
    g = jax.jit(jnp.sin)
    source = viz.values(lambda x: g(x) + g(x + 1), 3.0).source
    assert "0.1411" in source and "-0.7568" in source


# ---- jvp ----


def test_each_node_has_a_primal_and_a_tangent():
    found = boxes(viz.jvp(f, 3.0))
    assert found["mul"] == ["primal 0.4234", "tangent -2.829"]


def test_tangents_can_be_given():
    assert boxes(viz.jvp(f, 3.0, tangents=(2.0,)))["mul"][-1] == "tangent -5.658"


def test_what_does_not_depend_on_the_input_has_no_tangent():
    found = boxes(viz.jvp(lambda x: x * jnp.floor(x), 3.0))
    assert found["floor"] == ["primal 3.0"]


# ---- vmap ----


def test_the_batch_dim_is_marked_in_the_type():
    source = viz.vmap(softmax, jnp.ones((4, 3)), in_axes=1).source
    assert "a:f32[4,B=3]" in source and "f32[B=3,4]" in source


def test_what_one_batching_rule_writes_is_in_a_frame():
    titles = frames(viz.vmap(softmax, jnp.ones((4, 3)), in_axes=1).source)
    assert titles == ["batch rule of sub", "batch rule of div"]


def test_what_is_not_mapped_is_not_marked():
    source = viz.vmap(jnp.multiply, jnp.ones(3), 2.0, in_axes=(0, None)).source
    assert "a:f32[B=3]" in source and "b:f32[]" in source


# ---- linearize and transpose ----


def test_what_is_known_and_what_is_not_have_their_own_frames_with_residuals_between():
    source = viz.linearize(f, 3.0).source
    known, later = source.split("n7 ->")[0], source.split("n7 ->", 1)[1]
    assert re.findall(r"<b>(\w+)</b>", known) == ["sin", "cos", "mul"]
    assert re.findall(r"<b>(\w+)</b>", later) == ["mul", "mul", "mul", "add_any"]
    assert (
        len(re.findall(rf'color="{viz.theme.pink_line.light}" penwidth', source)) == 3
    )  # sin x, cos x and x


def test_cotangents_arrive_as_the_gradient():
    source = viz.transpose(f, 3.0).source
    assert "-2.829" in source.split("cotangent")[-1]


def test_a_value_used_twice_has_a_sum_of_cotangents():
    assert viz.transpose(f, 3.0).source.count("<b>add_any</b>") == 1
    assert viz.transpose(jnp.sin, 3.0).source.count("<b>add_any</b>") == 0


def test_a_loop_without_a_transpose_is_refused():
    with pytest.raises(ValueError, match="while_loop"):
        viz.transpose(lambda x: lax.while_loop(lambda c: c < 9, lambda c: c * 2, x), 3.0)


# ---- branches and loops ----


def test_a_scan_marks_const_carry_and_slices_and_its_way_back():
    source = dot(rnn, 1.0, 2.0, jnp.ones(5))
    assert frames(source) == ["scan: 5 steps"]
    assert all(word in source for word in ("const: ", "carry: ", "xs, ys: ", "next step"))


def test_a_while_loop_has_a_frame_for_its_condition_and_one_for_its_body():
    source = dot(lambda x: lax.while_loop(lambda c: c < 9, lambda c: c * 2, x), 3.0)
    assert frames(source) == ["while", "cond", "body"]
    assert "go on?" in source


def test_branches_without_operands_and_results_are_drawn():
    def f(x):
        lax.cond(x > 0, lambda: jax.debug.print("yes"), lambda: None)
        return x

    assert frames(viz.dot(jax.make_jaxpr(f)(1.0)).source)[0] == "cond"


def test_the_branches_of_a_cond_stand_in_one_frame():
    source = dot(lambda x: lax.cond(x > 0, jnp.sin, jnp.cos, x), 3.0)
    assert frames(source) == ["cond", "branch 0 (False)", "branch 1 (True)"]


# ---- pmap ----


def test_each_device_has_a_lane_with_its_values():
    graph = viz.pmap(jnp.sin, jnp.arange(3.0))
    assert frames(graph.source) == ["device 0", "device 1", "device 2"]
    assert re.findall(r"<b>sin</b>.*?>([\d.]+)<", graph.source) == ["0.0", "0.8415", "0.9093"]


def test_the_lanes_meet_at_a_collective_and_part_again():
    source = viz.pmap(lambda x: x / lax.psum(x, "i"), jnp.arange(3.0), axis_name="i").source
    (psum,) = re.findall(r"(n\d+) \[label=<.*<b>psum</b>.*3.0", source)
    assert len(re.findall(rf"-> {psum}\b", source)) == len(re.findall(f"{psum} ->", source)) == 3


def test_a_branch_that_differs_between_devices_has_no_values():
    def f(x):
        return lax.cond(x > 1, jnp.sin, jnp.cos, x)

    titles = frames(viz.pmap(f, jnp.arange(2.0)).source)
    assert titles.count("branch 0 (False)") == titles.count("branch 1 (True)") == 2


def test_of_many_devices_some_are_drawn_and_the_picture_says_so():
    source = viz.pmap(jnp.sin, jnp.arange(9.0)).source
    assert frames(source) == ["device 0", "device 1", "device 2", "device 8"]
    assert "9 devices, of which 4 are drawn" in source


# ---- the trace stack ----


def test_a_bind_goes_from_the_innermost_trace_to_numpy():
    titles = frames(viz.trace_stack(jax.vmap(jax.grad(f)), jnp.arange(3.0)).source)
    kinds = [title.split(":")[0] for title in titles]
    assert kinds == ["LinearizeTrace", "BatchTrace", "EvalTrace", "JaxprTrace"]


def test_each_of_two_traces_of_a_kind_has_a_number():
    def twice(x):
        return jax.jvp(lambda x: jax.jvp(f, (x,), (1.0,))[1], (x,), (1.0,))

    titles = frames(viz.trace_stack(twice, 3.0).source)
    assert [title.split(":")[0] for title in titles] == ["JVPTrace 2", "JVPTrace 1", "EvalTrace"]


def test_without_a_transformation_there_is_one_trace():
    assert frames(viz.trace_stack(f, 3.0).source) == ["EvalTrace: runs NumPy"]


@pytest.mark.parametrize("transform", [lambda f: f, jax.grad, jax.vmap, jax.jit])
def test_a_bind_on_an_argument_is_drawn_rather_than_one_on_constants(transform):
    def f(x):
        return jnp.sum(jnp.tanh(jnp.full((3,), 2.0) * jnp.arange(3.0)) @ x)

    x = jnp.ones((3, 3)) if transform is jax.vmap else jnp.ones(3)
    source = viz.trace_stack(transform(f), x).source
    assert re.findall(r"<b>(\w+)</b>", source)[0] == "dot_general"


def test_a_function_that_binds_nothing_is_refused():
    with pytest.raises(ValueError, match="no bind"):
        viz.trace_stack(lambda x: x, 3.0)


# ---- all of them ----

PICTURES = {
    "values": lambda: viz.values(softmax, jnp.ones(3)),
    "jvp": lambda: viz.jvp(softmax, jnp.ones(3)),
    "vmap": lambda: viz.vmap(softmax, jnp.ones((2, 3))),
    "linearize": lambda: viz.linearize(softmax, jnp.ones(3)),
    "transpose": lambda: viz.transpose(softmax, jnp.ones(3)),
    "a cond, backwards": lambda: viz.transpose(
        lambda x: lax.cond(x > 0, lambda x: f(x) * x, jnp.cos, x), 3.0
    ),
    "a scan, backwards": lambda: viz.transpose(rnn, 1.0, 2.0, jnp.ones(5)),
    "a scan over a batch": lambda: viz.vmap(rnn, jnp.ones(2), jnp.ones(2), jnp.ones((2, 5))),
    "jit, backwards": lambda: viz.transpose(lambda x: jax.jit(f)(x) * jax.jit(f)(x * 2), 3.0),
    "pmap": lambda: viz.pmap(softmax, jnp.ones((2, 3))),
}


@pytest.mark.parametrize("draw", [*PICTURES.values(), lambda: viz.trace_stack(jax.grad(f), 3.0)])
def test_equal_input_gives_equal_source(draw):
    assert draw().source == draw().source


@pytest.mark.parametrize("name", PICTURES)
def test_every_box_says_by_its_class_which_equation_it_is(name):
    source = PICTURES[name]().source
    assert len(re.findall(r'class="?eqn-\d+( from-\d+)?"?', source)) == source.count("<b>")


def both_programs():
    """The system's `dot`, and the one from pip: those of them that are here."""
    pure = Path(sysconfig.get_path("scripts"), "graphviz-pure")
    found = [shutil.which("dot"), shutil.which("graphviz-pure") or shutil.which(pure)]
    return [program for program in found if program]


@pytest.mark.parametrize("name", PICTURES)
def test_every_layout_program_draws_it(name, monkeypatch):
    for program in both_programs():
        monkeypatch.setattr(output, "layout_program", lambda program=program: program)
        assert "</svg>" in PICTURES[name]()._repr_svg_()
