"""Packs: many files as one, which the page's worker puts into Python's file system at once.

A pack is the length of an index, the index (JSON: [[path, size], ...]) and the files end to end, compressed
by gzip; `unpack.mjs` opens it in a tenth of the time that Python takes for a zip.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Mapping
from importlib import metadata
from pathlib import Path

from tinyjax.studio.learn.exercises import in_clone, load
from tinyjax.studio.learn.work_folder import test_files
from website.pages import ROOT

# Pure Python that tinyjax needs, as it is installed here.
DRAWS = ("graphviz",)
JUDGES = ("pytest", "pluggy", "iniconfig", "packaging", "pygments")


def lesson_files() -> dict[str, bytes]:
    """What cells need, by its place in Python's file system: the package, and the lessons' scripts."""
    tutorials = ROOT / "tutorials"
    found = [
        *files_in(ROOT / "tinyjax"),
        *files_in(tutorials / "practice"),
        *tutorials.glob("*.py"),
    ]
    return of_clone(found) | of_packages(DRAWS)


def judge_files() -> dict[str, bytes]:
    """What exercises need besides: their tests, and what runs these."""
    found = [ROOT / "tutorials" / "exercises.toml"]
    for file in test_files(load()):
        there = in_clone(file)
        found += files_in(there) if there.is_dir() else [there]
    lessons = lesson_files()
    needed = of_clone(found) | of_packages(JUDGES)
    return {name: content for name, content in needed.items() if name not in lessons}


def files_in(folder: Path) -> list[Path]:
    """All files in it, but for what Python keeps there."""
    return [
        path
        for path in folder.rglob("*")
        if path.is_file() and path.suffix != ".pyc" and "__pycache__" not in path.parts
    ]


def of_clone(paths: Iterable[Path]) -> dict[str, bytes]:
    return {f"/clone/{path.relative_to(ROOT).as_posix()}": path.read_bytes() for path in paths}


def of_packages(packages: Iterable[str]) -> dict[str, bytes]:
    found = {}
    for package in packages:
        for file in metadata.files(package) or []:
            path = Path(str(file.locate()))
            if ".." not in file.parts and path.suffix != ".pyc" and path.is_file():
                found[f"/packages/{file.as_posix()}"] = path.read_bytes()
    return found


def write_pack(target: Path, files: Mapping[str, bytes]) -> None:
    """A pack whose bytes depend on the files alone."""
    names = sorted(files)
    index = json.dumps([[name, len(files[name])] for name in names], separators=(",", ":")).encode()
    everything = [len(index).to_bytes(4, "little"), index, *(files[name] for name in names)]
    target.write_bytes(gzip.compress(b"".join(everything), 9, mtime=0))
