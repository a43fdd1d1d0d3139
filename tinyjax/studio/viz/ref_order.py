"""Draw the order of a Ref's reads and writes, which value arrows don't show.

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
    """The last box that used each Ref; None for the one that made it, as a value arrow starts there."""

    def __init__(self) -> None:
        self.last: dict[Var, str | None] = {}
        self.entry: str | None = None  # the Ref's last use before this frame
        self.latest: str | None = None

    def arrows(
        self, eqn: JaxprEqn, box: str, arrow: Callable[..., None], legend_styles: list[NodeStyle]
    ) -> None:
        """Draw an arrow to this equation's box from the last one that used the same Ref, if any."""
        for x in _refs(eqn.invars):
            before = self.last.get(x, self.entry)
            if before is not None:
                arrow(before, box, **style.ORDER.attributes)
                legend_styles.append(style.ORDER)
            self.last[x] = self.latest = box
        self.last |= dict.fromkeys(_refs(eqn.outvars))

    @contextlib.contextmanager
    def inside(self, eqn: JaxprEqn) -> Iterator[None]:
        """Within the block, map the Refs to their variables in the jaxprs of a call or loop."""
        refs, around, latest = _refs(eqn.invars), self.entry, self.latest
        self.entry = next((self.last[x] for x in refs if self.last.get(x)), around)
        yield
        self.entry = around
        if self.latest != latest:
            self.last |= dict.fromkeys(refs, self.latest)


def _refs(atoms: Sequence[Atom]) -> list[Var]:
    return [x for x in atoms if isinstance(x, Var) and type(x.aval) is not ShapedArray]
