"""What is asked of every answer: errors pass through it, arguments stay as they were.

with error_passes(Thrown("in the function")) as error:
    jax.jvp(raises(error), (1.0,), (1.0,))
"""

import contextlib
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

import tinyjax as jax
from tinyjax.core import dtypes
from tinyjax.core.bind import Primitive, Trace, context
from tinyjax.core.jaxpr import subjaxprs

# A float of 16 bits: bfloat16, but in browsers, which have no ml_dtypes, float16
SMALL_FLOAT = np.dtype("float16") if find_spec("ml_dtypes") is None else dtypes.bfloat16


class Thrown(
    TypeError, ValueError, IndexError, KeyError, ZeroDivisionError, OverflowError, FloatingPointError,
    NotImplementedError, RecursionError, AttributeError,
):  # fmt: skip
    """An error that only tests raise, of every kind that an `except` may catch: nothing may catch it."""


# What answers catch by mistake: the errors that a rule with a fault raises.
each_error = pytest.mark.parametrize(
    "error", [Thrown, TypeError, ValueError, IndexError, KeyError], ids=lambda e: e.__name__
)


def raises(error: BaseException) -> Callable[..., Any]:
    """A function, or a rule, that raises it whatever it is called with. Who tries again gets a result."""
    calls: list[Any] = []

    def fun(*args: Any, **_: Any) -> Any:
        calls.append(args)
        if len(calls) == 1:
            raise error
        return args[0]

    return fun


def identity_primitive() -> Primitive:
    """A new primitive, for rules that raise: its result is its operand."""
    p = Primitive("p")
    p.def_impl(lambda x: x)
    p.def_abstract_eval(lambda x: x)
    return p


class Failing(Trace):
    """A trace in which every primitive raises: whoever binds one must let the error go on."""

    was_asked = False

    def __init__(self, error: BaseException):
        self.error = error

    def process_primitive(self, *_: Any) -> Any:
        self.was_asked = True
        raise self.error


def every_error_passes(*calls: Callable[[], Any]) -> None:
    """Expects of each call that it binds primitives, and that their errors go through it."""
    for call in calls:
        for kind in (Thrown, TypeError, ValueError, IndexError, KeyError):
            with error_passes(kind("of a primitive")) as error:
                before, trace = context.trace, Failing(error)
                context.trace = trace
                try:
                    call()
                finally:
                    context.trace = before
                assert trace.was_asked, (
                    "no primitive is bound: NumPy's functions can't be differentiated; use tinyjax's"
                )


@contextlib.contextmanager
def error_passes(error: BaseException) -> Iterator[Any]:
    """Expects that `error` is raised within, comes out as it is, and leaves the current trace and the named
    axes as they were before."""
    trace, axes = context.trace, context.axis_env
    found: BaseException | None = None
    try:
        yield error
    except AssertionError:
        raise
    except BaseException as other:
        found = other
    finally:
        after, context.trace = context.trace, trace
        axes_after, context.axis_env = context.axis_env, axes
    if found is not error and isinstance(found, NotImplementedError):
        raise found  # a rule that is missing, or an exercise to be written
    assert found is error, f"{error!r} must reach the caller, but what came was {found!r}"
    assert after is trace, (
        f"after an error the trace from before must be current again, but {type(after).__name__} is"
    )
    assert axes_after == axes, f"after an error no axis may have a name, but {axes_after} is left"


def same_for_all(make: Callable[[], Callable[..., Any]], calls: list[tuple[tuple, dict]]) -> None:
    """Expects of a function that is made once what a new one gives, in each of these calls."""
    made = make()
    for args, keywords in calls:
        about = f"after other calls, of {args} {keywords or ''}"
        try:
            found = made(*args, **keywords)
        except (TypeError, ValueError) as error:
            raise AssertionError(f"{about}: {type(error).__name__}: {error}") from error
        expected = make()(*args, **keywords)
        assert jax.tree.structure(found) == jax.tree.structure(expected), f"{about}: {found}"
        for x, y in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
            np.testing.assert_array_equal(x, y, err_msg=about)


def stays_as_it_was(fun: Callable[..., Any], *calls: tuple) -> None:
    """Expects that the arrays which a call returns do not change in the calls after it."""
    results = [fun(*args) for args in calls]
    before = [repr(result) for result in results]
    for args in reversed(calls):
        fun(*args)
    after = [repr(result) for result in results]
    again = [repr(fun(*args)) for args in calls]
    assert before == after == again, (
        f"a call changed what one before had returned: {again}, {after}"
    )


def donates_nothing(closed: Any) -> None:
    """Expects that no jitted function in a jaxpr eats an argument, which the caller may need again."""
    for eqn in closed.eqns:
        assert not any(eqn.params.get("donated_invars", ())), f"an argument is donated: {eqn}"


def stays_a_loop(jaxpr: Any) -> None:
    """Expects scans whose iterations the compiler does not write out one by one."""
    for eqn in jaxpr.eqns:
        if eqn.primitive.name == "scan":
            most = eqn.params["unroll"]
            assert most <= 8, f"the compiler writes {most} iterations out: the program grows"
        for inner in subjaxprs(eqn.params):
            stays_a_loop(inner)


@contextlib.contextmanager
def unchanged(**arguments: Any) -> Iterator[None]:
    """Expects that these arguments, lists, dicts or arrays, are afterwards what they were."""
    before = {name: repr(value) for name, value in arguments.items()}
    yield
    for name, value in arguments.items():
        assert repr(value) == before[name], f"{name} was {before[name]}, and is now {value!r}"
