"""The examples, whole, with small settings: they reach what they state, and print what JAX printed."""

import importlib.util
import json
import re
import runpy
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples"
README = (EXAMPLES / "README.md").read_text()
TOOL = runpy.run_path(str(ROOT / "tools" / "compare_with_jax.py"))
RECORDED = json.loads(TOOL["RECORDED"].read_text())
PROGRAMS = TOOL["programs"]()
PICTURED = sorted(name for name, file in PROGRAMS.items() if file.parent == EXAMPLES)
first_difference = TOOL["first_difference"]


needs_matplotlib = pytest.mark.skipif(
    importlib.util.find_spec("matplotlib") is None,
    reason="matplotlib, which draws, is not installed",
)

# Runs programs one after the other, each in a new namespace; writes what they print, and how they fail.
RUN_ALL = """
import contextlib, io, json, sys, traceback
from tinyjax.__main__ import main

results = {}
for name, command in json.load(sys.stdin).items():
    out, error = io.StringIO(), ""
    with contextlib.redirect_stdout(out):
        try:
            main(["run", *command])
        except BaseException:
            error = traceback.format_exc()
    results[name] = out.getvalue(), error
json.dump(results, sys.stdout)
"""


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    """Where the examples' pictures are."""
    return tmp_path_factory.mktemp("pictures")


@pytest.fixture(scope="module")
def results(pictures):
    """What each program prints on tinyjax with the settings that were recorded, and its error.

    One process for all, as most of the time goes to imports; but some choose their devices, or x64."""
    commands = {
        name: [str(PROGRAMS[name]), *RECORDED[name]["arguments"].split()] for name in PROGRAMS
    }
    commands["gcn, sparse"] = [*commands["gcn"], "--sparse"]
    if not needs_matplotlib.args[0]:
        for name in PICTURED:
            commands[name] += ["--picture", str(pictures / f"{name}.svg")]
    alone = {name: commands.pop(name)[1:] for name in ("many_devices", "newton")}
    process = subprocess.run(
        [sys.executable, "-c", RUN_ALL],
        input=json.dumps(commands),
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert process.returncode == 0, process.stderr
    found = json.loads(process.stdout)
    for name, arguments in alone.items():
        done = TOOL["on_tinyjax"](name, arguments)
        found[name] = done.text, done.error
    return found


def printed(results, name):
    """The text, without the line that tells where the picture is."""
    text, error = results[name]
    assert not error
    return re.sub(r"picture: .*\n", "", text)


# ---- each of them ----

# What an example's last line states, with the small settings: a condition on its first number.
RESULTS = {
    "advi": lambda off: off < 0.05,
    "cnn": lambda percent: percent > 40,
    "dp_sgd": lambda percent: percent > 60,
    "gaussian_process": lambda percent: percent > 90,
    "gcn": lambda percent: percent > 90,
    "many_devices": lambda percent: percent > 85,
    "mandelbrot": lambda area: abs(area - 1.5066) < 0.1,
    "mlp": lambda percent: percent > 85,
    "ode": lambda percent: percent < 15,
    "vae": lambda nats: nats > -30,
}


def reaches_its_result(name, text):
    result = text.splitlines()[-1]
    assert result.startswith("result: ")
    return RESULTS[name](float(re.search(r"-?\d+\.?\d*", result)[0]))


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_prints_what_jax_prints(name, results):
    assert first_difference(printed(results, name), RECORDED[name]["printed"]) == ""


@pytest.mark.slow
@pytest.mark.parametrize("name", PICTURED)
def test_an_example_reaches_its_result(name, results):
    assert reaches_its_result(name, printed(results, name))


def test_the_examples_are_programs_for_jax():
    assert len(PROGRAMS) >= 20
    for file in PROGRAMS.values():
        assert re.search(r"^(import jax|from jax)", file.read_text(), re.MULTILINE), file
        assert "tinyjax" not in file.read_text(), file
    assert RECORDED.keys() == PROGRAMS.keys(), "run tools/compare_with_jax.py --record"
    assert {name: r["arguments"] for name, r in RECORDED.items() if r["arguments"]} == TOOL["SMALL"]


def test_the_readme_lists_each_with_its_command_and_a_picture_that_loads_fast():
    for name, file in PROGRAMS.items():
        assert f"]({file.relative_to(EXAMPLES)})" in README, name
    for name in PICTURED:
        assert f"python -m tinyjax run examples/{name}.py" in README, name
        assert f"](pictures/{name}.svg)" in README, name
        file = EXAMPLES / "pictures" / f"{name}.svg"
        assert words_of(file) >= WORDS[name]
        assert file.stat().st_size < 100_000


# ---- data from files ----


def test_a_graph_is_read_from_a_folder_of_the_classic_form(tmp_path):
    (tmp_path / "cora.content").write_text("31 0 1 1 Theory\n7 1 0 0 Neural\n9 1 0 1 Theory\n")
    (tmp_path / "cora.cites").write_text("31 7\n7 31\n9 9\n9 7\n9 1000\n")
    graph = runpy.run_path(str(EXAMPLES / "data.py"))["cora"](tmp_path)
    np.testing.assert_array_equal(graph.features, [[0, 1, 1], [1, 0, 0], [1, 0, 1]])
    np.testing.assert_array_equal(graph.labels, [1, 0, 1])
    np.testing.assert_array_equal(graph.edges, [[0, 1], [1, 2]])
    np.testing.assert_array_equal(graph.train, [1, 0])
    np.testing.assert_array_equal(graph.test, [2])


@pytest.mark.slow
def test_sparse_matrices_do_for_the_graph_too(results):
    assert reaches_its_result("gcn", printed(results, "gcn, sparse"))


# ---- pictures ----

# Titles, and names of axes.
WORDS = {
    "advi": {"Uphill", "step", "mean", "spread"},
    "cnn": {"How it learns", "epoch", "What the first layer looks for"},
    "dp_sgd": {"The noise costs accuracy", "and buys privacy", "step", "noise 2"},
    "gaussian_process": {"Before: a guess", "After: the most likely", "x", "y", "truth"},
    "gcn": {"epoch", "test nodes that are right", "33"},
    "mandelbrot": {"Steps until z is far", "real part of c", "imaginary part"},
    "many_devices": {"by data", "by tensors", "fully", "by stages"},
    "mlp": {"How it learns", "epoch", "What it read wrongly"},
    "ode": {"Each cycle is the same", "hares", "lynxes", "time"},
    "vae": {"Where test images lie", "first number", "second number"},
}


def words_of(file):
    texts = ElementTree.parse(file).iter("{http://www.w3.org/2000/svg}text")
    return {"".join(text.itertext()) for text in texts}


@pytest.mark.slow
@needs_matplotlib
@pytest.mark.parametrize("name", PICTURED)
def test_an_example_draws_its_result(name, results, pictures):
    file = pictures / f"{name}.svg"
    assert results[name][0].endswith(f"picture: {file}\n")
    assert words_of(file) >= WORDS[name]


@needs_matplotlib
def test_the_name_of_a_picture_says_its_format_and_equal_data_give_equal_files(tmp_path):
    picture = runpy.run_path(str(EXAMPLES / "picture.py"))
    for ending, start in [("svg", b"<?xml"), ("png", b"\x89PNG"), ("pdf", b"%PDF")]:
        files = tmp_path / f"1.{ending}", tmp_path / f"2.{ending}"
        for file in files:
            figure, axes = picture["plt"].subplots()
            axes.plot([1, 3, 2])
            picture["save"](figure, file)
        assert files[0].read_bytes().startswith(start)
        assert files[0].read_bytes() == files[1].read_bytes()


def test_without_matplotlib_an_example_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(
        SystemExit, match=r'^a picture needs matplotlib: pip install .*".\[examples\]"\)$'
    ):
        runpy.run_path(str(EXAMPLES / "picture.py"))


def test_matplotlib_is_imported_only_where_a_picture_is_asked_for():
    for name in PICTURED:
        assert re.search(r"^    from picture import", PROGRAMS[name].read_text(), re.MULTILINE), (
            name
        )
        assert not re.search(
            r"^(from|import) (picture|matplotlib)", PROGRAMS[name].read_text(), re.M
        )


# ---- comparing ----


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("loss 0.12345", "loss 0.12347"),
        ("[0.5 1.  -2. ]", "[ 0.5  1.0000001 -2. ]"),
        ("8.35e-11", "1.2e-10"),
        ("96.9%", "97.0%"),
        ("[1. 2.\n 3. 4.]", "[1. 2. 3.\n 4.]"),
    ],
)
def test_rounding_and_spaces_are_no_difference(ours, theirs):
    assert first_difference(ours, theirs) == ""


@pytest.mark.parametrize(
    ("ours", "theirs", "told"),
    [
        ("loss 0.1234", "loss 0.1250", "0.1234, not 0.1250"),
        ("after 12 steps", "after 13 steps", "12, not 13"),
        ("shape (3, 2)", "shape (2, 3)", "3, not 2"),
        ("close: True", "close: False", "'close: True', not 'close: False'"),
        ("x 1.0", "x inf", "1.0, not inf"),
        ("x inf", "x 1.0", "inf, not 1.0"),
        ("x nan", "x 1.0", "nan, not 1.0"),
        ("x 0.3", "x 0.4", "0.3, not 0.4"),
        ("[1. 2.]", "[1. 2. 3.]", "'[1. 2.]', not"),
        ("one\ntwo", "one", "2 lines, not 1"),
        ("1.00e+05", "1.01e+05", "1.00e+05, not"),
    ],
)
def test_what_differs_by_more_is_told(ours, theirs, told):
    assert first_difference(ours, theirs).startswith(told)


def test_programs_that_differ_and_fail_are_told_and_counted(monkeypatch, capsys):
    """With tinyjax instead of JAX too, except one."""
    answers = {"newton": "1.0", "rnn": "1.0"}
    Printed, compare = TOOL["Printed"], TOOL["_compare"]
    monkeypatch.setitem(
        compare.__globals__, "on_tinyjax", lambda name, _: Printed(answers[name], "", 1.0)
    )
    monkeypatch.setitem(
        compare.__globals__,
        "on_jax",
        lambda _, name, __: Printed("1.0", "" if name == "newton" else "SomeError", 1.0),
    )
    assert compare("python", ["newton", "rnn"], False) == 1
    said = capsys.readouterr().out
    assert "the same" in said and "fails on JAX: SomeError" in said and "1 of 2" in said
