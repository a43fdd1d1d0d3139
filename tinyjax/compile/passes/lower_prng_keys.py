"""Random keys as pairs of uint32 words, with which kernels can compute.

An array of keys of shape s becomes a uint32 array of shape s + (2,). Primitives for random keys (splitting
them, drawing bits) have a rule in `word_rules`, which writes them as arithmetic on words. All other
primitives that take keys only move them (slices, selects, joins): they run under vmap over the words, whose
batch axis is the last one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tinyjax.compile.passes.loops import control_flow, is_control_flow
from tinyjax.compile.record import event
from tinyjax.core.array import ArrayImpl, ShapedArray
from tinyjax.core.avals import to_numpy
from tinyjax.core.bind import Primitive, context, restore_source_info
from tinyjax.core.dtypes import key_dtype
from tinyjax.core.inlining import CALLS, called_jaxpr
from tinyjax.core.jaxpr import (
    ClosedJaxpr,
    Jaxpr,
    JaxprEqn,
    Literal,
    all_jaxprs,
    cached_on_jaxpr,
    jaxpr_as_fun,
    literal_value,
    subjaxprs,
)
from tinyjax.core.tracing import trace_to_jaxpr

UINT32 = np.dtype("uint32")

# primitive -> (*operands, **params) -> result, with words in place of keys
word_rules: dict[Primitive, Callable[..., Any]] = {}
# "keys": the primitive that makes keys from words; "words": the one that returns the words of keys; "moved":
# an equation's results in words, where it only moves keys about, else None (random/lowering.py sets them)
conversions: dict[str, Callable[..., Any]] = {}

# ---- jaxprs ----


def lower_prng_keys(closed: ClosedJaxpr) -> ClosedJaxpr:
    """The same function on words instead of keys: arguments, results and all values between."""
    return _lower_prng_keys(closed) if _has_keys(closed.jaxpr) else closed


@cached_on_jaxpr
def _lower_prng_keys(closed: ClosedJaxpr) -> ClosedJaxpr:
    jaxpr = closed.jaxpr

    def on_words(*args: Any) -> list[Any]:
        env = {v: _constant_words(x, v.aval) for v, x in zip(jaxpr.constvars, closed.consts)}
        env.update(zip(jaxpr.invars, args))

        def read(atoms: Sequence[Any]) -> list[Any]:
            return [literal_value(v) if isinstance(v, Literal) else env[v] for v in atoms]

        with restore_source_info():
            for eqn in jaxpr.eqns:
                context.source_info = eqn.source_info
                env.update(zip(eqn.outvars, _results(eqn, read(eqn.invars))))
        return read(jaxpr.outvars)

    return trace_to_jaxpr(on_words, [words_aval(aval) for aval in closed.in_avals])


def words_aval(aval: ShapedArray) -> ShapedArray:
    """The type of an array of keys as words; other types stay."""
    return ShapedArray((*aval.shape, 2), UINT32) if is_key(aval) else aval


def is_key(aval: ShapedArray) -> bool:
    return aval.dtype == key_dtype


def _has_keys(jaxpr: Jaxpr) -> bool:
    """Whether there are keys in a jaxpr, or in one within."""
    return any(_handles_keys(step) for each in all_jaxprs(jaxpr) for step in (each, *each.eqns))


def _handles_keys(step: Any) -> bool:
    """Whether a jaxpr or an equation takes or returns keys."""
    return key_dtype in [v.aval.dtype for v in (*step.invars, *step.outvars)]


def _constant_words(value: Any, aval: ShapedArray) -> Any:
    if not is_key(aval):
        return value
    return ArrayImpl(to_numpy(value, aval)["fry"], words_aval(aval))


# ---- equations ----


def _results(eqn: JaxprEqn, args: Sequence[Any]) -> list[Any]:
    """Writes an equation with words in place of keys."""
    name, primitive, params = eqn.primitive.name, eqn.primitive, eqn.params
    if primitive in word_rules:
        event(eqn, "is arithmetic on words", "it has a rule in word_rules", eqn)
        return [word_rules[primitive](*args, **params)]
    if not (_handles_keys(eqn) or any(map(_has_keys, subjaxprs(eqn.params)))):
        return _bind(primitive, args, params)
    if is_control_flow(eqn):
        changed = control_flow(eqn).with_bodies(lambda _, body, of: (lower_prng_keys(body), of))
        return _bind(primitive, args, changed.equation().params)
    if name in CALLS:
        called, param = lower_prng_keys(called_jaxpr(eqn)), CALLS[name]
        if not isinstance(param, str):
            return jaxpr_as_fun(called)(*args)
        return _bind(primitive, args, params | {param: called})
    if all(is_key(v.aval) for v in eqn.outvars):
        moved = conversions["moved"](eqn, args)
        if moved is not None:
            event(eqn, "moves pairs of words", "it only moves keys about", eqn)
            return moved
    # A host step, such as a callback, that takes or makes keys.
    event(eqn, "gets keys made of words", "it is a host step", eqn)
    args = [conversions["keys"](x) if is_key(v.aval) else x for x, v in zip(args, eqn.invars)]
    outs = _bind(primitive, args, params)
    return [conversions["words"](x) if is_key(v.aval) else x for x, v in zip(outs, eqn.outvars)]


def _bind(primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> list[Any]:
    trace: Any = context.trace  # the trace that writes the new jaxpr
    out = trace.add_eqn(primitive, args, params)
    return out if primitive.multiple_results else [out]
