"""The page of `tinyjax explain` as a frame of the playground: the same template and scripts, in files."""

import re
from pathlib import Path

from tinyjax.studio.viz.html import _SCRIPTS
from tinyjax.studio.viz.page_files import page_file
from tinyjax.studio.viz.player import STYLES


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
