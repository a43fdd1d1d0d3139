"""Python's own files, compiled: what a first cell imports, so that no browser has to compile it again.

Pyodide's standard library, NumPy and tinyjax are sources, and to compile those that a first cell imports
would take half of the time. Here this is done once, by the very Pyodide that pages load, under Node. Of each
file beside its source Python checks the source's digest, so that a changed one is compiled again.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from tinyjax.studio.learn.cells import read_cells
from website.packs import lesson_files, write_pack
from website.pages import ROOT, text_of

SCRIPT = ROOT / "tools" / "website" / "compile.mjs"
WORKER = "tools/website/static/in_worker.py"


def compiled(pyodide: Path, stdlib: Path) -> dict[str, bytes]:
    """Compiled files by their places in Python's file system; the standard library's are written into a copy
    of it, `stdlib`. There are none if Node or Pyodide cannot run here: pages then start more slowly."""
    with tempfile.TemporaryDirectory() as temporary:
        pack, program, out = (Path(temporary, name) for name in ("pack", "program.py", "out"))
        write_pack(pack, lesson_files())
        program.write_text(f"{text_of(WORKER)}\n{first_cell()}", encoding="utf-8")
        out.mkdir()
        command = ["node", *map(str, (SCRIPT, pyodide.resolve(), pack, program, out))]
        try:
            done = subprocess.run(command, capture_output=True, text=True, cwd=temporary)
            said, failed = done.stdout + done.stderr, done.returncode != 0
        except FileNotFoundError:
            said, failed = "there is no Node", True
        if failed:
            last = said.strip().splitlines()[-1:]
            print(f"Python's files stay uncompiled: {''.join(last)[:300]}", file=sys.stderr)
            return {}
        (out / "python_stdlib.zip").replace(stdlib)
        return {
            f"/{path.relative_to(out).as_posix()}": path.read_bytes() for path in out.rglob("*.pyc")
        }


def first_cell() -> str:
    """The program that a reader is likely to run first."""
    cells = read_cells(text_of("tutorials/01_primitives.py"))
    return next(cell.text for cell in cells if cell.kind == "code")
