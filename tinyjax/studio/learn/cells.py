"""A lesson as cells: texts, programs, and questions that are asked before their answers are shown.

It is a plain script, in cells as VS Code and Jupytext know them: `# %% [markdown]` opens a text, `# %%` a
program. A text may end with a question about what the next cell will show:

    # <details><summary>How often is <code>f</code> called?</summary>
    #
    # Once: ...
    # </details>
"""

from __future__ import annotations

import html
import re
from typing import NamedTuple


class Question(NamedTuple):
    question: str  # in HTML, as Markdown takes it in a summary
    answer: str  # in Markdown

    def plain(self) -> str:
        """The question as a terminal shows it."""
        return html.unescape(re.sub("</?code>", "`", self.question))


class Cell(NamedTuple):
    kind: str  # "markdown", "code", or "varies": code whose output differs from run to run
    text: str
    line: int  # of the file, where the text begins
    question: Question | None = None  # that a text ends with, and of which it is freed


def read_cells(text: str) -> list[Cell]:
    """The cells of a lesson, empty ones left out, and what stands above the first."""
    cells, kind, start = [], "", 0
    lines = text.splitlines()
    for number, line in enumerate([*lines, "# %%"]):
        if opening := re.fullmatch(r"# %%\s*(?:\[(markdown)\]|(varies))?\s*", line):
            body = lines[start:number]
            if kind == "markdown":
                body = [re.sub("^# ?", "", line) for line in body]
            if kind and any(body):
                cells.append(without_question(Cell(kind, "\n".join(body), start + 1)))
            kind, start = opening[1] or opening[2] or "code", number + 1
    return cells


def without_question(cell: Cell) -> Cell:
    """The cell, with the question that it ends with set apart."""
    folded = r"<details><summary>(?P<question>.*?)</summary>\n(?P<answer>.*?)</details>\s*\Z"
    if cell.kind != "markdown" or not (found := re.search(folded, cell.text, re.DOTALL)):
        return cell
    words = Question(" ".join(found["question"].split()), found["answer"].strip())
    return cell._replace(text=cell.text[: found.start()].rstrip(), question=words)
