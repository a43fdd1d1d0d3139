"""The exercises as pages, a lesson a page: each with its goal, the code to write, hints and a verdict.

The code to write is what `python -m tinyjax learn start` hands out: the function, emptied.
"""

from __future__ import annotations

import html
import json
import re

from tinyjax.studio.learn.exercises import NAMES, PRACTICE, STORY, Exercise, in_clone, load
from tinyjax.studio.learn.functions import emptied, function_text
from website.lessons import code_html, title_of, toctree
from website.pages import Pages, prose, raw, relative


def write_exercises(pages: Pages) -> None:
    """A page for each lesson that has exercises, and one that lists them."""
    everything = load()
    rows = []
    for number, name in enumerate(NAMES):
        here = [e for e in everything if e.lesson == number]
        if here:
            title = f"Exercises of {title_of(name)}"
            body = "\n".join(exercise_html(pages, e, f"exercises/{name}") for e in here)
            body += files_html(here)
            how = f"{how_of(here)} {KEYS}"
            there = relative(f"lessons/{name}", f"exercises/{name}")
            lesson = f"[The lesson]({there}) explains their subject."
            pages.write(f"exercises/{name}", title, f"# {title}\n\n{how} {lesson}\n{body}")
            rows.append(f"- [{title_of(name)}]({name}.html): {len(here)}")
    listed = "\n".join(rows)
    entries = [f"{title_of(name)} <{name}>" for name in NAMES]
    body = f"# Exercises\n\n{ABOUT}\n\n{listed}\n{raw(WORK)}\n{toctree(entries)}"
    pages.write("exercises/index", "Exercises", body)


KEYS = "By keyboard, Enter on a program opens the editor; Escape, then Tab, leaves it."
HOW = (
    "Each function below is one of tinyjax's own, emptied. Choose *Write*, write it again and press *Judge*: "
    "the tests that run are those that judge tinyjax itself."
)
HOW_OF_PRACTICE = (
    "Each function below is empty. Choose *Write*, write it and press *Judge*: tests run it, and you see "
    "what fails first. What calls it, and what you can use, is in its file, at the end of the page."
)
HOW_OF_THE_STORY = (
    "Puzzles of a line or two, a minute each: functions of the story's small JAX, emptied. Choose *Write*, "
    "write the line and press *Judge*: you see what was asked, what was expected and what came."
)
ABOUT = (
    "Functions of tinyjax's own source, emptied, for you to write again: here, or on your own machine by "
    "`python -m tinyjax learn start 01`, where all of tinyjax then runs on your code. What you write here "
    "is kept in this browser alone. Begin with [the whole story](00_story.html): puzzles of a minute each."
)


def exercise_html(pages: Pages, exercise: Exercise, page: str) -> str:
    """One exercise: its heading is Markdown's, so that the table of contents has it."""
    functions = "".join(
        function_html(pages, exercise, place, page) for place in range(len(exercise.places))
    )
    hints = "".join(f"<li hidden>{prose(' '.join(hint.split()))}</li>" for hint in exercise.hints)
    stars = "★" * exercise.grade
    return f"({target(exercise)})=\n## {exercise.number} {exercise.name} {stars}\n" + raw(
        f'<div class="exercise" data-number="{exercise.number}" data-name="{html.escape(exercise.name)}">'
        f"{prose(exercise.goal)}{functions}"
        '<div class="bar" hidden><button type="button" class="run">Judge</button>'
        '<button type="button" class="hint">Hint</button></div>'
        '<div class="verdict" role="status"></div>'
        f'<details class="hints"><summary>Hints</summary><ol>{hints}</ol></details></div>'
    )


def target(exercise: Exercise) -> str:
    return f"exercise-{exercise.number.replace('.', '-')}"


def function_html(pages: Pages, exercise: Exercise, place: int, page: str) -> str:
    """A function to write, as it is handed out."""
    file, name = exercise.places[place]
    source = in_clone(file).read_text(encoding="utf-8")
    given = function_text(emptied(source, name, exercise.message(name)), name)
    leads_to = "lessons/00_story" if file == STORY else str(pages.page_of(file))
    there = (
        f"#{file_target(exercise.lesson, file)}" if is_practice(file) else relative(leads_to, page)
    )
    where = f'<a href="{there}">{html.escape(file)}</a>'
    return (
        f'<div class="function" data-function="{html.escape(exercise.functions[place])}">'
        f'<p class="where"><code>{html.escape(name)}</code> in {where}</p>{code_html(given.rstrip())}</div>'
    )


def how_of(exercises: list[Exercise]) -> str:
    """What a page says before its exercises."""
    files = {file for exercise in exercises for file, _ in exercise.places}
    if STORY in files:
        return HOW_OF_THE_STORY
    return HOW_OF_PRACTICE if all(map(is_practice, files)) else HOW


def is_practice(file: str) -> bool:
    return file.startswith(f"{PRACTICE}/")


def file_target(lesson: int, file: str) -> str:
    return f"file-{lesson}-" + re.sub("[/._]", "-", file)


def files_html(exercises: list[Exercise]) -> str:
    """The files of the practice whose functions are asked for, each with all of its exercises emptied."""
    files = dict.fromkeys(file for e in exercises for file, _ in e.places if is_practice(file))
    shown = "".join(
        f"\n({file_target(exercises[0].lesson, file)})=\n### {file}\n"
        + raw(code_html(handed_out(file).rstrip()))
        for file in files
    )
    return f"\n## The files\n{shown}" if shown else ""


def handed_out(file: str) -> str:
    """A file as `learn start` hands it out."""
    text = in_clone(file).read_text(encoding="utf-8")
    for exercise in load():
        for place, name in exercise.places:
            text = emptied(text, name, exercise.message(name)) if place == file else text
    return text


def catalogue() -> str:
    """Which exercises there are, as JSON: for progress, and to take work in and out."""
    found = [
        {
            "lesson": NAMES[e.lesson],
            "number": e.number,
            "name": e.name,
            "functions": e.functions,
        }
        for e in load()
    ]
    return json.dumps(found, separators=(",", ":"))


WORK = """<div id="your-work" hidden><h2>Your work</h2><p id="progress" role="status"></p>
<div class="bar"><label>lesson <select id="lesson"></select></label>
<button type="button" id="export">Export</button>
<label class="button">Import <input type="file" id="import" accept=".zip"></label></div>
<p>What is exported is a folder as <code>python -m tinyjax learn start</code> makes it, with what you wrote:
go on there on your own machine, and bring it back as a zip.</p><p id="said" role="status"></p></div>"""
