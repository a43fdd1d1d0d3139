"""The front page: a program that runs at once, and an animation of `tinyjax explain`."""

from __future__ import annotations

import html
import re

from website.lessons import cell_html
from website.pages import ROOT, Pages, raw, text_of

ANIMATION = "a call of grad, event by event: the program, the values, the trace stack, the rule and the graph"


def write_front(pages: Pages) -> None:
    """index.md, with README's example as a cell."""
    text = (ROOT / "tools" / "website" / "index.md").read_text(encoding="utf-8")
    pages.write("index", "JAX that you can read", filled(text, pages))


def filled(text: str, pages: Pages) -> str:
    readme = text_of("README.md")
    code, printed = (
        re.findall(rf"^```{language}\n(.*?)^```$", readme, re.DOTALL | re.MULTILINE)[0]
        for language in ("python", "text")
    )
    output = f"<pre>{html.escape(printed.rstrip())}</pre>"
    cell = cell_html(code.rstrip(), 'data-name="index" data-line="1"', output)
    moving, still = (
        pages.picture(f"docs/explain_steps.{kind}", "index") for kind in ("gif", "png")
    )
    picture = (
        f'<picture><source srcset="{still}" media="(prefers-reduced-motion: reduce)">'
        f'<img loading="lazy" width="1020" height="570" src="{moving}" alt="{ANIMATION}"></picture>'
    )
    return text.replace("@cell@", raw(cell)).replace("@steps@", raw(picture))
