"""Where pages get Python from: Pyodide, of its CDN or of a folder, and the packs that go with it."""

from __future__ import annotations

import json
import shutil
import sys
import tarfile
import tempfile
from pathlib import Path

from website.assets import tarball
from website.compiled import compiled
from website.packs import judge_files, lesson_files, write_pack

VERSION = "314.0.7"
CDN = f"https://cdn.jsdelivr.net/pyodide/v{VERSION}/full/"
NPM = (
    "pyodide",
    VERSION,
    "0YvXxEhfEdpLfb/XkM2BFAeMROq0iMUX2bzzH9pOttyMcWkwq+HbE5uyuGD82LN7y2q+SNvi/6V5JEsOlD2R1A==",
)
STDLIB = "python_stdlib.zip"
FILES = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", STDLIB)
LOCK = "pyodide-lock.json"  # which packages there are
WANTED = ("numpy", "ml_dtypes")
MEGABYTES = 13.8  # of the runtime and NumPy


def write_python(given: str, site: Path, keep: Path) -> str:
    """Put into the site what a page's Python needs. `given` is an address, or a folder that is copied; the
    address that is elsewhere, if there is one, is returned."""
    static = site / "_static"
    if "://" in given:
        address = elsewhere = given if given.endswith("/") else f"{given}/"
        packages = list(WANTED)
        with tempfile.TemporaryDirectory() as temporary:
            files = {}
            if address == CDN:  # npm has the same, and Node asks the CDN for NumPy
                from_npm(Path(temporary), keep)
                files = compiled(Path(temporary), static / STDLIB)
    else:
        folder = Path(given)
        if not (folder / LOCK).exists():
            sys.exit(f"{given} is no folder of Pyodide: there is no {LOCK} in it.")
        known = json.loads((folder / LOCK).read_text(encoding="utf-8"))["packages"]
        address, elsewhere = "pyodide/", ""
        packages = [name for name in WANTED if name in known]
        shutil.copytree(folder, site / "pyodide")
        files = compiled(folder, site / "pyodide" / STDLIB)
    write_pack(static / "lessons.pack", lesson_files() | files)
    write_pack(static / "judge.pack", judge_files())
    stdlib = f"_static/{STDLIB}" if files and elsewhere else f"{address}{STDLIB}"
    ours = [static / "lessons.pack", *([site / stdlib] if files else [])]
    settings = {
        "pyodide": address,
        "packages": packages,
        "stdlib": stdlib,
        "megabytes": round(MEGABYTES + sum(path.stat().st_size for path in ours) / 1e6, 1),
    }
    (static / "settings.json").write_text(json.dumps(settings), encoding="utf-8")
    return elsewhere


def from_npm(folder: Path, keep: Path) -> None:
    """Fill the folder with the runtime, which npm carries."""
    with tarfile.open(tarball(*NPM, keep)) as archive:
        for name in (*FILES, LOCK):
            member = archive.extractfile(f"package/{name}")
            assert member is not None, f"npm's Pyodide has no {name}"
            (folder / name).write_bytes(member.read())
