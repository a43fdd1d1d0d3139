"""The command `python -m tinyjax`, also installed as `tinyjax`: calls a module of this folder."""

import argparse
import io
import os
import sys
from collections.abc import Sequence

from tinyjax.studio.cli import doctor, explain, graph, learn, run, step, tour

COMMANDS = {
    "tour": tour,
    "run": run,
    "explain": explain,
    "graph": graph,
    "learn": learn,
    "doctor": doctor,
    "step": step,
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the subcommand named in `argv` (by default, the command line); return the exit status."""
    parser = argparse.ArgumentParser(prog="tinyjax", description="JAX that you can read.")
    subparsers = parser.add_subparsers(dest="command")
    for name, module in COMMANDS.items():
        summary = (module.__doc__ or "").partition("\n")[0]  # python -OO drops docstrings
        subparser = subparsers.add_parser(name, help=summary, description=summary)
        module.add_arguments(subparser)
    make_printable()
    words = sys.argv[1:] if argv is None else list(argv)
    options = parser.parse_args(words, argparse.Namespace(words=words))
    if options.command is None:
        parser.print_help(sys.stderr)
        print("\nWhich command? `tour` shows what there is.", file=sys.stderr)
        return 2
    try:
        return COMMANDS[options.command].run(options)
    except BrokenPipeError:  # the reader, such as `head`, has closed the pipe
        # for output that is still buffered
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def make_printable() -> None:
    """Make any text printable: closed output drops it, and an ASCII terminal shows escapes."""
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    elif isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="backslashreplace")
