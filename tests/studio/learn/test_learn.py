"""`learn`, as a learner uses it: on three exercises made for it, functions of tinyjax.core.lists."""

import io
import os
import shlex
import subprocess
import sys
from dataclasses import replace

import pytest
import small_tinyjax

from tinyjax.__main__ import main
from tinyjax.studio.learn import changes, exercises, judge, other_ways, progress
from tinyjax.studio.learn.exercises import ROOT, Exercise, LearnError
from tinyjax.studio.learn.functions import emptied, function_text, functions_of, with_function
from tinyjax.studio.learn.lesson_map import lesson_map
from tinyjax.studio.learn.work_folder import WorkFolder

LISTS = "src/tinyjax/core/lists.py"
TESTS = "tests/core/test_lists.py"
SPLIT = "tests/core/test_lists.py::test_a_list_in_parts_of_given_sizes_and_the_rest"
MERGE = "tests/core/test_lists.py::test_flags_part_a_list_in_two_and_merge_lists_puts_it_together"
INSTALLED = {
    **os.environ,
    "PYTHONPATH": str(ROOT),
}  # another tinyjax, whose functions are not empty
RIGHT = {
    name: function_text((ROOT / "tinyjax/core/lists.py").read_text(), name)
    for name in ("split_list", "pick", "drop", "merge_lists")
}


def exercise(number, name, function, test):
    return Exercise(
        1,
        name,
        1,
        (f"tinyjax.core.lists:{function}",),
        "Write it.",
        ("a nudge", "the idea"),
        (test,),
        number,
    )


@pytest.fixture
def whole_learner(tmp_path, monkeypatch):
    """A learner in a folder without anything, for whom lesson 1 has three exercises."""
    three = [
        exercise("01.1", "parts", "split_list", SPLIT),
        exercise(
            "01.2",
            "drop",
            "drop",
            "tests/core/test_lists.py::test_there_must_be_a_flag_for_each[drop]",
        ),
        exercise("01.3", "merge", "merge_lists", MERGE),
    ]
    monkeypatch.setattr(exercises, "load", lambda: three)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def learner(whole_learner, tmp_path_factory, monkeypatch):
    """The same with a tinyjax of one file, of which a folder is made at once."""
    root = tmp_path_factory.mktemp("clone")
    files = {name: (ROOT / name).read_text() for name in (LISTS.removeprefix("src/"), TESTS)}
    small_tinyjax.write(root, monkeypatch, {**files, "tinyjax/core/__init__.py": ""})


@pytest.fixture
def folder(learner, tmp_path, capsys):
    return begun(tmp_path, capsys)


@pytest.fixture
def whole_folder(whole_learner, tmp_path, capsys):
    """One with all of tinyjax in it."""
    return begun(tmp_path, capsys)


def begun(path, capsys):
    assert main(["learn", "start", "1"]) == 0
    capsys.readouterr()
    return path / "learn" / "01_primitives"


def answer(folder, **functions):
    """Write functions into the learner's copy."""
    source = (folder / LISTS).read_text()
    for name, text in functions.items():
        source = with_function(source, name, text)
    (folder / LISTS).write_text(source)


# ---- emptying ----

SOURCE = '''\
import math

@decorated
def f(x: int,
      y="#") -> int:  # a signature of two lines
    """Adds.

    And no more."""
    # the answer
    return x + y  # here


class C:
    def g(self):
        # the answer

        return 1

    h = 3
'''


def test_an_emptied_function_keeps_decorators_signature_and_docstring_and_the_rest_of_the_file():
    emptied_f = emptied(SOURCE, "f", "exercise 1")
    before, after = SOURCE.split("    # the answer\n    return x + y  # here\n")
    assert emptied_f == f'{before}    raise NotImplementedError("exercise 1")\n{after}'


def test_a_method_without_a_docstring_keeps_its_signature():
    before, after = SOURCE.split("        # the answer\n\n        return 1\n")
    expected = f'{before}        raise NotImplementedError("exercise 1")\n{after}'
    assert emptied(SOURCE, "C.g", "exercise 1") == expected


def test_a_function_in_one_line_keeps_its_signature():
    source = "class C:\n    def f(self, x='ä'): return x\n    def g(self): return 1\n"
    expected = (
        "class C:\n    def f(self, x='ä'):\n        # what to do\n"
        '        raise NotImplementedError("write")\n    def g(self): return 1\n'
    )
    assert emptied(source, "C.f", "write", "what to do") == expected
    assert with_function(expected, "C.f", function_text(source, "C.f")) == source


def test_a_function_put_back_into_an_emptied_file_gives_the_file():
    text = function_text(SOURCE, "C.g")
    assert with_function(emptied(SOURCE, "C.g", "exercise 1"), "C.g", text) == SOURCE
    assert list(functions_of(SOURCE)) == ["f", "C.g"]


# ---- handing out, judging ----


def test_without_a_command_the_commands_are_listed(capsys):
    assert main(["learn"]) == 2
    told = capsys.readouterr().err
    assert "what to do next" in told and told.endswith("`learn list` shows the lessons.\n")


def test_a_list_of_which_only_the_beginning_is_read_ends_quietly():
    command = f"{shlex.quote(sys.executable)} -u -m tinyjax learn list | true"
    done = subprocess.run(command, shell=True, env=INSTALLED, capture_output=True, text=True)
    assert done.stderr == ""


def test_start_says_what_to_write_and_where(learner, tmp_path, capsys):
    main(["learn", "start", "1", "here"])
    said = capsys.readouterr().out
    assert "01.1 parts *" in said and "Write it." in said
    assert f"split_list: here/{LISTS}:" in said
    assert main(["learn", "start", "1", "here"]) == 1
    assert "is a work folder already" in capsys.readouterr().err


def test_a_lesson_may_be_named_from_anywhere(folder, capsys, monkeypatch):
    monkeypatch.chdir(folder.parent)
    main(["learn", "start", "02"])
    capsys.readouterr()
    main(["learn", "test", "01"])
    assert "0 of 3 in 01_primitives" in capsys.readouterr().out
    main(["learn", "test", "3"])
    assert "no work folder for lesson 03" in capsys.readouterr().err


def test_an_untouched_folder_does_not_pass(folder, capsys):
    assert main(["learn", "test"]) == 1
    assert capsys.readouterr().out.count("empty ") == 3


@pytest.mark.slow
def test_all_passes_with_the_reference_and_only_in_the_learners_folder(whole_folder, capsys):
    answer(whole_folder, **{name: RIGHT[name] for name in ("split_list", "drop", "merge_lists")})
    assert main(["learn", "test"]) == 0
    said = capsys.readouterr().out
    assert "3 of 3" in said and "It runs on what you wrote" in said
    assert progress.passed([WorkFolder(whole_folder)]) == {"drop", "merge", "parts"}
    main(["learn", "diff"])
    assert capsys.readouterr().out.count("the same as the reference") == 3
    main(["learn", "next"])
    assert "All exercises of all lessons are done." in capsys.readouterr().out


@pytest.mark.slow
def test_each_exercise_is_told_with_the_first_thing_that_fails(folder, capsys, monkeypatch):
    monkeypatch.setattr(judge, "SECONDS", 1)
    answer(
        folder,
        split_list="def split_list(xs, *sizes):\n    while True:\n        pass\n",
        drop="def drop(xs, flags):\n    return [x for x, flag in zip(xs, flags) if not flag]\n",
        merge_lists="def merge_lists(flags, dropped, picked):\n"
        "    print('hello')\n    return picked + dropped\n",
    )
    assert main(["learn", "test"]) == 1
    loop, drop, merge, _ = capsys.readouterr().out.split("\n\n")[0].split("failed ")[1:] + [""]
    assert (
        "did not end within 1 seconds" in loop and f"{LISTS}:" in loop and "in split_list" in loop
    )
    assert "DID NOT RAISE" in drop
    assert (
        "printed: hello" in merge
        and "Use -v" not in merge
        and "assert ['a', 'd', 'b', 'c'] ==" in merge
    )
    assert all(
        len(part.splitlines()) < 10 and "Traceback" not in part for part in (loop, drop, merge)
    )


TOO_LARGE = "def split_list(xs, *sizes):\n    return [0] * 10**12\n"
ENDLESS = (
    "def drop(xs, flags):\n    found = []\n    while True:\n        found.append(bytes(9999))\n"
)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="memory has no limit elsewhere")
def test_a_list_without_an_end_is_told_in_its_line_before_it_takes_all_memory(
    folder, capsys, monkeypatch
):
    monkeypatch.setattr(judge, "memory_limit", lambda: 2**30)
    answer(folder, split_list=TOO_LARGE, drop=ENDLESS)
    assert main(["learn", "test"]) == 1
    said = capsys.readouterr().out
    assert said.count("MemoryError: the test needs too much memory") == 2
    assert "in split_list: return [0] * 10**12" in said and "in drop: found.append" in said


@pytest.mark.slow
def test_time_in_which_others_have_the_processor_does_not_count(folder, capsys, monkeypatch):
    monkeypatch.setattr(judge, "SECONDS", 1)
    wait = "    __import__('time').sleep(1.5)\n"
    answer(folder, split_list=f"def split_list(xs, *sizes):\n{wait}    return ['mine']\n")
    assert main(["learn", "test"]) == 1
    said = capsys.readouterr().out
    assert "mine" in said and "did not end" not in said


@pytest.mark.slow
def test_plain_pytest_runs_the_lessons_tests_on_the_learners_copy(whole_folder):
    answer(whole_folder, split_list="def split_list(xs, *sizes):\n    return ['mine']\n")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider"]
    done = subprocess.run(command, cwd=whole_folder, env=INSTALLED, capture_output=True, text=True)
    assert "3 failed" in done.stdout
    assert "exercise 01.2 (drop): write drop" in done.stdout and "['mine']" in done.stdout


@pytest.mark.slow
def test_what_is_judged_runs_without_shortcuts(whole_folder, capsys):
    value = "__import__('tinyjax').config.tinyjax_fast"
    answer(whole_folder, split_list=f"def split_list(xs, *sizes):\n    return [{value}]\n")
    main(["learn", "test"])
    assert "[False]" in capsys.readouterr().out


# ---- what else may break ----


def test_a_file_that_is_no_python_is_told_in_two_lines(folder, capsys):
    (folder / LISTS).write_text((folder / LISTS).read_text().replace("def pick(", "def pick(("))
    main(["learn", "test"])
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "No test could run:"
    assert said[1].startswith(f"{LISTS}:") and "def pick((xs" in said[1]
    assert said[2].strip().startswith("SyntaxError")
    assert said[3] == ""


@pytest.fixture
def latin_1(folder):
    """A folder in whose file somebody wrote a comment in an editor of the last century."""
    source = (folder / LISTS).read_text().replace("def pick(", "# größer\ndef pick(")
    (folder / LISTS).write_bytes(source.encode("latin-1"))
    return folder


@pytest.mark.parametrize("command", ["test", "diff"])
def test_a_file_that_is_not_utf_8_is_told_with_the_line_and_the_byte(latin_1, capsys, command):
    assert main(["learn", command]) == 1
    said = "".join(capsys.readouterr())
    number = (latin_1 / LISTS).read_bytes().splitlines().index("# größer".encode("latin-1")) + 1
    assert f"{LISTS}:{number}: # gr\N{REPLACEMENT CHARACTER}" in said
    assert "byte 0xf6 is not UTF-8: save the file as UTF-8" in said


def test_in_a_folder_with_such_a_file_the_other_commands_work(latin_1, monkeypatch, capsys):
    assert main(["learn", "next"]) == main(["learn", "hint"]) == main(["learn", "progress"]) == 0
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    assert main(["learn", "reset", LISTS.removeprefix("src/")]) == 0
    assert b"\xf6" in (latin_1 / "before" / LISTS).read_bytes()
    assert b"\xf6" not in (latin_1 / LISTS).read_bytes()


def test_a_byte_order_mark_is_accepted(folder, capsys):
    answer(folder, **RIGHT)
    (folder / LISTS).write_text((folder / LISTS).read_text(), encoding="utf-8-sig")
    main(["learn", "test"])
    assert "passed   01.1 parts" in capsys.readouterr().out


def test_the_line_that_is_told_is_not_that_of_a_file_of_the_same_name(
    folder, monkeypatch, tmp_path
):
    shadow = tmp_path / "clone" / "tinyjax" / "core" / "lists.py"
    shadow.parent.mkdir(parents=True)
    shadow.write_text("if True:\n    the_answer = 1\n")
    monkeypatch.chdir(tmp_path / "clone")
    (folder / LISTS).write_text("if True:\nmy_own_line = 1\n")
    assert changes.unreadable(WorkFolder(folder))[0] == f"{LISTS}:2: my_own_line = 1"


def test_a_lost_file_is_not_taken_from_an_installed_tinyjax(whole_folder):
    (whole_folder / LISTS).unlink()
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider"]
    done = subprocess.run(command, cwd=whole_folder, env=INSTALLED, capture_output=True, text=True)
    assert done.returncode != 0
    assert "tinyjax.core.lists" in done.stderr and "passed" not in done.stdout
    assert len(done.stderr.splitlines()) <= 5


@pytest.mark.slow
def test_a_circular_import_is_told_in_the_line_that_began_it(whole_folder, capsys):
    answer(whole_folder, drop=RIGHT["drop"])
    (whole_folder / LISTS).write_text(
        "import tinyjax.core.jaxpr\n" + (whole_folder / LISTS).read_text()
    )
    text = (
        (whole_folder / LISTS)
        .read_text()
        .replace("import tinyjax.core.jaxpr", "from tinyjax.core.jaxpr import Var", 1)
    )
    (whole_folder / LISTS).write_text(text.replace("from __future__ import annotations\n", ""))
    main(["learn", "test"])
    said = capsys.readouterr().out
    assert f"{LISTS}:1: from tinyjax.core.jaxpr import Var" in said
    assert "goes round in a circle" in said


@pytest.mark.slow
def test_a_changed_test_is_put_back_before_it_judges(folder, capsys):
    test = folder / "tests" / "core" / "test_lists.py"
    test.write_text(test.read_text().replace("assert", "assert True or"))
    answer(folder, merge_lists="def merge_lists(*parts):\n    return []\n")
    main(["learn", "test"])
    said = capsys.readouterr().out
    assert "tests/core/test_lists.py was changed. The original is back" in said
    assert "failed   01.3 merge" in said and "0 of 3" in said


@pytest.mark.slow
def test_another_signature_is_told_though_all_tests_pass(folder, capsys):
    other = RIGHT["merge_lists"].replace("flags", "which")
    answer(folder, drop=RIGHT["drop"], merge_lists=other)
    assert main(["learn", "test"]) == 1
    said = capsys.readouterr().out
    assert "failed   01.3 merge\n" in said
    assert "your `merge_lists` has the parameter `which`, the exercise's is `flags`" in said


def test_changes_beside_the_exercises_are_told_by_name():
    after = (
        SOURCE.replace("import math\n", "").replace("return 1", "return 2").replace("x: int,", "x,")
    )
    told = changes.differences(SOURCE, after, own={"f"})
    assert told == [
        "C.g (line 13) is changed, which is not part of this lesson.",
        "gone or changed: import math",
    ]
    assert changes.differences(SOURCE, "import os\n" + SOURCE, own={"f"}) == []


# ---- help on the way ----


def test_a_hint_more_is_given_each_time(folder, capsys):
    main(["learn", "hint"])
    first = capsys.readouterr().out
    assert "a nudge" in first and "the idea" not in first
    main(["learn", "hint"])
    assert "the idea" in capsys.readouterr().out


def test_an_exercise_of_another_lesson_is_found_by_its_number(folder, capsys, monkeypatch):
    function, known = "tinyjax.core.lists:pick", exercises.load()
    other = Exercise(2, "other", 1, (function,), "Write it.", ("another nudge",), (MERGE,), "02.1")
    monkeypatch.setattr(exercises, "load", lambda: [*known, other])
    main(["learn", "start", "2"])
    for number, told in (("2.1", "another nudge"), ("01.1", "a nudge")):
        capsys.readouterr()
        assert main(["learn", "hint", number]) == 0 and told in capsys.readouterr().out
    assert main(["learn", "hint", "3.1"]) == 1
    assert "no work folder for lesson 03" in capsys.readouterr().err


@pytest.mark.parametrize("what", ["1.2", "drop"])
def test_an_exercise_is_reset_in_the_folder_of_its_lesson(folder, monkeypatch, what):
    answer(folder, drop=RIGHT["drop"])
    function, known = "tinyjax.core.lists:pick", exercises.load()
    other = Exercise(2, "other", 1, (function,), "Write it.", ("a nudge",), (MERGE,), "02.1")
    monkeypatch.setattr(exercises, "load", lambda: [*known, other])
    main(["learn", "start", "2"])  # and is the folder used last
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    assert main(["learn", "reset", what]) == 0
    here = WorkFolder(folder)
    assert here.is_empty(here.exercises[1])


@pytest.mark.slow
def test_only_the_folder_that_is_tested_is_renewed(folder, monkeypatch, capsys):
    function, known = "tinyjax.core.lists:pick", exercises.load()
    other = Exercise(2, "other", 1, (function,), "Write it.", ("a nudge",), (MERGE,), "02.1")
    monkeypatch.setattr(exercises, "load", lambda: [*known, other])
    main(["learn", "start", "2"])
    folders = [folder, folder.parent / "02_jvp"]
    for path in folders:
        old = WorkFolder(path)
        old.notes["fingerprint"] = "that of another version"
        old.save()
    monkeypatch.chdir(folder.parent)
    main(["learn", "test", "01"])
    fingerprints = [WorkFolder(path).notes["fingerprint"] for path in folders]
    assert [text == "that of another version" for text in fingerprints] == [False, True]


@pytest.mark.slow
def test_an_earlier_exercise_that_is_wrong_is_named_where_a_later_one_calls_it(
    folder, capsys, monkeypatch
):
    calls_parts = (
        "def merge_lists(flags, dropped, picked):\n    return split_list(picked, [])[-1]\n"
    )
    wrong = "def {}(*args):\n    return []\n".format
    answer(folder, split_list=wrong("split_list"), drop=RIGHT["drop"], merge_lists=calls_parts)
    main(["learn", "test"])
    said = capsys.readouterr().out
    assert "may be due to 01.1 parts: called here" in said.partition("01.3 merge")[2]
    assert said.count("may be due to") == 1, "the first one is wrong by itself"


@pytest.mark.slow
def test_an_exercise_that_passed_once_and_fails_now_has_hints_again(folder, capsys):
    answer(folder, **{name: RIGHT[name] for name in ("split_list", "drop", "merge_lists")})
    main(["learn", "test"])
    answer(folder, split_list=RIGHT["split_list"].replace("start += size", "start += 1"))
    main(["learn", "test"])
    capsys.readouterr()
    main(["learn", "hint"])
    assert "01.1 parts" in capsys.readouterr().out


def test_the_reference_is_shown_of_an_exercise_that_is_named(folder, capsys):
    main(["learn", "diff"])
    assert "start += size" not in capsys.readouterr().out
    main(["learn", "diff", "01.1"])
    assert "start += size" in capsys.readouterr().out


def test_an_exercise_that_passes_points_to_other_answers_and_to_jax(folder, capsys, monkeypatch):
    e = replace(exercises.load()[0], jax=("jax/_src/core.py: Primitive.bind",))
    monkeypatch.setattr(exercises, "load", lambda: [e])
    path = exercises.ROOT / "tutorials" / "mutants" / "01_primitives.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        '[[right]]\nexercise = "parts"\nwhy = "by islice"\ncode = "pass  # another"\n'
        '[[right]]\nexercise = "parts"\nwhy = "a line is another"\nold = "a"\nnew = "b"\n'
    )
    monkeypatch.setattr(other_ways, "ROOT", exercises.ROOT)
    assert main(["learn", "more"]) == 1
    answer(folder, split_list=RIGHT["split_list"])
    main(["learn", "test"])
    assert "`learn more 01.1`: other right answers" in capsys.readouterr().out
    main(["learn", "test"])
    assert "learn more" not in capsys.readouterr().out
    assert main(["learn", "more"]) == 0
    said = capsys.readouterr().out
    assert "start += size" in said and "Right too: by islice\n\n    pass  # another" in said
    assert f"Primitive.bind  {other_ways.JAX}jax/_src/core.py" in said


def test_the_reference_of_a_toy_is_shown_too(whole_learner, capsys, monkeypatch):
    function, test = "practice.run_notes:run_notes", "tests/practice/test_run_notes.py::test_an"
    toy = Exercise(1, "toy", 1, (function,), "Write it.", ("a nudge",), (test,), "01.1")
    monkeypatch.setattr(exercises, "load", lambda: [toy])
    main(["learn", "start", "01", "."])
    main(["learn", "diff", "01.1"])
    assert "equation.primitive.bind" in capsys.readouterr().out


def test_a_file_of_notes_that_is_broken_is_named(folder, capsys):
    (folder / "lesson.json").write_text("{")
    assert main(["learn", "test"]) == 1
    assert "lesson.json is no file of notes" in capsys.readouterr().err
    assert main(["learn", "list"]) == 1
    assert "lesson.json is no file of notes" in capsys.readouterr().err


def test_watch_runs_the_tests_again_when_a_file_is_saved(folder, capsys, monkeypatch):
    naps = []

    def sleep(seconds):
        naps.append(seconds)
        if len(naps) > 2:
            raise KeyboardInterrupt
        os.utime(folder / LISTS, (len(naps), len(naps)))

    monkeypatch.setattr("time.sleep", sleep)
    main(["learn", "watch"])
    assert capsys.readouterr().out.count("0 of 3") == 3


@pytest.mark.parametrize("reply, is_kept", [("n", True), ("y", False)])
def test_reset_asks(folder, monkeypatch, reply, is_kept):
    answer(folder, drop=RIGHT["drop"])
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{reply}\n"))
    main(["learn", "reset"])
    drop = WorkFolder(folder).exercises[1]
    assert WorkFolder(folder).is_empty(drop) != is_kept


def test_one_exercise_or_one_file_can_be_reset(folder, monkeypatch):
    answer(folder, drop=RIGHT["drop"], merge_lists=RIGHT["merge_lists"], pick="def pick(): ...\n")
    monkeypatch.setattr("sys.stdin", io.StringIO("y\ny\n"))
    main(["learn", "reset", "01.3"])
    main(["learn", "reset", "tinyjax/core/lists.py"])
    here = WorkFolder(folder)
    assert [here.is_empty(e) for e in here.exercises] == [True, False, True]
    assert here.text("tinyjax/core/lists.py", "pick") == RIGHT["pick"]


@pytest.mark.slow
def test_the_learners_functions_are_carried_into_a_changed_tinyjax(folder, capsys):
    mine = "def drop(items, flags):\n    return helper(items)\n"
    answer(folder, drop=mine)
    here = WorkFolder(folder)
    here.notes["fingerprint"] = "that of another version"
    here.save()
    main(["learn", "test"])
    said = capsys.readouterr().out
    assert "tinyjax has changed." in said and "carried over: drop." in said
    assert (
        "drop uses helper" in said and "def drop(xs: Iterable[Any], flags: Iterable[bool])" in said
    )
    assert here.text("tinyjax/core/lists.py", "drop") == mine
    assert mine in (folder / "before" / LISTS).read_text()


def test_without_the_lessons_learn_says_where_they_are(tmp_path):
    with pytest.raises(LearnError, match="Clone the repository"):
        exercises.load(tmp_path / "exercises.toml")


def test_the_map_fills_a_lesson_as_far_as_it_is_done():
    source = lesson_map({"01_primitives": 1.0, "02_jvp": 0.5}).source
    assert "\u2713 1  primitives" in source and ";0.50:" in source
    assert (
        "01_primitives" in source
        and source == lesson_map({"01_primitives": 1.0, "02_jvp": 0.5}).source
    )
