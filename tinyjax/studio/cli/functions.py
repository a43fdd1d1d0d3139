"""Parse the function, arguments and transformations of a command line."""

import argparse
import difflib
import importlib
import importlib.util
import inspect
import operator
import sys
import traceback
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.compat.as_jax import install_as_jax
from tinyjax.studio.tracebacks import users_part
from tinyjax.studio.viz.event_text import place_text
from tinyjax.studio.viz.events import CodeLine

COMMAND_LINE = "<command line>"  # the file name of code from the command line

TRANSFORMS: dict[str, Callable[..., Any]] = {
    "grad": jax.grad,
    "value_and_grad": jax.value_and_grad,
    "jacfwd": jax.jacfwd,
    "jacrev": jax.jacrev,
    "hessian": jax.hessian,
    "vmap": jax.vmap,
    "jit": jax.jit,
}

ARGUMENTS = """\
The module is looked for in the current folder too, and may be a file: model.py:loss. Each of --args is a
Python expression. It can use the module's own names, such as "init(jax.random.key(0))", and jax, jnp and np.
The transformation named first is applied first: grad,vmap,jit is jit(vmap(grad(function)))."""

TOOLS = {"jax": jax, "jnp": jnp, "np": np}  # names available in all --args expressions


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command-line options for a function, its arguments and its transformations; see `find`."""
    parser.add_argument("function", metavar="module:function", help="such as model.py:loss")
    parser.add_argument(
        "--args",
        nargs="*",
        default=[],
        metavar="EXPR",
        help='its arguments, such as "jnp.ones(3)" 2.0',
    )
    parser.add_argument(
        "--transform",
        type=transforms_named,
        default=[],
        metavar="NAME,...",
        help=f"some of {', '.join(TRANSFORMS)}, in the order in which they are applied",
    )


def find(options: argparse.Namespace) -> None:
    """Replace the texts in `function` and `args` with the function and its argument values.

    Raises ArgumentTypeError if one can't be found or evaluated, or if they don't match."""
    options.function, module = function_at(options.function)
    options.args = [value_of(expression, module) for expression in options.args]
    check_arguments(options.function, options.args)


def transformed(options: argparse.Namespace) -> Callable[..., Any]:
    """The function with the requested transformations applied."""
    function = options.function
    for transform in options.transform:
        function = transform(function)
    return function


def function_at(place: str) -> tuple[Callable[..., Any], ModuleType]:
    """The function at `module:function` or `file.py:function`, and its module."""
    module, _, function = place.rpartition(":")
    if not (module and function):
        raise argparse.ArgumentTypeError(
            f"{place!r} is not of the form module:function, such as wave.py:f"
        )
    if "" not in sys.path:
        sys.path.insert(0, "")
    install_as_jax()  # for programs that import jax
    try:
        found = (
            _module_of_file(module) if module.endswith(".py") else importlib.import_module(module)
        )
    except Exception as error:
        if isinstance(error, (ImportError, OSError)) and not _users_lines(error):
            raise argparse.ArgumentTypeError(f"cannot find {place!r}: {error}") from error
        raise argparse.ArgumentTypeError(
            f"{module} can't be imported.\n{in_short(error)}"
        ) from error
    try:
        value = operator.attrgetter(function)(found)
    except AttributeError as error:
        raise argparse.ArgumentTypeError(f"cannot find {place!r}: {error}") from error
    if not callable(value):
        raise argparse.ArgumentTypeError(f"{place!r} is a {type(value).__name__}, not a function")
    return value, found


def _module_of_file(file: str) -> ModuleType:
    name = Path(file).stem
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise ImportError(f"{file} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(name, module)
    sys.path.insert(0, str(Path(file).resolve().parent))  # for its imports from the same folder
    spec.loader.exec_module(module)
    return module


def value_of(expression: str, module: ModuleType | None = None) -> Any:
    """Evaluate a Python expression with the names of `module`, and jax, jnp and np."""
    names = TOOLS | (vars(module) if module else {})
    try:
        return eval(compile(expression.strip(), COMMAND_LINE, "eval"), names)
    except Exception as error:
        what = f"cannot evaluate {expression!r}: {_why_not(error, names, module)}"
        raise argparse.ArgumentTypeError(what) from error


def _why_not(error: Exception, names: Collection[str], module: ModuleType | None) -> str:
    """Why an expression failed, and an example of a valid one."""
    if isinstance(error, SyntaxError):
        return f"{error.msg}. Each is a Python expression in quotes, such as 'jnp.ones(3)'"
    if users := _users_lines(error):  # in a function that it calls
        return "\n".join(["", *users, f"{type(error).__name__}: {error}"])
    if not isinstance(error, NameError):
        return f"{type(error).__name__}: {error}"
    close = difflib.get_close_matches(error.name or "", names, n=1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    where = f"the names of {module.__name__}, and " if module else ""
    return f"{error}.{hint} It can use {where}jax, jnp and np"


def check_arguments(function: Callable[..., Any], args: Sequence[Any]) -> None:
    """Raises ArgumentTypeError if the number of arguments is wrong."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # functions written in C have no signature
        return
    try:
        signature.bind(*args)
    except TypeError as error:
        what = (
            f"{getattr(function, '__name__', function)}{signature} does not take what --args gives"
        )
        raise argparse.ArgumentTypeError(f"{what}: {error}") from error


def transforms_named(names: str) -> list[Callable[..., Any]]:
    """The transformations named in a list such as grad,vmap,jit."""
    unknown = [name for name in names.split(",") if name not in TRANSFORMS]
    if unknown:
        raise argparse.ArgumentTypeError(f"{unknown[0]!r} is none of {', '.join(TRANSFORMS)}")
    return [TRANSFORMS[name] for name in names.split(",")]


def in_short(error: BaseException) -> str:
    """The user's lines of a traceback, and the error."""
    said = "".join(traceback.format_exception_only(error)).rstrip()
    return "\n".join([*_users_lines(error), said])


def _users_lines(error: BaseException) -> list[str]:
    lines = []
    for frame in traceback.extract_tb(users_part(error.__traceback__)):
        if frame.filename != COMMAND_LINE:
            place = CodeLine(frame.filename, frame.lineno or 0, frame.name)
            lines.append(f"  {place_text(place)} in {frame.name}\n    {frame.line}")
    return lines
