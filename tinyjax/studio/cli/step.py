"""Run a function or a script, then step through its events: bind, rules, equations, kernels.

Examples:

    python -m tinyjax step model.py:loss --args "jnp.ones(3)" 2.0 --transform grad,jit
    python -m tinyjax step train.py --epochs 1
"""

import argparse
import linecache
import os
import runpy
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tinyjax as jax
from tinyjax.compat.as_jax import install_as_jax
from tinyjax.studio.cli import functions
from tinyjax.studio.cli.functions import COMMAND_LINE
from tinyjax.studio.viz.record import Recorder, Recording
from tinyjax.studio.viz.terminal import Stepper


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.description = __doc__
    parser.epilog = (
        functions.ARGUMENTS + "\nA script runs with the rest of the line as its arguments."
    )
    parser.add_argument("program", metavar="script.py[:function]", help="such as model.py:loss")
    _add_options(parser)
    parser.add_argument(
        "rest", nargs=argparse.REMAINDER, metavar="...", help="the script's arguments"
    )


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--args", nargs="*", default=[], metavar="EXPR", help="the function's arguments"
    )
    parser.add_argument(
        "--transform",
        metavar="NAME,...",
        help=f"some of {', '.join(functions.TRANSFORMS)}, in the order in which they are applied",
    )


def run(options: argparse.Namespace) -> int:
    """Run the program, then answer commands about its events; return the exit status."""
    try:
        program = _program(options)
    except argparse.ArgumentTypeError as error:
        print(f"tinyjax step: {error}", file=sys.stderr)
        return 2
    recording = _run_and_tell(program)
    if not recording.events:
        return 1
    colours = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    stepper = Stepper(recording, lambda run_at: _recorded(program, run_at), colours=colours)
    _answer(stepper)
    return 0


def _answer(stepper: Stepper) -> None:
    """Answer a command; Ctrl-C ends the command, not the stepper."""
    stepper.show()
    while True:
        try:
            return stepper.cmdloop()
        except KeyboardInterrupt:
            stepper.say()


# ---- the program ----


def _program(options: argparse.Namespace) -> Callable[[], Any]:
    """The program as a function without arguments. Raises ArgumentTypeError if it can't be found."""
    _, colon, function = options.program.rpartition(":")
    if not colon:
        return _script(options.program, options.rest)
    parser = argparse.ArgumentParser(prog=f"tinyjax step {options.program}")
    _add_options(parser)
    parser.parse_args(options.rest, options)
    called, module = functions.function_at(options.program)
    args = [functions.value_of(expression, module) for expression in options.args]
    functions.check_arguments(called, args)
    text = function
    for transform in functions.transforms_named(options.transform) if options.transform else ():
        called, text = transform(called), f"{transform.__name__}({text})"
    text += f"({', '.join(options.args)})"
    # Its source is the command line.
    linecache.cache[COMMAND_LINE] = (len(text), None, [text + "\n"], COMMAND_LINE)
    code = compile("called(*args)", COMMAND_LINE, "eval")

    def call() -> None:
        result = eval(code, {"called": called, "args": args})
        print(f"{text} = {result!r}")

    return call


def _script(file: str, arguments: list[str]) -> Callable[[], Any]:
    if not Path(file).is_file():
        raise argparse.ArgumentTypeError(
            f"there is no file {file!r}. Give a script, or a function in one: model.py:loss"
        )
    install_as_jax()  # for programs that import jax
    loaded = set(sys.modules)

    def script() -> None:
        before = sys.argv, sys.path[:]
        sys.argv, sys.path[:0] = [file, *arguments], [str(Path(file).resolve().parent)]
        try:
            runpy.run_path(file, run_name="__main__")
        finally:
            sys.argv, sys.path[:] = before
            for name in _own_modules(Path(file)) - loaded:
                del sys.modules[name]  # so that the next run imports it again

    return script


def _own_modules(script: Path) -> set[str]:
    """The modules beside a script."""
    folder = str(script.resolve().parent) + os.sep
    files = {name: getattr(m, "__file__", None) or "" for name, m in list(sys.modules.items())}
    return {name for name, module_file in files.items() if module_file.startswith(folder)}


# ---- running it ----


def _recorded(
    program: Callable[[], Any], run_at: dict[int, Callable[..., Any]]
) -> tuple[Recording, BaseException | None]:
    """Record a run with cleared caches, so that events have the same numbers each time; also the exception it
    raised."""
    jax.clear_caches()
    recorder = Recorder()
    recorder.run_at.update(run_at)
    try:
        with recorder.at_work():
            program()
    except SystemExit:
        pass
    except (Exception, KeyboardInterrupt) as error:
        return recorder.recording, error
    return recorder.recording, None


def _run_and_tell(program: Callable[[], Any]) -> Recording:
    recording, error = _recorded(program, {})
    if error is not None:
        print(functions.in_short(error))
        raised = [event.number for event in recording.events if event.error is not None]
        if raised:
            print(f"It was raised within event {raised[-1]}: type that number to go there.")
    if not recording.events:
        print("No operation of tinyjax was done: there is nothing to step through.")
        if error is None:
            print("Python computes with its own numbers itself: try jnp.array(3.0) for 3.0.")
        return recording
    count = len(recording.events)
    print(
        f"\n{count} events{_missed(recording)}. help lists the commands; into goes in, next goes on."
    )
    return recording


def _missed(recording: Recording) -> str:
    return f" ({recording.missed} more came, and were not kept)" if recording.missed else ""
