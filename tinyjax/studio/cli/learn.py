"""Write functions of tinyjax again: exercises for each lesson, with hints, tests and a reference.

python -m tinyjax learn start 2     makes the folder learn/02_jvp; its README.md says what to write
python -m tinyjax learn test        says which exercises pass, and what fails first
python -m tinyjax learn start 3 --keep   with what you wrote in the folders of lessons 1 and 2
"""

import argparse
import difflib
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

from tinyjax.studio import viz
from tinyjax.studio.cli.learn_folders import (
    course,
    enclosing_folder,
    print_exercise,
    reset,
    shown,
    start_,
    this_folder,
)
from tinyjax.studio.learn import exercises as catalogue
from tinyjax.studio.learn import progress, renewal
from tinyjax.studio.learn.changes import others, unreadable
from tinyjax.studio.learn.exercises import NAMES, ROOT, Exercise, LearnError
from tinyjax.studio.learn.functions import function_text
from tinyjax.studio.learn.judge import Verdict, judge
from tinyjax.studio.learn.lesson_map import lesson_map
from tinyjax.studio.learn.safely import explained, read
from tinyjax.studio.learn.work_folder import WorkFolder

PRINTED = 8  # lines of a failed test's output that are shown


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.description = __doc__
    commands = parser.add_subparsers(dest="learn_command", required=True, metavar="command")
    for name, function in COMMANDS.items():
        words = (function.__doc__ or "").partition("\n")[0]
        command = commands.add_parser(name, help=words, description=words)
        if name == "start":
            command.add_argument("lesson", help="its number, such as 2")
            command.add_argument("folder", nargs="?", type=Path, help="default: learn/NN_name")
            command.add_argument(
                "--keep", action="store_true", help="with what you wrote in earlier lessons"
            )
        elif name in ("hint", "diff"):
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
    try:
        return COMMANDS[options.learn_command](options)
    except LearnError as error:
        print(error, file=sys.stderr)
        return 1
    except OSError as error:
        if (said := explained(error)) is None:
            raise
        print(said, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print()
        return 130


# ---- what there is ----


def list_(options: argparse.Namespace) -> int:
    """the exercises of all lessons; * to *** says how hard, and x which have passed"""
    passed = progress.passed(progress.folders(course()))
    exercises = catalogue.load()
    for number, name in enumerate(NAMES, start=1):
        print(name)
        for e in exercises:
            if e.lesson == number:
                print(
                    f"  {'x' if e.name in passed else ' '} {e.number}  {'*' * e.grade:3}  {e.name}"
                )
    print("\nTo begin: python -m tinyjax learn start 1")
    return 0


def chosen(folder: WorkFolder, text: str | None) -> Exercise | None:
    """The exercise that is named, or else the first that has not passed."""
    if text is not None:
        return catalogue.find(folder.exercises, text)
    return next((e for e in folder.exercises if e.name not in folder.notes["passed"]), None)


# ---- working ----


def test(options: argparse.Namespace) -> int:
    """run the lesson's tests; says which exercises pass, and what fails first"""
    return show_test(this_folder())


def show_test(folder: WorkFolder) -> int:
    """Run the tests and print how each exercise stands; 0 if all pass."""
    if told := renewal.originals(folder):
        print(*told, "", sep="\n")
    run, verdicts = judge(folder)
    if not run.broken:
        folder.note_passed([v.exercise.name for v in verdicts if v.state == "passed"])
        remember(folder)
    if notes := [] if unreadable(folder) else others(folder):
        print(*notes, "", sep="\n")
    if run.broken:
        print("No test could run:", *run.broken, "", sep="\n")
    for v in verdicts:
        count = f"  {v.passed} of {len(v.exercise.tests)} tests" if v.state == "failed" else ""
        print(f"{v.state:8} {v.exercise.number} {v.exercise.name}{count}{unfinished(folder, v)}")
        if v.state == "failed":
            print(*why(v), sep="\n")
    done = sum(v.state == "passed" for v in verdicts)
    bar = progress.bar(done, len(verdicts))
    elsewhere = "" if enclosing_folder() else f", {folder.path}"
    print(f"\n{bar} {done} of {len(verdicts)} in {NAMES[folder.lesson - 1]}{elsewhere}")
    if done == len(verdicts):
        print("All pass. `learn diff` shows the reference, `learn next` what comes next.")
    if all(v.state == "empty" for v in verdicts):
        print("`learn next` says where to begin.")
    return 0 if done == len(verdicts) else 1


def remember(folder: WorkFolder) -> None:
    """Write the folder's notes; where that cannot be done, say so and go on."""
    try:
        folder.save()
    except OSError as error:
        print(explained(error) or error, "\n", sep="")


def unfinished(folder: WorkFolder, v: Verdict) -> str:
    """What is still to be written of an exercise that is begun."""
    left = [name for file, name in v.exercise.places if folder.is_empty_function(file, name)]
    return f": {' and '.join(left)} to be written" if 0 < len(left) < len(v.exercise.places) else ""


def why(v: Verdict) -> list[str]:
    """The first useful lines about a failure, and how to see all of it."""
    failure = v.failure
    if failure.get("message", [""])[0].startswith("NotImplementedError: exercise "):
        return [f"{'':9}needs another first: {failure['message'][0].partition(': ')[2]}"]
    lines = [failure.get("test", ""), failure.get("place", ""), *failure.get("message", [])]
    printed = [line for line in failure.get("printed", "").splitlines() if line.strip()]
    lines += [f"printed: {line}" for line in printed[-PRINTED:]]
    return [f"{'':9}{line}" for line in lines if line] + [
        f"{'':9}all of it: python -m pytest {v.test}"
    ]


def watch(options: argparse.Namespace) -> int:
    """run the tests whenever a file is saved, until Ctrl-C"""
    folder = this_folder()
    while True:
        saved = folder.saved()  # before the tests: what is saved meanwhile counts
        show_test(folder)
        print(
            f"\n{time.strftime('%H:%M:%S')}  waiting for a file to be saved (Ctrl-C ends)",
            flush=True,
        )
        while folder.saved() == saved:
            time.sleep(0.3)
        print()


def hint(options: argparse.Namespace) -> int:
    """a hint for an exercise (by default, the first that has not passed); one more each time"""
    folder = this_folder()
    e = chosen(folder, options.exercise)
    if e is None:
        print("All exercises of this lesson have passed: no hint is needed.")
        return 0
    given = min(folder.notes["hints"].get(e.name, 0) + 1, len(e.hints))
    folder.notes["hints"][e.name] = given
    remember(folder)
    print(f"{e.number} {e.name}")
    for i, text in enumerate(e.hints[:given], start=1):
        print(
            textwrap.fill(
                " ".join(text.split()), 100, initial_indent=f"  {i}. ", subsequent_indent="     "
            )
        )
    if given == len(e.hints):
        print(f"That was the last one. `learn diff {e.number}` shows the reference.")
    return 0


def diff(options: argparse.Namespace) -> int:
    """what you wrote beside the reference: of exercises that pass, or of the one that is named"""
    folder = this_folder()
    named = options.exercise and [catalogue.find(folder.exercises, options.exercise)]
    passed = [e for e in folder.exercises if e.name in folder.notes["passed"]]
    for e in named or passed:
        for file, name in e.places:
            print_diff(folder, file, name)
    if not named and len(passed) < len(folder.exercises):
        print(
            "Shown are the exercises that have passed; of any other if you name it: learn diff 02.1"
        )
    return 0


def print_diff(folder: WorkFolder, file: str, name: str) -> None:
    yours = (folder.text(file, name) or "").splitlines()
    reference = function_text(read(ROOT / file), name).splitlines()
    if yours == reference:
        print(f"{name}: the same as the reference")
    lines = difflib.unified_diff(
        yours, reference, f"{name}: yours", f"{name}: reference", lineterm=""
    )
    print(*lines, "", sep="\n")


# ---- how far ----


def progress_(options: argparse.Namespace) -> int:
    """how much of each lesson is done; with the name of a file, also as a picture"""
    passed = progress.passed(progress.folders(course()))
    shares = progress.shares(catalogue.load(), passed)
    for name, (done, total) in shares.items():
        print(f"{name:18} {progress.bar(done, total)} {done} of {total}")
    done, total = (sum(numbers) for numbers in zip(*shares.values()))
    print(f"{'all':18} {progress.bar(done, total)} {done} of {total}")
    own, functions = progress.functions(catalogue.load(), passed)
    print(f"\n{own} of these {functions} functions of tinyjax are your own in {shown(course())}.")
    if options.picture is None:
        print("\nAs a picture: python -m tinyjax learn progress map.svg")
        return 0
    parts = {name: done / total for name, (done, total) in shares.items() if total}
    try:
        print(f"\nwrote {viz.save(lesson_map(parts), options.picture)}")
    except (viz.DotNotFound, ValueError, OSError) as error:
        raise LearnError(str(error)) from None
    return 0


def next_(options: argparse.Namespace) -> int:
    """what to do next: the first exercise that has not passed, or the next lesson"""
    folder = this_folder()
    e = chosen(folder, None)
    if e is not None:
        print_exercise(folder, e)
        print("python -m tinyjax learn test | hint")
        return 0
    known = progress.shares(catalogue.load(), progress.passed(progress.folders(course())))
    left = [name for name, (done, total) in known.items() if done < total]
    later = [name for name in left if name > NAMES[folder.lesson - 1]] or left
    if later:
        print(f"{NAMES[folder.lesson - 1]} is done. Next: read lesson {later[0]}, then")
        print(f"python -m tinyjax learn start {int(later[0][:2])} --keep")
    else:
        print("All exercises of all lessons are done.")
    return 0


COMMANDS: dict[str, Callable[[argparse.Namespace], int]] = {
    "list": list_,
    "start": start_,
    "test": test,
    "watch": watch,
    "hint": hint,
    "diff": diff,
    "reset": reset,
    "next": next_,
    "progress": progress_,
}
