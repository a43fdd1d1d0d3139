"""The primitive `check`, and the trace that keeps the number of the first check that failed.

The trace keeps an Error with the values, and a jaxpr that is a parameter of an equation is rewritten to
return one too.

Source: https://docs.jax.dev/en/latest/debugging/checkify_guide.html
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tinyjax import lax
from tinyjax.compile.kernel.rules import lowering_rules
from tinyjax.core.avals import get_aval
from tinyjax.core.bind import (
    EvalTrace,
    Primitive,
    Trace,
    context,
    impl_rules,
    no_rule_reasons,
    set_current_trace,
)
from tinyjax.core.jaxpr import ClosedJaxpr, cached_on_jaxpr, jaxpr_as_fun
from tinyjax.core.missing_names import feature
from tinyjax.core.tracing import trace_to_jaxpr
from tinyjax.core.tree_util.pytrees import tree_flatten, tree_leaves, tree_unflatten
from tinyjax.experimental.automatic_checks import automatic_failures
from tinyjax.experimental.checkify_error import (
    Error,
    ErrorCategory,
    FailedCheckError,
    JaxRuntimeError,
    first_error,
    init_error,
)
from tinyjax.lax.debugging import def_debug_rules
from tinyjax.lax.shape import batch_size
from tinyjax.transform.batching import batch_rules, bdim_at_front, not_mapped
from tinyjax.transform.custom.forward_rules import custom_jvp_call_p
from tinyjax.transform.custom.vjp_call import custom_vjp_call_p
from tinyjax.transform.jvp import full

# ---- the primitive ----


class CheckPrimitive(Primitive):
    """Raises immediately if no transformation is active. It has no impl rule: compiled code can't raise."""

    def bind(self, *args: Any, **params: Any) -> Any:
        if not isinstance(context.trace, EvalTrace):
            return super().bind(*args, **params)
        if bool(args[0]):
            raise JaxRuntimeError(params["site"].message(args[1:]))
        return []


# Operands: whether the check failed, and what its message is to say. The parameter site is a CheckSite.
check_p = CheckPrimitive(
    "check", multiple_results=True, impl_binds_primitives=True, has_effects=True
)
# Without checkify around, nothing is lost if it is left out.
debug_check_p = Primitive("debug_check", multiple_results=True, impl_binds_primitives=True)


def _check_batch(
    primitive: Primitive, vals: Sequence[Any], dims: Sequence[int | None], **params: Any
) -> Any:
    """Fails if it fails for any example: the message is that of the first."""
    failed = bdim_at_front(vals[0], dims[0], batch_size(vals, dims))
    failed, payload = first_example(failed, vals[1:], dims[1:])
    primitive.bind(failed, *payload, **params)
    return [], []


def first_example(failed: Any, payload: Sequence[Any], dims: Sequence[int | None]) -> Any:
    """Whether it failed for any example along axis 0, and what the first one says."""
    first = lax.argmax(failed, 0, np.int32)
    return lax.reduce_or(failed, (0,)), [
        x if d is not_mapped else lax.dynamic_index_in_dim(x, first, d, keepdims=False)
        for x, d in zip(payload, dims)
    ]


def _check_lowering(eqn: Any, target: Any) -> Any:
    raise ValueError(
        "Cannot abstractly evaluate a checkify.check which was not functionalized: compiled code cannot "
        "raise. Put checkify around what is compiled: jax.jit(checkify.checkify(f)) gives (error, out)"
    )


for _p in (check_p, debug_check_p):
    def_debug_rules(_p)
    batch_rules[_p] = functools.partial(_check_batch, _p)
no_rule_reasons[check_p, "impl"] = "it raises where it is bound"
impl_rules[debug_check_p] = lambda *args, **params: []
lowering_rules[check_p] = _check_lowering

# ---- the trace ----


class CheckifyTrace(Trace):
    """Keeps the error beside the values, which need no tracers of their own."""

    def __init__(self, parent: Trace, errors: frozenset[ErrorCategory]):
        self.parent = parent
        self.errors = errors
        self.error = init_error

    def process_primitive(self, primitive: Primitive, args: Sequence[Any], params: dict) -> Any:
        if primitive in (custom_jvp_call_p, custom_vjp_call_p):
            with set_current_trace(self):
                return params["fun"](*args)
        with set_current_trace(self.parent):
            if primitive in (check_p, debug_check_p):
                failed, payload = args[0], args[1:]
                if FailedCheckError in self.errors:
                    self.add(Error.of(failed, params["site"], payload))
                return []
            if primitive.name in late_rules:
                feature(late_rules[primitive.name])
            if primitive in checkify_rules:
                error, results = checkify_rules[primitive](self.errors, *args, **params)
                self.add(error)
                return results
            out = primitive.bind(*args, **params)
            outs = out if primitive.multiple_results else [out]
            for failed, site, payload in automatic_failures(
                self.errors, primitive, args, outs, params
            ):
                self.add(Error.of(failed, site, payload))
            return out

    def add(self, error: Error) -> None:
        """What fails later counts if nothing has failed before."""
        self.error = first_error(self.error, error)


# primitive -> (errors, *operands, **params) -> (error, results), for those with jaxprs as parameters
checkify_rules: dict[Primitive, Callable[..., tuple[Error, list[Any]]]] = {}
# name of a primitive -> the module that puts its rule there, imported with the first such equation
late_rules = {"shard_map": "experimental.checkify_shard_map"}

# ---- jaxprs ----


@cached_on_jaxpr
def checked_jaxpr(
    closed: ClosedJaxpr, errors: frozenset[ErrorCategory]
) -> tuple[ClosedJaxpr, Error]:
    """The jaxpr that gives the leaves of an error and then the results; and an error of this kind, with
    avals as leaves."""
    kind: Any = None

    def fun(*args: Any) -> list[Any]:
        nonlocal kind
        trace = CheckifyTrace(context.trace, errors)
        with set_current_trace(trace):
            outs = jaxpr_as_fun(closed)(*args)
        kind = trace.error.map(get_aval)
        return [*tree_leaves(trace.error), *outs]

    return trace_to_jaxpr(fun, closed.in_avals), kind


def cut(kind: Error, outs: Sequence[Any]) -> tuple[Error, list[Any]]:
    """The error and the results, from what a checked jaxpr gives."""
    leaves, tree = tree_flatten(kind)
    return tree_unflatten(tree, outs[: len(leaves)]), list(outs[len(leaves) :])


def no_error(kind: Error) -> Error:
    return kind.map(lambda aval: full(aval, 0))
