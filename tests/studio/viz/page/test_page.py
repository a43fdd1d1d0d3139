"""The page that explains a function, as data: test_page_in_browser.py opens it."""

import html
import re

import pytest
from explained_page import data_of, f, long_page, numbers_of, steps_of

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.__main__ import main
from tinyjax.studio import viz

MODEL = """
import tinyjax.numpy as jnp

def f(x):
    return jnp.sin(x) * x
"""


@pytest.fixture(scope="module")
def gradient():
    return viz.explain(f, 3.0, transforms=[jax.grad])


# ---- as data ----


def test_the_command_writes_a_page(tmp_path, capsys):
    (tmp_path / "model.py").write_text(MODEL)
    path = tmp_path / "page.html"
    options = ["--args", "3.0", "--transform", "grad", "-o", str(path)]
    assert main(["explain", f"{tmp_path / 'model.py'}:f", *options]) == 0
    shown = capsys.readouterr().out
    assert "grad(f)(3.0)" in shown and "transformed jaxpr   7 equations" in shown
    assert path.as_uri() in shown
    assert "return jnp.sin(x) * x" in path.read_text()


def test_a_page_that_cannot_be_written_is_no_traceback(tmp_path, capsys):
    (tmp_path / "model.py").write_text(MODEL)
    path = tmp_path / "no folder" / "page.html"
    assert main(["explain", f"{tmp_path / 'model.py'}:f", "--args", "3.0", "-o", str(path)]) == 1
    assert "cannot write" in capsys.readouterr().err


def test_what_the_function_raises_is_told_by_its_own_lines(tmp_path, capsys):
    (tmp_path / "model.py").write_text(MODEL)
    wrong = ["--args", "(1.0, 2.0)", "-o", str(tmp_path / "page.html")]
    assert main(["explain", f"{tmp_path / 'model.py'}:f", *wrong]) == 1
    place, line, error = capsys.readouterr().err.splitlines()
    assert place.endswith("model.py:5 in f") and line.strip() == "return jnp.sin(x) * x"
    assert error.startswith("TypeError: ")
    assert not (tmp_path / "page.html").exists()


def test_a_page_names_the_transformations_and_the_types_of_arguments():
    page = viz.explain(f, {"a": jnp.ones(3)}["a"], transforms=[jax.vmap, jax.jit])
    assert page.title == "jit(vmap(f))(f32[3])"


def test_a_group_counts_its_equations_alone(gradient):
    columns = {column["name"]: column for column in data_of(gradient)["columns"]}
    assert columns["groups"]["count"] == "4 equations"


def test_a_page_names_nothing_to_load():
    page = re.sub(r'(?s)id="data">.*?</script>', "", viz.explain(f, 3.0).html)
    assert not re.search(r"https?://|src=|@import|url\(", page)
    assert "default-src 'none'" in page


def test_in_a_notebook_a_page_is_a_frame_of_its_own():
    frame = viz.explain(f, 3.0)._repr_html_()
    assert frame.startswith('<iframe srcdoc="&lt;!DOCTYPE html&gt;') and frame.count('"') == 4


def test_in_a_terminal_a_page_is_its_summary():
    shown = repr(viz.explain(f, 3.0))
    assert shown.startswith("Page(title=") and "equations" in shown and "<html" not in shown


# ---- the steps ----


def test_events_know_their_places_in_the_program_and_in_tinyjax(gradient):
    steps = steps_of(gradient)
    event = steps["events"][numbers_of(steps, "jvp rule", "sin")[0]]

    def lit(place):
        place = steps["places"][place]
        source = steps["sources"][place["source"]]
        return source["file"], source["lines"][place["line"] - source["first"]].strip()

    assert lit(event["line"])[1] == "return jnp.sin(x) * x"
    file, line = lit(event["rule"])
    assert file == "tinyjax/transform/jvp.py" and "sin_jvp" in line


def test_what_computes_is_a_node_of_the_graph(gradient):
    steps = steps_of(gradient)
    svg = html.unescape(steps["graph"][0])
    for stage, name in (("impl", "cos"), ("equation", "add_any")):
        assert f'id="event-{numbers_of(steps, stage, name)[0]}"' in svg
    assert f'id="event-{numbers_of(steps, "bind", "sin")[0]}"' not in svg


def test_the_call_of_the_page_is_no_line_of_the_program(gradient):
    steps = steps_of(gradient)
    (backward,) = numbers_of(steps, "trace", "backward pass")
    assert steps["events"][backward]["line"] is None


def test_without_a_layout_program_the_page_says_so_in_the_graphs_place(monkeypatch):
    monkeypatch.setattr("tinyjax.studio.viz.output.layout_program", lambda: None)
    steps = steps_of(viz.explain(f, 3.0))
    assert steps["graph"] == [] and "Install Graphviz" in steps["graphRemark"]


def test_of_many_events_2000_are_shown_and_the_rest_is_counted():
    steps = steps_of(long_page())
    assert len(steps["events"]) == 2000 and steps["missed"] > 0
    assert len(steps["graph"]) > 1  # in parts that can be looked at
    assert len(long_page().html) < 2_000_000
