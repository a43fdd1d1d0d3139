"""The tour, run once from its start to its end as a user runs it."""

import contextlib
import io
import os
import re
import subprocess
import sys

import pytest

import tinyjax as jax
from tinyjax.__main__ import main
from tinyjax.studio.cli import tour


@pytest.fixture(scope="module")
def toured(tmp_path_factory):
    """What the tour printed, and the folder that it wrote to."""
    folder = tmp_path_factory.mktemp("tour")
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        assert main(["tour", "--output", str(folder)]) == 0
    return printed.getvalue(), folder


@pytest.mark.slow
def test_the_network_learns_to_read_digits_that_it_has_not_seen(toured):
    printed, _ = toured
    percent = re.search(r"([\d.]+)% of the 360 held-out images", printed)
    assert float(percent[1]) >= 95


def test_the_program_is_shown_at_each_stage(toured):
    printed, _ = toured
    assert "def loss(params, image, target):" in printed
    assert (
        "{ lambda ; a:f32[64,32] b:f32[32] c:f32[32,10] d:f32[10] e:f32[64] f:f32[10]. let"
        in printed
    )
    assert "e:f32[128,64] f:f32[128,10]. let" in printed
    assert "schedule of step" in printed
    assert "eager, in NumPy" in printed


@pytest.mark.skipif(jax.devices()[0].cl_device is None, reason="no OpenCL device")
def test_one_kernel_is_shown_with_the_lines_that_it_is_from_and_all_are_written(toured):
    printed, folder = toured
    assert (
        printed.count("__kernel") == 1 < (folder / "step_kernels.txt").read_text().count("__kernel")
    )
    assert re.search(r"// \[\d+\] .*tour.py:\d+  return jax.tree.map", printed)
    assert re.search(r"launch .*tanh", printed)


def test_the_last_stage_is_the_page_of_explain(toured):
    printed, folder = toured
    assert (folder / "explain.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert f"Open it in a browser: {(folder / 'explain.html').resolve().as_uri()}" in printed


@pytest.mark.parametrize("display, ci, opens", [
    ({"DISPLAY": ":0"}, {}, True),
    ({"WAYLAND_DISPLAY": "wayland-0"}, {}, True),
    ({}, {}, False),
    ({"DISPLAY": ":0"}, {"CI": "true"}, False),
])  # fmt: skip
def test_the_page_is_opened_only_where_somebody_sees_it(monkeypatch, display, ci, opens):
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "CI"):
        monkeypatch.delenv(name, raising=False)
    for name, value in (display | ci).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert tour.has_display() == opens
    monkeypatch.setattr("sys.stdout.isatty", lambda: False)
    assert not tour.has_display()


@pytest.mark.slow
def test_without_kernels_nothing_is_said_to_be_compiled(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "tinyjax", "tour", "--output", str(tmp_path)],
        env=os.environ | {"TINYJAX_OPENCL": "none"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "A training step, run by NumPy" in done.stdout and "jit, in NumPy too" in done.stdout
    assert ", compiled" not in done.stdout and "OpenCL C is from" not in done.stdout


def test_a_folder_that_can_not_be_written_to_is_refused(tmp_path, capsys):
    (tmp_path / "file").touch()
    assert main(["tour", "--output", str(tmp_path / "file" / "tour")]) == 1
    assert "Name another folder by --output" in capsys.readouterr().err


def test_every_stage_is_written_to_the_folder(toured):
    _, folder = toured
    listings = {"loss.txt", "grad.txt", "batched.txt", "step_kernels.txt"}
    graphs = {path.stem for path in folder.iterdir() if path.suffix in (".svg", ".dot")}
    assert listings <= {path.name for path in folder.iterdir()}
    assert graphs == {"loss", "grad", "batched", "step"}


def test_progress_is_a_line_for_each_fifth_where_there_is_no_terminal(capsys):
    for done in range(10, 101, 10):
        tour.show_progress(done, 100, "loss 1.000")
    lines = capsys.readouterr().out.splitlines()
    assert [line[-16:-11].strip() for line in lines] == ["20%", "40%", "60%", "80%", "100%"]


def test_progress_fits_into_a_narrow_terminal(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "24")
    tour.show_progress(20, 100, "loss 1.000")
    assert len(capsys.readouterr().out.rstrip("\n")) < 24


def test_progress_is_redrawn_in_place_on_a_terminal(capsys, monkeypatch):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    tour.show_progress(10, 20, "loss 1.000")
    tour.show_progress(20, 20, "loss 0.500")
    shown = capsys.readouterr().out
    assert shown.count("\r[") == 2
    assert shown.endswith("100%  loss 0.500\n")
