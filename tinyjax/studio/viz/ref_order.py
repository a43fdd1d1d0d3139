"""The order of a Ref's reads and writes, in a picture: arrows of values alone don't show it.

A dashed arrow goes from each equation that reads or writes a Ref to the next.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence

from tinyjax.core.array import ShapedArray
from tinyjax.core.jaxpr import Atom, JaxprEqn, Var
from tinyjax.studio.viz import style
from tinyjax.studio.viz.style import NodeStyle


class RefOrder:
    """The last box that used each Ref; None if it is the one that made it, which an arrow shows anyway."""

    def __init__(self) -> None:
        self.last: dict[Var, str | None] = {}
        self.entry: str | None = None  # what used the Ref before it came into this frame
        self.latest: str | None = None

    def arrows(
        self, eqn: JaxprEqn, box: str, arrow: Callable[..., None], legend_styles: list[NodeStyle]
    ) -> None:
        """An arrow to this equation's box from the last one that used the same Ref, if any."""
        for x in _refs(eqn.invars):
            before = self.last.get(x, self.entry)
            if before is not None:
                arrow(before, box, **style.ORDER.attributes)
                legend_styles.append(style.ORDER)
            self.last[x] = self.latest = box
        self.last |= dict.fromkeys(_refs(eqn.outvars))

    @contextlib.contextmanager
    def inside(self, eqn: JaxprEqn) -> Iterator[None]:
        """While the jaxprs of a call or a loop are drawn: there the Refs have other variables."""
        refs, around, latest = _refs(eqn.invars), self.entry, self.latest
        self.entry = next((self.last[x] for x in refs if self.last.get(x)), around)
        yield
        self.entry = around
        if self.latest != latest:
            self.last |= dict.fromkeys(refs, self.latest)


def _refs(atoms: Sequence[Atom]) -> list[Var]:
    return [x for x in atoms if isinstance(x, Var) and type(x.aval) is not ShapedArray]
