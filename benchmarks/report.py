"""RESULTS.md, put together from sections: each benchmark writes its own, the others stay as they were."""

import os
import platform
import subprocess
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).parent / "results"
SECTIONS = (
    "speed",
    "streaming",
    "gpu",
    "load",
    "first_result",
    "growth",
    "graph_network",
    "devices",
    "processes",
    "scaling",
)


def write_section(name: str, text: str) -> None:
    """Writes the section `name`, in Markdown, and all of them into RESULTS.md."""
    (FOLDER / f"{name}.md").write_text(text)
    parts = [FOLDER / f"{section}.md" for section in SECTIONS]
    texts = [part.read_text() for part in parts if part.exists()]
    head = "# Benchmark results\n\nContenders took turns on one machine: compare the ratios.\n\n"
    (FOLDER.parent / "RESULTS.md").write_text(head + "\n".join(texts))


def table(lines: list[list[str]]) -> str:
    """A table in Markdown: its first line is the heads; numbers are to the right of the first column."""
    rule = ["---", *["---:"] * (len(lines[0]) - 1)]
    return "\n".join(f"| {' | '.join(line)} |" for line in [lines[0], rule, *lines[1:]])


def version_of_jax(python: str) -> str:
    """JAX's version in the interpreter `python`, and its device."""
    code = "import jax; print(jax.__version__, 'on', jax.devices()[0].device_kind)"
    return subprocess.run([python, "-c", code], capture_output=True, text=True).stdout.strip()


def machine(jax_python: str | None = None) -> str:
    """Where was measured, and with which JAX, as a sentence."""
    import tinyjax

    ordinary = not hasattr(os, "sched_getscheduler") or os.sched_getscheduler(0) == os.SCHED_OTHER
    return (
        f"Measured on {os.cpu_count()} cores of {tinyjax.devices()[0].device_kind}, Python "
        f"{platform.python_version()}, NumPy {np.__version__}"
        f"{f', JAX {version_of_jax(jax_python)}' if jax_python else ''}."
        f"{'' if ordinary else ' At real-time priority, as others were at work.'}"
    )
