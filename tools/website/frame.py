"""The pages of `tinyjax explain` and `viz.show` as frames of the site: the same scripts, in files."""

import re
from pathlib import Path

from tinyjax.studio.viz.html import _SCRIPTS
from tinyjax.studio.viz.page_files import page_file
from tinyjax.studio.viz.player import STYLES
from website.pages import ROOT

PAGE = ROOT / "tinyjax" / "studio" / "viz" / "page"
PICTURE_FRAME = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>arrays</title>
<link rel="stylesheet" href="show.css">
<script src="frame.js" defer></script>
</head>
<body class="tinyjax-page"></body>
</html>
"""


def write_frame(static: Path) -> None:
    """Write _static/explain/: the page without its data, its style, and its scripts as one."""
    folder = static / "explain"
    folder.mkdir()
    text = page_file("page.html")
    text = re.sub(r"<meta http-equiv=.*?>\n", "", text, flags=re.DOTALL)  # the site has its own
    text = re.sub(
        r"<style>.*?</style>", '<link rel="stylesheet" href="page.css">', text, flags=re.DOTALL
    )
    body = re.sub(
        r"<script type=.*</script>", '<script src="frame.js"></script>', text, flags=re.DOTALL
    )
    body = (
        body.replace("{{name}}{{args}}", "tinyjax", 1)
        .replace("{{name}}", "")
        .replace("{{args}}", "")
    )
    (folder / "frame.html").write_text(body, encoding="utf-8")
    style = "\n".join(map(page_file, STYLES))
    (folder / "page.css").write_text(style, encoding="utf-8")
    program = "\n".join(map(page_file, _SCRIPTS))
    (folder / "explain.js").write_text(f'"use strict";\n{program}', encoding="utf-8")
    (static / "frame.js").rename(folder / "frame.js")


def write_picture_frame(static: Path) -> None:
    """Write _static/show/: a page without a picture, and its style and scripts."""
    folder = static / "show"
    folder.mkdir()
    (folder / "frame.html").write_text(PICTURE_FRAME, encoding="utf-8")
    for name in ("show.css", "show.js"):
        (folder / name).write_text((PAGE / name).read_text(encoding="utf-8"), encoding="utf-8")
    (static / "show_frame.js").rename(folder / "frame.js")
