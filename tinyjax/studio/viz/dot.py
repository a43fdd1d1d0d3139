"""After this file you can look at a jaxpr as a picture.

    from tinyjax import viz
    graph = viz.dot(jax.make_jaxpr(f)(x))   # shows itself in a notebook
    viz.save(graph, "f.svg")

Builds on drawing.py.
"""

import graphviz

from tinyjax.core.jaxpr import ClosedJaxpr, Jaxpr
from tinyjax.studio.viz.drawing import Drawing, opened


def dot(jaxpr: Jaxpr | ClosedJaxpr, open_calls: bool = True) -> graphviz.Digraph:
    """Draw `jaxpr`, jaxprs inside it included; equal jaxprs give an equal `.source`.

    Without `open_calls`, a call is a box like any other equation: what it calls is not drawn.

    Raises TypeError if given anything else, such as the function itself.
    """
    if not isinstance(jaxpr, Jaxpr | ClosedJaxpr):
        raise TypeError(
            f"dot draws a Jaxpr or a ClosedJaxpr, not a {type(jaxpr).__name__}; for a function f "
            "write dot(jax.make_jaxpr(f)(*args))"
        )
    drawing = Drawing(opened(jaxpr))
    drawing.open_calls = open_calls
    drawing.whole(opened(jaxpr))
    return drawing.finished()
