"""Which equations are of a backward pass: those that a transpose rule writes.

While a function is traced, each rule has its source line replaced by one that says so. Passes hand lines on
with the equations, so the plan's equations still have them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tinyjax.core.bind import context
from tinyjax.core.jaxpr import SourceLine
from tinyjax.transform.transposition import transpose_rules


class BackwardLine(SourceLine):
    """A line whose derivative is computed; where only the line matters it is one as any other."""


@contextmanager
def backward_lines() -> Iterator[None]:
    """Within the block, what transpose rules write has BackwardLines. Bodies of loops that were traced before
    are not traced again: theirs stay as they are."""
    originals = dict(transpose_rules)
    transpose_rules.update({p: _marking(rule) for p, rule in originals.items()})
    try:
        yield
    finally:
        transpose_rules.update(originals)


def _marking(rule: Callable[..., Any]) -> Callable[..., Any]:
    def marking(*args: Any, **kwargs: Any) -> Any:
        context.source_info = BackwardLine(context.source_info or ("", 0, ""))
        return rule(*args, **kwargs)

    return marking
