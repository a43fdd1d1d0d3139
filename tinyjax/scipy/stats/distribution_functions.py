"""What the functions of all distributions share.

After this file you can read a distribution as its formulas: `promoted` makes their arguments floats of
one dtype, `exp_of`, `log_of` and `mirrored` give a function from another. Builds on jax.numpy.

Source: https://docs.jax.dev/en/latest/jax.scipy.html#module-jax.scipy.stats
"""

import functools
import inspect
from collections.abc import Callable
from typing import Any

from tinyjax import numpy as jnp
from tinyjax.core.api_util import all_arguments, named
from tinyjax.core.array import Array
from tinyjax.numpy.promotion import promote_args_inexact

_PROMOTION = "The arguments broadcast, and become floats of one dtype. Raises TypeError for lists."
_MEANINGS = {
    "pdf": "The density",
    "pmf": "The probability of k",
    "cdf": "The probability of at most x",
    "sf": "The probability of more than x",
}


def promoted(function: Callable[..., Array]) -> Callable[..., Array]:
    """`function`, called with its arguments (those left out, too) as floats of one dtype and rank.

    Raises TypeError for lists, which names the function: "norm.logpdf" for logpdf of a module norm."""
    name = f"{function.__module__.rpartition('.')[2]}.{function.__name__}"
    signature = inspect.signature(function)

    @functools.wraps(function)
    def with_promotion(*args: Any, **kwargs: Any) -> Array:
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


def mirrored(cdf: Callable[..., Array]) -> Callable[..., Array]:
    """sf for cdf, logsf for logcdf, of a distribution that is symmetric about loc."""
    name = cdf.__name__.replace("cdf", "sf")

    @promoted
    @named(name, f"By symmetry {cdf.__name__}(-x, -loc, scale).")
    @functools.wraps(cdf)
    def of_other_side(x: Any, loc: Any, scale: Any) -> Array:
        return cdf(-x, -loc, scale)

    return of_other_side


def _after(
    outer: Callable, inner: Callable[..., Array], name: str, doc: str
) -> Callable[..., Array]:
    @named(name, f"{doc}.\n\nThat is: {inspect.cleandoc(inner.__doc__ or '')}")
    @functools.wraps(inner)
    def composed(*args: Any, **kwargs: Any) -> Array:
        return outer(inner(*args, **kwargs))

    return composed
