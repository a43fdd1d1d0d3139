"""Have the judge of the site's pages judge exercises: a right answer to each, and a wrong one.

    python tools/judge_in_browser.py --pyodide FOLDER        # all exercises: ten minutes
    python tools/judge_in_browser.py --pyodide FOLDER 1 2    # of lessons 1 and 2

The right answer is the source's, the wrong one the first of tutorials/mutants/. Python is Pyodide, as Node
runs it (tools/fetch_pyodide.py makes the folder). Prints what is not judged as it should be, and why.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tools"), str(ROOT / "tests")]

from website.packs import judge_files, lesson_files, write_pack  # noqa: E402
from wrong_answers import thought_of  # type: ignore[import-not-found]  # noqa: E402

from tinyjax.studio.learn.exercises import NAMES, Exercise, in_clone, lesson_number, load  # noqa: E402
from tinyjax.studio.learn.functions import function_text  # noqa: E402
from tinyjax.studio.learn.in_process import ELSEWHERE  # noqa: E402

SCRIPT = ROOT / "tools" / "website" / "judge.mjs"


def answers(exercise: Exercise) -> Iterator[tuple[str, dict[str, str]]]:
    """The state that the judge should find, and the texts: of the right answer, and of a wrong one."""
    texts = {
        name: function_text(in_clone(file).read_text(encoding="utf-8"), function)
        for name, (file, function) in zip(exercise.functions, exercise.places)
    }
    yield "passed", texts
    wrong = [mutant for mutant in thought_of(exercise.lesson) if mutant.exercise == exercise]
    if wrong:
        functions = {(file, function): text for file, function, text in wrong[0].functions}
        places = zip(exercise.functions, exercise.places)
        yield "failed", {name: functions.get(place, texts[name]) for name, place in places}


def judged(pyodide: Path, exercises: Sequence[Exercise]) -> Iterator[tuple[Exercise, str, Any]]:
    """Each exercise with the state that is right, and what the judge said."""
    asked = [(exercise, *found) for exercise in exercises for found in answers(exercise)]
    with tempfile.TemporaryDirectory() as temporary:
        pack, questions = Path(temporary, "pack"), Path(temporary, "questions")
        write_pack(pack, lesson_files() | judge_files())
        texts = [{"number": exercise.number, "texts": texts} for exercise, _, texts in asked]
        questions.write_text(json.dumps(texts), encoding="utf-8")
        command = ["node", *map(str, (SCRIPT, pyodide.resolve(), pack, questions))]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            for (exercise, state, _), line in zip(asked, process.stdout, strict=True):
                yield exercise, state, json.loads(line)


def main(argv: Sequence[str] | None = None) -> int:
    """Judge what the command line names; return the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pyodide", type=Path, required=True, help="a folder with Pyodide")
    parser.add_argument("lessons", nargs="*", type=lesson_number, help="as 2 or 11b; default: all")
    options = parser.parse_args(argv)
    lessons = options.lessons or range(len(NAMES))
    exercises = [exercise for exercise in load() if exercise.lesson in lessons]
    count = wrong = left_out = 0
    for exercise, state, found in judged(options.pyodide, exercises):
        count += 1
        if found["state"] == "not run" and ELSEWHERE in found["lines"]:
            left_out += 1
        elif found["state"] != state:
            wrong += 1
            print(f"{exercise.number} {exercise.name}: {found['state']}, not {state}", flush=True)
            print("".join(f"    {line[:200]}\n" for line in found["lines"][:6]), end="", flush=True)
    print(f"{count} judged, {wrong} not as they should be, {left_out} that need a driver")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
