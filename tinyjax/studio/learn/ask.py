"""Ask before showing: `python -m tinyjax learn ask 03`, or `python tutorials/03_nesting.py --ask`."""

from __future__ import annotations

import re
import sys
import types
from pathlib import Path

from tinyjax.studio.learn.cells import Cell, Question, read_cells


def ask_first() -> None:
    """Called in the first line of each lesson. With --ask on the command line, run the lesson with its
    questions and exit; otherwise do nothing."""
    if "--ask" in sys.argv[1:]:
        go_through(Path(sys.argv[0]), sys.modules["__main__"])
        sys.exit()


def as_module(path: Path) -> types.ModuleType:
    """An empty module for a lesson's cells, which may import files beside the lesson."""
    module = types.ModuleType(path.stem)
    module.__file__ = str(path)
    sys.modules[path.stem] = module  # where inspect looks for the source of its classes
    sys.path.insert(0, str(path.parent))
    return module


def go_through(path: Path, module: types.ModuleType) -> None:
    """Run a lesson cell by cell: print its headings, each program, and the program's output. A question is
    asked between a program and its output."""
    question = None
    for cell in read_cells(path.read_text(encoding="utf-8")):
        if cell.kind == "markdown":
            question = cell.question
            for heading in re.findall("^#+ .*", cell.text, re.MULTILINE):
                print(f"\n{heading}")
            continue
        print(f"\n{'-' * 80}\n{cell.text.strip()}\n{'-' * 80}")
        if question is not None:
            ask(question)
        run(cell, path, module)
        if question is not None:
            print(f"\n{question.answer}")
            question = None


def ask(question: Question) -> None:
    """Wait for the reader's answer, which isn't checked."""
    print(f"\n{question.plain()}")
    try:
        input("Your answer (or Enter): ")
    except EOFError:  # there is no input to read
        print()


def run(cell: Cell, path: Path, module: types.ModuleType) -> None:
    """Run a cell as part of the script."""
    code = compile("\n" * (cell.line - 1) + cell.text, str(path), "exec")
    exec(code, module.__dict__)
