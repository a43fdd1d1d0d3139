"""A lesson as a notebook: what it is made of, and that it runs."""

import ast
import json
import re
import shlex
from urllib.parse import unquote

import pytest

from tinyjax.__main__ import main
from tinyjax.studio.learn import notebook
from tinyjax.studio.learn.exercises import ROOT


@pytest.fixture
def cells(tmp_path, monkeypatch):
    """The cells of lesson 7's notebook."""
    monkeypatch.chdir(tmp_path)
    assert main(["learn", "notebook", "07"]) == 0
    written = json.loads((tmp_path / "07_linearize.ipynb").read_text())
    assert (written["nbformat"], written["nbformat_minor"]) == (4, 5)
    return written["cells"]


def test_texts_and_programs_are_cells_without_output(cells):
    assert "".join(cells[0]["source"]).startswith("# 7. linearize")
    programs = [cell for cell in cells if cell["cell_type"] == "code"]
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in programs)
    ast.parse("\n".join("".join(cell["source"]) for cell in programs))
    assert len({cell["id"] for cell in cells}) == len(cells)


def test_a_question_stands_before_the_program_that_answers_it(cells):
    sources = ["".join(cell["source"]) for cell in cells]
    asked = [i for i, source in enumerate(sources) if source.rstrip().endswith("</details>")]
    assert len(asked) >= 3 and {cells[i + 1]["cell_type"] for i in asked} == {"code"}


def test_links_lead_to_the_lessons_wherever_the_notebook_is(cells, tmp_path):
    text = "".join(line for cell in cells for line in cell["source"])
    links = re.findall(r"\]\((?!\w+:|#)([^)#]*)", text)
    targets = {(tmp_path / unquote(link)).resolve() for link in links}
    assert targets >= {ROOT / "tutorials" / f for f in ("glossary.md", "rendered/06_jaxprs.md")}


def test_a_link_is_one_in_markdown_where_the_path_has_spaces_and_brackets(tmp_path, monkeypatch):
    markdown_it = pytest.importorskip("markdown_it")
    monkeypatch.setattr(notebook, "TUTORIALS", tmp_path / "my (first) clone" / "tutorials")
    text = notebook.links_from(tmp_path, "[jaxprs](06_jaxprs.py#names)")
    html = markdown_it.MarkdownIt().render(text)
    (link,) = re.findall('<a href="(.*)">jaxprs</a>', html)
    assert unquote(link) == "my (first) clone/tutorials/rendered/06_jaxprs.md#names"


def test_the_command_that_opens_it_can_be_pasted_where_its_name_has_a_space(tmp_path, capsys):
    main(["learn", "notebook", "07", str(tmp_path / "my lesson.ipynb")])
    assert shlex.split(capsys.readouterr().out)[-1] == str(tmp_path / "my lesson.ipynb")


def test_a_notebook_that_is_there_is_left_alone(cells, capsys):
    assert main(["learn", "notebook", "7"]) == 1
    assert "is there already" in capsys.readouterr().err


def test_a_notebook_finds_what_its_lesson_imports_from_practice(tmp_path):
    main(["learn", "notebook", "01", str(tmp_path / "lesson.ipynb")])
    second = json.loads((tmp_path / "lesson.ipynb").read_text())["cells"][1]
    assert str(ROOT / "tutorials") in "".join(second["source"])


@pytest.mark.slow
@pytest.mark.parametrize("lesson", ["01", "07"])
def test_a_notebook_runs_and_shows_pictures(lesson, tmp_path):
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    main(["learn", "notebook", lesson, str(tmp_path / "lesson.ipynb")])
    notebook = nbformat.read(tmp_path / "lesson.ipynb", as_version=4)
    nbformat.validate(notebook)
    nbclient.NotebookClient(notebook).execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert any("image/svg+xml" in output.get("data", {}) for output in outputs)
