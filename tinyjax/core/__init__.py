"""`jax.core`: the names; bind.py is where to begin, and to read tinyjax."""

from tinyjax.core.avals import typeof as typeof
from tinyjax.core.bind import *
from tinyjax.core.jaxpr import Atom as Atom
from tinyjax.core.jaxpr import eval_jaxpr as eval_jaxpr
