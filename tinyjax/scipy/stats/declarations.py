"""Declares a distribution: a class of formulas becomes a public module, such as `jax.scipy.stats.norm`.

`promoted` makes a formula's arguments floats of one dtype; `exp_of`, `log_of` and `mirrored` derive one
function from another.
"""

import functools
import inspect
import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from importlib.util import module_from_spec
from typing import Any

from tinyjax import numpy as jnp
from tinyjax.core.array import Array
from tinyjax.core.declared_functions import all_arguments, named
from tinyjax.core.missing_names import getattr_of
from tinyjax.numpy.promotion import promote_args_inexact

_PACKAGE = "tinyjax.scipy.stats"
_PROMOTION = "The arguments broadcast, and become floats of one dtype. Raises TypeError for lists."
_MEANINGS = {
    "pdf": "The density",
    "pmf": "The probability of k",
    "cdf": "The probability of at most x",
    "sf": "The probability of more than x",
}
_OTHER_SIDE = {"logpdf": "logpdf", "cdf": "sf", "sf": "cdf", "logcdf": "logsf", "logsf": "logcdf"}


def distribution(source: str) -> Callable[[type], Any]:
    """Makes a class the module `jax.scipy.stats.NAME` of its functions. Where they do not include `pdf` or
    `pmf`, it is exp of `logpdf` or `logpmf`."""

    def as_module(declared: type) -> Any:
        name = declared.__name__
        module = module_from_spec(ModuleSpec(f"{_PACKAGE}.{name}", None))
        module.__doc__ = f"`jax.scipy.stats.{name}`: {declared.__doc__}\n\nSource: {source}"
        module.__file__ = sys.modules[declared.__module__].__file__
        functions = {key: f for key, f in vars(declared).items() if not key.startswith("_")}
        log_density = functions.get("logpdf") or functions["logpmf"]
        functions.setdefault(log_density.__name__.removeprefix("log"), exp_of(log_density))
        for key, function in functions.items():
            function.__module__ = module.__name__
            function.__name__ = function.__qualname__ = key
        vars(module).update(functions, __getattr__=getattr_of(module.__name__))
        sys.modules[module.__name__] = module
        setattr(sys.modules[_PACKAGE], name, module)
        return module

    return as_module


def promoted(function: Callable[..., Array]) -> Callable[..., Array]:
    """`function`, called with its arguments (those left out, too) as floats of one dtype and rank.

    Raises TypeError for lists, which names the function: "norm.logpdf" for logpdf of norm."""
    signature = inspect.signature(function)

    @functools.wraps(function)
    def with_promotion(*args: Any, **kwargs: Any) -> Array:
        name = f"{with_promotion.__module__}.{with_promotion.__name__}".removeprefix(f"{_PACKAGE}.")
        arguments = all_arguments(name, signature, args, kwargs).args
        return function(*promote_args_inexact(name, *arguments))

    with_promotion.__doc__ = f"{inspect.cleandoc(function.__doc__ or '')}\n\n{_PROMOTION}"
    return with_promotion


def exp_of(log_function: Callable[..., Array]) -> Callable[..., Array]:
    """pdf for logpdf, sf for logsf: the function with this logarithm, and with its signature."""
    name = log_function.__name__.removeprefix("log")
    return _after(jnp.exp, log_function, name, f"{_MEANINGS[name]}: exp of {log_function.__name__}")


def log_of(function: Callable[..., Array]) -> Callable[..., Array]:
    """logcdf for cdf, logsf for sf: the function's logarithm, with its signature."""
    return _after(jnp.log, function, f"log{function.__name__}", f"log of {function.__name__}")


def mirrored(function: Callable[..., Array], of: str = "") -> Callable[..., Array]:
    """sf for cdf, cdf for sf, logpdf for logpdf, of the distribution mirrored at loc: the same one, if it is
    symmetric. `of` names another one in the docstring."""
    name = _OTHER_SIDE[function.__name__]

    @promoted
    @named(name, f"By symmetry {of}{function.__name__}(-x, -loc, scale).")
    @functools.wraps(function)
    def of_other_side(x: Any, loc: Any, scale: Any) -> Array:
        return function(-x, -loc, scale)

    return of_other_side


def _after(
    outer: Callable, inner: Callable[..., Array], name: str, doc: str
) -> Callable[..., Array]:
    @named(name, f"{doc}.\n\nThat is: {inspect.cleandoc(inner.__doc__ or '')}")
    @functools.wraps(inner)
    def composed(*args: Any, **kwargs: Any) -> Array:
        return outer(inner(*args, **kwargs))

    return composed
