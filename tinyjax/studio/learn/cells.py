"""A lesson as cells: texts, programs, and questions asked before the output that answers them.

A lesson is a plain script in VS Code's and Jupytext's cell format: `# %% [markdown]` opens a text, `# %%` a
program. A text may end with a question about the next cell's output:

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
    question: str  # HTML, as in a Markdown summary
    answer: str  # in Markdown

    def plain(self) -> str:
        """The question as plain text for a terminal."""
        return html.unescape(re.sub("</?code>", "`", self.question))


class Cell(NamedTuple):
    kind: str  # "markdown", "code", or "varies": code whose output differs from run to run
    text: str
    line: int  # line of the file where the text begins
    question: Question | None = None  # the question at a text's end, removed from the text


def read_cells(text: str) -> list[Cell]:
    """The non-empty cells of a lesson, and the text above the first."""
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
    """The cell with its final question split off."""
    folded = r"<details><summary>(?P<question>.*?)</summary>\n(?P<answer>.*?)</details>\s*\Z"
    if cell.kind != "markdown" or not (found := re.search(folded, cell.text, re.DOTALL)):
        return cell
    words = Question(" ".join(found["question"].split()), found["answer"].strip())
    return cell._replace(text=cell.text[: found.start()].rstrip(), question=words)
