"""`jax.core`: the public names. To read tinyjax, begin with bind.py."""

from tinyjax.core.avals import typeof as typeof
from tinyjax.core.bind import *
from tinyjax.core.jaxpr import Atom as Atom
from tinyjax.core.jaxpr import eval_jaxpr as eval_jaxpr
