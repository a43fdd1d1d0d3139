"""What the site's worker asks Python, here without a browser."""

import json
import sys

import pytest
from website_tools import ROOT

from tinyjax.studio.learn.functions import function_text

SOURCE = ROOT / "tools" / "website" / "static" / "in_worker.py"


@pytest.fixture
def ask(tmp_path, monkeypatch):
    """Asks one question; gives the answer and what was printed."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setenv("TINYJAX_BACKGROUND_BUILD", "0")
    names = {"__name__": "in_worker"}
    exec(compile(SOURCE.read_text(), str(SOURCE), "exec"), names)
    names["CLONE"], names["CELLS"] = ROOT, tmp_path / "cells"
    names["PLAYGROUND"] = tmp_path / "playground.py"

    def ask(kind, **asked):
        printed = []
        if kind == "cell":
            asked.setdefault("number", 1)
        answer = json.loads(names["answer"](kind, json.dumps(asked), printed.append))
        return answer, "".join(printed)

    yield ask
    sys.modules.pop("page", None)


def test_cells_of_a_page_share_their_names_and_the_last_value_is_shown(ask):
    assert ask("cell", name="page", line=1, text="x = 6\nprint('six')")[1] == "six\n"
    answer, _ = ask("cell", name="page", line=4, text="x * 7")
    assert answer == {"graphs": [], "value": "42", "error": ""}


def test_an_error_names_cells_and_their_lines(ask):
    ask("cell", name="page", line=30, number=4, text="# two\n\ndef f(x):\n    return 1 / x")
    answer, _ = ask("cell", name="page", line=52, number=5, text="y = 0\nf(y)")
    assert answer["error"].splitlines() == [
        "cell 5, line 2: f(y)",
        "cell 4, line 4, in f: return 1 / x",
        "ZeroDivisionError: division by zero",
    ]
    assert answer["frames"] == ""  # there are no others


def test_a_syntax_error_names_the_line_of_the_cell(ask):
    answer, _ = ask("cell", name="page", line=30, number=4, text="y = 0\nx = = 1")
    assert answer["error"].splitlines()[0].strip() == "cell 4, line 2"


def test_an_error_within_tinyjax_ends_at_the_reader_s_line_and_has_all_frames(ask):
    text = "import tinyjax as jax\ndef f(x):\n    return x if x > 0 else -x\njax.jit(f)(3.0)"
    answer, _ = ask("cell", name="page", line=30, number=4, text=text)
    assert answer["error"].splitlines()[:2] == [
        "cell 4, line 4: jax.jit(f)(3.0)",
        "cell 4, line 3, in f: return x if x > 0 else -x",
    ]
    assert "the argument x of f at cell 4, line 2." in answer["error"]
    assert answer["frames"].splitlines()[1] == "  cell 4, line 4, in <module>"
    assert 'File "tinyjax/transform/jit/api.py", line ' in answer["frames"]


def test_an_error_in_the_playground_names_the_line(ask, tmp_path):
    text = "def f(x):\n    return x.no_such_thing\n"
    answer, _ = ask("explain", text=text, function="", args="3.0", transforms="")
    assert answer["error"].startswith("line 2, in f: return x.no_such_thing\nAttributeError: ")


def test_a_place_is_named_as_on_the_lesson_s_page(ask):
    text = f"print('{ROOT}/tutorials/x.py')\n'{ROOT}/tutorials/x.py'"
    answer, printed = ask("cell", name="page", line=1, text=text)
    assert (printed, answer["value"]) == ("tutorials/x.py\n", "'tutorials/x.py'")


def test_a_driver_that_no_browser_has_is_told(ask, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyopencl", None)
    answer, _ = ask("cell", name="page", line=1, text="import pyopencl")
    assert "run this on your own machine" in answer["error"]


def test_what_is_printed_without_end_is_cut(ask):
    _, printed = ask("cell", name="page", line=1, text="for _ in range(300_000): print('x')")
    assert len(printed) < 110_000 and printed.endswith("(more was printed than is shown)")


def test_a_graph_is_given_as_its_source(ask):
    text = "import tinyjax as jax\njax.viz.dot(jax.make_jaxpr(lambda x: x + 1)(2.0))"
    assert ask("cell", name="page", line=1, text=text)[0]["graphs"][0].startswith("digraph")


def test_a_page_of_explain_is_given_as_its_data(ask):
    text = "import tinyjax as jax\njax.viz.explain(jax.numpy.sin, 2.0)"
    answer, _ = ask("cell", name="page", line=1, text=text)
    assert answer["value"] == "" and answer["stages"]["args"] == "(2.0)"
    data = json.loads(answer["stages"]["data"])
    assert data["steps"]["events"] and data["columns"]


def test_a_picture_of_arrays_is_given_as_html_without_styles_and_scripts(ask):
    text = "import tinyjax as jax\njax.viz.show({'<b>': jax.numpy.ones((3, 40))})"
    answer, _ = ask("cell", name="page", line=1, text=text)
    assert answer["value"] == "" and "f32[3,40]" in answer["shown"]
    assert not any(word in answer["shown"] for word in ("style=", "<script", "<style", "<b>'"))


def test_what_an_explained_function_prints_is_shown_once(ask):
    text = (
        "import jax\nprint('twice')\nprint('twice')\n"
        "def f(x):\n    jax.debug.print('x is {}', x)\n    return x + 1"
    )
    assert (
        ask("explain", text=text, function="", args="3.0", transforms="")[1]
        == "twice\ntwice\nx is 3.0\n"
    )


def test_a_lesson_s_command_gives_the_same_data(ask, monkeypatch):
    monkeypatch.chdir(ROOT)
    answer, printed = ask("command", words="tutorials/wave.py:f --args 3.0 --transform grad")
    assert (answer["error"], answer["stages"]["name"], printed) == ("", "grad", "")
    assert "No such file" in ask("command", words="missing.py:f")[0]["error"]


def test_what_asks_at_a_prompt_is_told_that_there_is_none(ask):
    answer, _ = ask("cell", name="page", line=1, text="input('?')")
    assert "A page has no prompt" in answer["error"]


@pytest.mark.slow
def test_work_goes_out_as_a_folder_of_learn_and_comes_back(ask):
    source = (ROOT / "tinyjax/core/bind.py").read_text()
    mine = {"tinyjax.core.bind:Primitive.bind": function_text(source, "Primitive.bind").rstrip()}
    packed, _ = ask("pack", lesson="01_primitives", texts=mine, passed=["bind"])
    assert packed["name"] == "01_primitives.zip"
    assert ask("unpack", zip=packed["zip"])[0] == {"lesson": "01_primitives", "texts": mine}
