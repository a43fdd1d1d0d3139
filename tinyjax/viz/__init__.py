"""Pictures of programs: `tinyjax.viz.dot(jax.make_jaxpr(f)(x))`."""

from tinyjax.viz.dot import DotNotFound as DotNotFound
from tinyjax.viz.dot import dot as dot
from tinyjax.viz.dot import save as save
