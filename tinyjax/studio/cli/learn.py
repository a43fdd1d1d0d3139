"""Write functions of tinyjax again: exercises for each lesson, with hints, tests and a reference.

python -m tinyjax learn start 02    makes the folder learn/02_jvp; its README.md lists the functions to write
python -m tinyjax learn test        prints which exercises pass, and what fails first
python -m tinyjax learn start 03 --keep  with what you wrote in the folders of lessons 1 and 2
"""

import argparse
import difflib
import os
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

from tinyjax.studio.cli.learn_class import grade_, start_assignment, submit_, test_as_json
from tinyjax.studio.cli.learn_course import ask_, finish_, list_, next_, notebook_, progress_
from tinyjax.studio.cli.learn_folders import (
    chosen,
    enclosing_folder,
    folder_of,
    print_exercise,
    reset,
    skip,
    start_,
    this_folder,
)
from tinyjax.studio.learn import carry_over, migrate, progress, whole
from tinyjax.studio.learn import exercises as catalogue
from tinyjax.studio.learn.atomic_files import explained, read
from tinyjax.studio.learn.blame import judge_fairly, judge_functions
from tinyjax.studio.learn.changes import others, unreadable
from tinyjax.studio.learn.exercises import NAMES, Exercise, LearnError, in_clone, label_of
from tinyjax.studio.learn.functions import function_text
from tinyjax.studio.learn.judge import Verdict, promise, why
from tinyjax.studio.learn.other_ways import has_more, jax_links, other_answers
from tinyjax.studio.learn.work_folder import WorkFolder


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.description = __doc__
    parser.set_defaults(print_help=parser.print_help)
    commands = parser.add_subparsers(dest="learn_command", metavar="command")
    for name, function in COMMANDS.items():
        words = (function.__doc__ or "").partition("\n")[0]
        command = commands.add_parser(name, help=words, description=words)
        if name == "start":
            command.add_argument(
                "lesson",
                help="its number, such as 02; 02.3 skips the exercises before that one; or an assignment, "
                "a .toml file",
            )
            command.add_argument("folder", nargs="?", type=Path, help="default: learn/NN_name")
            command.add_argument(
                "--keep", action="store_true", help="with what you wrote in earlier lessons"
            )
        elif name == "notebook":
            command.add_argument("lesson", help="its number, such as 07")
            command.add_argument("file", nargs="?", type=Path, help="default: NN_name.ipynb")
            command.add_argument(
                "--nbgrader", action="store_true", help="with the exercises, as nbgrader has them"
            )
        elif name == "ask":
            command.add_argument("lesson", help="its number, such as 03; 00 is the whole story")
        elif name == "test":
            command.add_argument(
                "what", nargs="?", help="a lesson (06) or an exercise (06.2); default: the folder"
            )
            command.add_argument("function", nargs="?", help="of the exercise; default: each")
            command.add_argument("--json", action="store_true", help="points, a test each, as JSON")
        elif name == "submit":
            command.add_argument("file", nargs="?", type=Path, help="default: submission.json")
        elif name == "grade":
            command.add_argument("folder", type=Path, help="of submissions, a file a student")
            command.add_argument(
                "--assignment",
                type=Path,
                help="a .toml file (default: assignment.toml in the folder)",
            )
        elif name in ("hint", "diff", "more", "skip"):
            command.add_argument("exercise", nargs="?", help="such as 02.1")
        elif name == "progress":
            command.add_argument(
                "picture", nargs="?", type=Path, help="a file to draw it to, such as map.svg"
            )
        elif name == "reset":
            command.add_argument(
                "what", nargs="?", help="an exercise (02.1) or a file (tinyjax/core/bind.py)"
            )


def run(options: argparse.Namespace) -> int:
    """Run the command; return the exit status."""
    if options.learn_command is None:
        options.print_help(sys.stderr)
        print("\nWhich command? `learn list` shows the lessons.", file=sys.stderr)
        return 2
    try:
        return COMMANDS[options.learn_command](options)
    except LearnError as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return stopped(options.learn_command)
    except BrokenPipeError:  # closed early, as by `learn start 02 | head -1`
        if options.learn_command not in ("start", "reset"):
            raise  # commands that only print exit quietly, as other programs do
        # Drop the buffered output: otherwise Python complains at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return stopped(options.learn_command)
    except OSError as error:
        if (said := explained(error)) is None:
            raise
        print(said, file=sys.stderr)
        return 1


def stopped(command: str) -> int:
    """Print the outcome of an interrupted command; return the exit status."""
    if command == "watch":
        return 130
    print(
        f"\n`learn {command}` was interrupted; nothing that you wrote was changed. Run it again.",
        file=sys.stderr,
    )
    return 130


def start(options: argparse.Namespace) -> int:
    """make a folder to work in: a copy of tinyjax in which a lesson's functions are emptied"""
    if options.lesson.endswith(".toml"):
        return start_assignment(Path(options.lesson))
    return start_(options)


# ---- working ----


def test(options: argparse.Namespace) -> int:
    """run the lesson's tests; prints which exercises pass, and what fails first"""
    what = options.what or ""
    if what and (not what[0].isdecimal() or "." in what):  # 06.2, or an exercise's name
        return test_functions(folder_of(what), what, options.function)
    folder = this_folder(options.what)
    return test_as_json(folder) if options.json else show_test(folder)


def test_functions(folder: WorkFolder, exercise: str, function: str | None) -> int:
    """Judge each function of an exercise alone, with the reference's others, and print the verdicts; return 0
    if all requested ones pass."""
    e = catalogue.find(folder.exercises, exercise)
    if lines := unreadable(folder):
        print("No test could run:", *lines, sep="\n")
        return 1
    print(f"{e.number} {e.name}, a function at a time, with the reference for the others:")
    verdicts = judge_functions(folder, e, function)
    for name, v in verdicts.items():
        count = f": {v.passed} of {len(e.tests)} tests pass" if v.state == "failed" else ""
        print(f"{v.state:8} {name}{count}")
        if v.state == "failed":
            print(*(f"{'':9}{line}" for line in explained_failure(v)), sep="\n")
    return 0 if all(v.state == "passed" for v in verdicts.values()) else 1


def show_test(folder: WorkFolder, is_brief: bool = False) -> int:
    """Run the tests and print each exercise's state; return 0 if all pass. `is_brief`: print only failures
    and the next step."""
    if changed := migrate.originals(folder):
        print(*changed, "", sep="\n")
    run, verdicts = judge_fairly(folder)
    before = set(folder.notes["passed"])
    if not run.broken:
        folder.note_passed([v.exercise.name for v in verdicts if v.state == "passed"])
        remember(folder)
    if notes := [] if unreadable(folder) else others(folder):
        print(*notes, "", sep="\n")
    if rewritten := carry_over.outdated(folder, progress.folders(folder.path.parent)):
        again = f"`learn start {label_of(folder.lesson)} --keep` brings it, and keeps what you wrote here."
        print(f"Rewritten in an earlier lesson: {', '.join(rewritten)}. {again}\n")
    if run.broken:
        print("No test could run:", *run.broken, "", sep="\n")
    left = [v for v in verdicts if v.state not in ("passed", "skipped")]
    for v in [v for v in left if v.state != "empty"] if is_brief else verdicts:
        is_counted = v.state == "failed" and v.passed < len(v.exercise.tests)
        count = f"  {v.passed} of {len(v.exercise.tests)} tests pass" if is_counted else ""
        print(f"{v.state:8} {v.exercise.number} {v.exercise.name}{count}{unfinished(folder, v)}")
        if v.state == "failed":
            print(*needs_first(v, verdicts), *told(v), sep="\n")
    done = sum(v.state == "passed" for v in verdicts)
    skipped = sum(v.state == "skipped" for v in verdicts)
    bar = progress.bar(done, len(verdicts))
    elsewhere = "" if enclosing_folder() else f", {folder.path}"
    also = f", {skipped} skipped" if skipped else ""
    print(f"\n{bar} {done} of {len(verdicts)} in {NAMES[folder.lesson]}{also}{elsewhere}")
    passed_now = [
        v.exercise for v in verdicts if v.state == "passed" and v.exercise.name not in before
    ]
    print_pointer(folder, passed_now)
    if not left:
        print(
            f"{'None is left' if skipped else 'All pass'}. Now {whole.scope(folder)} ...",
            flush=True,
        )
        if found := whole.check(folder):
            print(*found, "No test of an exercise saw this: read what you wrote again.", sep="\n")
            return 1
        print(
            "It runs on what you wrote. `learn diff` shows the reference, `learn next` what comes next."
        )
    if is_brief and left and all(v.state == "empty" for v in left):
        print("\nNext:")
        print_exercise(folder, left[0].exercise)
    elif all(v.state == "empty" for v in verdicts):
        print("`learn next` says where to begin.")
    return 1 if left else 0


def print_pointer(folder: WorkFolder, passed_now: list[Exercise]) -> None:
    """Name the exercises that just passed and have further reading. Assignments print nothing."""
    numbers = [e.number for e in passed_now if has_more(e)]
    if numbers and not folder.notes.get("assignment"):
        also = f" ({', '.join(numbers[1:])} too)" if len(numbers) > 1 else ""
        print(f"`learn more {numbers[0]}`{also}: other right answers, and where JAX does the same.")


def remember(folder: WorkFolder) -> None:
    """Write the folder's notes; if that fails, print a warning and continue."""
    try:
        folder.save()
    except OSError as error:
        print(explained(error) or error, "\n", sep="")


def unfinished(folder: WorkFolder, v: Verdict) -> str:
    """The functions that are still empty in an exercise already begun."""
    left = [name for file, name in v.exercise.places if folder.is_empty_function(file, name)]
    return f": {' and '.join(left)} to be written" if 0 < len(left) < len(v.exercise.places) else ""


def needs_first(v: Verdict, verdicts: list[Verdict]) -> list[str]:
    """Earlier exercises that fail too and whose functions this one's test calls."""
    called = v.failure.get("called", [])
    earlier = verdicts[: verdicts.index(v)]
    wrong = [e.exercise for e in earlier if e.state == "failed" and e.exercise.name in called]
    names = ", ".join(f"{e.number} {e.name}" for e in wrong)
    return [f"{'':9}may be due to {names}: called here, and not right yet"] if wrong else []


def explained_failure(v: Verdict) -> list[str]:
    """The failed test's promise, and the first useful lines of its failure."""
    lines = why(v.failure)
    needs_another = lines and lines[0].startswith("needs another first")
    return lines if needs_another or not v.test else [f"test: {promise(v.test)}", *lines]


def told(v: Verdict) -> list[str]:
    """The first useful lines of a failure, and the command that shows all of it."""
    lines = explained_failure(v)
    needs_another = lines and lines[0].startswith("needs another first")
    more = [f"all of it: python -m pytest {v.test}"] if v.test else []
    if len(v.exercise.functions) > 1:
        more.append(f"which of its functions: python -m tinyjax learn test {v.exercise.number}")
    return [f"{'':9}{line}" for line in [*lines, *([] if needs_another else more)]]


def watch(options: argparse.Namespace) -> int:
    """run the tests whenever a file is saved, until Ctrl-C"""
    folder = this_folder()
    while True:
        # read before the tests run, so that files saved meanwhile count as changed
        saved = folder.saved()
        show_test(folder, is_brief=True)
        print(
            f"\n{time.strftime('%H:%M:%S')}  waiting for a file to be saved (Ctrl-C ends)",
            flush=True,
        )
        while folder.saved() == saved:
            time.sleep(0.3)
        print()


def hint(options: argparse.Namespace) -> int:
    """a hint for an exercise (by default, the first that has not passed); one more each time"""
    folder = folder_of(options.exercise)
    e = chosen(folder, options.exercise)
    if e is None:
        print("All exercises of this lesson have passed: no hint is needed.")
        return 0
    hints = (
        e.hints[:-1] if folder.notes.get("assignment") else e.hints
    )  # the last hint gives most of the answer away
    given = min(folder.notes["hints"].get(e.name, 0) + 1, len(hints))
    folder.notes["hints"][e.name] = given
    remember(folder)
    print(f"{e.number} {e.name}")
    for i, text in enumerate(e.hints[:given], start=1):
        print(
            textwrap.fill(
                " ".join(text.split()), 100, initial_indent=f"  {i}. ", subsequent_indent="     "
            )
        )
    if given == len(hints):
        shows = "" if hints != e.hints else f" `learn diff {e.number}` shows the reference."
        print(f"That was the last one.{shows}")
    return 0


def diff(options: argparse.Namespace) -> int:
    """what you wrote beside the reference: of exercises that pass, or of the one that is named"""
    folder = folder_of(options.exercise)
    if assignment := folder.notes.get("assignment"):
        raise LearnError(f"`learn diff` shows the reference, and is off in {assignment['title']}.")
    if lines := unreadable(folder):
        raise LearnError("\n".join(["There is nothing to compare yet:", *lines]))
    named = options.exercise and [catalogue.find(folder.exercises, options.exercise)]
    passed = [e for e in folder.exercises if e.name in folder.notes["passed"]]
    for e in named or passed:
        for file, name in e.places:
            print_diff(folder, file, name)
    if not named and (e := chosen(folder, None)):
        print(
            "Shown are the exercises that have passed; any other if you name it, as in "
            f"`learn diff {e.number}`."
        )
    return 0


def print_diff(folder: WorkFolder, file: str, name: str) -> None:
    yours = (folder.text(file, name) or "").splitlines()
    reference = function_text(read(in_clone(file)), name).splitlines()
    if yours == reference:
        print(f"{name}: the same as the reference")
    lines = difflib.unified_diff(
        yours, reference, f"{name}: yours", f"{name}: reference", lineterm=""
    )
    print(*lines, "", sep="\n")


def more(options: argparse.Namespace) -> int:
    """other ways to write an exercise (by default, the last that passed), and where JAX does the same"""
    folder = folder_of(options.exercise)
    if assignment := folder.notes.get("assignment"):
        raise LearnError(f"`learn more` shows solutions, and is off in {assignment['title']}.")
    passed = [e for e in folder.exercises if e.name in folder.notes["passed"]]
    if not options.exercise and not passed:
        raise LearnError(
            "No exercise of this lesson has passed yet: name one, as in `learn more 02.1`."
        )
    e = catalogue.find(folder.exercises, options.exercise) if options.exercise else passed[-1]
    print(f"{e.number} {e.name}. The reference:\n")
    for file, name in e.places:
        print(textwrap.indent(function_text(read(in_clone(file)), name), "    "))
    for difference, code in other_answers(e):
        print(f"Right too: {difference}\n\n{textwrap.indent(code, '    ')}\n")
    if links := jax_links(e):
        print("JAX does this in", *links, sep="\n    ")
    return 0


COMMANDS: dict[str, Callable[[argparse.Namespace], int]] = {
    "list": list_,
    "start": start,
    "test": test,
    "watch": watch,
    "hint": hint,
    "diff": diff,
    "more": more,
    "skip": skip,
    "reset": reset,
    "next": next_,
    "progress": progress_,
    "finish": finish_,
    "notebook": notebook_,
    "ask": ask_,
    "submit": submit_,
    "grade": grade_,
}
