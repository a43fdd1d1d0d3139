"""Commands about the course as a whole: its exercises, the learner's progress, its end."""

import argparse
import shlex
from pathlib import Path

from tinyjax.studio import viz
from tinyjax.studio.cli.learn_folders import chosen, course, print_exercise, shown, this_folder
from tinyjax.studio.learn import exercises as catalogue
from tinyjax.studio.learn import progress
from tinyjax.studio.learn.ask import as_module, go_through
from tinyjax.studio.learn.exercises import NAMES, ROOT, LearnError
from tinyjax.studio.learn.finish import finish
from tinyjax.studio.learn.in_notebook import nbgrader_cells
from tinyjax.studio.learn.lesson_map import lesson_map
from tinyjax.studio.learn.notebook import write_notebook


def list_(options: argparse.Namespace) -> int:
    """the exercises of all lessons; * to *** is the difficulty, x marks passed ones, - skipped ones"""
    folders = progress.folders(course())
    marks = {e.name: "-" for folder in folders for e in folder.exercises if folder.is_skipped(e)}
    marks |= dict.fromkeys(progress.passed(folders), "x")
    exercises = catalogue.load()
    for number, name in enumerate(NAMES):
        print(name)
        for e in exercises:
            if e.lesson == number:
                print(f"  {marks.get(e.name, ' ')} {e.number}  {'*' * e.grade:3}  {e.name}")
    print("\nTo begin: python -m tinyjax learn start 00")
    return 0


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
    later = [name for name in left if name > NAMES[folder.lesson]] or left
    if later:
        print(f"{NAMES[folder.lesson]} is done. Next: read lesson {later[0]}, then")
        print(f"python -m tinyjax learn start {later[0].partition('_')[0]} --keep")
    else:
        print("All exercises of all lessons are done.")
    return 0


def finish_(options: argparse.Namespace) -> int:
    """train a network to read digits, on a tinyjax with all that you wrote in it"""
    finish(progress.folders(course()), lambda text: print(text, flush=True))
    return 0


def notebook_(options: argparse.Namespace) -> int:
    """write a lesson as a notebook for Jupyter"""
    number = catalogue.lesson_number(options.lesson)
    lesson = NAMES[number]
    path = options.file or Path(f"{lesson}.ipynb")
    exercises = [e for e in catalogue.load() if e.lesson == number and options.nbgrader]
    write_notebook(lesson, path, nbgrader_cells(exercises) if exercises else [])
    print(
        f"wrote {path}. To open it: pip install jupyterlab, then jupyter lab {shlex.quote(str(path))}"
    )
    return 0


def ask_(options: argparse.Namespace) -> int:
    """go through a lesson's script in the terminal, from question to question"""
    path = ROOT / "tutorials" / f"{NAMES[catalogue.lesson_number(options.lesson)]}.py"
    go_through(path, as_module(path))
    return 0
