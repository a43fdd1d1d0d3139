"""Checks inside of transformed functions: `checkify` makes errors a result of the function.

After this file you can say how a function that cannot raise (compiled, batched, in a loop) tells of a
failed check: `check` is a primitive, and the trace of checkify keeps beside all values the number of the
first check that failed. Loops carry it, branches give it, jit returns it. Builds on checkify_error, and
on the primitives that have jaxprs as parameters.

    error, out = checkify(f)(x)
    error.throw()

A function with a derivative rule of its own is opened: what is differentiated around checkify is its body.

Source: https://docs.jax.dev/en/latest/debugging/checkify_guide.html
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tinyjax import lax
from tinyjax.control_flow.cond import cond_p
from tinyjax.control_flow.scan import scan_p
from tinyjax.control_flow.while_loop import while_p
from tinyjax.core import (
    EvalTrace,
    Primitive,
    Trace,
    as_array,
    context,
    extend_axis_env,
    get_aval,
    impl_rules,
    no_rule_reasons,
    set_current_trace,
)
from tinyjax.custom_derivatives.forward_rules import custom_jvp_call_p
from tinyjax.custom_derivatives.vjp_call import custom_vjp_call_p
from tinyjax.debugging import def_debug_rules
from tinyjax.experimental.automatic_checks import automatic_failures
from tinyjax.experimental.checkify_error import CheckSite, first_error
from tinyjax.experimental.checkify_error import DivisionByZeroError as DivisionByZeroError
from tinyjax.experimental.checkify_error import Error as Error
from tinyjax.experimental.checkify_error import ErrorCategory as ErrorCategory
from tinyjax.experimental.checkify_error import FailedCheckError as FailedCheckError
from tinyjax.experimental.checkify_error import JaxRuntimeError as JaxRuntimeError
from tinyjax.experimental.checkify_error import NaNError as NaNError
from tinyjax.experimental.checkify_error import OOBError as OOBError
from tinyjax.experimental.checkify_error import all_checks as all_checks
from tinyjax.experimental.checkify_error import automatic_checks as automatic_checks
from tinyjax.experimental.checkify_error import div_checks as div_checks
from tinyjax.experimental.checkify_error import float_checks as float_checks
from tinyjax.experimental.checkify_error import index_checks as index_checks
from tinyjax.experimental.checkify_error import init_error as init_error
from tinyjax.experimental.checkify_error import nan_checks as nan_checks
from tinyjax.experimental.checkify_error import user_checks as user_checks
from tinyjax.interpreters.batching import batch_rules, bdim_at_front, not_mapped
from tinyjax.interpreters.jit_primitive import jit_p
from tinyjax.interpreters.jvp import full
from tinyjax.interpreters.pmap_primitive import pmap_p
from tinyjax.interpreters.remat import remat_p
from tinyjax.interpreters.tracing import trace_to_jaxpr
from tinyjax.jaxpr import ClosedJaxpr, cached_on_jaxpr, jaxpr_as_fun
from tinyjax.lax.shape import batch_size
from tinyjax.lists import split_list
from tinyjax.opencl.rules import lowering_rules
from tinyjax.tree_util.pytrees import tree_flatten, tree_leaves, tree_unflatten

# ---- what users call ----


def check(pred: Any, msg: str, *fmt_args: Any, **fmt_kwargs: Any) -> None:
    """Makes `checkify` give an error with this message, formatted, unless the scalar `pred` is True.

    The arguments of the format are arrays. Without checkify around, and in no transformation, raises
    JaxRuntimeError. Raises TypeError for a `pred` that is no scalar bool and for other arguments;
    ValueError when it is compiled without a checkify around.
    Source: https://docs.jax.dev/en/latest/_autosummary/jax.experimental.checkify.check.html
    """
    _bind(check_p, pred, msg, fmt_args, fmt_kwargs)


def debug_check(pred: Any, msg: str, *fmt_args: Any, **fmt_kwargs: Any) -> None:
    """As `check`, but without a checkify around it does nothing.

    Source: https://docs.jax.dev/en/latest/_autosummary/jax.experimental.checkify.debug_check.html
    """
    _bind(debug_check_p, pred, msg, fmt_args, fmt_kwargs)


def _bind(primitive: Primitive, pred: Any, msg: str, args: tuple, kwargs: dict[str, Any]) -> None:
    aval = get_aval(pred)
    if aval.shape or aval.dtype != np.bool_:
        raise TypeError(
            f"check takes a scalar pred as argument, got {pred}: a bool, by jnp.all of many"
        )
    payload, in_tree = tree_flatten((args, kwargs))
    for x in payload:
        if not hasattr(x, "dtype"):
            raise TypeError(
                "Formatting arguments to checkify.check need to be PyTrees of arrays, but got "
                f"{x!r} of type {type(x)}. jnp.asarray makes an array of a number"
            )
    site = CheckSite(FailedCheckError, msg, in_tree)
    primitive.bind(lax.bitwise_not(as_array(pred)), *payload, site=site)


def checkify(
    f: Callable[..., Any], errors: frozenset[ErrorCategory] = user_checks
) -> Callable[..., tuple[Error, Any]]:
    """A function that gives (error, out): what `f` gives, and the first check in it that failed.

    `errors` says which checks there are: user_checks (calls of `check`), nan_checks, div_checks,
    index_checks, float_checks, automatic_checks, all_checks, or a union of these.
    Raises TypeError if `f` is not callable.
    Source: https://docs.jax.dev/en/latest/_autosummary/jax.experimental.checkify.checkify.html
    """
    if not callable(f):
        raise TypeError(f"checkify takes a function, got {f!r}")

    @functools.wraps(f)
    def checked(*args: Any, **kwargs: Any) -> tuple[Error, Any]:
        trace = CheckifyTrace(context.trace, frozenset(errors))
        with set_current_trace(trace):
            out = f(*args, **kwargs)
        return trace.error, out

    return checked


def check_error(error: Error) -> None:
    """Raises JaxRuntimeError if the error is one; under checkify, gives it on to that.

    Raises TypeError for what is no Error."""
    if not isinstance(error, Error):
        raise TypeError(f"check_error takes the Error that checkify gave, got {error!r}")
    if isinstance(context.trace, EvalTrace):
        error.throw()
    for number, (site, payload) in enumerate(zip(error.sites, error.payloads), 1):
        failed = lax.eq(error.code, np.int32(number))
        for _ in range(get_aval(failed).ndim):  # a batch of errors: the first of them
            failed, payload = _first_example(failed, payload, [0] * len(payload))
        check_p.bind(failed, *payload, site=site)


# ---- the primitive ----


class CheckPrimitive(Primitive):
    """Where no transformation is active, it raises at once; there is no impl rule, for compiled code
    cannot."""

    def bind(self, *args: Any, **params: Any) -> Any:
        if not isinstance(context.trace, EvalTrace):
            return super().bind(*args, **params)
        if bool(args[0]):
            raise JaxRuntimeError(params["site"].message(args[1:]))
        return []


# Operands: whether the check failed, and what its message is to say. The parameter site is a CheckSite.
check_p = CheckPrimitive("check", multiple_results=True, takes_arrays=True, has_effects=True)
# Without checkify around, nothing is lost if it is left out.
debug_check_p = Primitive("debug_check", multiple_results=True, takes_arrays=True)


def _check_batch(
    primitive: Primitive, vals: Sequence[Any], dims: Sequence[int | None], **params: Any
) -> Any:
    """Fails if it fails for any example: the message is that of the first."""
    failed = bdim_at_front(vals[0], dims[0], batch_size(vals, dims))
    failed, payload = _first_example(failed, vals[1:], dims[1:])
    primitive.bind(failed, *payload, **params)
    return [], []


def _first_example(failed: Any, payload: Sequence[Any], dims: Sequence[int | None]) -> Any:
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


def _cut(kind: Error, outs: Sequence[Any]) -> tuple[Error, list[Any]]:
    """The error and the results, from what a checked jaxpr gives."""
    leaves, tree = tree_flatten(kind)
    return tree_unflatten(tree, outs[: len(leaves)]), list(outs[len(leaves) :])


def _no_error(kind: Error) -> Error:
    return kind.map(lambda aval: full(aval, 0))


# primitive -> (errors, *operands, **params) -> (error, results), for those with jaxprs as parameters
checkify_rules: dict[Primitive, Callable[..., tuple[Error, list[Any]]]] = {}


def _jit(errors: Any, *args: Any, jaxpr: ClosedJaxpr, **params: Any) -> Any:
    new_jaxpr, kind = checked_jaxpr(jaxpr, errors)
    return _cut(kind, jit_p.bind(*args, jaxpr=new_jaxpr, **params))


def _remat(errors: Any, *args: Any, jaxpr: ClosedJaxpr, **params: Any) -> Any:
    new_jaxpr, kind = checked_jaxpr(jaxpr, errors)
    return _cut(kind, remat_p.bind(*args, jaxpr=new_jaxpr, **params))


def _pmap(errors: Any, *args: Any, jaxpr: ClosedJaxpr, **params: Any) -> Any:
    """The error of the first device that has one."""
    with extend_axis_env(((params["axis_name"], params["axis_size"]),)):
        new_jaxpr, kind = checked_jaxpr(jaxpr, errors)
    error, outs = _cut(kind, pmap_p.bind(*args, jaxpr=new_jaxpr, **params))
    first = lax.argmax(lax.ne(error.code, np.int32(0)), 0, np.int32)
    return error.map(lambda x: lax.dynamic_index_in_dim(x, first, 0, keepdims=False)), outs


def _cond(errors: Any, index: Any, *operands: Any, branches: Any, **params: Any) -> Any:
    """Each branch gives the error of all: its own, and no others."""
    checked = [checked_jaxpr(branch, errors) for branch in branches]
    kinds = [kind for _, kind in checked]
    whole = functools.reduce(first_error_kind, kinds)

    def branch(number: int, *args: Any) -> list[Any]:
        jaxpr, kind = checked[number]
        error, outs = _cut(kind, jaxpr_as_fun(jaxpr)(*args))
        parts = [error if i == number else _no_error(k) for i, k in enumerate(kinds)]
        return [*tree_leaves(functools.reduce(first_error, parts)), *outs]

    avals = [get_aval(x) for x in operands]
    new = [trace_to_jaxpr(functools.partial(branch, i), avals) for i in range(len(branches))]
    return _cut(whole, cond_p.bind(index, *operands, branches=tuple(new), **params))


def first_error_kind(one: Error, other: Error) -> Error:
    """first_error, of errors with avals as leaves."""
    return Error(one.code, (*one.payloads, *other.payloads), (*one.sites, *other.sites))


def _scan(
    errors: Any, *args: Any, jaxpr: ClosedJaxpr, num_consts: int, num_carry: int, **params: Any
) -> Any:
    """The error is a part of the carry."""
    checked, kind = checked_jaxpr(jaxpr, errors)
    start, size = tree_leaves(_no_error(kind)), len(tree_leaves(kind))
    consts, rest = split_list(args, num_consts)

    def step(*flat: Any) -> list[Any]:
        consts, before, rest = split_list(flat, num_consts, size)
        error, outs = _cut(kind, jaxpr_as_fun(checked)(*consts, *rest))
        return [*tree_leaves(_cut(kind, before)[0].or_else(error)), *outs]

    in_avals = jaxpr.in_avals
    avals = [*in_avals[:num_consts], *map(get_aval, start), *in_avals[num_consts:]]
    body = trace_to_jaxpr(step, avals)
    outs = scan_p.bind(
        *consts,
        *start,
        *rest,
        jaxpr=body,
        num_consts=num_consts,
        num_carry=size + num_carry,
        **params,
    )
    return _cut(kind, outs)


def _while(
    errors: Any,
    *args: Any,
    cond_nconsts: int,
    cond_jaxpr: ClosedJaxpr,
    body_nconsts: int,
    body_jaxpr: ClosedJaxpr,
) -> Any:
    """The error is a part of the carry. The condition is evaluated once more, for its checks: before the
    loop, and at the end of each round."""
    checked_cond, cond_kind = checked_jaxpr(cond_jaxpr, errors)
    checked_body, body_kind = checked_jaxpr(body_jaxpr, errors)
    cond_consts, body_consts, init = split_list(args, cond_nconsts, body_nconsts)
    kind = first_error_kind(cond_kind, body_kind)
    size = len(tree_leaves(kind))

    def error_of_cond(*flat: Any) -> Error:
        return _cut(cond_kind, jaxpr_as_fun(checked_cond)(*flat))[0]

    def new_cond(*flat: Any) -> list[Any]:
        consts, _, carry = split_list(flat, cond_nconsts, size)
        return _cut(cond_kind, jaxpr_as_fun(checked_cond)(*consts, *carry))[1]

    def new_body(*flat: Any) -> list[Any]:
        consts, own_consts, before, carry = split_list(flat, cond_nconsts, body_nconsts, size)
        error, new = _cut(body_kind, jaxpr_as_fun(checked_body)(*own_consts, *carry))
        after = error_of_cond(*consts, *new)
        now = first_error(_no_error(cond_kind), error).or_else(
            first_error(after, _no_error(body_kind))
        )
        return [*tree_leaves(_cut(kind, before)[0].or_else(now)), *new]

    start = tree_leaves(first_error(error_of_cond(*cond_consts, *init), _no_error(body_kind)))
    carry_avals = [*map(get_aval, start), *body_jaxpr.in_avals[body_nconsts:]]
    cond_avals, body_avals = cond_jaxpr.in_avals, body_jaxpr.in_avals
    body = trace_to_jaxpr(
        new_body, [*cond_avals[:cond_nconsts], *body_avals[:body_nconsts], *carry_avals]
    )
    outs = while_p.bind(
        *cond_consts,
        *cond_consts,
        *body_consts,
        *start,
        *init,
        cond_nconsts=cond_nconsts,
        cond_jaxpr=trace_to_jaxpr(new_cond, [*cond_avals[:cond_nconsts], *carry_avals]),
        body_nconsts=cond_nconsts + body_nconsts,
        body_jaxpr=body,
    )
    return _cut(kind, outs)


checkify_rules[jit_p] = _jit
checkify_rules[pmap_p] = _pmap
checkify_rules[remat_p] = _remat
checkify_rules[cond_p] = _cond
checkify_rules[scan_p] = _scan
checkify_rules[while_p] = _while
