"""Self-contained pages of HTML: a template filled with styles, scripts and data.

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
    """A page of HTML, displayed directly in a notebook; `summary` describes it in a few lines."""

    title: str
    summary: str
    html: str = field(repr=False)

    def save(self, path: str | Path) -> Path:
        """Write the page; return the path."""
        Path(path).write_text(self.html, encoding="utf-8")
        return Path(path)

    def _repr_html_(self) -> str:
        """The page in a separate frame, isolated from the notebook."""
        page = html.escape(self.html)
        return f'<iframe srcdoc="{page}" style="width:100%; height:760px; border:0"></iframe>'


def filled(
    template: str,
    texts: Mapping[str, str],
    styles: Sequence[str],
    scripts: Sequence[str],
    data: Any,
) -> str:
    """The template with its texts, styles ({{css}}), scripts ({{js}}) and data filled in."""
    parts = {name: html.escape(text) for name, text in texts.items()} | {
        "css": "\n".join(map(page_file, styles)),
        "js": "\n".join(map(page_file, scripts)),
        # Escape "<", so that no text can end the script element by "</script>" or "<!--".
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
