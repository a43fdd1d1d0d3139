"""Programs as pictures and pages.

page = viz.explain(f, x, transforms=[jax.grad])   # a page of all stages, linked line by line
viz.save(viz.dot(jax.make_jaxpr(f)(x)), "f.svg")  # a graph; in a notebook, it shows itself

explain                  Python, jaxprs, C, passes, times and events on one page
dot, values              the equations of a jaxpr; of a function, with the values that they give
jvp, vmap                with primals and tangents; over a batch
linearize, transpose     what is known and what is linear; the forward pass, and cotangents
pmap, sharding           on a device for each slice; which device has which part of an array
trace_stack              the traces that a bind goes through
kernel                   what each step of a kernel loads and stores, before and after each directive
pass_graph, kernels      before and after each pass of the compiler; what is one kernel, with times
show                     arrays and pytrees: as numbers and heat maps; two with their difference
show_arrays              in a notebook, arrays that end a cell are shown so
iterations               what loops carry from one iteration to the next
memory                   the arrays of a compiled call over time, and what lives at the peak
record                   what happens in a block of a program, as a list of events
save                     writes a graph as .svg, .html, .png, .pdf or .dot; DotNotFound: no layout program
theme                    the colours of all graphs, each a Colour(light=..., dark=...)
"""

from tinyjax.studio.viz import control as control  # draws branches and loops
from tinyjax.studio.viz.arrays.show import show as show
from tinyjax.studio.viz.arrays.show import show_arrays as show_arrays
from tinyjax.studio.viz.carries.slider import iterations as iterations
from tinyjax.studio.viz.dot import dot as dot
from tinyjax.studio.viz.html import explain as explain
from tinyjax.studio.viz.jvp import jvp as jvp
from tinyjax.studio.viz.kernels import kernels as kernels
from tinyjax.studio.viz.linearize import linearize as linearize
from tinyjax.studio.viz.memory_use.memory import memory as memory
from tinyjax.studio.viz.output import DotNotFound as DotNotFound
from tinyjax.studio.viz.output import save as save
from tinyjax.studio.viz.pass_graph import pass_graph as pass_graph
from tinyjax.studio.viz.player import kernel as kernel
from tinyjax.studio.viz.pmap import pmap as pmap
from tinyjax.studio.viz.record import record as record
from tinyjax.studio.viz.shardings import sharding as sharding
from tinyjax.studio.viz.style import Colour as Colour
from tinyjax.studio.viz.style import theme as theme
from tinyjax.studio.viz.trace_stack import trace_stack as trace_stack
from tinyjax.studio.viz.transpose import transpose as transpose
from tinyjax.studio.viz.values import values as values
from tinyjax.studio.viz.vmap import vmap as vmap

__all__ = [
    "Colour",
    "DotNotFound",
    "dot",
    "explain",
    "iterations",
    "jvp",
    "kernel",
    "kernels",
    "linearize",
    "memory",
    "pass_graph",
    "pmap",
    "record",
    "save",
    "sharding",
    "show",
    "show_arrays",
    "theme",
    "trace_stack",
    "transpose",
    "values",
    "vmap",
]


def __dir__() -> list[str]:
    return __all__
