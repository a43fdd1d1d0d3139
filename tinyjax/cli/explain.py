"""Show what becomes of a function: Python, jaxpr, groups, OpenCL C with the lines it is from, timed steps.

Example: python -m tinyjax explain model.py:loss --args "jnp.ones(1000)" --transform grad
"""

import argparse
import inspect
from collections.abc import Callable
from typing import Any

import tinyjax as jax
from tinyjax.cli import functions
from tinyjax.opencl.plan import step_word

STAGES = (
    ("jaxpr", "jaxpr: what was traced"),
    ("simplified", "simplified: calls inlined, nothing computed twice"),
    ("groups", "groups: what is computed together"),
    (
        "explain",
        "OpenCL C; beside it its equation and its line of Python, where they change",
    ),
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
    _title("schedule, and the microseconds of each step (the best of 5 calls)")
    print(lowered.as_text("schedule"))
    compiled = lowered.compile()
    times = jax.profiler.step_times(lambda: compiled(*options.args))
    print()
    plan = lowered.compiler_ir("schedule")
    for lines, microseconds in times.items():
        words = [f"{number}: {step_word(plan, number)}" for number in lines]
        print(f"{microseconds:12,.1f}  {words[0]}")
        for word in words[1:]:
            print(f"{'with':>12}  {word}")
    print(f"{sum(times.values()):12,.1f}  all")
    return 0


def _title(text: str) -> None:
    print(f"\n==== {text} ====\n")


def _source(function: Callable[..., Any]) -> str:
    try:
        return inspect.getsource(inspect.unwrap(function)).rstrip()
    except (OSError, TypeError):
        return f"{function!r} has no source"
