"""What checkify gives besides a result: an Error, which is a pytree of arrays.

An error has the number of the check that failed first (0 for none), for each check the values of its message,
and the messages themselves, which are no arrays.

Source: https://docs.jax.dev/en/latest/debugging/checkify_guide.html
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tinyjax import lax
from tinyjax.core.bind import as_array
from tinyjax.core.tree_util.pytrees import PyTreeDef, tree_map, tree_unflatten
from tinyjax.core.tree_util.registration import register_pytree_node_class

# ---- categories ----


class JaxException(Exception):
    """The base of the categories."""


class JaxRuntimeError(ValueError):
    """A check failed: what Error.throw raises."""


class FailedCheckError(JaxException):
    """A call of `check`."""


class NaNError(JaxException):
    """An operation gave a NaN."""


class DivisionByZeroError(JaxException):
    """A divisor was 0."""


class OOBError(JaxException):
    """An index was out of bounds."""


ErrorCategory = type[JaxException]

user_checks: frozenset[ErrorCategory] = frozenset({FailedCheckError})
nan_checks: frozenset[ErrorCategory] = frozenset({NaNError})
index_checks: frozenset[ErrorCategory] = frozenset({OOBError})
div_checks: frozenset[ErrorCategory] = frozenset({DivisionByZeroError})
float_checks = nan_checks | div_checks
automatic_checks = float_checks | index_checks
all_checks = automatic_checks | user_checks

# ---- one check ----


@dataclass(frozen=True)
class CheckSite:
    """A check, without its arrays: its category, its message, and the tree of the arguments that the
    message is formatted with."""

    category: ErrorCategory
    text: str
    in_tree: PyTreeDef

    def message(self, payload: Sequence[Any]) -> str:
        args, kwargs = tree_unflatten(self.in_tree, [as_array(x) for x in payload])
        text = self.text.format(*args, **kwargs)
        return f"{text} (`check` failed)" if self.category is FailedCheckError else text


# ---- the error ----


@register_pytree_node_class
class Error:
    """The first failed check of those that a function has, or none; a batch of these under vmap.

    `code` is its number in `sites`, beginning with 1, or 0; `payloads` has the arguments of all
    messages."""

    def __init__(self, code: Any, payloads: Sequence[Sequence[Any]], sites: Sequence[CheckSite]):
        self.code = code
        self.payloads = tuple(tuple(payload) for payload in payloads)
        self.sites = tuple(sites)

    @classmethod
    def of(cls, failed: Any, site: CheckSite, payload: Sequence[Any]) -> Error:
        """The error of one check."""
        return cls(lax.convert_element_type(failed, np.int32), (payload,), (site,))

    def get(self) -> str | None:
        """The message of the failed check; None if there is none. Of a batch, a line an example."""
        codes = np.asarray(self.code)
        if not codes.shape:
            return self._message(int(codes), ()) if codes else None
        failed = [index for index in np.ndindex(codes.shape) if codes[index]]
        lines = [
            f"at mapped index {', '.join(map(str, i))}: {self._message(int(codes[i]), i)}"
            for i in failed
        ]
        return "\n".join(lines) or None

    def _message(self, code: int, index: tuple[int, ...]) -> str:
        payload = [as_array(x) for x in self.payloads[code - 1]]
        return self.sites[code - 1].message([x[index] if index else x for x in payload])

    def throw(self) -> None:
        """Raises JaxRuntimeError, with the message, if a check failed."""
        if (message := self.get()) is not None:
            raise JaxRuntimeError(message)

    def or_else(self, other: Error) -> Error:
        """This error if it is one, else the other, of the same checks."""
        failed = lax.ne(self.code, np.int32(0))
        return tree_map(lambda mine, theirs: lax.select(failed, mine, theirs), self, other)

    def map(self, f: Callable[[Any], Any]) -> Error:
        """An error of the same checks, with `f` of each array."""
        payloads = [[f(x) for x in payload] for payload in self.payloads]
        return Error(f(self.code), payloads, self.sites)

    def tree_flatten(self) -> tuple[tuple, tuple[CheckSite, ...]]:
        """Without checks there is nothing to carry."""
        return ((self.code, self.payloads) if self.sites else ()), self.sites

    @classmethod
    def tree_unflatten(cls, sites: tuple[CheckSite, ...], children: tuple) -> Error:
        code, payloads = children or (np.int32(0), ())
        return cls(code, payloads, sites)

    def __repr__(self) -> str:
        return f"Error({self.get()})"


init_error = Error(np.int32(0), (), ())


def first_error(one: Error, other: Error) -> Error:
    """The error of the checks of both: the first, if that is one, else the second."""
    if not one.sites:
        return other
    later = lax.select(
        lax.ne(other.code, np.int32(0)), lax.add(other.code, np.int32(len(one.sites))), other.code
    )
    code = lax.select(lax.ne(one.code, np.int32(0)), one.code, later)
    return Error(code, (*one.payloads, *other.payloads), (*one.sites, *other.sites))
