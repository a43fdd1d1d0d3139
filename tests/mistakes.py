"""Runs the programs of mistakes.toml, and reads what Python prints of their errors."""

import contextlib
import io
import linecache
import re
import sys
import tomllib
import warnings
from pathlib import Path

NOTE = "(tinyjax's own frames"
MISTAKES = tomllib.loads(Path(__file__).with_name("mistakes.toml").read_text())["mistake"]
FILE = "mistake.py"  # the programs' name in tracebacks
PREAMBLE = """\
import math
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

x = jnp.arange(3.0)
key = jax.random.key(0)

"""


def on_tinyjax(text: str) -> str:
    """The program with imports of tinyjax instead of jax."""
    text = re.sub(r"^import jax$", "import tinyjax as jax", text, flags=re.M)
    return re.sub(r"^(from|import) jax\b", r"\1 tinyjax", text, flags=re.M)


def error_of(text: str) -> Exception:
    """What a program raises."""
    linecache.cache[FILE] = (len(text), None, text.splitlines(keepends=True), FILE)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(compile(text, FILE, "exec"), {"__name__": "mistake"})
    except Exception as error:
        return error
    raise AssertionError(f"this raises nothing:\n{text}")


def printed(error: BaseException) -> str:
    """What Python prints of an error that nothing catches."""
    # "Did you mean" is printed, and not part of the message.
    with contextlib.redirect_stderr(io.StringIO()) as text:
        sys.excepthook(type(error), error, error.__traceback__)
    return text.getvalue()


def message(error: BaseException) -> str:
    """The class and message of an error, as Python prints them."""
    text = printed(error).rpartition("Traceback (most recent call last):\n")[2]
    lines = text.splitlines()
    first = next(i for i, line in enumerate(lines) if not line.startswith(" "))
    return "\n".join(line for line in lines[first:] if not line.startswith(NOTE))


def class_name(error: BaseException) -> str:
    """The exception's class; of JAX's own, the public name."""
    kind = type(error)
    is_jax = kind.__module__.startswith(("jax", "tinyjax"))
    return f"jax.errors.{kind.__name__}" if is_jax else kind.__name__
