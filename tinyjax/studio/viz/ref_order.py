"""The order of what is done to a Ref, in a picture: arrows of values alone don't tell it.

After this file you can see why two reads of one Ref differ: a dashed arrow goes from each equation that
reads or writes it to the next. Builds on core/refs.py and style.py.
"""

from __future__ import annotations

from collections.abc import Callable

from tinyjax.core.jaxpr import JaxprEqn, Var
from tinyjax.core.ref_types import AbstractRef
from tinyjax.studio.viz import style
from tinyjax.studio.viz.style import Look


class RefOrder:
    """Which box was the last that used each Ref."""

    def __init__(self) -> None:
        self.last: dict[Var, str] = {}

    def arrows(
        self, eqn: JaxprEqn, box: str, arrow: Callable[..., None], looks: list[Look]
    ) -> None:
        """An arrow to this equation's box from the last that used the same Ref, if there was one."""
        for x in dict.fromkeys(x for x in eqn.invars if isinstance(x, Var)):
            if isinstance(x.aval, AbstractRef):
                if x in self.last:
                    arrow(self.last[x], box, **style.ORDER.style)
                    looks.append(style.ORDER)
                self.last[x] = box
