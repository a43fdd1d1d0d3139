"""Derivative rules for custom primitives, under the names of jax.interpreters.ad.

`defjvp` is for forward mode. Reverse mode also needs `primitive_transposes`, or `deflinear2` and
`defbilinear`, for linear primitives.

    primitive_jvps[p] = rule          # (primals, tangents, **params) -> (out, tangent_out)
    primitive_transposes[p] = rule    # (ct, *operands, **params) -> [ct or None for each operand]

Source: https://docs.jax.dev/en/latest/jax-primitives.html
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tinyjax.core.array import ShapedArray
from tinyjax.core.bind import Primitive, missing_rule
from tinyjax.transform.jvp import JVPTrace as JVPTrace
from tinyjax.transform.jvp import JVPTracer as JVPTracer
from tinyjax.transform.jvp import Zero as Zero
from tinyjax.transform.jvp import add_any_p as add_jaxvals_p
from tinyjax.transform.jvp import add_tangents as add_tangents
from tinyjax.transform.jvp import defjvp as defjvp
from tinyjax.transform.jvp import defjvp2 as defjvp2
from tinyjax.transform.jvp import full
from tinyjax.transform.jvp import instantiate_zeros as instantiate_zeros
from tinyjax.transform.jvp import jvp_rules as primitive_jvps  # noqa: F401
from tinyjax.transform.transposition import UndefinedPrimal as UndefinedPrimal
from tinyjax.transform.transposition import defbilinear as defbilinear
from tinyjax.transform.transposition import deflinear2 as deflinear2
from tinyjax.transform.transposition import is_undefined_primal as is_undefined_primal
from tinyjax.transform.transposition import transpose_rules as primitive_transposes


def deflinear(primitive: Primitive, transpose_rule: Callable) -> None:
    """deflinear2 for a rule that needs only the cotangent: (ct, **params) -> list of cotangents."""
    deflinear2(primitive, lambda ct, *operands, **params: transpose_rule(ct, **params))


def get_primitive_transpose(primitive: Primitive) -> Callable:
    """The transpose rule. Raises NotImplementedError with instructions to write one if there is none."""
    return primitive_transposes.get(primitive) or missing_rule(primitive, "transpose")


def add_jaxvals(x: Any, y: Any) -> Any:
    """The sum of two tangents, or cotangents, of one value."""
    return add_jaxvals_p.bind(x, y)


def zeros_like_aval(aval: ShapedArray) -> Any:
    """An array of zeros of this shape and dtype."""
    return full(aval, 0)
