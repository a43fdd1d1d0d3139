"""Build the site: lessons, exercises and sources as pages that one reads and runs in a browser.

    pip install -e ".[site]"
    python tools/build_site.py -o site                  # Python is loaded from Pyodide's CDN at the first Run
    python tools/build_site.py -o site --pyodide FOLDER # from the site, which gets a copy of the folder
    python tools/build_site.py -o site --address https://example.org/tinyjax/   # for search engines, too
    python -m http.server -d site                       # any web server will do

Sphinx makes the pages, the navigation and the search; what only this site has is in tools/website/.
"""

import argparse
import importlib.util
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]

from build_wheel import build_wheel  # noqa: E402
from website.assets import write_scripts  # noqa: E402
from website.exercises import catalogue, write_exercises  # noqa: E402
from website.frame import write_frame, write_picture_frame  # noqa: E402
from website.front import write_front  # noqa: E402
from website.heads import add_heads  # noqa: E402
from website.kernels import examples, write_kernels, write_players  # noqa: E402
from website.lessons import code_html, write_lessons, write_map  # noqa: E402
from website.mending import mend  # noqa: E402
from website.names import write_names  # noqa: E402
from website.pages import Pages, text_of  # noqa: E402
from website.policy import add_policies  # noqa: E402
from website.python import CDN, write_python  # noqa: E402
from website.sources import fill_shell, write_order, write_shell  # noqa: E402

WEBSITE = ROOT / "tools" / "website"
EXAMPLE = "import_jax.html"
PROGRAM = """\
import jax
import jax.numpy as jnp


def f(x):
    return jnp.sin(x) * x"""  # that the playground begins with


def write_pages(folder: Path) -> Pages:
    """All pages, as Markdown; but for the sources, a shell for them."""
    pages = Pages(folder)
    playground = (WEBSITE / "playground.md").read_text(encoding="utf-8")
    pages.write("playground", "playground", playground.replace("@program@", code_html(PROGRAM)))
    write_front(pages)
    write_map(pages)
    write_lessons(pages)
    write_exercises(pages)
    write_names(pages)
    write_kernels(pages)
    for file, page, title in (
        ("tutorials/glossary.md", "glossary", "Glossary"),
        ("tutorials/questions.md", "questions", "Questions people ask"),
        ("examples/README.md", "examples/index", "Examples"),
        ("benchmarks/RESULTS.md", "benchmarks", "Benchmarks"),
    ):
        pages.write(page, title, pages.with_links(text_of(file), file, page))
    write_order(pages)
    write_shell(pages)
    return pages


def make_html(folder: Path, site: Path) -> None:
    """Let Sphinx make HTML of the pages."""
    from sphinx.cmd.build import main as sphinx

    shutil.copy(WEBSITE / "conf.py", folder / "conf.py")
    shutil.copytree(WEBSITE / "static", folder / "_static", dirs_exist_ok=True)
    with tempfile.TemporaryDirectory() as doctrees:
        if sphinx(["-q", "-b", "html", "-d", doctrees, str(folder), str(site)]):
            sys.exit("Sphinx could not make the pages: see above.")


def write_example(site: Path, pyodide: str, address: str) -> None:
    """The wheel, and a page that loads it as anyone's page can."""
    wheel = build_wheel(site).name
    text = (WEBSITE / EXAMPLE).read_text(encoding="utf-8")
    text = text.replace("@wheel@", f"{address}{wheel}").replace(
        "@pyodide@", pyodide or "./pyodide/"
    )
    (site / EXAMPLE).write_text(text, encoding="utf-8")


def main(argv: Sequence[str] | None = None) -> int:
    """Build the site that the command line asks for; return the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-o", "--output", type=Path, required=True, help="the folder of the site")
    parser.add_argument("--pyodide", default=CDN, help="an address, or a folder to copy")
    parser.add_argument("--address", default="", help="where the site will be, with a / at its end")
    parser.add_argument("--keep", type=Path, help="a folder that keeps what npm has fetched")
    options = parser.parse_args(argv)
    site = options.output
    if importlib.util.find_spec("sphinx") is None:
        parser.error('there is no Sphinx: pip install -e ".[site]"')
    if site.exists() and not (site / "searchindex.js").exists():
        parser.error(f"{site} is there, and is no site: name another folder")
    shutil.rmtree(site, ignore_errors=True)
    with tempfile.TemporaryDirectory() as temporary:
        pages = write_pages(Path(temporary))
        make_html(Path(temporary), site)
    fill_shell(pages, site)
    with tempfile.TemporaryDirectory() as temporary:
        keep = options.keep or Path(temporary)
        write_scripts(site / "_static", keep)
        elsewhere = write_python(options.pyodide, site, keep)
    write_frame(site / "_static")
    write_picture_frame(site / "_static")
    (site / "_static" / "exercises.json").write_text(catalogue(), encoding="utf-8")
    mend(site)
    add_heads(site, options.address)
    add_policies(site, elsewhere)
    write_players(site, examples())
    write_example(site, elsewhere, options.address)
    print(f"wrote {site}: {sum(1 for _ in site.rglob('*.html'))} pages")
    return 0


if __name__ == "__main__":
    sys.exit(main())
