"""Work folders that another version of tinyjax has made: what the learner wrote is found in the new copy."""

import json
import re

import pytest

from tinyjax.studio.learn import migrate
from tinyjax.studio.learn.atomic_files import NOTES, read
from tinyjax.studio.learn.exercises import NAMES, PACKAGE, LearnError, lesson_number, load, place_of
from tinyjax.studio.learn.functions import functions_of
from tinyjax.studio.learn.handed_out import of_lesson
from tinyjax.studio.learn.renamed import RENAMED
from tinyjax.studio.learn.work_folder import WorkFolder


def made_before(path, lesson, sources, places):
    """A folder as another version wrote it: `sources` by file, and each exercise's functions by its name."""
    for file, text in sources.items():
        (path / "src" / file).parent.mkdir(parents=True, exist_ok=True)
        (path / "src" / file).write_text(text)
    (path / "tests").mkdir()
    (path / "tests" / "test_mine.py").write_text("def test_mine(): ...\n")
    exercises = [{"name": name, "functions": functions} for name, functions in places.items()]
    notes = {"lesson": lesson, "exercises": exercises, "files": {}, "fingerprint": "another's"}
    notes |= {"hints": {next(iter(places)): 2}, "passed": list(places)}
    (path / NOTES).write_text(json.dumps(notes))
    return WorkFolder(path)


def written(name):
    """A function of this qualified name, as a learner may have written it."""
    holder, _, last = name.rpartition(".")
    line = f"def {last}(*mine): return {last!r}\n"
    return f"class {holder}:\n    {line}" if holder else line


@pytest.mark.parametrize(
    "lesson",
    [
        pytest.param(i, id=name, marks=() if i in (1, 11) else pytest.mark.slow)  # a copy each
        for i, name in enumerate(NAMES)
    ],
)
def test_functions_arrive_wherever_they_stood_and_whatever_they_were_called(tmp_path, lesson):
    sources, places = {}, {}
    for e in of_lesson(lesson):
        places[e.name] = []
        for i, (_, name) in enumerate(e.places):
            sources[f"tinyjax/old/{e.name}{i}.py"] = written(f"{name}_old")
            places[e.name].append(f"tinyjax.old.{e.name}{i}:{name}_old")
    folder = made_before(tmp_path, lesson, sources, places)
    migrate.renew(folder)
    here = WorkFolder(tmp_path)
    for file, name in here.places:
        last = name.rpartition(".")[2]
        # the old name, where it stands as a word, is the new one now
        assert here.text(file, name) == f"def {last}(*mine): return {last!r}\n"
    assert here.notes["passed"] == list(places) and list(here.notes["hints"].values()) == [2]
    assert migrate.renew(here) == []


def test_a_folder_of_a_lesson_that_is_two_today_is_two_folders(tmp_path):
    """Lesson 11 of before had the exercises of 11b, too."""
    here, there = (lesson_number(label) for label in ("11", "11b"))
    places = {e.name: list(e.functions) for e in [*of_lesson(here), *of_lesson(there)]}
    sources: dict[str, str] = {}
    for function in [function for functions in places.values() for function in functions]:
        file, name = place_of(function)
        sources[file] = sources.get(file, "") + written(name)
    folder = made_before(tmp_path / "my_11", 11, sources, places)
    folder.notes["hints"] = {"less_work": 1, "sum_in_a_loop": 3}
    folder.save()
    told = migrate.renew(WorkFolder(folder.path))
    assert f"Lesson {NAMES[there]} has its own folder" in "\n".join(told)
    second = WorkFolder(tmp_path / NAMES[there])
    for lesson, work in ((here, WorkFolder(folder.path)), (there, second)):
        assert work.lesson == lesson and work.notes["passed"] == [e.name for e in of_lesson(lesson)]
        for file, name in work.places:
            last = name.rpartition(".")[2]
            assert work.text(file, name) == f"def {last}(*mine): return {last!r}\n"
    assert WorkFolder(folder.path).notes["hints"]["less_work"] == 1
    assert second.notes["hints"] == {"sum_in_a_loop": 3}
    assert migrate.renew(second) == migrate.renew(WorkFolder(folder.path)) == []


def test_a_folder_that_is_there_stays_when_a_lesson_is_two(tmp_path):
    (tmp_path / "11b_kernel_to_c").mkdir()
    names = ("calls_opened", "less_work", "loads_and_stores")
    places = {e.name: list(e.functions) for e in load() if e.name in names}
    source = written("_load") + written("_store")
    folder = made_before(
        tmp_path / "eleven", 11, {"tinyjax/compile/kernel/interpret.py": source}, places
    )
    assert "_load, _store: not moved" in migrate.renew(folder)[-1]
    assert list((tmp_path / "11b_kernel_to_c").iterdir()) == []
    assert "_store" in read(
        tmp_path / "eleven" / "before" / "src" / "tinyjax/compile/kernel/interpret.py"
    )


LISTS = """\
import colorsys
import random as dice
from tinyjax.core import colour


def helper(x):
    return inner(x)


def inner(x):
    return dice.random() + colorsys.rgb_to_hls(x)


def nothing_to_do_with_it():
    pass


class set_current_trace:
    def __enter__(self):
        return self.mine() + helper(3) + colour

    def mine(self):
        ...
"""


@pytest.fixture
def folder_of_core_py(tmp_path):
    """A folder of the time when tinyjax/core/ was one file, core.py."""
    functions = [f"tinyjax.core:set_current_trace.{name}" for name in ("__enter__", "__exit__")]
    return made_before(tmp_path, 1, {"tinyjax/core.py": LISTS}, {"current_trace": functions})


def test_what_the_learner_put_beside_a_function_comes_with_it(folder_of_core_py):
    told = migrate.renew(folder_of_core_py)
    fresh = folder_of_core_py.source("tinyjax/core/bind.py")
    assert {"helper", "inner", "set_current_trace.mine"} <= functions_of(fresh).keys()
    assert "nothing_to_do_with_it" not in fresh
    assert "\nimport colorsys\nimport random as dice\n" in fresh
    compile(fresh, "bind.py", "exec")
    assert "set_current_trace.__enter__ uses colour, which the fresh bind.py has not" in "\n".join(
        told
    )


def test_a_name_that_tinyjax_has_renamed_is_todays(tmp_path):
    text = "class _Plan:\n    def _why_not_recompute(self):\n        return Reach\n"
    places = {"what_is_stored": ["tinyjax.opencl.fuse:_Plan._why_not_recompute"]}
    folder = made_before(tmp_path, 12, {"tinyjax/opencl/fuse.py": text}, places)
    assert len(migrate.renew(folder)) == 3  # among them the signature, but no name that is missing
    fresh = folder.text("tinyjax/compile/fusion/fuse.py", "_Plan._why_not_recompute")
    assert fresh == "def _why_not_recompute(self):\n    return BackwardSlice\n"


def test_the_functions_of_two_exercises_that_are_one_now_arrive(tmp_path):
    module = "tinyjax.transform.jvp"
    places = {
        "rules_of_sin_and_cos": [f"{module}:cos_jvp"],
        "rules_of_a_product": [f"{module}:mul_jvp_y"],
        "rules_of_linear_primitives": [f"{module}:_linear_jvp"],
    }
    names = ("cos_jvp", "mul_jvp_y", "_linear_jvp")
    folder = made_before(
        tmp_path, 2, {"tinyjax/transform/jvp.py": "\n".join(map(written, names))}, places
    )
    migrate.renew(folder)
    here = WorkFolder(tmp_path)
    assert all(here.text("tinyjax/transform/jvp.py", name) == written(name) for name in names)
    assert here.notes["passed"] == []  # until the tests of the one exercise have run


def test_an_exercise_that_has_a_function_more_has_not_passed(tmp_path):
    function = "tinyjax.transform.jvp:_linear_jvp"
    folder = made_before(
        tmp_path,
        2,
        {"tinyjax/transform/jvp.py": written("_linear_jvp")},
        {"rules_of_linear_primitives": [function]},
    )
    migrate.renew(folder)
    here = WorkFolder(tmp_path)
    assert here.text("tinyjax/transform/jvp.py", "_linear_jvp") == written("_linear_jvp")
    assert here.notes["passed"] == []


def test_names_are_renamed_to_some_that_are_there():
    sources = [path.read_text() for path in PACKAGE.rglob("*.py") if path.name != "renamed.py"]
    assert set(RENAMED.values()) <= set(re.findall(r"\w+", "".join(sources)))


def test_what_does_not_come_is_in_before_and_stays_there_when_tinyjax_changes_again(
    folder_of_core_py, tmp_path
):
    migrate.renew(folder_of_core_py)
    (tmp_path / "tests" / "test_mine.py").write_text("def test_another(): ...\n")
    again = WorkFolder(tmp_path)
    again.notes["fingerprint"] = "yet another's"
    migrate.renew(again)
    assert (
        tmp_path / "before_2" / "tests" / "test_mine.py"
    ).read_text() == "def test_another(): ...\n"
    assert (tmp_path / "before" / "src" / "tinyjax" / "core.py").read_text() == LISTS
    assert (tmp_path / "before" / "tests" / "test_mine.py").exists()


def test_a_function_of_an_exercise_that_is_gone_is_told(tmp_path):
    places = {"no_such_exercise": ["tinyjax.core:helper"]}
    folder = made_before(tmp_path, 1, {"tinyjax/core.py": LISTS}, places)
    assert "helper is in no exercise any more" in migrate.renew(folder)[-1]


def test_a_lost_file_does_not_keep_the_folder_from_being_renewed(folder_of_core_py):
    (folder_of_core_py.path / "src" / "tinyjax" / "core.py").unlink()
    assert "nothing was written yet" in migrate.renew(folder_of_core_py)[0]


def test_a_file_to_reset_that_is_not_there_is_answered_with_those_of_the_lesson(folder_of_core_py):
    migrate.renew(folder_of_core_py)
    with pytest.raises(LearnError, match="Those of this lesson: tinyjax/core/bind.py, "):
        migrate.put_back(WorkFolder(folder_of_core_py.path), "tinyjax/core.py")
