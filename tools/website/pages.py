"""Pages of the site as Markdown for Sphinx, and where a link of the repository leads on it.

Links are written as HTML has them, relative to the page; a Python file that is linked gets a page with its
source.
"""

from __future__ import annotations

import html
import itertools
import json
import os
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

PAGES = {  # what of the repository is a page of another name
    "README.md": "index",
    "tutorials/README.md": "lessons/index",
    "tutorials/glossary.md": "glossary",
    "tutorials/questions.md": "questions",
    "tutorials/exercises.toml": "exercises/index",
    "examples/README.md": "examples/index",
    "benchmarks/RESULTS.md": "benchmarks",
    "docs/names.md": "api/names",
    "tinyjax/studio/steps.py": "source/index",
}
PICTURES = (".svg", ".png")


class Pages:
    """The pages that are written into a folder, and the sources that they ask for."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.sources: set[str] = (
            set()
        )  # files of the repository that need a page, as "tinyjax/core/bind.py"

    def write(self, page: str, title: str, body: str, options: tuple[str, ...] = ()) -> None:
        """A page such as "lessons/01_primitives". Options go into its head, as "orphan: true"."""
        head = "\n".join(["---", f"title: {json.dumps(title)}", *options, "---", ""])
        path = self.folder / f"{page}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{head}\n{body}", encoding="utf-8")

    def page_of(self, file: str) -> str | None:
        """The page of a file or folder of the repository; None if it has none."""
        if file in PAGES:
            return PAGES[file]
        if lesson := re.fullmatch(r"tutorials/(?:rendered/)?(\d\d\w?_\w+)\.(?:md|py)", file):
            return f"lessons/{lesson[1]}"
        if file.endswith(".py") and (ROOT / file).is_file():
            self.sources.add(file)
            return f"source/{file.removesuffix('.py').replace('/', '.')}"
        return None

    def with_links(self, text: str, file: str, page: str) -> str:
        """The Markdown of a file of the repository, with links as `page` needs them."""

        def rewritten(found: re.Match[str]) -> str:
            is_picture, label, target = found["picture"], found["label"], found["target"]
            if target is None:  # code
                return found[0]
            path, _, place = target.partition("#")
            there = os.path.normpath(os.path.join(os.path.dirname(file), path))
            if path.endswith(PICTURES):
                address = self.picture(there, page)
                return (
                    f'<img loading="lazy" src="{address}" alt="{html.escape(label)}">'
                    if is_picture
                    else f"[{label}]({address})"
                )
            leads_to = self.page_of(there)
            if leads_to is None:  # a folder, or what the site does not have
                return label
            return f"[{label}]({relative(leads_to, page)}{'#' + place if place else ''})"

        code = r"^```.*?^```$|`[^`\n]+`"  # stays as it is; but a link's label may have code in it
        link = r"(?P<picture>!?)\[(?P<label>(?:\\.|`[^`]*`|[^\]\\`])*)\]\((?P<target>(?!\w+:|#)[^)\s]+)\)"
        return re.sub(f"{code}|{link}", rewritten, text, flags=re.DOTALL | re.MULTILINE)

    def picture(self, file: str, page: str) -> str:
        """Copies a picture of the repository; where the page finds it."""
        copy = self.folder / "_static" / "pictures" / Path(file).name
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes((ROOT / file).read_bytes())
        return os.path.relpath(copy, (self.folder / page).parent)


def relative(page: str, here: str) -> str:
    """The address of a page as another one writes it."""
    return os.path.relpath(f"{page}.html", os.path.dirname(here) or ".")


def raw(text: str) -> str:
    """HTML for Markdown to leave as it is."""
    fence = "`" * (max([2, *map(len, re.findall("`+", text))]) + 1)
    return f"\n{fence}{{raw}} html\n{text}\n{fence}\n"


def text_of(file: str) -> str:
    return (ROOT / file).read_text(encoding="utf-8")


def prose(text: str) -> str:
    """A docstring as HTML: its words as they are, in paragraphs, with `code` as code and *words* stressed."""
    paragraphs = []
    for part in re.split(r"\n\s*\n", text.strip("\n")):
        pieces = re.split(r"`+([^`]+)`+", html.escape(part.rstrip()))  # the odd ones are code
        stressed = [
            re.sub(r"(?<!\S)\*([a-z ]+)\*(?![\w*])", r"<em>\1</em>", text) for text in pieces[::2]
        ]
        code = [f"<code>{text}</code>" for text in pieces[1::2]] + [""]
        shown = "".join(itertools.chain.from_iterable(zip(stressed, code)))
        laid_out = re.search(r"^ {2,}\S|\S {3,}\S", part, re.MULTILINE)
        kind = "as-is" if laid_out else "words"
        paragraphs.append(f'<p class="{kind}">{shown}</p>')
    return "".join(paragraphs)
