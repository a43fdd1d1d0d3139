"""Show a function's stages in a browser page: Python, jaxpr, kernels, times, and the links between them.

Example: python -m tinyjax explain model.py:loss --args "jnp.ones(1000)" --transform grad
With --live the page is updated whenever the file is saved.
"""

import argparse
import contextlib
import inspect
import os
import re
import sys
from collections.abc import Callable, Sequence
from typing import Any

import tinyjax as jax
from tinyjax.compile.plan import step_word
from tinyjax.compile.record import PassRecord
from tinyjax.studio import viz
from tinyjax.studio.cli import functions
from tinyjax.studio.recorder import time_text
from tinyjax.studio.viz.event_text import changed_text
from tinyjax.studio.viz.live import Live, Server
from tinyjax.studio.viz.passes import changes_text
from tinyjax.studio.viz.player import kernels_or_reason
from tinyjax.studio.viz.player_text import played_text

STAGES = (
    ("jaxpr", "jaxpr: what was traced"),
    ("passes", "passes: what each changed, and why"),
    ("simplified", "simplified: calls inlined, nothing computed twice"),
    ("groups", "groups: what is computed together"),
    ("explain", "OpenCL C; beside it its equation and its line of Python, where they change"),
    ("memory", "memory: whose memory each array gets"),
    ("cost", "cost of each step"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = functions.ARGUMENTS
    functions.add_arguments(parser)
    parser.add_argument(
        "-o",
        "--output",
        default="explain.html",
        metavar="FILE",
        help="the page to write (%(default)s)",
    )
    parser.add_argument(
        "--text", action="store_true", help="print all stages in the terminal; write no page"
    )
    parser.add_argument(
        "--live",
        action="store_true",
        help="serve the page on this machine; it follows the file, and edits made beside it",
    )


def run(options: argparse.Namespace) -> int:
    """Write the page, or print all the stages; return the exit status."""
    if options.live:
        return serve(options)
    try:
        functions.find(options)
    except argparse.ArgumentTypeError as error:
        print(f"tinyjax explain: {error}", file=sys.stderr)
        return 2
    if options.text:
        return print_stages(options)
    try:
        page = viz.explain(options.function, *options.args, transforms=options.transform)
    # raised by the function, or by a transformation that doesn't accept it
    except Exception as error:
        print(functions.in_short(error), file=sys.stderr)
        return 1
    try:
        path = page.save(options.output)
    except OSError as error:
        print(f"cannot write {options.output}: {error.strerror}", file=sys.stderr)
        return 1
    print(f"{page.title}\n{page.summary}\nwrote {path}; to look at it: {path.resolve().as_uri()}")
    return 0


def serve(options: argparse.Namespace) -> int:
    """Serve the page until Ctrl+C; return the exit status."""
    words = [
        word for word in options.words[1:] if not ("--live".startswith(word) and len(word) > 2)
    ]
    if not re.search(r"\.py:[\w.]+$", options.function):
        print("--live follows a file: name it as in model.py:loss", file=sys.stderr)
        return 2
    words.remove(options.function)
    server = Server(Live(options.function, words))
    print(f"{server.address}\nCtrl+C ends it", flush=True)
    with contextlib.suppress(KeyboardInterrupt):
        server.serve_forever()
    return 0


def print_stages(options: argparse.Namespace) -> int:
    """Print all the stages; return the exit status."""
    with jax.config.set("tinyjax_fast", False):
        _print_stages(options, functions.transformed(options))
    return 0


def _print_stages(options: argparse.Namespace, function: Callable[..., Any]) -> None:
    _title("Python")
    print(_source(options.function))
    lowered = jax.jit(function).lower(*options.args)
    for dialect, title in STAGES:
        _title(title)
        print(_changes(lowered.passes) if dialect == "passes" else lowered.as_text(dialect))
    _title("what the kernels load and store, after each directive of their schedules")
    kernels = kernels_or_reason(lowered.compiler_ir("schedule"), options.args)
    print(kernels if isinstance(kernels, str) else played_text(kernels))
    _title("schedule, and the time of each step (the best of 5 calls)")
    print(lowered.as_text("schedule"))
    compiled = lowered.compile()
    times = jax.profiler.step_times(lambda: compiled(*options.args))
    print()
    plan = lowered.compiler_ir("schedule")
    for lines, microseconds in times.items():
        words = [f"{number}: {step_word(plan, number)}" for number in lines]
        print(f"{time_text(microseconds):>12}  {words[0]}")
        for word in words[1:]:
            print(f"{'with':>12}  {word}")
    print(f"{time_text(sum(times.values())):>12}  all")


def _changes(records: Sequence[PassRecord]) -> str:
    """The passes' changes; a terminal shows new and old lines in colour."""
    text = changes_text(records)
    if not sys.stdout.isatty() or "NO_COLOR" in os.environ:
        return text
    return "\n".join(map(changed_text, text.splitlines()))


def _title(text: str) -> None:
    print(f"\n==== {text} ====\n")


def _source(function: Callable[..., Any]) -> str:
    try:
        return inspect.getsource(inspect.unwrap(function)).rstrip()
    except (OSError, TypeError):
        return f"{function!r} has no source"
