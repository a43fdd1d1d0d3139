"""Run the lessons and write what they show: tutorials/NN_name.py -> tutorials/rendered/NN_name.md.

    python tools/render_tutorials.py            # all lessons, and the map of them
    python tools/render_tutorials.py 2 3        # lessons 2 and 3
    python tools/render_tutorials.py --check    # writes nothing; lists pages that are out of date

A lesson is a plain script in cells (tinyjax/studio/learn/cells.py). What a code cell prints, and the value of
a last line that is an expression, stand below it: text as text, a graph as a picture; if there is a question,
folded below that. What a cell opened by `# %% varies` shows differs from run to run (times, names of
devices): it is rendered, and not compared. Each lesson runs in a new process.

Links in lessons are relative to tutorials/, and are rewritten for the page. At the end of the section
"Exercises" a table of the lesson's exercises is put in, from tutorials/exercises.toml.
"""

import argparse
import ast
import contextlib
import difflib
import io
import itertools
import math
import multiprocessing
import os
import re
import sys
import tomllib
import types
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from tinyjax.studio import viz
from tinyjax.studio.learn.cells import Cell, read_cells
from tinyjax.studio.learn.lesson_map import lesson_map

ROOT = Path(__file__).resolve().parent.parent
TUTORIALS = ROOT / "tutorials"
RENDERED = TUTORIALS / "rendered"

VARIES = "<!-- varies -->\n"  # stands before output that is not compared

# ---- running it ----


def run(cell: Cell, module: types.ModuleType) -> tuple[str, Any, str]:
    """The cell's output, the graph that it ends with or None, and the expression that gave it."""
    tree = ast.parse("\n" * (cell.line - 1) + cell.text)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    value, expression, printed = None, "", io.StringIO()
    file = str(module.__file__)
    with contextlib.redirect_stdout(printed):  # not stderr: warnings are for whoever renders
        exec(compile(tree, file, "exec"), module.__dict__)
        if isinstance(last, ast.Expr):
            expression = ast.unparse(last)
            value = eval(compile(ast.Expression(last.value), file, "eval"), module.__dict__)
        if value is not None and not hasattr(value, "source"):
            print(repr(value))
    graph = value if hasattr(value, "source") else None
    return printed.getvalue().replace(f"{ROOT}/", ""), graph, expression


class Figure(NamedTuple):
    graph: Any  # graphviz.Digraph
    varies: bool


def render(path: Path) -> tuple[str, list[Figure]]:
    """The page of a lesson, and its figures in order."""
    module = types.ModuleType(path.stem)
    module.__file__ = str(path)
    sys.modules[path.stem] = module  # where inspect looks for the source of its classes
    sys.path.insert(0, str(path.parent))  # as for a script
    parts, figures, question = [navigation(path)], [], None
    for cell in read_cells(path.read_text()):
        if cell.kind == "markdown":
            parts.append(with_exercises(page_links(cell.text.strip()), path))
            question = cell.question
            continue
        parts.append(f"```python\n{cell.text.strip()}\n```")
        printed, graph, expression = run(cell, module)
        mark = VARIES if cell.kind == "varies" else ""
        if question is not None:
            parts.append(f"<details><summary><b>{question.question}</b></summary>")
        if printed.strip():
            parts.append(mark + quoted(printed))
        if graph is not None:
            figures.append(Figure(graph, bool(mark)))
            alt = re.sub(r"([\[\]\\])", r"\\\1", expression)
            parts.append(f"{mark}![{alt}](figures/{path.stem}_{len(figures)}.svg)")
        if question is not None:
            parts += [page_links(question.answer), "</details>"]
            question = None
    parts.append(f"---\n\n{navigation(path)}")
    return "\n\n".join(parts) + "\n", figures


# ---- the page ----


def lessons() -> list[Path]:
    return sorted(TUTORIALS.glob("[0-9][0-9]*_*.py"))


def navigation(path: Path) -> str:
    """A line of links: the lesson before, the map, the source, the lesson after."""
    paths = lessons()
    place = paths.index(path)
    links = ["[map](../README.md)", f"[{path.name}](../{path.name})", "[glossary](../glossary.md)"]
    if place > 0:
        links.insert(0, f"[← {title(paths[place - 1])}]({paths[place - 1].stem}.md)")
    if place + 1 < len(paths):
        links.append(f"[{title(paths[place + 1])} →]({paths[place + 1].stem}.md)")
    return " · ".join(links)


def title(path: Path) -> str:
    """The first heading of a lesson."""
    heading = re.search("^# # (.*)$", path.read_text(), re.MULTILINE)
    return heading[1] if heading else path.stem


def page_links(text: str) -> str:
    """Links that are relative to tutorials/, made relative to the folder of the pages."""

    def rewritten(link: re.Match) -> str:
        if lesson := re.fullmatch(r"(\d\d\w?_\w+)\.py(#.*)?", link[1]):
            return f"]({lesson[1]}.md{lesson[2] or ''})"
        return f"](../{link[1]})"

    return re.sub(r"\]\((?!\w+:|#)([^)\s]+)\)", rewritten, text)


def with_exercises(text: str, path: Path) -> str:
    """The text, with the table of the lesson's exercises at the end of its section "Exercises"."""
    section = re.search(r"^## Exercises\n.*?(?=\n## |\Z)", text, re.DOTALL | re.MULTILINE)
    if section is None:
        return text
    label = path.stem.partition("_")[0]
    everything = tomllib.loads((TUTORIALS / "exercises.toml").read_text()).get("exercise", [])
    rows = ["| | exercise | grade | what to write |", "|---|---|---|---|"]
    for place, exercise in enumerate(
        [e for e in everything if str(e["lesson"]).zfill(2) == label], 1
    ):
        functions = ", ".join(f"`{function.split(':')[1]}`" for function in exercise["functions"])
        goal = " ".join(exercise["goal"].split()).replace("|", r"\|")
        what = f"{functions}<br>{goal}"
        rows.append(
            f"| {label}.{place} | {exercise['name']} | {'★' * exercise['grade']} | {what} |"
        )
    if len(rows) == 2:
        return text
    table = "\n".join(rows)
    return f"{text[: section.end()].rstrip()}\n\n{table}\n{text[section.end() :]}".rstrip()


def quoted(output: str) -> str:
    """Output as a quotation, which sets it apart from code."""
    fence = "```" if "```" not in output else "````"
    lines = [f"{fence}text", *(line.rstrip() for line in output.strip("\n").splitlines()), fence]
    return "\n".join(f"> {line}".rstrip() for line in lines)


# ---- writing and comparing ----


def write(path: Path) -> list[str]:
    """Write the page and its figures; say which page it is."""
    text, figures = render(path)
    folder = RENDERED / "figures"
    folder.mkdir(parents=True, exist_ok=True)
    (RENDERED / f"{path.stem}.md").write_text(text)
    kept = set()
    for number, (graph, varies) in enumerate(figures, 1):
        svg = folder / f"{path.stem}_{number}.svg"
        draw(graph, svg)
        kept.add(svg)
        if not varies:
            kept.add(write_source(graph, svg))
    for old in set(folder.glob(f"{path.stem}_*")) - kept:
        old.unlink()
    return [f"wrote {RENDERED.name}/{path.stem}.md; figures: {len(figures)}"]


def write_map() -> None:
    """The picture of tutorials/README.md: the lessons, and what each builds on."""
    svg = RENDERED / "figures" / "map.svg"
    draw(lesson_map(), svg)
    write_source(lesson_map(), svg)


def draw(graph: Any, svg: Path) -> None:
    """The picture. An unchanged graph keeps the one that it has, whichever program laid it out."""
    dot = svg.with_suffix(".dot")
    if not (svg.exists() and dot.exists() and dot.read_text() == graph.source):
        viz.save(graph, svg)


def write_source(graph: Any, svg: Path) -> Path:
    """The graph's source, beside the picture: it is what is compared."""
    dot = svg.with_suffix(".dot")
    dot.write_text(graph.source)
    return dot


def check(path: Path) -> list[str]:
    """The differences between the written page, with the source of its figures, and what the lesson shows."""
    text, figures = render(path)
    page, folder = RENDERED / f"{path.stem}.md", RENDERED / "figures"
    expected = {
        folder / f"{path.stem}_{i}.dot": g for i, (g, varies) in enumerate(figures, 1) if not varies
    }
    written = {dot: dot.read_text() for dot in folder.glob(f"{path.stem}_*.dot")}
    differences = list(unlike(page.name, page.read_text() if page.exists() else "", text))
    for dot in sorted(expected.keys() | written.keys()):
        source = expected[dot].source if dot in expected else ""
        differences += unlike(dot.name, written.get(dot, ""), source)
    return differences


def unlike(name: str, written: str, now: str) -> Iterator[str]:
    """The lines of a diff, if the texts differ in more than the rounding of numbers."""
    old, new = without_varying(written), without_varying(now)
    (old_words, old_numbers), (new_words, new_numbers) = (
        without_fractions(old),
        without_fractions(new),
    )
    if old_words == new_words and all(map(nearly, old_numbers, new_numbers)):
        return
    label = name.partition("_")[0]
    yield f"{name} is out of date: run tools/render_tutorials.py {label}, and read what changed"
    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), "written", "now", lineterm="")
    yield from itertools.islice(lines, 40)


def without_varying(text: str) -> str:
    """The text without output that varies, nor links to the neighbours, which may be new."""
    text = re.sub(r"^.*\[map\]\(.*$", "", text, flags=re.MULTILINE)
    return re.sub(f"{VARIES}.*?(?=\n\n)", VARIES, text, flags=re.DOTALL)


def without_fractions(text: str) -> tuple[str, list[float]]:
    """The text without its numbers that a device may round otherwise, and these numbers."""
    number = r"-?\d+\.\d*(?:e[-+]?\d+)?"
    return re.sub(rf" *{number} *", "#", text), [float(n) for n in re.findall(number, text)]


def nearly(a: float, b: float) -> bool:
    return math.isclose(a, b, rel_tol=1e-5, abs_tol=1e-6)


# ---- the command ----


def main(argv: Sequence[str] | None = None) -> int:
    """Render or check the lessons that the command line names; return the exit status."""
    formatter = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=formatter)
    parser.add_argument("lesson", nargs="*", help="as 2 or 11b; default: all")
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    options = parser.parse_args(argv)

    labels = {label.zfill(2) for label in options.lesson}
    chosen = [p for p in lessons() if not labels or p.stem.partition("_")[0] in labels]
    os.environ["TINYJAX_BACKGROUND_BUILD"] = "0"  # what is compiled is there when it is called
    can_fork = "forkserver" in multiprocessing.get_all_start_methods()
    context = multiprocessing.get_context("forkserver" if can_fork else "spawn")
    if can_fork:
        context.set_forkserver_preload(["tinyjax.studio.viz", "tinyjax.studio.learn"])
    pool = ProcessPoolExecutor(max_workers=2, mp_context=context, max_tasks_per_child=1)
    status = 0
    if not options.lesson and not options.check:
        write_map()
    with pool:
        for said in pool.map(check if options.check else write, chosen):
            print("\n".join(said), end="\n" if said else "", flush=True)
            status |= options.check and bool(said)
    return status


if __name__ == "__main__":
    sys.exit(main())
