"""`tinyjax doctor`: what works here, and how to mend what does not."""

import json
import subprocess

import pytest

from tinyjax.__main__ import main
from tinyjax.studio.cli import doctor
from tinyjax.studio.cli.doctor import Finding, as_text


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


def test_without_opencl_numpy_computes(monkeypatch):
    monkeypatch.delenv("TINYJAX_OPENCL", raising=False)
    finding = doctor.device_finding(("cpu:0", "NumPy", "NumPy", False, True, 1.0))
    assert finding.works is None and "pocl-binary-distribution" in finding.mend


def test_opencl_that_was_turned_off_is_not_said_to_be_missing(monkeypatch):
    monkeypatch.setenv("TINYJAX_OPENCL", "none")
    finding = doctor.device_finding(("cpu:0", "NumPy", "NumPy", False, True, 1.0))
    assert finding.works is None and finding.mend.startswith("TINYJAX_OPENCL=none")


def test_a_wrong_result_of_a_driver_is_a_failure():
    finding = doctor.device_finding(("gpu:0", "GPU", "some driver 1.0", True, False, 1.0))
    assert finding.works is False and "wrong result" in finding.says


def test_a_driver_that_aborts_does_not_take_the_doctor_with_it(monkeypatch):
    probe_gives(monkeypatch, returncode=-6, stderr="ld: not found\nAborted")
    findings = list(doctor.check_devices())
    assert [f.works for f in findings] == [False, False]
    assert "Aborted" in findings[0].says and "TINYJAX_OPENCL=none" in findings[0].mend


def test_every_device_is_tried(monkeypatch):
    two = [[f"cpu:{i}", "CPU", "driver 1.0", True, True, 9.0] for i in range(2)]
    probe_gives(monkeypatch, stdout=f"chatter\n{json.dumps(two)}\n")
    assert [f.what for f in doctor.check_devices()] == ["cpu:0", "cpu:1"] * 2


@pytest.mark.parametrize(("works", "status"), [(True, 0), (None, 0), (False, 1)])
def test_the_exit_status_says_whether_something_needed_fails(monkeypatch, works, status):
    monkeypatch.setattr(doctor, "CHECKS", (lambda: iter([Finding("it", works, "", "mend it")]),))
    assert main(["doctor"]) == status
