"""Parameters of JAX's primitives that are meaningless here: accepted and ignored.

Code written for JAX binds with them: `lax.reduce_sum_p.bind(x, axes=(0,), out_sharding=None)`. It imports
the primitive from jax.lax, which imports it from here on first access. From then on that primitive drops
such parameters if they are None; its rules refuse any other value as an unknown parameter. tinyjax itself
imports primitives from where they are defined, not from here. Printed jaxprs show these parameters as JAX
does. Each primitive declares them: `ignored_params` of core/facts.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

# ruff: noqa: F401  (jax.lax imports these primitives from here)
from tinyjax.core.bind import Primitive
from tinyjax.core.primitives import broadcast_in_dim_p, cos_p, mul_p, reduce_sum_p, reshape_p, sin_p
from tinyjax.lax.arithmetic import cbrt_p, rsqrt_p, sqrt_p
from tinyjax.lax.conversion import convert_element_type_p
from tinyjax.lax.convolution import conv_general_dilated_p
from tinyjax.lax.creation import iota_p
from tinyjax.lax.dot_product import dot_general_p
from tinyjax.lax.exponential import (
    exp2_p,
    exp_p,
    expm1_p,
    log1p_p,
    log2_p,
    log_p,
    logistic_p,
    tanh_p,
)
from tinyjax.lax.reductions import reduce_max_p, reduce_min_p
from tinyjax.lax.trigonometric import tan_p


def _bind_without(unsaid: tuple[str, ...], primitive: Primitive) -> Callable[..., Any]:
    def bind(*args: Any, **params: Any) -> Any:
        said = {k: v for k, v in params.items() if v is not None or k not in unsaid}
        return Primitive.bind(primitive, *args, **said)

    return bind


for _primitive in filter(lambda value: isinstance(value, Primitive), list(globals().values())):
    _primitive.bind = _bind_without(_primitive.facts.ignored_params, _primitive)
