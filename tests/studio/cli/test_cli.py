"""The command line: subcommands are found, listed and refused."""

import os
import shlex
import subprocess
import sys

import pytest

from tinyjax.__main__ import COMMANDS, main


def test_help_lists_every_command(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["--help"])
    assert stop.value.code == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in COMMANDS)


def test_an_unknown_command_is_refused_with_the_usage(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["no-such-command"])
    assert stop.value.code == 2
    assert "usage: tinyjax" in capsys.readouterr().err


def test_without_a_command_all_are_listed(capsys):
    assert main([]) == 2
    shown = capsys.readouterr().err
    assert "Which command? `tour`" in shown and all(name in shown for name in COMMANDS)


def test_the_package_runs_as_a_module():
    command = [sys.executable, "-m", "tinyjax", "tour", "--help"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "--output" in done.stdout


@pytest.mark.slow
def test_a_reader_that_has_seen_enough_ends_the_command_quietly():
    command = (
        f"{shlex.quote(sys.executable)} -m tinyjax explain tinyjax.nn:relu --args 1.5 --text | true"
    )
    done = subprocess.run(command, shell=True, capture_output=True, text=True)
    assert done.stderr == ""


def shell(command, **environment):
    """A command of tinyjax in a shell."""
    command = f"{shlex.quote(sys.executable)} {command}"
    return subprocess.run(
        command, shell=True, capture_output=True, text=True, env=os.environ | environment
    )


def test_commands_run_where_python_drops_docstrings():
    done = shell("-OO -m tinyjax graph --help")
    assert (done.returncode, done.stderr) == (0, "") and "--stage" in done.stdout


def test_a_command_whose_output_is_closed_runs_to_its_end():
    done = shell("-m tinyjax step tinyjax.nn:relu --args 1.5 < /dev/null >&-")
    assert (done.returncode, done.stderr) == (0, "")


def test_letters_that_a_terminal_lacks_are_printed_as_escapes(tmp_path):
    (tmp_path / "model.py").write_text(
        "def f(x):\n    return x * 2.0  # größer\n", encoding="utf-8"
    )
    file = shlex.quote(f"{tmp_path}/model.py:f")
    done = shell(f"-m tinyjax explain {file} --args 3.0 --text", PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (0, "")
    assert r"gr\xf6\xdfer" in done.stdout


def test_a_graph_is_written_in_utf_8_in_any_locale(tmp_path):
    program = "import jax\ndef größe(x):\n    return x * 2.0\nf = jax.jit(größe)\n"
    (tmp_path / "model.py").write_text(program, encoding="utf-8")
    file, dot = shlex.quote(f"{tmp_path}/model.py:f"), tmp_path / "f.dot"
    ascii_locale = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = shell(f"-m tinyjax graph {file} --args 3.0 -o {shlex.quote(str(dot))}", **ascii_locale)
    assert (done.returncode, done.stderr) == (0, "")
    assert "größe" in dot.read_text(encoding="utf-8")
