"""A lesson as a Jupyter notebook: an .ipynb file is JSON with a list of cells."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tinyjax.studio.learn.atomic_files import write
from tinyjax.studio.learn.cells import Cell, read_cells
from tinyjax.studio.learn.exercises import PRACTICE, ROOT, LearnError

TUTORIALS = ROOT / "tutorials"
# A script can import files beside it; a notebook may be anywhere.
WITH_PRACTICE = f"import sys\n\nsys.path.append({str(TUTORIALS)!r})  # where {PRACTICE}/ is"


def write_notebook(lesson: str, path: Path, more_cells: Iterable[dict[str, Any]] = ()) -> None:
    """Write a lesson ("07_linearize") as a notebook, with additional cells at the end. Raises LearnError if
    the file exists."""
    if path.exists():
        raise LearnError(f"{path} is there already: move it away, or name another file.")
    if not path.parent.is_dir():
        raise LearnError(f"There is no folder {path.parent} to write {path.name} to.")
    cells = read_cells((TUTORIALS / f"{lesson}.py").read_text(encoding="utf-8"))
    if any(f"from {PRACTICE}" in cell.text for cell in cells):
        cells.insert(1, Cell("code", WITH_PRACTICE, line=0))
    written = notebook(cells, path.resolve().parent)
    written["cells"] += more_cells
    write(path, json.dumps(written, indent=1) + "\n")


def notebook(cells: list[Cell], folder: Path) -> dict[str, Any]:
    """The notebook of these cells, for a file in this folder. A text keeps its question, as the reader runs
    the program that answers it."""
    return {
        "cells": [as_json(cell, number, folder) for number, cell in enumerate(cells)],
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def as_json(cell: Cell, number: int, folder: Path) -> dict[str, Any]:
    text = cell.text.strip("\n")
    if cell.question is not None:
        question, answer = cell.question
        text += f"\n\n<details><summary><b>{question}</b></summary>\n\n{answer}\n\n</details>"
    common = {"id": f"cell-{number}", "metadata": {}}
    if cell.kind == "markdown":
        source = links_from(folder, text)
        return {"cell_type": "markdown", **common, "source": source.splitlines(keepends=True)}
    code = {"source": text.splitlines(keepends=True), "outputs": [], "execution_count": None}
    return {"cell_type": "code", **common, **code}


def links_from(folder: Path, text: str) -> str:
    """The text with links relative to the folder instead of tutorials/; links to lessons lead to their pages.
    A space, which would end the link, is written as %20."""

    def rewritten(link: re.Match) -> str:
        file, _, place = link[1].partition("#")
        if lesson := re.fullmatch(r"(\d\d\w?_\w+)\.py", file):
            file = f"rendered/{lesson[1]}.md"
        target = quote(Path(os.path.relpath(TUTORIALS / file, folder)).as_posix())
        return f"]({target}{'#' if place else ''}{place})"

    return re.sub(r"\]\((?!\w+:|#)([^)\s]+)\)", rewritten, text)
