"""jax.interpreters.xla has one function left that people call: an impl rule by compilation.

Builds on interpreters.jit.
"""

from __future__ import annotations

from typing import Any

from tinyjax.core import Primitive, missing_rule
from tinyjax.interpreters.jit import jit
from tinyjax.missing_names import getattr_of
from tinyjax.opencl.rules import lowering_rules


def apply_primitive(prim: Primitive, *args: Any, **params: Any) -> Any:
    """Runs a primitive by its OpenCL lowering: prim.def_impl(functools.partial(apply_primitive, prim)).

    Raises NotImplementedError if it has none."""
    if prim not in lowering_rules:
        missing_rule(prim, "lowering")
    return jit(lambda *xs: prim.bind(*xs, **params))(*args)


__getattr__ = getattr_of(__name__)
