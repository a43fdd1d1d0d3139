"""Typical mistakes: JAX's class, a message that names what was wrong, a traceback that ends in the script."""

import json
import re
import runpy
from pathlib import Path

import pytest
from golden_cases.errors import missing_from
from mistakes import FILE, MISTAKES, PREAMBLE, class_name, error_of, message, on_tinyjax, printed

ROOT = Path(__file__).parents[1]
RECORDED = json.loads((ROOT / "tests" / "golden" / "mistakes.json").read_text())["said"]


@pytest.fixture(scope="module")
def errors():
    return {m["what"]: error_of(on_tinyjax(PREAMBLE + m["program"])) for m in MISTAKES}


EACH = pytest.mark.parametrize("mistake", MISTAKES, ids=lambda m: m["what"])


@EACH
def test_the_class_is_that_of_jax(mistake, errors):
    assert class_name(errors[mistake["what"]]) == RECORDED[mistake["what"]][0]


@EACH
def test_the_message_names_what_was_wrong(mistake, errors):
    said = message(errors[mistake["what"]])
    assert missing_from(said, mistake["names"]) == [], said


@EACH
def test_the_last_frame_is_the_users(mistake, errors):
    files = re.findall(r'^  File "(.*)", line', printed(errors[mistake["what"]]), re.M)
    assert files[-1] == FILE


def test_all_are_recorded():
    assert list(RECORDED) == [m["what"] for m in MISTAKES]


def test_the_page_shows_what_is_said_now():
    tool = runpy.run_path(str(ROOT / "tools" / "render_mistakes.py"))
    assert tool["PAGE"].read_text() == tool["page"](), "run tools/render_mistakes.py"
