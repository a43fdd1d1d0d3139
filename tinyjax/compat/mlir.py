"""JAX's registration of lowering rules. tinyjax compiles to OpenCL, and uses those rules that don't emit
MLIR.

A rule made by `lower_fun` represents a function of arrays: the compiler inlines it like a call, and fuses its
operations with the surrounding ones. (Equinox and the libraries that build on it define primitives this way.)
A rule that emits MLIR is unused: in compiled code the primitive's impl rule runs on the host.

Source: https://docs.jax.dev/en/latest/jax-primitives.html
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from tinyjax.core.bind import (
    Primitive,
    context,
    impl_rules,
    missing_rule,
    no_rule_reasons,
    restore_source_info,
)
from tinyjax.core.inlining import custom_inline_rules
from tinyjax.core.jaxpr import ClosedJaxpr, JaxprEqn
from tinyjax.core.tracing import trace_to_jaxpr


class LoweredFun:
    """A lowering rule that wraps a function. Calling it directly, as rules that emit MLIR are, raises:
    there is no MLIR here."""

    def __init__(self, fun: Callable, multiple_results: bool):
        self.fun = fun
        self.multiple_results = multiple_results

    def results(self, *args: Any, **params: Any) -> Sequence[Any]:
        out = self.fun(*args, **params)
        return list(out) if self.multiple_results else [out]

    def jaxpr_of(self, eqn: JaxprEqn) -> ClosedJaxpr:
        """The function traced for an equation of the primitive; all its equations get that equation's
        source line."""
        with restore_source_info():
            context.source_info = eqn.source_info
            results = functools.partial(self.results, **eqn.params)
            return trace_to_jaxpr(results, [v.aval for v in eqn.invars])

    def __call__(self, ctx: Any, *args: Any, **params: Any) -> NoReturn:
        raise NotImplementedError(
            "a rule that lower_fun made was called from another lowering rule: tinyjax compiles to OpenCL "
            "and calls no rule that writes MLIR. Register the whole function: "
            "register_lowering(p, lower_fun(f, multiple_results=...))"
        )


def lower_fun(fun: Callable, multiple_results: bool = True) -> LoweredFun:
    """A lowering rule from a function of arrays that uses other primitives."""
    return LoweredFun(fun, multiple_results)


def register_lowering(
    prim: Primitive,
    rule: Callable | None = None,
    platform: str | None = None,
    inline: bool = True,
    cacheable: bool = True,
) -> Callable:
    """Register a primitive's lowering rule. Rules of lower_fun are used for all platforms. Rules that emit
    MLIR are ignored; if the primitive has no impl rule either, evaluating it raises an error that explains
    this.

    From now on an impl rule of the primitive receives Arrays, as JAX's do. Usable as a decorator, as in JAX:
    @partial(register_lowering, prim)."""
    if rule is None:
        return lambda rule: register_lowering(prim, rule, platform, inline, cacheable)
    prim.impl_binds_primitives = True
    if isinstance(rule, LoweredFun):
        custom_inline_rules[prim] = rule.jaxpr_of
        impl_rules.setdefault(prim, rule.fun)
    else:
        no_rule_reasons[prim, "impl"] = no_rule_reasons[prim, "lowering"] = _no_mlir(prim)
        impl_rules.setdefault(prim, lambda *args, **params: missing_rule(prim, "impl"))
    return rule


def _no_mlir(prim: Primitive) -> str:
    return (
        "tinyjax compiles to OpenCL, so its MLIR lowering is not used. Its impl rule, if it has one, runs on "
        f"the host: {prim}_p.def_impl(f). To have it in a kernel, register a function of operations that are "
        f"there: mlir.register_lowering({prim}_p, mlir.lower_fun(f, multiple_results=False)); or say what "
        f"one element of the result is: tinyjax.compile.kernel.rules.lowering_rules[{prim}_p] = "
        'Elementwise(lambda ctx, x, y: ctx.op("add", x, y)). CONTRIBUTING.md, "Adding a primitive", has an '
        "example"
    )
