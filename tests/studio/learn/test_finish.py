"""The end of the course: digits read with the learner's own tinyjax."""

import re

import pytest

from tinyjax import random
from tinyjax.__main__ import main
from tinyjax.core.config import config
from tinyjax.studio import data
from tinyjax.studio.learn import digits, finish
from tinyjax.studio.learn import exercises as catalogue
from tinyjax.studio.learn.atomic_files import read, write
from tinyjax.studio.learn.carry_over import Kept
from tinyjax.studio.learn.exercises import LearnError, in_clone
from tinyjax.studio.learn.functions import function_text, with_function
from tinyjax.studio.learn.progress import functions
from tinyjax.studio.learn.work_folder import WorkFolder


def write_the_reference(folder):
    """Do what a learner does who writes what tinyjax has."""
    for file, name in folder.places:
        text = function_text(read(in_clone(file)), name)
        path = folder.path / "src" / file
        write(path, with_function(read(path), name, text))


def test_what_is_not_the_learners_is_named():
    first, second, *rest = all_of_2 = [e for e in catalogue.load() if e.lesson == 2]
    kept = Kept({}, [first, *rest], {second.name: "does not pass"})
    said = "\n".join(finish.shares(kept))
    own, total = (
        len({p for e in found for p in e.places if p[0].startswith("tinyjax/")})
        for found in (kept.exercises, all_of_2)
    )
    assert re.search(f"02_jvp +{own} of +{total}   tinyjax's own: 02.2 {second.name}", said)
    assert f"Written, and not taken:\n  {second.name}: does not pass" in said
    assert re.search("01_primitives +0 of +[0-9]+\n", said)


@pytest.mark.slow
def test_without_anything_written_the_training_is_tinyjaxs_own(tmp_path, capfd, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["learn", "finish"]) == 0
    said = capfd.readouterr().out
    assert "All functions are the reference" in said
    right = re.search("([0-9]+) of the 360 digits", said)
    assert int(right[1]) > 300


@pytest.mark.slow
def test_an_error_in_the_training_is_told(tmp_path, capfd):
    file = "tinyjax/transform/vjp.py"
    broken = with_function(read(in_clone(file)), "value_and_grad", "def value_and_grad(fun): 1 / 0")
    with pytest.raises(LearnError, match="(?s)src/tinyjax/transform/vjp.py.*ZeroDivisionError"):
        finish.train(tmp_path, Kept({file: broken}))


LESSONS = ("02", "12")  # all of them take some minutes, as each carries on those before it


@pytest.mark.slow
def test_a_learner_goes_through_lessons_to_digits_read(tmp_path, capfd, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for lesson in LESSONS:
        assert main(["learn", "start", lesson, "--keep"]) == 0
        assert "tinyjax's own" not in capfd.readouterr().out
        name = catalogue.NAMES[catalogue.lesson_number(lesson)]
        write_the_reference(WorkFolder(tmp_path / "learn" / name))
    assert main(["learn", "finish"]) == 0
    said = capfd.readouterr().out
    everything = catalogue.load()
    own, total = functions(
        everything, {e.name for e in everything if catalogue.label_of(e.lesson) in LESSONS}
    )
    assert f"{own} of the {total} functions of tinyjax that exercises ask for are yours" in said
    at_work = int(re.search("([0-9]+) of your", said)[1])
    assert at_work > own / 2
    assert int(re.search("([0-9]+) of the 360 digits", said)[1]) > 300


@pytest.mark.slow
def test_a_training_goes_through_the_compiler_that_learners_write():
    images, labels = data.digits()
    state, run, _ = digits.trainer()
    with config.set("tinyjax_fast", False):
        _, at_work = digits.functions_at_work(lambda: run(0, state, random.key(1), images, labels))
    written = {
        (file, name)
        for e in catalogue.load()
        if catalogue.label_of(e.lesson) in ("10", "11", "11b", "12", "17")
        for file, name in e.places
        if file.startswith("tinyjax/")
    }
    # An interpreter, a cost that is counted, tune's search, memory of a GPU, powers that stay in the eager
    # part, and the jvp of jit, which linearize does not need
    others = {
        "_load",
        "_store",
        "fused_cost",
        "beam_search",
        "Queue.upload",
        "Queue.read",
        "_integer_pow",
        "_jit_jvp",
    }
    assert {name for _, name in written - at_work} == others
