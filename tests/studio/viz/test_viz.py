"""Graphs: what is drawn is read from the dot source; that it can be drawn, from the picture."""

import pydoc
import re
import shutil

import graphviz
import pytest

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.studio import viz
from tinyjax.studio.viz import output


def f(x):
    return jnp.sin(x) * x


def nested(x):
    return jax.jit(f)(x) + jax.jit(lambda y: y * 2.0)(x)


def source_of(fun, *args):
    return viz.dot(jax.make_jaxpr(fun)(*args)).source


@pytest.fixture
def no_layout_program(monkeypatch):
    monkeypatch.setattr(output, "layout_program", lambda: None)


# ---- what is drawn ----


def texts(source):
    """What stands in each node that is written as HTML."""
    return [re.sub("<[^>]*>", "", label) for label in re.findall(r"label=<(.*)>[ \]]", source)]


def test_every_equation_is_a_box_that_reads_as_in_the_jaxpr_and_every_value_an_arrow():
    source = source_of(f, 3.0)
    assert [t for t in texts(source) if "=" in t] == ["b:f32[] = sin a", "c:f32[] = mul b a"]
    edges = re.findall(r"(n\d) -> (n\d)$", source, re.MULTILINE)
    assert edges == [("n0", "n1"), ("n1", "n2"), ("n0", "n2"), ("n2", "n3")]


def test_inputs_outputs_constants_and_literals_are_set_apart():
    table = jnp.arange(3.0)
    source = source_of(lambda x: 2.0 * x + table, jnp.ones(3))
    (constant, shape_of_a), (x, shape_of_b) = re.findall(r"label=<([ax])<.*shape=(\w+)", source)
    assert (constant, shape_of_a, x, shape_of_b) == ("a", "parallelogram", "x", "ellipse")
    assert "c:f32[3] = mul 2.0 b" in texts(source)
    assert re.search(r"label=out .*shape=invhouse", source)


def test_a_jaxpr_inside_an_equation_is_a_frame():
    source = source_of(nested, 3.0)
    assert re.findall(r'label="(jit .*)" class=title', source) == ["jit f", "jit <lambda>"]
    assert source.count("subgraph cluster_") == 2


def test_jaxprs_in_a_named_tuple_are_frames_too():
    titles = re.findall(r'label="?([^"]*?)"? class=title', source_of(jnp.linalg.inv, jnp.eye(3)))
    assert [t for t in titles if t.startswith("jaxprs")] == [f"jaxprs[{i}]" for i in range(4)]


def test_parameters_are_shown_unless_the_result_type_tells_them():
    source = source_of(lambda x: jnp.sum(x, axis=1).astype(jnp.int32), jnp.ones((2, 3)))
    assert "axes=(1,)" in source
    assert "new_dtype" not in source


def test_equal_programs_give_equal_source():
    first = source_of(jax.grad(nested), 3.0)
    second = source_of(jax.grad(nested), 3.0)
    assert first == second


def test_a_function_instead_of_a_jaxpr_is_refused_with_the_remedy():
    with pytest.raises(TypeError, match=r"make_jaxpr\(f\)"):
        viz.dot(f)


# ---- the picture ----


def test_the_graph_is_a_graphviz_object_that_shows_itself_in_a_notebook():
    graph = viz.dot(jax.make_jaxpr(f)(3.0))
    assert isinstance(graph, graphviz.Digraph)
    if output.layout_program():
        assert "<svg" in graph._repr_mimebundle_()["image/svg+xml"]


@pytest.mark.skipif(not output.layout_program(), reason="no layout program on this machine")
def test_the_ending_of_the_path_chooses_the_format(tmp_path):
    graph = viz.dot(jax.make_jaxpr(nested)(3.0))
    assert "</svg>" in viz.save(graph, tmp_path / "f.svg").read_text()
    assert viz.save(graph, tmp_path / "f.png").read_bytes().startswith(b"\x89PNG")
    assert viz.save(graph, tmp_path / "f.dot").read_text() == graph.source


def test_an_ending_that_is_no_picture_is_refused_before_the_layout(no_layout_program, tmp_path):
    with pytest.raises(ValueError, match=r"f\.xyz.*\.svg, \.html, \.png"):
        viz.save(viz.dot(jax.make_jaxpr(f)(3.0)), tmp_path / "f.xyz")


def test_a_call_may_be_a_closed_box():
    closed = jax.make_jaxpr(lambda x: jax.jit(jnp.sin)(x) * x)(3.0)
    source = viz.dot(closed, open_calls=False).source
    assert "<b>jit</b>" in source and "sin</b>" not in source and "subgraph" not in source
    assert "sin</b>" in viz.dot(closed).source


def test_a_system_dot_is_preferred(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: f"/found/{name}")
    assert output.layout_program() == "/found/dot"


def test_without_a_layout_program_save_names_the_remedy_and_writes_the_source(
    no_layout_program, tmp_path
):
    graph = viz.dot(jax.make_jaxpr(f)(3.0))
    with pytest.raises(viz.DotNotFound, match="pip install graphviz-pure.*f.dot"):
        viz.save(graph, tmp_path / "f.svg")
    assert (tmp_path / "f.dot").read_text() == graph.source


def test_without_a_layout_program_a_notebook_shows_the_remedy_and_the_source(no_layout_program):
    shown = viz.dot(jax.make_jaxpr(f)(3.0))._repr_mimebundle_()["text/plain"]
    assert "pip install graphviz-pure" in shown
    assert "digraph" in shown


def test_an_equation_without_results_is_a_box():
    graph = viz.dot(jax.make_jaxpr(lambda x: jax.debug.print("{}", x))(3.0))
    assert "<b>debug_print</b>" in graph.source


def test_help_and_dir_list_every_picture_with_a_line_in_the_docstring():
    assert {"explain", "dot", "kernels", "record", "save"} <= set(dir(viz)) == set(viz.__all__)
    assert all(re.search(rf"\b{name}\b", viz.__doc__) for name in viz.__all__)
    assert "explain(" in pydoc.render_doc(viz)
