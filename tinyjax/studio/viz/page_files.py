"""Pages of HTML that need no network: a template with styles, scripts and data in it.

The data are JSON; scripts insert its texts as text, never as HTML.
"""

from __future__ import annotations

import html
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Page:
    """A page of HTML, which shows itself in a notebook; `summary` says in a few lines what is on it."""

    title: str
    summary: str
    html: str = field(repr=False)

    def save(self, path: str | Path) -> Path:
        """Writes the page; gives the path."""
        Path(path).write_text(self.html, encoding="utf-8")
        return Path(path)

    def _repr_html_(self) -> str:
        """The page in a separate frame, so that neither it nor the notebook disturbs the other."""
        page = html.escape(self.html)
        return f'<iframe srcdoc="{page}" style="width:100%; height:760px; border:0"></iframe>'


def filled(
    template: str,
    texts: Mapping[str, str],
    styles: Sequence[str],
    scripts: Sequence[str],
    data: Any,
) -> str:
    """The template with texts, the styles as {{css}}, the scripts as {{js}}, and the data in their places."""
    parts = {name: html.escape(text) for name, text in texts.items()} | {
        "css": "\n".join(map(page_file, styles)),
        "js": "\n".join(map(page_file, scripts)),
        # No text can end the script element: "</script>" and "<!--" have no "<" in JSON that is written so.
        "data": json.dumps(data, separators=(",", ":")).replace("<", "\\u003c"),
    }
    before, *rest = page_file(template).split("{{")
    pieces = [before]
    for piece in rest:
        name, after = piece.split("}}", 1)
        pieces += [parts[name], after]
    return "".join(pieces)


def page_file(name: str) -> str:
    """The text of a file of page/."""
    return (resources.files("tinyjax.studio.viz") / "page" / name).read_text(encoding="utf-8")
