"""The one function of jax.interpreters.xla that programs still call: an impl rule that compiles."""

from __future__ import annotations

from typing import Any

from tinyjax.compile.kernel.rules import lowering_rules
from tinyjax.core.bind import Primitive, missing_rule
from tinyjax.core.inlining import custom_inline_rules
from tinyjax.transform.jit.api import jit


def apply_primitive(prim: Primitive, *args: Any, **params: Any) -> Any:
    """Runs a primitive by its OpenCL lowering, or by the function given to `mlir.lower_fun`:
    prim.def_impl(functools.partial(apply_primitive, prim)).

    Raises NotImplementedError if it has none."""
    if prim not in lowering_rules and prim not in custom_inline_rules:
        missing_rule(prim, "lowering")
    return jit(lambda *xs: prim.bind(*xs, **params))(*args)
