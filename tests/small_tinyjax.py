"""A tinyjax of three functions, with an exercise for each, whose work folders are made at once."""

from pathlib import Path

from tinyjax.studio.learn import exercises, work_folder
from tinyjax.studio.learn.exercises import Exercise

FILE = "tinyjax/three.py"
SOURCE = """\
def one():
    return 1


def two():
    return 2


def three():
    return one() + two()
"""
TESTS = """\
from tinyjax.three import one, three, two

def test_one(): assert one() == 1
def test_two(): assert two() == 2
def test_three(): assert three() == 3
def test_a_sum(): assert one() + two() == 3
"""


def exercise(lesson: int, name: str, *tests: str, number: str = "") -> Exercise:
    """To write the function of this name, judged by these tests."""
    function, judged_by = f"tinyjax.three:{name}", tuple(f"tests/test_three.py::{t}" for t in tests)
    hints = ("a nudge", "the idea")
    return Exercise(lesson, name, 1, (function,), "Write it.", hints, judged_by, number)


EXERCISES = [
    exercise(1, "one", "test_one", number="01.1"),
    exercise(2, "two", "test_two", number="02.1"),
    exercise(3, "three", "test_three", number="03.1"),
]


def use(root: Path, monkeypatch) -> None:
    """Make it in `root`, and have `learn` take it for tinyjax."""
    write(root, monkeypatch, {FILE: SOURCE, "tests/test_three.py": TESTS})
    monkeypatch.setattr(exercises, "load", lambda: EXERCISES)


def write(root: Path, monkeypatch, files: dict[str, str]) -> None:
    """Make a tinyjax of these files in `root`, and have `learn` take it for the clone."""
    for file, text in {"tinyjax/__init__.py": "", "tests/conftest.py": "", **files}.items():
        (root / file).parent.mkdir(parents=True, exist_ok=True)
        (root / file).write_text(text)
    for module in (exercises, work_folder):
        monkeypatch.setattr(module, "ROOT", root)
    monkeypatch.setattr(exercises, "PACKAGE", root / "tinyjax")
