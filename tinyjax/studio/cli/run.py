"""Run a program with tinyjax as its `jax`.

Examples: python -m tinyjax run train.py --steps 10
          python -m tinyjax run -m package.train --steps 10
"""

import argparse
import runpy
import sys
from pathlib import Path

from tinyjax.compat.as_jax import install_as_jax


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "Everything behind the program's name goes to the program."
    parser.add_argument("-m", dest="is_module", action="store_true", help="PROGRAM is a module")
    parser.add_argument("program", metavar="PROGRAM", help="a file, such as train.py")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)


def run(options: argparse.Namespace) -> int:
    """Run the program as Python would; its exit status is ours."""
    install_as_jax()
    sys.argv = [options.program, *options.arguments]
    if options.is_module:
        sys.path.insert(0, "")
        runpy.run_module(options.program, run_name="__main__", alter_sys=True)
    elif not Path(options.program).is_file():
        print(f"tinyjax run: there is no file {options.program!r}", file=sys.stderr)
        return 2
    else:
        sys.path.insert(0, str(Path(options.program).resolve().parent))
        runpy.run_path(options.program, run_name="__main__")
    return 0
