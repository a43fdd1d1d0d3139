"""Discharge: a program with Refs becomes one without, which takes and returns their values.

The program runs as in eager mode, on boxes that hold tracers. So each box always has a value of the new
program, and the last values are additional results. A loop, a branch or a jit that takes Refs takes and
returns values instead, and its results are written back.

    { lambda ; a:Ref{f32[]} b:f32[]. let         { lambda ; a:f32[] b:f32[]. let
        c:f32[] <- a[...]                            c:f32[] = add a b
        d:f32[] = add c b                 ->       in (a, c) }
        a[...] <- d
      in (c,) }
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tinyjax.core.array import ArrayImpl, ShapedArray
from tinyjax.core.bind import (
    Primitive,
    as_array,
    bind_bodies,
    context,
    impl_rules,
    restore_source_info,
)
from tinyjax.core.inlining import CALLS, called_by
from tinyjax.core.jaxpr import (
    ClosedJaxpr,
    Jaxpr,
    Literal,
    Var,
    all_jaxprs,
    cached_on_jaxpr,
    literal_value,
    prepare_jaxpr,
)
from tinyjax.core.lists import pick, split_list
from tinyjax.core.tracing import JaxprTrace, trace_to_jaxpr
from tinyjax.refs.ref import (
    REF_PRIMITIVES,
    Ref,
    empty_ref_p,
    free_ref_p,
    freeze_p,
    get_p,
    new_ref_p,
    swap_p,
)
from tinyjax.refs.types import AbstractRef, check_aliases, is_ref
from tinyjax.transform.jit.stages import Compiled

# ---- a jaxpr ----


@cached_on_jaxpr
def without_refs(closed: ClosedJaxpr, may_use_ended: bool = False) -> ClosedJaxpr:
    """The program without the Refs that it makes. Refs among its arguments stay.

    Raises ValueError for a Ref that is used after `freeze` or `free_ref`. Eager code allows that, as in
    JAX."""
    if not _makes_refs(closed):
        return closed
    if not may_use_ended:
        _check_not_used_after_its_end(closed.jaxpr)
    return _discharged(closed, (False,) * len(closed.in_avals))


@cached_on_jaxpr
def discharge_refs(closed: ClosedJaxpr, refs: tuple[bool, ...]) -> ClosedJaxpr:
    """The program that takes the values of the Refs among its arguments (flagged by `refs`), and returns
    their last values after its results."""
    if not any(refs):
        return without_refs(closed)
    _check_not_used_after_its_end(closed.jaxpr)
    return _discharged(closed, refs)


@cached_on_jaxpr
def prepared(closed: ClosedJaxpr, is_compiled: bool) -> ClosedJaxpr:
    """The program with values instead of all Refs. A program that isn't compiled is evaluated like eager
    code."""
    if is_compiled:
        return discharge_refs(closed, tuple(map(is_ref, closed.jaxpr.invars)))
    return without_refs(closed, True)


def _check_not_used_after_its_end(jaxpr: Jaxpr) -> None:
    ended: dict[Var, str] = {}
    for eqn in jaxpr.eqns:
        for how in (ended[v] for v in eqn.invars if type(v) is Var and v in ended):
            raise ValueError(
                f"a Ref is used by '{eqn.primitive.name}' after it was {how}: jax.freeze gives the last "
                "value of a Ref, which is gone then. Use that value, or read by ref[...] before"
            )
        if eqn.primitive in (freeze_p, free_ref_p):
            how = "frozen" if eqn.primitive is freeze_p else "freed"
            ended.update({v: how for v in eqn.invars if type(v) is Var})


def call_compiled(program: Compiled, args: Sequence[Any]) -> list[ArrayImpl]:
    """The results of a compiled program, some of whose arguments are Refs: it returns their last values,
    too."""
    refs = [x for x in args if is_ref(x)]
    outs = program.run([x.value if is_ref(x) else x for x in args])
    results, last = split_list(outs, len(outs) - len(refs))
    for ref, value in zip(refs, last):
        ref.value = value
    return results


def _makes_refs(closed: ClosedJaxpr) -> bool:
    if not any([eqn.primitive.impl_binds_primitives for eqn in closed.jaxpr.eqns]):
        return False  # a primitive of NumPy arrays makes no Refs, nor does a jaxpr in it
    return any(
        eqn.primitive in (new_ref_p, empty_ref_p)
        for jaxpr in all_jaxprs(closed.jaxpr)
        for eqn in jaxpr.eqns
    )


class _Box(Ref):
    """A Ref of the discharged program: it holds a tracer of the new program."""

    __slots__ = ()


def _discharged(closed: ClosedJaxpr, refs: Sequence[bool]) -> ClosedJaxpr:
    def run(*args: Any) -> list[Any]:
        args = tuple(_Box(x) if is_box else x for x, is_box in zip(args, refs))
        outs = _run(closed, args)
        return outs + [box.value for box in pick(args, refs)]

    avals: list[ShapedArray] = list(closed.in_avals)
    for i, aval in enumerate(avals):
        if refs[i] and isinstance(aval, AbstractRef):
            avals[i] = aval.inner_aval
    return trace_to_jaxpr(run, avals)


def _run(closed: ClosedJaxpr, args: Sequence[Any]) -> list[Any]:
    """eval_jaxpr on boxes."""
    jaxpr = closed.jaxpr
    env: dict[Var, Any] = dict(zip(jaxpr.constvars, closed.consts)) | dict(zip(jaxpr.invars, args))
    with restore_source_info():
        for eqn in jaxpr.eqns:
            context.source_info = eqn.source_info
            invals = [literal_value(v) if isinstance(v, Literal) else env[v] for v in eqn.invars]
            outs = _run_eqn(eqn.primitive, invals, eqn.params)
            env.update(zip(eqn.outvars, outs if eqn.primitive.multiple_results else [outs]))
    return [literal_value(v) if isinstance(v, Literal) else env[v] for v in jaxpr.outvars]


def _run_eqn(primitive: Primitive, operands: Sequence[Any], params: dict[str, Any]) -> Any:
    """Runs one equation: operations that make or take boxes act on them, all others are written as
    equations."""
    if primitive is new_ref_p:
        return _Box(as_array(operands[0]))
    if primitive is empty_ref_p:
        return _Box(impl_rules[empty_ref_p](**params).value)
    if not any(type(x) is _Box for x in operands):
        return primitive.bind(*operands, **_bodies_without_refs(params))
    if primitive in REF_PRIMITIVES:
        return impl_rules[primitive](*operands, **params)
    if primitive in discharge_rules:
        return bind_values(primitive, operands, params)
    if primitive.name in CALLS:  # a function with a custom rule: its equations run instead
        return _run(called_by(primitive.name, params), operands)
    raise NotImplementedError(f"'{primitive.name}' takes no Refs: give it what they hold, ref[...]")


def _bodies_without_refs(params: dict[str, Any]) -> dict[str, Any]:
    """The parameters of a loop, a branch or a jit, whose jaxprs make no Refs."""

    def discharged(value: Any) -> Any:
        if isinstance(value, ClosedJaxpr):
            return without_refs(value)
        if isinstance(value, Jaxpr):
            return without_refs(ClosedJaxpr(value)).jaxpr if not value.constvars else value
        return tuple(map(discharged, value)) if type(value) is tuple else value

    return {name: discharged(value) for name, value in params.items()}


# ---- an equation that takes Refs ----

# primitive -> (operands, flags of Refs, **params) -> (results, the Refs' last values); the operands have the
# Refs' values in their places
discharge_rules: dict[Primitive, Callable[..., tuple[list[Any], list[Any]]]] = {}


def bind_values(primitive: Primitive, operands: Sequence[Any], params: dict[str, Any]) -> list[Any]:
    """The results of a primitive that takes Refs, which are read before it and written after it."""
    refs = tuple(map(is_ref, operands))
    boxes = pick(operands, refs)
    values = [_read(x) if is_box else x for x, is_box in zip(operands, refs)]
    outs, last = discharge_rules[primitive](values, refs, **_bodies_without_refs(params))
    for box, value in zip(boxes, last):
        _write(box, value)
    return outs


def _read(ref: Any) -> Any:
    return ref.value if type(ref) is _Box else get_p.bind(ref, indexer=())


def _write(ref: Any, value: Any) -> None:
    if type(ref) is _Box:
        ref.value = as_array(value)
    elif value is not ref:
        swap_p.bind(ref, value, indexer=())


def bind_with_refs(callee: Any, args: Sequence[Any], params: dict[str, Any]) -> list[Any]:
    """Binds a HigherOrderPrimitive, which may take and make Refs, or runs a compiled program. Jaxprs keep the
    Refs; transformations and the compiler get programs without."""
    if isinstance(callee, Compiled):
        return call_compiled(callee, args)
    refs = [x for x in args if is_ref(x)]
    check_aliases(refs, callee.name)
    if type(context.trace) is not JaxprTrace:
        if refs:
            return bind_values(callee, args, params)
        params = _bodies_without_refs(params)
    return context.trace.process_primitive(callee, args, params)


prepare_jaxpr.append(prepared)
bind_bodies.append(bind_with_refs)
