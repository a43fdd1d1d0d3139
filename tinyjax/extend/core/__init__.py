"""What jaxprs are made of, under the names of jax.extend.core.

After this file you can write an interpreter of your own: trace by jax.make_jaxpr, walk the equations,
and say for each primitive what it means to you. Builds on core and jaxpr.

    closed = jax.make_jaxpr(f)(x)
    for eqn in closed.jaxpr.eqns:
        eqn.primitive, eqn.invars, eqn.outvars, eqn.params

Source: https://docs.jax.dev/en/latest/jax.extend.core.html
"""

from tinyjax.core import Primitive as Primitive
from tinyjax.core import set_current_trace as set_current_trace
from tinyjax.dtypes import tangent_dtype as primal_dtype_to_tangent_dtype  # noqa: F401
from tinyjax.extend.core import primitives as primitives
from tinyjax.jaxpr import ClosedJaxpr as ClosedJaxpr
from tinyjax.jaxpr import DropVar as DropVar
from tinyjax.jaxpr import Jaxpr as Jaxpr
from tinyjax.jaxpr import JaxprEqn as JaxprEqn
from tinyjax.jaxpr import JaxprTypeError as JaxprTypeError
from tinyjax.jaxpr import Literal as Literal
from tinyjax.jaxpr import Var as Var
from tinyjax.jaxpr import check_jaxpr as check_jaxpr
from tinyjax.jaxpr import jaxpr_as_fun as jaxpr_as_fun
from tinyjax.jaxpr import subjaxprs as jaxprs_in_params  # noqa: F401
