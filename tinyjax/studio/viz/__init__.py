"""Pictures of programs: `viz.dot(jax.make_jaxpr(f)(x))`, `viz.jvp(f, x)`, and one for each other stage.

`viz.save` writes one to a file; `viz.theme` has the colours of all of them.
"""

from tinyjax.studio.viz.dot import dot as dot
from tinyjax.studio.viz.html import explain as explain
from tinyjax.studio.viz.jvp import jvp as jvp
from tinyjax.studio.viz.kernels import kernels as kernels
from tinyjax.studio.viz.linearize import linearize as linearize
from tinyjax.studio.viz.output import DotNotFound as DotNotFound
from tinyjax.studio.viz.output import save as save
from tinyjax.studio.viz.pass_graph import pass_graph as pass_graph
from tinyjax.studio.viz.pmap import pmap as pmap
from tinyjax.studio.viz.record import record as record
from tinyjax.studio.viz.shardings import sharding as sharding
from tinyjax.studio.viz.style import Colour as Colour
from tinyjax.studio.viz.style import theme as theme
from tinyjax.studio.viz.trace_stack import trace_stack as trace_stack
from tinyjax.studio.viz.transpose import transpose as transpose
from tinyjax.studio.viz.values import values as values
from tinyjax.studio.viz.vmap import vmap as vmap
