"""What the page's worker asks Python: run a cell, judge an exercise, explain a function, pack one's work.

Each answer is JSON with plain texts; the page shows them as texts. Read worker.js beside it.
"""

import argparse
import ast
import base64
import contextlib
import io
import json
import linecache
import os
import re
import shlex
import shutil
import sys
import tempfile
import traceback
import types
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import TextIO

CLONE, CELLS, PLAYGROUND = Path("/clone"), Path("/cells"), Path("/playground.py")
sys.path[:0] = [str(CLONE), "/packages"]
sys.dont_write_bytecode = (
    False  # Pyodide sets it; the judge imports a lesson's copy again and again
)
os.environ["TINYJAX_BACKGROUND_BUILD"] = "0"  # there are no threads
os.environ["JAX_TRACEBACK_FILTERING"] = (
    "off"  # told() chooses the frames, and the page has all of them
)
MOST_PRINTED = 100_000  # characters of a cell
NO_DRIVER = (
    "pyopencl talks to OpenCL drivers, which no browser has: run this on your own machine "
    "(pip install -e . there, and python -i tutorials/17_device.py)."
)
NO_PROMPT = (
    "A page has no prompt. To walk through what happens, end a cell with tinyjax.viz.explain(f, x) "
    "and choose Steps; for a debugger, run it on your own machine."
)
MOST_LINES = 6  # of the reader's own, in an error
NO_NETWORK = "A program in a page cannot use the network: run it on your own machine."
modules: dict[str, types.ModuleType] = {}
cells: dict[
    tuple[str, int], int
] = {}  # the number of the cell that begins at this line of this file


def refuse_network(event: str, args: tuple) -> None:
    """An audit hook: without it the browser would log that the page's policy blocked the connection."""
    if event in ("socket.connect", "socket.getaddrinfo"):
        raise OSError(NO_NETWORK)


if sys.platform == "emscripten":  # in a page
    sys.addaudithook(refuse_network)


class NoPrompt(io.TextIOBase):
    """Stands for the keyboard, which a worker has not: for input(), breakpoint() and their like."""

    def readline(self, size: int = -1) -> str:  # type: ignore[override]
        raise RuntimeError(NO_PROMPT)


class Printed(io.TextIOBase):
    """Hands on what is printed, as far as the page can show it."""

    def __init__(self, show):
        self.show, self.left = show, MOST_PRINTED

    def write(self, text: str) -> int:
        if self.left > 0:
            self.show(as_in_lessons(text[: self.left]))
            self.left -= len(text)
            if self.left <= 0:
                self.show("\n... (more was printed than is shown)")
        return len(text)


class Once(io.TextIOBase):
    """Hands on each line once: viz.explain runs a function many times."""

    def __init__(self, out: TextIO):
        self.out, self.line = out, ""
        self.seen: set[str] = set()

    def write(self, text: str) -> int:
        *lines, self.line = (self.line + text).split("\n")
        for line in lines:
            if line not in self.seen:
                self.seen.add(line)
                self.out.write(f"{line}\n")
        return len(text)


def as_in_lessons(text: str) -> str:
    """Files are named from the repository's root, as on the lessons' pages."""
    return text.replace(f"{CLONE}/", "")


def answer(kind: str, asked: str, show) -> str:
    """The answer to one question of the page."""
    try:
        return json.dumps(ANSWERS[kind](show, **json.loads(asked)))
    except ModuleNotFoundError as error:
        if is_to_load(error):
            return json.dumps({"missing": "scipy"})
        raise


def is_to_load(error: BaseException) -> bool:
    """Whether the page can load what is missing: Pyodide has SciPy, which few programs need."""
    return (
        isinstance(error, ModuleNotFoundError) and (error.name or "").partition(".")[0] == "scipy"
    )


@contextlib.contextmanager
def at_work(show, found: dict):
    """While the reader's program runs: what it prints is shown, there is nobody to ask, and errors are
    shown."""
    printed = Printed(show)
    before, sys.stdin = sys.stdin, NoPrompt()
    try:
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            yield
    except BaseException as error:
        if is_to_load(error):
            raise
        found["error"], found["frames"] = told(error)
    finally:
        sys.stdin = before


# ---- cells ----


def run_cell(show, name: str, line: int, number: int, text: str) -> dict:
    """Run a cell in the module of its page and return its last value, or the error. `line` is where the cell
    begins in the lesson's file, and `number` the cell's on the page."""
    module = modules.get(name) or begin_page(name)
    file = place_of(name, line, text)
    cells[file, line] = number
    found: dict = {"graphs": [], "value": "", "error": ""}
    with at_work(show, found):
        if re.search(r"^\s*(import|from) jax\b", text, re.MULTILINE):
            import tinyjax

            tinyjax.install_as_jax()
        tree = ast.parse("\n" * (line - 1) + text, file)
        last = tree.body[-1] if tree.body else None
        if isinstance(last, ast.Expr):
            tree.body.pop()
        exec(compile(tree, file, "exec"), module.__dict__)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), file, "eval"), module.__dict__)
            if is_page(value):
                found["stages"] = stages(value)
            elif is_picture(value):
                found["shown"] = value.fragment
            elif hasattr(value, "source"):
                found["graphs"].append(value.source)
            elif value is not None:
                found["value"] = as_in_lessons(repr(value))
    return found


def begin_page(name: str) -> types.ModuleType:
    """An empty module for the cells of a page."""
    module = modules[name] = types.ModuleType(name)
    module.__file__ = str(CLONE / "tutorials" / f"{name}.py")
    sys.modules[name] = module
    tutorials = str(CLONE / "tutorials")
    if tutorials not in sys.path:
        sys.path.insert(0, tutorials)
    return module


def place_of(name: str, line: int, text: str) -> str:
    """The file that a cell is of: the lesson's own, or if it was changed, one of its own."""
    script = CLONE / "tutorials" / f"{name}.py"
    lines = text.splitlines()
    if (
        script.exists()
        and script.read_text().splitlines()[line - 1 : line - 1 + len(lines)] == lines
    ):
        return str(script)
    changed = CELLS / f"{name}_line_{line}.py"
    changed.parent.mkdir(exist_ok=True)
    changed.write_text("\n" * (line - 1) + text + "\n")
    linecache.checkcache(str(changed))
    return str(changed)


# ---- errors ----


def told(error: BaseException) -> tuple[str, str]:
    """The reader's own lines that led to the error, with its message; and the whole traceback from the first
    of them, if it has more frames."""
    if isinstance(error, ModuleNotFoundError) and error.name == "pyopencl":
        said = NO_DRIVER
    else:
        said = "".join(traceback.format_exception_only(error))
    stack = error.__traceback__
    while stack and not is_own(stack.tb_frame.f_code.co_filename):
        stack = stack.tb_next
    frames = traceback.extract_tb(stack)
    own = [f for f in frames if is_own(f.filename)][-MOST_LINES:]
    short = as_in_cells("".join([*map(line_of, own), said]))
    if len(frames) == len(own):
        return short, ""
    return short, as_in_cells("".join(traceback.format_exception(error.with_traceback(stack))))


def is_own(file: str) -> bool:
    """Whether it is the reader's program, or a file of the lessons."""
    return file.startswith((str(CELLS), str(CLONE / "tutorials"), str(PLAYGROUND)))


def line_of(frame: traceback.FrameSummary) -> str:
    function = "" if frame.name == "<module>" else f", in {frame.name}"
    return f'File "{frame.filename}", line {frame.lineno}{function}: {frame.line}\n'


def as_in_cells(text: str) -> str:
    """The text with lines of the reader's program counted as the page shows them: from a cell's first."""

    def place(found: re.Match[str]) -> str:
        file, number = found["file"] or found["path"], int(found["line"] or found["number"])
        if file == str(PLAYGROUND):
            return f"line {number}"
        begins = [line for of, line in cells if of == file and line <= number]
        if not begins:
            return found[0]
        begin = max(begins)
        return f"cell {cells[file, begin]}, line {number - begin + 1}"

    named = r'File "(?P<file>[^"\n]+)", line (?P<line>\d+)|(?P<path>/[\w./-]+\.py):(?P<number>\d+)'
    return as_in_lessons(re.sub(named, place, text)).rstrip()


# ---- exercises ----


def judge(show, number: str, texts: dict[str, str]) -> dict:
    """Whether what was written of an exercise's functions passes its tests."""
    from tinyjax.studio.learn.in_process import judge_text

    return judge_text(number, texts)


# ---- functions, stage by stage ----


def is_page(value) -> bool:
    """Whether it is what viz.explain makes."""
    made = sys.modules.get("tinyjax.studio.viz.page_files")
    return made is not None and type(value) is made.Page  # viz.kernel makes another kind


def is_picture(value) -> bool:
    """Whether it is what viz.show and its relatives make."""
    made = sys.modules.get("tinyjax.studio.viz.arrays.picture")
    return made is not None and isinstance(value, made.Picture)


def draw_by(svg_of: Callable[[str], str]) -> None:
    """From now on graphs are laid out by this function of the page, and not by a program."""
    from tinyjax.studio.viz import output

    def pipe(graph, *args, **options):
        try:
            return svg_of(graph.source)
        except Exception as error:
            raise output.DotNotFound(f"The graph could not be drawn: {error}") from None

    output.Graph.pipe = pipe  # type: ignore[method-assign, assignment]


def stages(page) -> dict:
    """The data of a page of viz.explain; the site has what draws it."""
    data = page.html.partition('id="data">')[2].partition("</script>")[0]
    name, _, called = page.title.partition("(")
    summary = "; ".join(" ".join(line.split()) for line in page.summary.splitlines())
    return {"name": name, "args": f"({called}", "data": data, "summary": summary}


def command(show, words: str) -> dict:
    """What `python -m tinyjax explain` shows, asked by words such as "model.py:loss --args 3.0". The page has
    the events that `step` walks through, too. What the file prints when it is imported is not shown."""
    from tinyjax.studio import viz
    from tinyjax.studio.cli.functions import add_arguments, find

    parser = argparse.ArgumentParser(exit_on_error=False)
    add_arguments(parser)
    found: dict = {"error": ""}
    with at_work(lambda text: None, found):
        asked = parser.parse_args(shlex.split(words))
        find(asked)
        page = viz.explain(asked.function, *asked.args, transforms=asked.transform)
        found["stages"] = stages(page)
    return found


def explain(show, text: str, function: str, args: str, transforms: str) -> dict:
    """What becomes of a function of the playground's program."""
    import tinyjax as jax
    from tinyjax.studio import viz
    from tinyjax.studio.cli.functions import transforms_named, value_of

    jax.install_as_jax()
    file = PLAYGROUND
    file.write_text(text)
    linecache.checkcache(str(file))
    module = sys.modules["playground"] = types.ModuleType("playground")
    module.__file__ = str(file)
    found: dict = {"error": ""}
    with at_work(show, found):
        exec(compile(text, str(file), "exec"), module.__dict__)
        chosen = getattr(module, function or last_function(text))
        values = value_of(f"({args.rstrip(', ')},)" if args.strip() else "()", module)
        named = transforms_named(transforms) if transforms else []
        with contextlib.redirect_stdout(Once(sys.stdout)):
            found["stages"] = stages(viz.explain(chosen, *values, transforms=named))
    return found


def last_function(text: str) -> str:
    found = [n.name for n in ast.parse(text).body if isinstance(n, ast.FunctionDef)]
    if not found:
        raise ValueError("The program defines no function: write one, as def f(x): ...")
    return found[-1]


# ---- one's work, out and in ----


def pack(show, lesson: str, texts: dict[str, str], passed: list[str]) -> dict:
    """The folder that `learn start` makes, with what was written here, as a zip."""
    from tinyjax.studio.learn.exercises import lesson_number, place_of
    from tinyjax.studio.learn.functions import with_function
    from tinyjax.studio.learn.work_folder import start

    with tempfile.TemporaryDirectory() as temporary:
        folder = start(lesson_number(lesson), Path(temporary, lesson))
        for function, text in texts.items():
            file, name = place_of(function)
            path = folder.path / "src" / file
            path.write_text(with_function(path.read_text(), name, text))
        folder.note_passed(passed)
        folder.save()
        archive = shutil.make_archive(f"{temporary}/packed", "zip", temporary, lesson)
        return {
            "zip": base64.b64encode(Path(archive).read_bytes()).decode(),
            "name": f"{lesson}.zip",
        }


def unpack(show, zip: str) -> dict:
    """What was written in a work folder, by function; nothing of the zip is run."""
    from tinyjax.studio.learn.exercises import NAMES, lesson_number, load, place_of
    from tinyjax.studio.learn.functions import function_text, is_empty_text

    with zipfile.ZipFile(io.BytesIO(base64.b64decode(zip))) as archive:
        notes = [name for name in archive.namelist() if name.endswith("lesson.json")]
        if not notes:
            raise ValueError(
                "There is no lesson.json in it: pack a folder that `learn start` made."
            )
        root = min(notes, key=len).removesuffix("lesson.json")
        number = lesson_number(str(json.loads(archive.read(f"{root}lesson.json"))["lesson"]))
        texts = {}
        for function in [f for e in load() if e.lesson == number for f in e.functions]:
            file, name = place_of(function)
            with contextlib.suppress(KeyError, SyntaxError, UnicodeDecodeError):
                text = function_text(archive.read(f"{root}src/{file}").decode(), name)
                if not is_empty_text(text):
                    texts[function] = text.rstrip()
    return {"lesson": NAMES[number], "texts": texts}


ANSWERS: dict[str, Callable[..., dict]] = {
    "cell": run_cell,
    "judge": judge,
    "command": command,
    "explain": explain,
    "pack": pack,
    "unpack": unpack,
}
