"""Ask before showing: `python tutorials/03_nesting.py --ask`.

After this file you can say when a lesson stops for a question. Builds on cells.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tinyjax.studio.learn.cells import Cell, Question, read_cells


def ask_first() -> None:
    """The first line of each lesson: nothing, unless the script was called with --ask. Then the lesson runs
    cell by cell, each question of its page stands before what the cell shows, and Python ends."""
    if "--ask" not in sys.argv[1:]:
        return
    question = None
    for cell in read_cells(Path(sys.argv[0]).read_text(encoding="utf-8")):
        if cell.kind == "markdown":
            question = cell.question
        elif question is None:
            run(cell)
        else:
            print(f"\n{'-' * 80}\n{cell.text.strip()}\n{'-' * 80}")
            ask(question)
            run(cell)
            print(f"\n{question.answer}\n{'-' * 80}")
            question = None
    sys.exit()


def ask(question: Question) -> None:
    """Wait for what the reader thinks; it is for the reader alone."""
    print(f"\n{question.plain()}")
    try:
        input("Your answer (or Enter): ")
    except EOFError:  # nobody is there to answer
        print()


def run(cell: Cell) -> None:
    """Run a cell as a part of the script."""
    file = sys.argv[0]
    code = compile("\n" * (cell.line - 1) + cell.text, file, "exec")
    exec(code, sys.modules["__main__"].__dict__)
