"""Where JAX registers how a primitive compiles; tinyjax compiles to OpenCL, and here it says so.

After this file you know where the OpenCL lowering of your primitive goes. Code written for JAX runs on,
with a warning: jit runs a primitive that has no OpenCL lowering on the host, by its impl rule.
Builds on compile.kernel.rules.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

from tinyjax.compile.kernel.rules import lowering_rules
from tinyjax.core.bind import Primitive


def register_lowering(
    prim: Primitive,
    rule: Callable | None = None,
    platform: str | None = None,
    inline: bool = True,
    cacheable: bool = True,
) -> Callable:
    """Takes a rule that writes MLIR, and warns that it is not used unless the primitive has an OpenCL
    lowering already. Can be a decorator, as in JAX: @partial(register_lowering, prim)."""
    if rule is None:
        return lambda rule: register_lowering(prim, rule, platform, inline, cacheable)
    if prim not in lowering_rules:
        warnings.warn(
            f"tinyjax compiles to OpenCL, so the MLIR lowering of '{prim}' is not used: in compiled code "
            "its impl rule runs on the host. To have it in a kernel, say what one element of the result "
            f"is: tinyjax.compile.kernel.rules.lowering_rules[{prim}_p] = Elementwise(lambda ctx, x, y: "
            'ctx.op("add", x, y)). CONTRIBUTING.md, "Adding a primitive", has an example',
            stacklevel=2,
        )
    return rule
