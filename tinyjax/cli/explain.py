"""Show what becomes of a function: Python, jaxpr, groups, OpenCL C with the lines it is from, timed steps.

Example: python -m tinyjax explain model.py:loss --args "jnp.ones(1000)" --transform grad
"""

import argparse
import inspect
from collections.abc import Callable
from typing import Any

import tinyjax as jax
from tinyjax.cli import functions
from tinyjax.opencl.explain import step_seconds
from tinyjax.opencl.plan import step_word
from tinyjax.tree_util import tree_leaves

STAGES = (
    ("jaxpr", "jaxpr: what was traced"),
    ("simplified", "simplified: calls inlined, nothing computed twice"),
    ("groups", "groups: what is computed together"),
    ("explain", "OpenCL C, and beside it the equation and the line of Python that it is from"),
    ("memory", "memory: whose memory each array gets"),
    ("cost", "cost of each step"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = functions.ARGUMENTS
    functions.add_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Print all the stages; return the exit status."""
    function = functions.transformed(options)
    _title("Python")
    print(_source(options.function))
    lowered = jax.jit(function).lower(*options.args)
    for dialect, title in STAGES:
        _title(title)
        print(lowered.as_text(dialect))
    _title("schedule, and the milliseconds of each step (the best of 5)")
    print(lowered.as_text("schedule"))
    executable = lowered.compile().runtime_executable()
    seconds = step_seconds(executable, [jax.numpy.asarray(x) for x in tree_leaves(options.args)])
    print()
    plan = lowered.compiler_ir("schedule")
    for numbers, step in zip(executable.routine.numbers, seconds):
        words = ", ".join(f"{number}: {step_word(plan, number)}" for number in numbers)
        print(f"{1000 * step:9.3f}  {words}")
    print(f"{1000 * sum(seconds):9.3f}  all, each waited for")
    return 0


def _title(text: str) -> None:
    print(f"\n==== {text} ====\n")


def _source(function: Callable[..., Any]) -> str:
    try:
        return inspect.getsource(inspect.unwrap(function)).rstrip()
    except (OSError, TypeError):
        return f"{function!r} has no source"
