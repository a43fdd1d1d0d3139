"""The command line: subcommands are found, listed and refused."""

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


@pytest.mark.parametrize("argv", [[], ["no-such-command"]])
def test_a_missing_or_unknown_command_is_refused_with_the_usage(argv, capsys):
    with pytest.raises(SystemExit) as stop:
        main(argv)
    assert stop.value.code == 2
    assert "usage: tinyjax" in capsys.readouterr().err


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
