"""tinyjax graph: from a function's name to a picture of it at any stage."""

import io
import subprocess
import sys
from pathlib import Path

import pytest

from tinyjax.__main__ import main
from tinyjax.studio.cli.graph import STAGES

TOOL = Path(__file__).parents[3] / "tools" / "draw_graph.py"

MODEL = """
import tinyjax.numpy as jnp

def f(x, y):
    return jnp.sin(x) * y
"""


def draw(folder, *arguments):
    (folder / "model.py").write_text(MODEL)
    command = [sys.executable, "-m", "tinyjax", "graph", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


@pytest.fixture
def draw_here(tmp_path, monkeypatch, capsys):
    """The same in this process: quicker."""
    (tmp_path / "model.py").write_text(MODEL)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    sys.modules.pop("model", None)

    def draw(*arguments):
        status = main(["graph", *arguments])
        said = capsys.readouterr()
        return subprocess.CompletedProcess(arguments, status, said.out, said.err)

    yield draw
    sys.modules.pop("model", None)


def test_draws_a_function_of_a_module_in_the_current_folder(tmp_path):
    done = draw(tmp_path, "model:f", "--args", "-3.0", "jnp.ones(2)", "-o", "f.dot")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "wrote f.dot\n"
    assert "f32[2]" in (tmp_path / "f.dot").read_text()


def test_transformations_are_applied_in_the_order_of_their_names(draw_here, tmp_path):
    options = ("--args", "jnp.ones(3)", "jnp.ones(3)", "--transform", "grad,vmap,jit")
    done = draw_here("model:f", *options, "-o", "f.dot")
    assert done.returncode == 0, done.stderr
    source = (tmp_path / "f.dot").read_text()
    assert "jit f" in source
    assert "<b>cos</b>" in source


def test_kernels_are_drawn_with_their_times(draw_here, tmp_path):
    options = ("--args", "jnp.ones(3)", "2.0", "--stage", "kernels", "-o", "f.dot")
    done = draw_here("model:f", *options)
    assert done.returncode == 0, done.stderr
    assert " us" in (tmp_path / "f.dot").read_text()


@pytest.mark.slow
def test_what_cannot_be_found_or_evaluated_is_named(tmp_path):
    assert "no_such_module" in draw(tmp_path, "no_such_module:f", "-o", "f.svg").stderr
    assert "no_such_name" in draw(tmp_path, "model:no_such_name", "-o", "f.svg").stderr
    assert "1 +" in draw(tmp_path, "model:f", "--args", "1 +", "-o", "f.svg").stderr
    assert "spin" in draw(tmp_path, "model:f", "--transform", "spin", "-o", "f.svg").stderr


@pytest.mark.slow
def test_a_place_that_can_not_be_written_and_an_ending_that_can_not_be_drawn_are_named(tmp_path):
    for output in ("no_such_folder/f.dot", "f.xyz", "f"):
        done = draw(tmp_path, "model:f", "--args", "1.0", "2.0", "-o", output)
        assert (done.returncode, done.stdout) == (1, "")
        assert output in done.stderr and "Traceback" not in done.stderr


def test_what_the_function_raises_is_told_by_its_own_lines(draw_here):
    done = draw_here("model:f", "--args", "jnp.ones(2)", "jnp.ones(3)", "-o", "f.dot")
    assert done.returncode == 1
    assert done.stderr.startswith("  model.py:5 in f\n    return jnp.sin(x) * y\nTypeError: ")


@pytest.mark.slow
def test_what_the_module_raises_is_told_too(tmp_path):
    (tmp_path / "broken.py").write_text("raise ValueError('not today')")
    done = draw(tmp_path, "broken:f", "-o", "f.dot")
    assert done.returncode == 2
    assert "broken can't be imported.\n  broken.py:1 in <module>\n" in done.stderr
    assert done.stderr.endswith("\nValueError: not today\n")


@pytest.mark.parametrize("line", ["import numpyy", "open('no.csv')", "jnp.sine(3.0)"])
def test_the_module_is_there_though_something_in_it_is_not(draw_here, tmp_path, line):
    (tmp_path / "model.py").write_text(MODEL + line)
    done = draw_here("model.py:f", "-o", "f.dot")
    assert done.returncode == 2
    assert f"model.py can't be imported.\n  model.py:6 in <module>\n    {line}" in done.stderr


@pytest.mark.parametrize("command", ["graph", "explain", "step"])
def test_arguments_that_are_missing_are_said_to_come_from_the_command_line(
    command, tmp_path, monkeypatch, capsys
):
    (tmp_path / "model.py").write_text(MODEL)
    monkeypatch.chdir(tmp_path)
    output = [] if command == "step" else ["-o", "f.dot"]
    assert main([command, "model.py:f", *output, "--args", "1.0"]) == 2
    said = capsys.readouterr().err
    assert "f(x, y) does not take what --args gives: missing a required argument: 'y'" in said


# ---- --args, over the module's own names ----

OWN_NAMES = """
import jax

def init(key):
    return {"w": jax.random.normal(key, (3,))}

def loss(params, x):
    return params["w"] @ x

def broken(key):
    return key.no_such_attribute
"""


@pytest.fixture
def answer(tmp_path, monkeypatch, capsys):
    """The exit status of a command on loss, and what it prints."""
    (tmp_path / "own_names.py").write_text(OWN_NAMES)
    monkeypatch.chdir(tmp_path)

    def answer(command, *args):
        output = [] if command == "step" else ["-o", "f.html" if command == "explain" else "f.dot"]
        status = main([command, "own_names.py:loss", *output, "--args", *args])
        return status, "".join(capsys.readouterr())

    return answer


@pytest.mark.parametrize("command", ["graph", "explain", "step"])
def test_an_argument_can_be_made_by_a_function_of_the_module(command, answer, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("quit"))
    status, said = answer(command, "init(jax.random.key(0))", "jnp.ones(3) * np.pi")
    assert status == 0, said


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        ("inti(0)", "name 'inti' is not defined. Did you mean 'init'? It can use the names of own_names"),
        ("jnp.ones(3", "'(' was never closed. Each is a Python expression"),
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("broken(0)", "own_names.py:11 in broken\n    return key.no_such_attribute"),
    ],
)  # fmt: skip
def test_an_argument_that_cannot_be_evaluated_says_what_was_wrong(args, expected, answer):
    status, said = answer("graph", args)
    assert status == 2 and expected in said


@pytest.mark.parametrize("stage", STAGES)
def test_every_stage_of_a_transformed_function_is_drawn(stage, tmp_path):
    path = tmp_path / "softmax.dot"
    function = ["tinyjax.nn:softmax", "--args", "jnp.ones((2, 3, 4))", "--transform", "vmap"]
    assert main(["graph", *function, "--stage", stage, "-o", str(path)]) == 0
    assert path.read_text().startswith("digraph")


@pytest.mark.slow
def test_the_tool_is_the_command_by_another_name(tmp_path):
    arguments = ["tinyjax.nn:relu", "--args", "1.5", "-o", "relu.dot"]
    command = [sys.executable, str(TOOL), *arguments]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout == "wrote relu.dot\n", done.stderr
