"""`tinyjax doctor`: what works here, and how to fix what doesn't."""

import json
import re
import subprocess

import pytest

from tinyjax.__main__ import main
from tinyjax.studio.cli import doctor
from tinyjax.studio.cli.doctor import Finding, as_text
from tinyjax.studio.cli.mpi_check import error_line


def probe_gives(monkeypatch, returncode=0, stdout="", stderr=""):
    """As if the process that asks the driver had ended like this."""

    def ended(command, **options):
        return subprocess.CompletedProcess(command, returncode, stdout, stderr)

    monkeypatch.setattr(doctor.subprocess, "run", ended)


@pytest.mark.slow
def test_this_machine_is_well(capsys):
    assert main(["doctor"]) == 0
    shown = capsys.readouterr().out
    assert all(word in shown for word in ("Python", "numpy", "cpu:0", "graphs", "browser"))
    assert "FAILS" not in shown


def test_what_fails_says_what_to_do_about_it():
    text = as_text(Finding("graphs", False, "no program", "Install Graphviz."))
    assert text.splitlines() == [
        "   FAILS  graphs      no program",
        "                      Install Graphviz.",
    ]


def test_what_works_gives_no_advice():
    assert "\n" not in as_text(Finding("numpy", True, "2.4", "never shown"))


def test_why_numpy_computes_is_said():
    finding = doctor.device_finding(("cpu:0", "NumPy", "NumPy", "install a driver", True, 1.0))
    assert finding.works is None and finding.fix == "install a driver"


@pytest.mark.slow
@pytest.mark.parametrize("variable, value", [("TINYJAX_OPENCL", "none"), ("JAX_PLATFORMS", "tpu")])
def test_a_variable_that_keeps_devices_from_being_used_is_named(monkeypatch, variable, value):
    monkeypatch.setenv(variable, value)
    finding, *_ = doctor.check_devices()
    assert f"{variable}={value}" in finding.fix and re.search("without|unset", finding.fix)


def test_a_folder_that_can_not_be_written_to_is_named_with_the_cause(monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("POCL_CACHE_DIR", str(tmp_path / "file" / "cache"))
    (finding,) = doctor.check_cache()
    assert finding.works is None and finding.says.endswith("file/cache: Not a directory")
    assert "POCL_CACHE_DIR" in finding.fix


def test_an_error_in_a_device_is_told_by_its_first_line(monkeypatch):
    said = "KernelBuildError: INTERNAL: it can't build a kernel: the cause\nThe log is in a file."
    probe_gives(monkeypatch, stdout=json.dumps(said))
    finding, *_ = doctor.check_devices()
    assert finding.works is False and finding.says.endswith("a kernel: the cause")
    assert finding.fix.startswith("The log is in a file. ") and "Reinstall" in finding.fix


def test_of_a_traceback_the_exception_is_told_and_not_what_came_after_it():
    said = "Traceback ...\n  File ...\nRuntimeError: the cause\nAbort(1) on node 0"
    assert error_line(said) == "RuntimeError: the cause"


def test_a_wrong_result_of_a_driver_is_a_failure():
    finding = doctor.device_finding(("gpu:0", "GPU", "some driver 1.0", "", False, 1.0))
    assert finding.works is False and "wrong result" in finding.says


def test_a_driver_that_aborts_does_not_take_the_doctor_with_it(monkeypatch):
    probe_gives(monkeypatch, returncode=-6, stderr="ld: not found\nAborted")
    findings = list(doctor.check_devices())
    assert [f.works for f in findings] == [False, False]
    assert "Aborted" in findings[0].says and "TINYJAX_OPENCL=none" in findings[0].fix


def test_every_device_is_tried(monkeypatch):
    two = [[f"cpu:{i}", "CPU", "driver 1.0", "", True, 9.0] for i in range(2)]
    probe_gives(monkeypatch, stdout=f"chatter\n{json.dumps(two)}\n")
    assert [f.what for f in doctor.check_devices()] == ["cpu:0", "cpu:1"] * 2


@pytest.mark.parametrize(("works", "status"), [(True, 0), (None, 0), (False, 1)])
def test_the_exit_status_says_whether_something_needed_fails(monkeypatch, works, status):
    monkeypatch.setattr(doctor, "CHECKS", (lambda: iter([Finding("it", works, "", "fix it")]),))
    assert main(["doctor"]) == status
