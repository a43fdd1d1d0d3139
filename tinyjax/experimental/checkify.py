"""Checks inside of transformed functions: `checkify` makes errors a result of the function.

`check` is a primitive, and the trace of checkify keeps, with all values, the number of the first check that
failed. Loops carry it, branches give it, jit returns it.

    error, out = checkify(f)(x)
    error.throw()

A function with a custom derivative rule is inlined: differentiating around checkify differentiates its body.

Source: https://docs.jax.dev/en/latest/debugging/checkify_guide.html
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tinyjax import lax
from tinyjax.core.api_util import wraps
from tinyjax.core.avals import get_aval
from tinyjax.core.bind import EvalTrace, Primitive, as_array, context, set_current_trace
from tinyjax.core.tree_util.pytrees import tree_flatten
from tinyjax.experimental import checkify_rules as _rules  # noqa: F401  (fills the table)
from tinyjax.experimental.checkify_error import CheckSite
from tinyjax.experimental.checkify_error import DivisionByZeroError as DivisionByZeroError
from tinyjax.experimental.checkify_error import Error as Error
from tinyjax.experimental.checkify_error import ErrorCategory as ErrorCategory
from tinyjax.experimental.checkify_error import FailedCheckError as FailedCheckError
from tinyjax.experimental.checkify_error import JaxRuntimeError as JaxRuntimeError
from tinyjax.experimental.checkify_error import NaNError as NaNError
from tinyjax.experimental.checkify_error import OOBError as OOBError
from tinyjax.experimental.checkify_error import all_checks as all_checks
from tinyjax.experimental.checkify_error import automatic_checks as automatic_checks
from tinyjax.experimental.checkify_error import div_checks as div_checks
from tinyjax.experimental.checkify_error import float_checks as float_checks
from tinyjax.experimental.checkify_error import index_checks as index_checks
from tinyjax.experimental.checkify_error import init_error as init_error
from tinyjax.experimental.checkify_error import nan_checks as nan_checks
from tinyjax.experimental.checkify_error import user_checks as user_checks
from tinyjax.experimental.checkify_trace import CheckifyTrace, check_p, debug_check_p, first_example

# ---- what users call ----


def check(pred: Any, msg: str, *fmt_args: Any, **fmt_kwargs: Any) -> None:
    """Makes `checkify` give an error with this message, formatted, unless the scalar `pred` is True.

    The arguments of the format are arrays. Without checkify around, and in no transformation, raises
    JaxRuntimeError. Raises TypeError for a `pred` that is no scalar bool and for other arguments;
    ValueError when it is compiled without a checkify around."""
    _bind(check_p, pred, msg, fmt_args, fmt_kwargs)


def debug_check(pred: Any, msg: str, *fmt_args: Any, **fmt_kwargs: Any) -> None:
    """As `check`, but without a checkify around it does nothing."""
    _bind(debug_check_p, pred, msg, fmt_args, fmt_kwargs)


def _bind(primitive: Primitive, pred: Any, msg: str, args: tuple, kwargs: dict[str, Any]) -> None:
    aval = get_aval(pred)
    if aval.shape or aval.dtype != np.bool_:
        raise TypeError(
            f"check takes a scalar pred as argument, got {pred}: a bool, by jnp.all of many"
        )
    payload, in_tree = tree_flatten((args, kwargs))
    for x in payload:
        if not hasattr(x, "dtype"):
            raise TypeError(
                "Formatting arguments to checkify.check need to be PyTrees of arrays, but got "
                f"{x!r} of type {type(x)}. jnp.asarray makes an array of a number"
            )
    site = CheckSite(FailedCheckError, msg, in_tree)
    primitive.bind(lax.bitwise_not(as_array(pred)), *payload, site=site)


def checkify(
    f: Callable[..., Any], errors: frozenset[ErrorCategory] = user_checks
) -> Callable[..., tuple[Error, Any]]:
    """A function that gives (error, out): what `f` gives, and the first check in it that failed.

    `errors` says which checks there are: user_checks (calls of `check`), nan_checks, div_checks,
    index_checks, float_checks, automatic_checks, all_checks, or a union of these.
    Raises TypeError if `f` is not callable."""
    if not callable(f):
        raise TypeError(f"checkify takes a function, got {f!r}")

    @wraps(f)
    def checked(*args: Any, **kwargs: Any) -> tuple[Error, Any]:
        trace = CheckifyTrace(context.trace, frozenset(errors))
        with set_current_trace(trace):
            out = f(*args, **kwargs)
        return trace.error, out

    return checked


def check_error(error: Error) -> None:
    """Raises JaxRuntimeError if the error is one; under checkify, gives it on to that.

    Raises TypeError for what is no Error."""
    if not isinstance(error, Error):
        raise TypeError(f"check_error takes the Error that checkify gave, got {error!r}")
    if isinstance(context.trace, EvalTrace):
        error.throw()
    for number, (site, payload) in enumerate(zip(error.sites, error.payloads), 1):
        failed = lax.eq(error.code, np.int32(number))
        for _ in range(get_aval(failed).ndim):  # a batch of errors: the first of them
            failed, payload = first_example(failed, payload, [0] * len(payload))
        check_p.bind(failed, *payload, site=site)
