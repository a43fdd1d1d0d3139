"""Exercises in a notebook: `%load_ext tinyjax.studio.learn.in_notebook` adds a magic and a function.

    %%exercise 02.1          the cell has the exercise's functions, as in their file, but not indented
    check("02.1")            raises AssertionError with the first failure, unless all tests pass

`learn notebook 02 --nbgrader` writes a notebook of such cells, with the metadata by which nbgrader removes
solutions, locks tests and counts points (https://nbgrader.readthedocs.io).
"""

from __future__ import annotations

import textwrap
from typing import Any

from tinyjax.studio.learn.exercises import Exercise, LearnError, find, in_clone, load
from tinyjax.studio.learn.functions import emptied, function_text, functions_of
from tinyjax.studio.learn.in_process import judge_text

_answers: dict[str, str] = {}  # the cells by exercise number


def load_ipython_extension(shell: Any) -> None:
    """Called by `%load_ext`."""
    shell.register_magic_function(answer, magic_kind="cell", magic_name="exercise")
    shell.push({"check": check})


def answer(line: str, cell: str) -> None:
    """Keep the text of a cell as the answer to the exercise named in the line. Raises SyntaxError if it isn't
    Python."""
    functions_of(cell)
    _answers[find(load(), line.strip()).number] = cell


def check(number: str) -> None:
    """Judge the answer to an exercise. Raises AssertionError with the first failure."""
    exercise = find(load(), number)
    if exercise.number not in _answers:
        raise AssertionError(f"Run the cell that begins with %%exercise {exercise.number} first.")
    found = judge_text(exercise.number, texts_of(exercise, _answers[exercise.number]))
    if found["state"] != "passed":
        count = f"{found['passed']} of {found['of']} tests pass"
        raise AssertionError("\n".join([f"{found['state']}: {count}", *found["lines"]]))
    print(f"{exercise.number} {exercise.name}: all {found['of']} tests pass")


def texts_of(exercise: Exercise, cell: str) -> dict[str, str]:
    """The text of each function in the exercise's order; in the cell, methods have no class name. Raises
    LearnError if one is missing."""
    nodes = {name: function_text(cell, name) for name in functions_of(cell)}
    texts = {}
    for function, (_, name) in zip(exercise.functions, exercise.places):
        plain = name.rpartition(".")[2]
        if plain not in nodes:
            raise LearnError(f"The cell has no function {plain}, which {exercise.number} asks for.")
        texts[function] = nodes[plain]
    return texts


# ---- for nbgrader ----


def nbgrader_cells(exercises: list[Exercise]) -> list[dict[str, Any]]:
    """Cells for the exercises: the task, the answer with the reference as the solution, and the tests, one
    point each."""
    cells = [_cell("code", "%load_ext tinyjax.studio.learn.in_notebook", "setup", locked=True)]
    for e in exercises:
        cells.append(
            _cell("markdown", f"## {e.number} {e.name}\n\n{e.goal}", f"{e.name}_goal", locked=True)
        )
        cells.append(_cell("code", _solution(e), e.name, solution=True))
        tests = f'check("{e.number}")'
        cells.append(_cell("code", tests, f"{e.name}_tests", locked=True, points=len(e.tests)))
    return cells


def _solution(exercise: Exercise) -> str:
    """The functions with the reference bodies between nbgrader's marks."""
    texts = []
    for file, name in exercise.places:
        text = function_text(in_clone(file).read_text(encoding="utf-8"), name)
        plain = name.rpartition(".")[2]
        heading = emptied(text, plain, "").rstrip().rpartition("\n")[0]
        body = text.removeprefix(heading).strip("\n")
        if "\n" not in text.strip():  # `def f(x): return x`
            body = f"    {body.strip()}"
        marked = f"    ### BEGIN SOLUTION\n{body}\n    ### END SOLUTION"
        texts.append(f"{heading}\n{marked}")
    return "\n\n\n".join([f"%%exercise {exercise.number}", *texts])


def _cell(
    kind: str, text: str, name: str, locked: bool = False, solution: bool = False, points: int = 0
) -> dict[str, Any]:
    """A cell with nbgrader's metadata, of its schema 3."""
    of_nbgrader: dict[str, Any] = {
        "schema_version": 3,
        "grade_id": name,
        "grade": points > 0,
        "locked": locked,
        "solution": solution,
        "task": False,
    }
    if points:
        of_nbgrader["points"] = points
    cell: dict[str, Any] = {
        "cell_type": kind,
        "id": name[:64],
        "metadata": {"nbgrader": of_nbgrader},
        "source": textwrap.dedent(text).splitlines(keepends=True),
    }
    return cell if kind == "markdown" else cell | {"outputs": [], "execution_count": None}
