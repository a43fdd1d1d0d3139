"""Pictures of programs: `viz.dot(jax.make_jaxpr(f)(x))`, `viz.jvp(f, x)`, and one for each other stage."""

from tinyjax.viz.dot import dot as dot
from tinyjax.viz.html import explain as explain
from tinyjax.viz.jvp import jvp as jvp
from tinyjax.viz.kernels import kernels as kernels
from tinyjax.viz.linearize import linearize as linearize
from tinyjax.viz.output import DotNotFound as DotNotFound
from tinyjax.viz.output import save as save
from tinyjax.viz.record import record as record
from tinyjax.viz.transpose import transpose as transpose
from tinyjax.viz.values import values as values
from tinyjax.viz.vmap import vmap as vmap
