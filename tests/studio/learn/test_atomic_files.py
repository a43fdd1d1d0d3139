"""Nothing of the learner's is lost: whatever ends a command, and wherever."""

import builtins
import errno
import io
import itertools
import json
import shutil
from pathlib import Path

import pytest
import small_tinyjax
from small_tinyjax import EXERCISES, FILE

from tinyjax.__main__ import main
from tinyjax.studio.learn import atomic_files, exercises, judge, migrate, progress, work_folder
from tinyjax.studio.learn.atomic_files import NOTES, put_in_place
from tinyjax.studio.learn.functions import with_function
from tinyjax.studio.learn.work_folder import WorkFolder

MINE = "def one():\n    return 3 - 2\n"


@pytest.fixture
def here(tmp_path, monkeypatch):
    """The folder that the shell is in."""
    small_tinyjax.use(tmp_path / "root", monkeypatch)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


def begun(path):
    """A work folder of lesson 1 with the learner's function in it."""
    folder = work_folder.start(1, path)
    write_mine(folder)
    return folder


def write_mine(folder, text=MINE):
    path = folder.path / "src" / FILE
    path.write_text(with_function(path.read_text(), "one", text))


def make_old(folder):
    folder.notes["fingerprint"] = "that of another version"
    folder.save()


class Killed(BaseException):
    pass


class Disk:
    """Counts what is done to files; what comes after `at` such steps fails as `error` says."""

    def __init__(self, monkeypatch, at, error):
        self.at, self.error, self.steps = at, error, 0
        for owner, name in [(Path, "replace"), (Path, "mkdir"), (Path, "rmdir"), (shutil, "copy2")]:
            monkeypatch.setattr(owner, name, self.counted(getattr(owner, name)))
        monkeypatch.setattr(atomic_files, "open", self.open, raising=False)
        if error is Killed:  # a full disk still removes files
            for owner, name in [(Path, "unlink"), (shutil, "rmtree")]:
                monkeypatch.setattr(owner, name, self.counted(getattr(owner, name)))

    def step(self):
        self.steps += 1
        if self.steps > self.at:
            raise self.error

    def counted(self, function):
        def wrapper(*args, **kwargs):
            self.step()
            return function(*args, **kwargs)

        return wrapper

    def open(self, file, mode="r", **kwargs):
        opened = builtins.open(file, mode, **kwargs)  # empty by now, if it is written
        if mode == "w":
            self.step()
        return opened


def ended_everywhere(monkeypatch, act, error):
    """Calls act(0), which ends at the first step, act(1), at the second, ... until one goes through; gives
    each number."""
    for at in itertools.count():
        with monkeypatch.context() as patched:
            disk = Disk(patched, at, error)
            try:
                act(at)
            except (Killed, OSError) as caught:
                assert isinstance(caught, type(error) if isinstance(error, OSError) else error)
        yield at
        if disk.steps <= at:
            assert at > 5, "the disk counts nothing"
            return


def versions(path):
    """All texts of the file in a work folder: the one at its place, and those that were put aside."""
    return [found.read_text() for found in path.rglob(Path(FILE).name)]


def test_a_start_that_was_killed_can_be_given_again(here, monkeypatch):
    for at in ended_everywhere(
        monkeypatch, lambda at: work_folder.start(1, here / str(at)), Killed
    ):
        path = here / str(at)
        put_in_place(path)
        folder = WorkFolder(path) if (path / NOTES).exists() else work_folder.start(1, path)
        assert folder.changed_files() == [] and folder.is_empty(EXERCISES[0])
        assert {p.name for p in path.iterdir()} >= {"src", "tests", "conftest.py", "README.md"}


@pytest.mark.slow
@pytest.mark.parametrize("error", [Killed, OSError(errno.ENOSPC, "No space left on device")])
def test_when_a_renewal_is_ended_the_next_one_brings_what_was_written(here, monkeypatch, error):
    def act(at):
        folder = WorkFolder(here / str(at))
        migrate.renew(folder)

    for at in range(100):
        make_old(begun(here / str(at)))
    for at in ended_everywhere(monkeypatch, act, error):
        put_in_place(here / str(at))
        migrate.renew(WorkFolder(here / str(at)))
        folder = WorkFolder(here / str(at))
        assert folder.text(FILE, "one") == MINE
        assert migrate.renew(folder) == []


@pytest.mark.slow
@pytest.mark.parametrize("error", [Killed, OSError(errno.ENOSPC, "No space left on device")])
@pytest.mark.parametrize(
    "reset",
    [
        lambda folder: migrate.empty_again(folder, EXERCISES[0]),
        lambda folder: migrate.put_back(folder, FILE),
        migrate.begin_again,
    ],
)
def test_what_is_reset_is_in_its_place_or_aside(here, monkeypatch, error, reset):
    for at in range(60):
        begun(here / str(at))
    for at in ended_everywhere(monkeypatch, lambda at: reset(WorkFolder(here / str(at))), error):
        assert any(MINE in text for text in versions(here / str(at)))
        put_in_place(here / str(at))
        assert (here / str(at) / "src" / FILE).exists()


def test_what_was_put_aside_is_not_replaced_by_what_is_put_aside_later(here, monkeypatch):
    folder = begun(here / "one")
    monkeypatch.chdir(folder.path)
    for text in ["def one():\n    return 'another'\n", "def one():\n    return 'a third'\n"]:
        monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
        assert main(["learn", "reset", "01.1"]) == 0
        write_mine(folder, text)
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    main(["learn", "reset"])
    found = "".join(versions(folder.path))
    assert MINE in found and "another" in found and "a third" in found


# ---- messages ----


def test_a_command_that_is_stopped_says_so_and_loses_nothing(here, monkeypatch, capsys):
    folder = begun(here / "one")

    def stopped(*_):
        raise KeyboardInterrupt

    for owner, name, words in [
        (work_folder, "fill", ["start", "2"]),
        (judge, "run_tests", ["test", "1"]),
    ]:
        with monkeypatch.context() as patched:
            patched.setattr(owner, name, stopped)
            assert main(["learn", *words]) == 130
        assert (
            f"`learn {words[0]}` was interrupted; nothing that you wrote was changed"
            in capsys.readouterr().err
        )
    assert folder.text(FILE, "one") == MINE
    assert main(["learn", "start", "2"]) == 0


@pytest.mark.parametrize(
    "number, told", [(errno.ENOSPC, "The disk is full"), (errno.EROFS, "may not be written")]
)
def test_a_disk_that_takes_nothing_is_told(here, monkeypatch, capsys, number, told):
    Disk(monkeypatch, 3, OSError(number, "whatever the system says", "learn"))
    assert main(["learn", "start", "1"]) == 1
    assert told in capsys.readouterr().err
    assert [path for path in here.rglob("*") if path.is_file()] == []  # the room is free again


@pytest.mark.slow
def test_in_a_folder_that_may_not_be_written_tests_run_and_hints_are_given(
    here, monkeypatch, capsys
):
    monkeypatch.chdir(begun(here / "one").path)
    Disk(monkeypatch, 0, OSError(errno.EROFS, "Read-only file system", NOTES))
    assert main(["learn", "test"]) == 0
    said = capsys.readouterr().out
    assert "passed   01.1 one" in said and "lesson.json may not be written" in said
    assert main(["learn", "hint", "01.1"]) == 0
    assert "a nudge" in capsys.readouterr().out


# ---- two folders, and older ones ----


@pytest.mark.slow
def test_two_courses_know_nothing_of_each_other(here, monkeypatch, capsys):
    for name in ("first", "second"):
        (here / name).mkdir()
        monkeypatch.chdir(here / name)
        main(["learn", "start", "1"])
    write_mine(WorkFolder(here / "first" / "learn" / "01_primitives"))
    monkeypatch.chdir(here / "first")
    assert main(["learn", "test"]) == 0
    main(["learn", "progress"])
    assert "1 of these 3 functions" in capsys.readouterr().out
    monkeypatch.chdir(here / "second" / "learn")
    main(["learn", "progress"])
    assert "0 of these 3 functions" in capsys.readouterr().out
    assert main(["learn", "test"]) == 1


def test_of_a_course_the_folder_used_last_is_meant(here, capsys):
    for lesson in ("2", "1"):
        main(["learn", "start", lesson])
    capsys.readouterr()
    main(["learn", "next"])
    assert "01.1 one" in capsys.readouterr().out
    assert [folder.lesson for folder in progress.folders(here / "learn")] == [1, 2]


def test_a_lesson_that_has_another_number_now_is_known_by_its_exercises(here):
    folder = begun(here / "one")
    folder.notes["lesson"] = 3
    make_old(folder)
    migrate.renew(WorkFolder(here / "one"))
    assert WorkFolder(here / "one").lesson == 1 and MINE in versions(here / "one")[0]


def test_an_exercise_that_has_another_name_now_is_known_by_its_function(here, monkeypatch):
    folder = begun(here / "one")
    make_old(folder)
    renamed = small_tinyjax.exercise(1, "the_first", "test_one", number="01.1")
    other_function = renamed.__class__(**{**vars(renamed), "functions": ("tinyjax.three:one",)})
    monkeypatch.setattr(exercises, "load", lambda: [other_function, *EXERCISES[1:]])
    migrate.renew(WorkFolder(folder.path))
    assert WorkFolder(folder.path).text(FILE, "one") == MINE


def test_a_folder_of_a_version_that_kept_less_in_its_notes_is_renewed(here):
    folder = begun(here / "one")
    (folder.path / "given.json").unlink()
    notes = {k: v for k, v in folder.notes.items() if k not in ("kept", "judged")}
    (folder.path / NOTES).write_text(json.dumps(notes | {"fingerprint": "another's"}))
    migrate.renew(WorkFolder(folder.path))
    assert WorkFolder(folder.path).text(FILE, "one") == MINE
