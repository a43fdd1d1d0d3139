"""The lessons: their pages say what they show, their links lead somewhere, and they run as scripts."""

import importlib.util
import itertools
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tinyjax.runtime.devices import devices
from tinyjax.studio.learn.cells import read_cells
from tinyjax.studio.learn.lesson_map import lesson_map
from tinyjax.studio.viz.output import layout_program

ROOT = Path(__file__).parents[1]
TUTORIALS = ROOT / "tutorials"
TOOL = ROOT / "tools" / "render_tutorials.py"
STORY, *COURSE = LESSONS = sorted(TUTORIALS.glob("[0-9][0-9]*_*.py"))  # the story has no exercises
GLOSSARY = (TUTORIALS / "glossary.md").read_text()


@pytest.fixture
def tool():
    spec = importlib.util.spec_from_file_location("render_tutorials", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def python(*arguments, **options):
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, **options)


# ---- the lessons ----


def can_run(lesson):
    """From lesson 10 on kernels are shown."""
    return STORY != lesson and lesson.name < "10" or devices("cpu")[0].cl_device is not None


@pytest.fixture(scope="module")
def checked(request):
    """The findings about the lessons to check: all are forked from one process."""
    tests = [
        t for t in request.session.items if t.path == request.path and "checked" in t.fixturenames
    ]
    lessons = sorted(filter(can_run, (test.callspec.params["lesson"] for test in tests)))
    done = python(TOOL, "--check", *(lesson.name.partition("_")[0] for lesson in lessons))
    assert "Traceback" not in done.stderr, done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("lesson", LESSONS, ids=lambda path: path.stem)
def test_a_page_says_what_the_lesson_shows(lesson, checked):
    if not can_run(lesson) or lesson == STORY and "NumPy runs the jaxprs" in checked:
        pytest.skip("kernels are shown, and there is no OpenCL device")
    assert re.search(rf"^{lesson.stem}\S* is out of date", checked, re.MULTILINE) is None, checked


@pytest.mark.parametrize("lesson", LESSONS[:2], ids=lambda path: path.stem)
def test_a_lesson_runs_as_a_script(lesson):
    done = python(lesson)
    assert done.returncode == 0, done.stderr
    assert "0.42336" in done.stdout


@pytest.mark.parametrize("lesson", COURSE, ids=lambda path: path.stem)
def test_a_lesson_ends_as_all_do(lesson):
    text = lesson.read_text()
    assert re.findall("^# ## (Summary|Exercises|Where this lives in JAX)$", text, re.MULTILINE) == [
        "Summary",
        "Exercises",
        "Where this lives in JAX",
    ]
    summary = re.search("^# ## Summary$(.*?)^# ## ", text, re.DOTALL | re.MULTILINE)[1]
    assert len(re.findall("^# - ", summary, re.MULTILINE)) == 3, "three lines, each after a dash"
    assert f"learn start {lesson.name.partition('_')[0]}" in text


@pytest.mark.parametrize(
    "page", [*LESSONS, TUTORIALS / "README.md", TUTORIALS / "glossary.md"], ids=lambda p: p.name
)
def test_links_lead_to_files_and_to_terms_of_the_glossary(page):
    lines = page.read_text().splitlines()
    text = "\n".join(line for line in lines if page.suffix == ".md" or line.startswith("#"))
    links = re.findall(r"\]\((?!\w+:)([^)#\s]*)(#[^)]*)?\)", text)
    missing = [file for file, _ in links if not (TUTORIALS / file).exists()]
    terms = [anchor[1:] for file, anchor in links if file == "glossary.md" and anchor]
    missing += [term for term in terms if f'<a id="{term}"></a>' not in GLOSSARY]
    assert missing == []


PROSE = "".join(page.read_text() for page in [*LESSONS, TUTORIALS / "README.md"])
COMMANDS = re.findall(
    r"python -m tinyjax ((?:step|explain) [\w/]+\.py:.*?)(?:`|$)", PROSE, re.MULTILINE
)


@pytest.mark.slow
@pytest.mark.parametrize("command", sorted(set(COMMANDS)))
def test_a_command_that_pages_tell_to_run_runs(command, tmp_path):
    program, *arguments = shlex.split(command)
    if program == "explain":
        arguments += ["-o", tmp_path / "page.html"]
    run = python("-m", "tinyjax", program, *arguments, input="quit\n", cwd=ROOT)
    assert run.returncode == 0, run.stderr


def test_the_map_is_that_of_today():
    written = (TUTORIALS / "rendered" / "figures" / "map.dot").read_text()
    assert written == lesson_map().source, "run tools/render_tutorials.py"


def test_the_map_links_every_lesson():
    rows = r"^\| \d+b? \| .*\(rendered/(\w+)\.md\)"
    linked = re.findall(rows, (TUTORIALS / "README.md").read_text(), re.MULTILINE)
    assert linked == [lesson.stem for lesson in LESSONS]


def test_the_glossary_has_a_line_a_term_which_links_to_a_file():
    entries = re.findall(r"^- .*(?:\n  .*)*", GLOSSARY, re.MULTILINE)
    for entry in entries:
        assert re.match(r'- <a id="[\w-]+"></a>\*\*.+?\*\*: ', entry), entry
        assert re.search(r"\[[\w./]+\]\(\.\./\S+\)$", entry), f"it ends with a link: {entry}"
    terms = [re.findall('<a id="(.*?)"', entry)[0] for entry in entries]
    assert sorted(terms) == sorted(set(terms)), "a term is defined once"


# ---- questions ----

ASKING = """\
from tinyjax.studio.learn.ask import ask_first

ask_first()

# %% [markdown]
# ## A product
# Of two numbers.

# %%
import math

# %% [markdown]
# <details><summary>How many is <code>3 * 4</code>?</summary>
#
# Twelve, as
# three times four is.
# </details>

# %%
print("twelve:", 3 * 4)

# %%
print("end of", __name__)
"""


def test_a_lesson_asks_before_it_shows(tmp_path):
    (tmp_path / "lesson.py").write_text(ASKING)
    asked = python(tmp_path / "lesson.py", "--ask", input="12\n")
    before, _, after = asked.stdout.partition("Your answer")
    assert "## A product" in before and "import math" in before, "what comes before is shown too"
    assert 'print("twelve:", 3 * 4)' in before and "How many is `3 * 4`?" in before
    assert "twelve: 12" not in before and "twelve: 12" in after
    assert "Twelve, as\nthree times" in after and after.endswith("end of __main__\n")
    assert after.index("twelve: 12") < after.index("Twelve, as")
    assert python(tmp_path / "lesson.py").stdout == "twelve: 12\nend of __main__\n"


def test_all_questions_of_the_story_can_be_asked():
    text = LESSONS[0].read_text()
    asked = [cell for cell in read_cells(text) if cell.question]
    assert len(asked) == text.count("<details>") >= 3


@pytest.mark.parametrize("lesson", LESSONS[1:], ids=lambda path: path.stem)
def test_a_lesson_asks_three_to_five_questions_which_programs_answer(lesson):
    cells = read_cells(lesson.read_text())
    answering = [after for cell, after in itertools.pairwise(cells) if cell.question]
    assert 3 <= len(answering) <= 5
    assert "markdown" not in {cell.kind for cell in answering}
    assert "ask_first()" in lesson.read_text().partition("# %%")[0]


# ---- the renderer ----

LESSON = """\
# %% [markdown]
# # A lesson
# See [jvp](glossary.md#jvp) and [the next](02_next.py).

# %%
import types
print("six")
6

# %% varies
print("now")

# %% [markdown]
# ## Exercises
# Do them.
# ## End
"""


@pytest.fixture
def lesson(tool, tmp_path, monkeypatch):
    (tmp_path / "01_lesson.py").write_text(LESSON)
    (tmp_path / "02_next.py").write_text("# %% [markdown]\n# # Next\n")
    (tmp_path / "exercises.toml").write_text(
        '[[exercise]]\nlesson = 1\nname = "twice"\ngrade = 2\nfunctions = ["m:f"]\ngoal = "a | b"\n'
    )
    monkeypatch.setattr(tool, "TUTORIALS", tmp_path)
    monkeypatch.setattr(tool, "RENDERED", tmp_path / "rendered")
    return tmp_path / "01_lesson.py"


def test_output_stands_below_its_cell(tool, lesson):
    page, _ = tool.render(lesson)
    assert 'print("six")\n6\n```\n\n> ```text\n> six\n> 6\n> ```\n' in page
    assert "<!-- varies -->\n> ```text\n> now\n" in page


def test_what_answers_a_question_is_folded_below_it(tool, lesson):
    summary = "<details><summary>Is <code>6 &lt; 7</code>?</summary>"
    question = f"# {summary}\n#\n# Yes, by [jvp](glossary.md#jvp).\n# </details>\n"
    lesson.write_text(LESSON.replace("(02_next.py).\n", f"(02_next.py).\n{question}"))
    page, _ = tool.render(lesson)
    assert (
        "6\n```\n\n<details><summary><b>Is <code>6 &lt; 7</code>?</b></summary>\n\n"
        "> ```text\n> six\n> 6\n> ```\n\nYes, by [jvp](../glossary.md#jvp).\n\n</details>" in page
    )
    assert page.count("<details>") == 1


def test_links_are_those_of_the_page(tool, lesson):
    page, _ = tool.render(lesson)
    assert "[jvp](../glossary.md#jvp)" in page and "[the next](02_next.md)" in page
    assert "[Next →](02_next.md)" in page


def test_exercises_are_a_table_at_the_end_of_their_section(tool, lesson):
    page, _ = tool.render(lesson)
    assert "Do them.\n\n| | exercise" in page
    assert "| 01.1 | twice | ★★ | `f`<br>a \\| b |\n\n## End" in page


def test_a_check_sees_changed_output_but_not_rounding_nor_what_varies(tool, lesson):
    tool.write(lesson)
    assert tool.check(lesson) == []
    lesson.write_text(LESSON.replace("now", "later"))
    assert [line for line in tool.check(lesson) if "later" in line and "print" not in line] == []
    lesson.write_text(LESSON.replace('"six"', '"seven"'))
    assert "01_lesson.md is out of date" in tool.check(lesson)[0]
    assert list(tool.unlike("page", "[0.5 1.25]", "[0.50000006 1.25]")) == []
    assert list(tool.unlike("page", "0.5", "0.6"))


def test_a_graph_is_a_figure_compared_by_its_source(tool, lesson):
    graph = "import tinyjax as jax\njax.viz.dot(jax.make_jaxpr(lambda x: x * {})(1.0))"
    lesson.write_text("# %%\n" + graph.format(2.0))
    page, (figure,) = tool.render(lesson)
    assert "![jax.viz.dot(jax.make_jaxpr(lambda x: x * 2.0)(1.0))](figures/01_lesson_1.svg)" in page
    if layout_program():
        tool.write(lesson)
        assert (tool.RENDERED / "figures" / "01_lesson_1.dot").read_text() == figure.graph.source
        lesson.write_text("# %%\n" + graph.format(3.0))
        assert any("01_lesson_1.dot is out of date" in line for line in tool.check(lesson))
