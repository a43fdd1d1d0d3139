"""The lessons as pages: each cell of a lesson's script, for the reader to run, with what it shows.

The texts, the programs and what they show are those of tutorials/rendered/; which program is a cell, the
script says.
"""

from __future__ import annotations

import ast
import html
import re

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from tinyjax.studio.learn.cells import read_cells
from tinyjax.studio.learn.exercises import NAMES
from website.pages import ROOT, Pages, raw, relative, text_of

LEXER, FORMATTER = PythonLexer(stripnl=False), HtmlFormatter(nowrap=True)

DRIVER = "pyopencl"  # talks to an OpenCL driver, and no browser has one
SOME_ELSEWHERE = (
    "Some of this lesson's programs launch kernels by hand, through an OpenCL driver: no browser has one. "
    "Read these here, with what they show; the others run. On your own machine all do, by "
    "`python tutorials/{name}.py`."
)

# A command that shows a function in the terminal or in a page; the site's pages have the same.
COMMAND = re.compile(
    r"python -m tinyjax (?P<name>step|explain)\s(?P<words>tutorials/\w+\.py:\w+[^`\n]*)"
)

# What stands below a program on its page: a question, what is printed, a picture.
SHOWN = re.compile(
    r"\s*(?P<question><details><summary><b>.*?</b></summary>)?"
    r"(?:\s*(?:<!-- varies -->\n)?(?P<quoted>> ````?text\n(?:>.*\n)*))?"
    r"(?:\s*(?:<!-- varies -->\n)?(?P<picture>!\[.*\]\(figures/\S+\)))?"
)


def lessons() -> list[str]:
    """The names of all lessons, the whole story first."""
    return list(NAMES)


def write_lessons(pages: Pages) -> None:
    for name in lessons():
        pages.write(f"lessons/{name}", title_of(name), lesson_page(name, pages))


def title_of(name: str) -> str:
    heading = re.search("^# (.*)$", text_of(f"tutorials/rendered/{name}.md"), re.MULTILINE)
    return heading[1] if heading else name


def lesson_page(name: str, pages: Pages) -> str:
    """The rendered page with its programs as cells."""
    file, page = f"tutorials/rendered/{name}.md", f"lessons/{name}"
    text = re.sub(r"^.*\[map\]\(.*\n", "", text_of(file), flags=re.MULTILINE)
    text = text.rstrip().removesuffix("---").lstrip()
    cells = [c for c in read_cells(text_of(f"tutorials/{name}.py")) if c.kind != "markdown"]
    elsewhere = need_driver([cell.text for cell in cells])
    if elsewhere:
        heading, _, rest = text.partition("\n")
        text = f"{heading}\n\n```{{note}}\n{SOME_ELSEWHERE.format(name=name)}\n```\n{rest}"
    parts, place = [], 0
    for number, cell in enumerate(cells):
        fence = f"```python\n{cell.text.strip()}\n```\n"
        begin = text.index(fence, place)
        parts.append(text[place:begin])
        shown = SHOWN.match(text, begin + len(fence))
        assert shown is not None  # all of it may be missing
        place, question = shown.end(), shown["question"] or ""
        output = output_of(shown, pages, page)
        marks = f'data-name="{name}" data-line="{cell.line}"'
        marks += " data-elsewhere" if number in elsewhere else ""
        parts.append(raw(cell_html(cell.text.strip("\n"), marks, output, question)))
        if question:
            end = text.index("</details>", place)
            parts += [text[place:end], raw("</details></div>")]
            place = end + len("</details>")
    parts.append(text[place:])
    text = with_commands("".join(parts))
    return with_exercises(pages.with_links(text, file, page), name, page)


def need_driver(programs: list[str]) -> set[int]:
    """The places of programs that import pyopencl, or use a name that one of them made."""
    places: set[int] = set()
    made: set[str] = set()
    for place, program in enumerate(programs):
        tree = ast.parse(program)
        nodes = list(ast.walk(tree))
        names = [node for node in nodes if isinstance(node, ast.Name)]
        stored = {name.id for name in names if isinstance(name.ctx, ast.Store)}
        stored |= {node.name for node in nodes if isinstance(node, ast.FunctionDef)}
        imported = [a for node in tree.body if isinstance(node, ast.Import) for a in node.names]
        drivers = {a.asname or a.name for a in imported if a.name == DRIVER}
        if drivers or made & ({name.id for name in names} - stored):
            places.add(place)
            made |= stored | drivers
        else:
            made -= stored
    return places


def output_of(shown: re.Match[str], pages: Pages, page: str) -> str:
    """What the rendered page shows below a program, as HTML."""
    parts = []
    if shown["quoted"]:
        lines = [line[2:] for line in shown["quoted"].rstrip().splitlines()]
        parts.append(f"<pre>{html.escape(chr(10).join(lines[1:-1]))}</pre>")
    if shown["picture"]:
        alt, source = re.fullmatch(r"!\[(.*)\]\((.*)\)", shown["picture"]).groups()  # type: ignore[union-attr]
        alt = html.escape(alt.replace("\\", ""))
        address = pages.picture(f"tutorials/rendered/{source}", page)
        parts.append(f'<img loading="lazy" src="{html.escape(address)}" alt="the graph of {alt}">')
    return "".join(parts)


def cell_html(code: str, marks: str, output: str, question: str = "") -> str:
    """A cell: the program, buttons, what it shows. One with a question stays open: its answer follows."""
    shown = f'<div class="output">{output}</div>'
    return (
        f'<div class="cell" {marks}>{code_html(code)}'
        '<div class="bar" hidden><button type="button" class="run">Run</button>'
        '<button type="button" class="edit">Edit</button></div>'
        + (
            f"{question.replace('<details>', '<details class=question>')}{shown}"
            if question
            else f"{shown}</div>"
        )
    )


def code_html(code: str) -> str:
    """A program in colours; its text is that of the element."""
    lines = highlight(code, LEXER, FORMATTER)
    return f'<div class="highlight"><pre class="code" tabindex="0">{lines.rstrip()}</pre></div>'


def with_exercises(text: str, name: str, page: str) -> str:
    """The table of exercises, with links to where they are done."""
    there = relative(f"exercises/{name}", page)
    return re.sub(
        r"^\| (\d\d\w?)\.(\d+) \|",
        rf"| [\1.\2]({there}#exercise-\1-\2) |",
        text,
        flags=re.MULTILINE,
    )


def with_commands(text: str) -> str:
    """Below what names a command that shows a function's stages or steps, a button for it."""
    blocks = re.split(r"(\n\n(?!\n))", text)
    for place, block in enumerate(blocks):
        for found in COMMAND.finditer(block):
            blocks[place] += raw(command_html(found["name"], found["words"]))
    return "".join(blocks)


def command_html(name: str, words: str) -> str:
    words = html.escape(" ".join(words.split()))
    view, does = {"step": ("#view=steps", "Walk through it here"), "explain": ("", "Show it here")}[
        name
    ]
    return (
        f'<div class="command" data-words="{words}" data-view="{view}"><div class="bar" hidden>'
        f'<button type="button" class="run">{does}</button><span class="state" role="status"></span></div>'
        '<div class="output"></div></div>'
    )


def write_map(pages: Pages) -> None:
    """The page of all lessons: their map, which takes up progress, and the table."""
    page, file = "lessons/index", "tutorials/README.md"
    text = text_of(file)
    body, _, _ = text.partition("## Who judges the judges")
    picture = re.search(r"!\[.*\]\(rendered/figures/map\.svg\)", body)
    assert picture is not None
    svg = (ROOT / "tutorials" / "rendered" / "figures" / "map.svg").read_text(encoding="utf-8")
    drawn = svg[svg.index("<svg") :].replace(
        "<svg ", '<svg role="img" aria-label="The lessons" ', 1
    )
    drawn = re.sub(
        r'<g id="\w+" class="node">\n<title>(\w+)</title>',
        r'<g class="node" data-name="\1">',
        drawn,
    )
    drawn = re.sub(r"<title>.*?</title>|<!--.*?-->|<style>.*?</style>", "", drawn, flags=re.DOTALL)
    shown = raw(
        f'<div class="map" id="lesson-map">{drawn}</div><p id="progress" role="status" hidden></p>'
    )
    body = pages.with_links(body.replace(picture[0], "@map@"), file, page).replace("@map@", shown)
    pages.write(page, "Lessons", f"{body}\n{toctree(lessons())}")


def toctree(names: list[str]) -> str:
    return "\n".join(["```{toctree}", ":hidden:", "", *names, "```", ""])
