"""Check Python, OpenCL, MPI, graphs and the browser on this machine, and print how to fix failures.

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
from tinyjax.runtime.pocl.cache import pocl_folder, user_folder, what_to_do, why_unwritable
from tinyjax.studio import viz
from tinyjax.studio.cli.mpi_check import error_line, mpi_finding
from tinyjax.studio.learn.exercises import ROOT
from tinyjax.studio.viz.output import layout_program

OLDEST_PYTHON = (3, 11)
SETTINGS = (
    "JAX_",
    "TINYJAX_",
    "XLA_",
    "POCL_",
    "PYOPENCL_",
)  # prefixes of variables that change the list of devices
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "firefox", "microsoft-edge")

# Runs in a separate process: a broken driver may abort it.
PROBE = """
import json, time
import numpy as np
import tinyjax as jax
from tinyjax.runtime.devices import why_no_kernels

def tried(device):
    x = jax.device_put(np.linspace(0.0, 9.0, 1000, dtype=np.float32), device)
    began = time.perf_counter()
    y = jax.jit(lambda x: jax.numpy.sin(x) * x)(x)
    right = bool(np.allclose(y, np.sin(x) * x, atol=1e-5))
    milliseconds = 1000 * (time.perf_counter() - began)
    numpy_because = "" if device.runs_kernels else why_no_kernels()
    driver = device.client.platform_version
    return [str(device), device.device_kind, driver, numpy_because, right, milliseconds]

jax.config.update("tinyjax_background_build", False)
try:
    print(json.dumps([tried(device) for device in jax.devices("{platform}")]))
except Exception as error:
    print(json.dumps(f"{type(error).__name__}: {error}"))
"""
LONGEST_PROBE = 120  # seconds


@dataclass
class Finding:
    """The outcome of a check. `works` is None if something optional is missing."""

    what: str
    works: bool | None
    says: str
    fix: str = ""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    pass


def run(options: argparse.Namespace) -> int:
    """Print the findings; return 0 if everything required works, else 1."""
    findings = []
    for check in CHECKS:
        for finding in check():
            findings.append(finding)
            print(as_text(finding), flush=True)
    broken = sum(finding.works is False for finding in findings)
    missing = sum(finding.works is None for finding in findings)
    if broken:
        print(f"\n{broken} of {len(findings)} checks failed: see above what to do.")
    elif missing:
        print('\nEverything required works. What is marked "missing" is optional.')
    else:
        print("\nEverything works.")
    return 1 if broken else 0


def as_text(finding: Finding) -> str:
    """A line of text, and the fix below it."""
    mark = {True: "ok", False: "FAILS", None: "missing"}[finding.works]
    line = f"{mark:>8}  {finding.what:10}  {finding.says}"
    fix = textwrap.wrap(finding.fix, 78) if finding.works is not True else []
    return "\n".join([line, *(f"{'':22}{text}" for text in fix)])


def check_python() -> Iterator[Finding]:
    oldest = ".".join(map(str, OLDEST_PYTHON))
    says = f"{platform.python_version()} on {platform.system()} {platform.machine()}"
    fix = (
        f"tinyjax needs Python {oldest} or later: install one, and make a new environment with it."
    )
    yield Finding("Python", sys.version_info >= OLDEST_PYTHON, says, fix)


def check_packages() -> Iterator[Finding]:
    """The versions of tinyjax and of its requirements."""
    yield Finding("tinyjax", True, f"{jax.__version__} from {Path(jax.__file__).parent}")
    for name in ("numpy", "ml_dtypes", "graphviz"):
        yield Finding(name, True, metadata.version(name))
    if util.find_spec("pyopencl"):
        yield Finding("pyopencl", True, metadata.version("pyopencl"))
    else:
        fix = "pip install pyopencl. Without it, NumPy computes."
        yield Finding("pyopencl", None, "is not installed", fix)


def check_cache() -> Iterator[Finding]:
    """The cache folders of compiled kernels."""
    for variable, folder in (("XDG_CACHE_HOME", user_folder()), ("POCL_CACHE_DIR", pocl_folder())):
        if reason := why_unwritable(folder):
            says = f"kernels can't be kept in {folder}: {reason}"
            yield Finding("cache", None, says, what_to_do(variable))
            return
    yield Finding("cache", True, f"kernels are kept in {pocl_folder()}")


def check_devices() -> Iterator[Finding]:
    """Each device compiles and runs a small function."""
    for kind in ("cpu", "gpu"):
        command = [sys.executable, "-c", PROBE.replace("{platform}", kind)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST_PROBE)
        except subprocess.TimeoutExpired:
            fix = "The driver hangs: TINYJAX_OPENCL=none keeps tinyjax from using it."
            yield Finding(f"{kind} device", False, f"no answer in {LONGEST_PROBE} s", fix)
            continue
        if done.returncode == 0:
            found = json.loads(done.stdout.splitlines()[-1])
        else:
            found = error_line(done.stderr) or f"exit status {done.returncode}"
        if isinstance(found, list):
            yield from map(device_finding, found)
        else:
            yield failure_finding(kind, found)


def failure_finding(kind: str, error: str) -> Finding:
    """The finding for an unusable kind of device: `error` is the exception, or the process's last line."""
    if kind == "gpu" and "Unknown backend" in error:
        fix = "An OpenCL driver comes with your GPU's own driver; tinyjax doesn't need one."
        return Finding("GPU", None, "OpenCL knows of none", fix)
    says, _, more = error.partition("\n")
    fix = "Reinstall the driver, or keep tinyjax from using it by TINYJAX_OPENCL=none."
    if settings := [f"{k}={v}" for k, v in os.environ.items() if k.startswith(SETTINGS)]:
        fix = f"Try without {', '.join(settings)} first. {fix}"
    return Finding(f"{kind} device", False, says, f"{more} {fix}".strip())


def device_finding(found: tuple[str, str, str, str, bool, float]) -> Finding:
    name, kind, driver, numpy_because, right, milliseconds = found
    if numpy_because:
        return Finding(name, None, "jit computes with NumPy", numpy_because)
    says = f"{kind} ({driver}): compiled and ran sin(x) * x in {milliseconds:.0f} ms"
    if not right:
        fix = "Update the driver, or keep tinyjax from using it by TINYJAX_OPENCL=none."
        return Finding(name, False, f"{says}, with a wrong result", fix)
    return Finding(name, True, says)


def check_mpi() -> Iterator[Finding]:
    """Two processes exchange a value."""
    works, says, fix = mpi_finding()
    yield Finding("MPI", works, says, fix)


def check_graphs() -> Iterator[Finding]:
    """Graphviz lays out a small graph."""
    program = layout_program()
    try:
        graph = viz.dot(jax.make_jaxpr(lambda x: jax.numpy.sin(x) * x)(3.0))
        size = len(graph.pipe(format="svg"))
    except (viz.DotNotFound, graphviz.CalledProcessError) as error:
        yield Finding("graphs", False, str(error).splitlines()[0], "Install Graphviz.")
        return
    yield Finding("graphs", size > 0, f"drawn by {program}")
    if Path(str(program)).stem != "dot":
        fix = "Graphviz (apt install graphviz, brew install graphviz) writes .pdf too."
        yield Finding("dot", None, "is not installed; the one from pip writes .svg and .png", fix)


def check_browser() -> Iterator[Finding]:
    """A browser for the pages of `tinyjax explain`."""
    found = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if found is None:
        try:
            found = webbrowser.get().name
        except webbrowser.Error:
            fix = "Open pages of `tinyjax explain` on another machine: each is one file."
            yield Finding("browser", None, "none was found", fix)
            return
    yield Finding("browser", True, found)


def check_lessons() -> Iterator[Finding]:
    folder = ROOT / "tutorials"
    lessons = sorted(folder.glob("[0-9][0-9]*_*.py"))
    if lessons:
        yield Finding("lessons", True, f"{len(lessons)} in {folder}")
    else:
        fix = "Clone the repository, and there: pip install -e ."
        yield Finding("lessons", None, "are not installed with the package", fix)


CHECKS: tuple[Callable[[], Iterator[Finding]], ...] = (
    check_python,
    check_packages,
    check_cache,
    check_devices,
    check_mpi,
    check_graphs,
    check_browser,
    check_lessons,
)
