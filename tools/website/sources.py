"""The reading order as pages: the text about each function of a file beside its code.

A docstring at the left, and at the right the lines of the function without it. Nothing else of the file is
left out.
"""

from __future__ import annotations

import ast
import html
from pathlib import Path
from typing import Any, NamedTuple

from tinyjax.studio.steps import CHAPTERS, STEPS
from website.lessons import code_html
from website.pages import Pages, prose, raw, relative, text_of

SHELL, TITLE, BODY = "source/shell", "TitleOfTheSource", "BodyOfTheSource"
LIST = "sources.txt"  # the files that get a page
Named = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


class Piece(NamedTuple):
    """Lines of a file that stand together, and what their docstring says."""

    name: str
    said: str
    code: str


def file_of(step: str) -> str:
    return f"tinyjax/{step.replace('.', '/')}.py"


def write_order(pages: Pages) -> None:
    """The page of the reading order; it asks for a page for each step and footnote."""
    parts = ["# The source, in reading order\n"]
    parts.append(
        "A step is one mechanism, in one file that reads from top to bottom. A chapter needs only those "
        "before it; its footnotes are what its files use besides.\n"
    )
    for chapter in CHAPTERS:
        parts.append(f"\n## {chapter.title}\n")
        parts += [
            line(pages, step, words, f"{STEPS.index(step) + 1}.")
            for step, words in chapter.steps.items()
        ]
        if chapter.footnotes:
            parts.append("\nFootnotes:\n")
            parts += [line(pages, step, words, "-") for step, words in chapter.footnotes.items()]
    pages.write("source/index", "The source, in reading order", "\n".join(parts))


def line(pages: Pages, step: str, words: str, mark: str) -> str:
    page = pages.page_of(file_of(step))
    assert page is not None, f"there is no file of the step {step}"
    return f"{mark} [{step}]({relative(page, 'source/index')}): {words}"


def write_shell(pages: Pages) -> None:
    """A page that stands for all sources: Sphinx takes a quarter of a second for each that it makes."""
    pages.write(SHELL, TITLE, f"# {TITLE}\n{raw(BODY)}", ("orphan: true", "hide-toc: true"))
    (pages.folder / LIST).write_text("\n".join(sorted(pages.sources)), encoding="utf-8")


def fill_shell(pages: Pages, site: Path) -> None:
    """A page for each file that some page asks for, made of the shell."""
    shell = site / f"{SHELL}.html"
    around = shell.read_text(encoding="utf-8")
    shell.unlink()
    for file in sorted(pages.sources):
        body = neighbours(pages, file) + source_html(text_of(file))
        title = html.escape(file.removeprefix("tinyjax/"))
        page = site / f"{pages.page_of(file)}.html"
        page.write_text(around.replace(TITLE, title).replace(BODY, body), encoding="utf-8")


def add_to_search(app: Any) -> list[Any]:
    """Let Sphinx's search find the names and docstrings of all sources, and not the shell. Adds no pages."""
    from docutils import nodes
    from docutils.utils import new_document

    search = app.builder.indexer
    search.prune(app.env.all_docs.keys() - {SHELL})
    search.prune = lambda pages: None  # Sphinx would leave out what it has not made
    for file in (app.srcdir / LIST).read_text(encoding="utf-8").splitlines():
        words = new_document("")
        for piece in pieces(text_of(file)):
            words += nodes.section(
                "",
                nodes.title("", piece.name),
                nodes.paragraph("", piece.said.partition("\n\n")[0]),
            )
        page = Pages(app.srcdir).page_of(file)
        search.feed(page, f"{page}.md", file.removeprefix("tinyjax/"), words)
    return []


def neighbours(pages: Pages, file: str) -> str:
    """Where a step stands in the order, with links to those before and after."""
    files, page = [file_of(step) for step in STEPS], SHELL
    order = f'<a href="{relative("source/index", page)}">reading order</a>'
    if file not in files:
        return f'<p class="order">{order}</p>'
    place = files.index(file)
    links = [f"step {place + 1} of {len(files)} in the {order}"]
    for word, there in (("before", place - 1), ("next", place + 1)):
        if 0 <= there < len(files):
            leads_to = pages.page_of(files[there])
            links.append(f'{word}: <a href="{relative(str(leads_to), page)}">{STEPS[there]}</a>')
    return f'<p class="order">{" · ".join(links)}</p>'


def source_html(source: str) -> str:
    """The file, a row a piece."""
    rows = []
    for piece in pieces(source):
        said = f"<h2><code>{html.escape(piece.name)}</code></h2>" if piece.name else ""
        said += f'<div class="doc">{prose(piece.said)}</div>' if piece.said else ""
        code = code_html(piece.code) if piece.code.strip() else ""
        kind = "row" if said and code else "row whole"
        rows.append(f'<div class="{kind}"><div class="said">{said}</div>{code}</div>')
    return f'<div class="beside">{"".join(rows)}</div>'


def pieces(source: str) -> list[Piece]:
    """The file's docstring, and its classes, methods and functions, each with the lines up to the next."""
    tree, lines = ast.parse(source), source.splitlines()
    starts = [(1, "", tree), *((first_line(node, lines), name, node) for name, node in named(tree))]
    found = []
    for place, (start, name, node) in enumerate(starts):
        end = starts[place + 1][0] if place + 1 < len(starts) else len(lines) + 1
        kept = lines[start - 1 : end - 1]
        said = ast.get_docstring(node) or ""
        if said:
            string = node.body[0]
            kept = lines[start - 1 : string.lineno - 1] + lines[string.end_lineno or 0 : end - 1]
        found.append(Piece(name, said, "\n".join(kept).strip("\n")))
    return [piece for piece in found if piece.said or piece.code.strip()]


def named(tree: ast.Module) -> list[tuple[str, Named]]:
    """The functions and classes of a file and the methods of its classes, by their names."""
    found: list[tuple[str, Named]] = []
    for node in tree.body:
        if isinstance(node, Named):
            found.append((node.name, node))
        if isinstance(node, ast.ClassDef):
            found += [
                (f"{node.name}.{n.name}", n) for n in node.body if isinstance(n, ast.FunctionDef)
            ]
    return found


def first_line(node: Named, lines: list[str]) -> int:
    """Where it begins, with its decorators and the comments above them."""
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    while first > 1 and lines[first - 2].strip().startswith("#"):
        first -= 1
    return first
