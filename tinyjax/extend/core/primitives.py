"""All primitives, by the names that they have in jax.extend.core.primitives: sin_p, scan_p, jit_p, ...

For who gives them rules of another interpreter.
"""

from tinyjax import lax
from tinyjax.core.bind import Primitive
from tinyjax.core.missing_names import getattr_of
from tinyjax.lax.transfer import device_put_p as device_put_p
from tinyjax.random.threefry import random_bits_p as random_bits_p
from tinyjax.random.threefry import random_fold_in_p as random_fold_in_p
from tinyjax.random.threefry import random_seed_p as random_seed_p
from tinyjax.random.threefry import random_split_p as random_split_p
from tinyjax.random.threefry import threefry2x32_p as threefry2x32_p
from tinyjax.transform.custom.forward_rules import custom_jvp_call_p as custom_jvp_call_p
from tinyjax.transform.custom.vjp_call import custom_lin_p as custom_lin_p
from tinyjax.transform.custom.vjp_call import custom_vjp_call_p as custom_vjp_call_p
from tinyjax.transform.jit.primitive import jit_p as jit_p
from tinyjax.transform.jvp import add_any_p as add_jaxvals_p  # noqa: F401
from tinyjax.transform.remat.named_policies import name_p as name_p
from tinyjax.transform.remat.primitive import remat_p as remat_p


class CallPrimitive(Primitive):
    """A call of its parameter call_jaxpr. No jaxpr of tinyjax has one, but interpreters have rules for them,
    and ask any primitive whether it is one."""

    call_primitive = True


for _kind in ("call_primitive", "map_primitive"):
    setattr(Primitive, _kind, False)
call_p = CallPrimitive("call", multiple_results=True)
closed_call_p = CallPrimitive("closed_call", multiple_results=True)

# The hundred and more of lax and lax.linalg, in which they all have these names.
for _module in (lax, lax.linalg):
    globals().update({n: getattr(_module, n) for n in dir(_module) if n.endswith("_p")})

_LAZY_NAMES = {"refs.ref": ("get_p", "swap_p")}
__getattr__ = getattr_of(__name__)
