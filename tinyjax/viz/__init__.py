"""Pictures of programs: `viz.dot(jax.make_jaxpr(f)(x))` and `viz.kernels(jax.jit(f).lower(x))`."""

from tinyjax.viz.dot import DotNotFound as DotNotFound
from tinyjax.viz.dot import dot as dot
from tinyjax.viz.dot import save as save
from tinyjax.viz.html import explain as explain
from tinyjax.viz.kernels import kernels as kernels
from tinyjax.viz.record import record as record
