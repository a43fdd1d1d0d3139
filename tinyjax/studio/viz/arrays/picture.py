"""The base class of pictures, displayed in a notebook, a page, a terminal, or a frame of the site."""

from __future__ import annotations

import html
import os
import sys
from importlib import resources
from pathlib import Path

PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy"
      content="default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<title>{title}</title>
</head>
<body class="tinyjax-page">
{body}
</body>
</html>
"""


class Picture:
    """A fragment of HTML that uses show.css and show.js, and the same as text."""

    title = "arrays"

    @property
    def fragment(self) -> str:
        """The HTML without styles and scripts."""
        raise NotImplementedError

    def text(self, colours: bool = False) -> str:
        raise NotImplementedError

    @property
    def html(self) -> str:
        """A self-contained page."""
        return PAGE.format(title=html.escape(self.title), body=self._repr_html_())

    def save(self, path: str | Path) -> Path:
        """Write the page of HTML; return the path."""
        Path(path).write_text(self.html, encoding="utf-8")
        return Path(path)

    def _repr_html_(self) -> str:
        return (
            f"<style>{_file('show.css')}</style>{self.fragment}<script>{_file('show.js')}</script>"
        )

    def __repr__(self) -> str:
        return self.text(colours=sys.stdout.isatty() and "NO_COLOR" not in os.environ)


def _file(name: str) -> str:
    return (resources.files("tinyjax.studio.viz") / "page" / name).read_text(encoding="utf-8")
