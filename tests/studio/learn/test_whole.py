"""When a whole lesson passes: programs through every transformation, and the message of one that fails."""

import types

import pytest

from tinyjax.core import lists
from tinyjax.studio.learn import whole
from tinyjax.studio.learn.exercises import PACKAGE

PLACES = {
    (str(PACKAGE / "core" / "lists.py"), "pick"): "07.1 dead_code",
    (str(PACKAGE / "core" / "lists.py"), "split_list"): "01.1 parts",
}


@pytest.mark.parametrize("what", whole.programs())
def test_each_program_gives_what_it_should(what):
    whole.compare(whole.programs()[what])


def test_an_error_is_told_with_the_exercise_that_it_went_through():
    def program():
        lists.split_list([1, 2], 1)
        lists.pick([1, 2], [True])

    said, where = whole.complaints("program", program, PLACES)
    assert said.startswith("program: ValueError: ")
    assert "07.1 dead_code" in where and "01.1" not in where


def test_an_error_that_went_through_a_function_of_an_earlier_lesson_names_that():
    own, kept = PLACES.copy(), {}
    place = (str(PACKAGE / "core" / "lists.py"), "pick")
    kept[place] = f"{own.pop(place)}, of an earlier lesson"

    def program():
        lists.split_list([1, 2], 1)
        lists.pick([1, 2], [True])

    _, where = whole.complaints("program", program, own, kept)
    assert where.strip() == "what it called of yours: 07.1 dead_code, of an earlier lesson"


def test_a_wrong_result_is_told_with_all_exercises_that_the_program_called():
    def program():
        lists.split_list([1, 2], 1)
        lists.pick([1, 2], [True, False])
        whole.compare(lambda: (2.0, 3.0))

    said, where = whole.complaints("program", program, PLACES)
    assert said == "program: gives 2.0, not 3.0"
    assert where.strip() == "what it called of yours: 01.1 parts, 07.1 dead_code"


def test_where_nobody_looks_an_error_is_told_without_what_was_called():
    def program():
        lists.split_list([1, 2], 1)
        raise KeyError("axes")

    told = whole.complaints("program", program, PLACES, look=False)
    assert told == ["program: KeyError: 'axes'"]


@pytest.mark.slow
def test_a_lesson_may_say_how_many_devices_there_are(tmp_path, monkeypatch):
    """Lesson 16 does; the programs before it have looked for the devices."""
    lesson = tmp_path / "tutorials" / "01_primitives.py"
    lesson.parent.mkdir()
    lesson.write_text(
        "import tinyjax as jax\njax.config.update('jax_num_cpu_devices', 2)\n"
        "assert len(jax.devices('cpu')) == 2\n"
    )
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "tinyjax").symlink_to(PACKAGE)
    monkeypatch.setattr(whole, "ROOT", tmp_path)
    folder = types.SimpleNamespace(path=tmp_path, lesson=1, exercises=[], notes={"kept": []})
    assert whole.check(folder) == []
    lesson.write_text("raise KeyError('axes')")
    said, where, command = whole.check(folder)
    assert said == "tutorials/01_primitives.py: KeyError: 'axes'"
    assert f"PYTHONPATH={tmp_path}/src python {lesson}" in command


def test_a_folder_of_an_older_tinyjax_is_left_alone(tmp_path):
    assert whole.check(types.SimpleNamespace(path=tmp_path)) == []
