"""Find the equations of a backward pass: those that transpose rules write.

While a function is traced, the source lines of equations that transpose rules write are replaced by
BackwardLines. Compiler passes keep the lines of equations, so the plan still has them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tinyjax.core.bind import context
from tinyjax.core.jaxpr import SourceLine
from tinyjax.transform.transposition import transpose_rules


class BackwardLine(SourceLine):
    """A source line whose derivative is computed; otherwise an ordinary line."""


@contextmanager
def backward_lines() -> Iterator[None]:
    """Within the block, equations that transpose rules write have BackwardLines. Loop bodies that were traced
    before keep their lines."""
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
