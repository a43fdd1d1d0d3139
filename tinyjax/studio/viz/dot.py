"""A jaxpr as a picture.

from tinyjax import viz
graph = viz.dot(jax.make_jaxpr(f)(x))   # shows itself in a notebook
viz.save(graph, "f.svg")
"""

from typing import Any

from tinyjax.core.jaxpr import ClosedJaxpr, Jaxpr
from tinyjax.core.tree_util.pytrees import tree_leaves
from tinyjax.studio.viz.drawing import Drawing, unwrap_closed_jaxpr
from tinyjax.studio.viz.output import Graph


def dot(jaxpr: Jaxpr | ClosedJaxpr, open_calls: bool = True, in_shardings: Any = ()) -> Graph:
    """Draw `jaxpr`, jaxprs inside it included; equal jaxprs give an equal `.source`.

    Without `open_calls`, a call is a box like any other equation, without its inner jaxpr. With
    `in_shardings`, a pytree with a sharding or None for each input, types show how values are split, and
    equations show the bytes that devices exchange.

    Raises TypeError if given anything else, such as the function itself."""
    if not isinstance(jaxpr, Jaxpr | ClosedJaxpr):
        raise TypeError(
            f"dot draws a Jaxpr or a ClosedJaxpr, not a {type(jaxpr).__name__}; for a function f "
            "write dot(jax.make_jaxpr(f)(*args))"
        )
    places = tree_leaves(in_shardings, is_leaf=lambda x: x is None)
    drawing = Drawing(unwrap_closed_jaxpr(jaxpr), places=places)
    if isinstance(jaxpr, ClosedJaxpr):
        drawing.name_ends(jaxpr.jaxpr, jaxpr.debug_info)
    drawing.open_calls = open_calls
    drawing.whole(unwrap_closed_jaxpr(jaxpr))
    return drawing.finished()
