"""The rules of sparsify for primitives that move elements, combine them, or have several operands.

A rule is a function of the operands and parameters; at least one of the operands is sparse.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.core.bind import Primitive
from tinyjax.core.jaxpr import ClosedJaxpr
from tinyjax.core.lists import split_list
from tinyjax.lax.control_flow.cond import cond_p
from tinyjax.lax.control_flow.scan import scan_p
from tinyjax.lax.control_flow.while_loop import while_p
from tinyjax.lax.joining import stack_p
from tinyjax.sparse import arithmetic, layout, products, slicing
from tinyjax.sparse.base import JAXSparse
from tinyjax.sparse.bcoo import BCOO
from tinyjax.sparse.bcsr import BCSR, bcsr_broadcast_in_dim, bcsr_concatenate, bcsr_dot_general
from tinyjax.sparse.creation import todense_p
from tinyjax.sparse.sparsify import evaluate, sparse_rules
from tinyjax.transform.jvp import add_any_p

# ---- element by element ----


def _of_bcoo(name: str, rule: Callable[..., Any]) -> Callable[..., Any]:
    """A rule for BCOO alone."""

    @functools.wraps(rule)
    def checked(*args: Any, **params: Any) -> Any:
        if any(isinstance(x, BCSR) for x in args):
            raise NotImplementedError(
                f"sparse rule for {name} is not implemented for BCSR. x.to_bcoo() has most rules"
            )
        return rule(*args, **params)

    return checked


def _integer_pow(mat: BCOO, *, y: int) -> BCOO:
    return arithmetic.power(mat, y)


def _in_places(
    of_elements: Callable[..., Any], of_arrays: Callable[..., Any]
) -> Callable[..., Any]:
    """A rule of two operands. What has its elements at the same places, as `a` and `sin(a)`, stays there."""

    def rule(x: Any, y: Any) -> Any:
        both = isinstance(x, BCOO) and isinstance(y, BCOO)
        if both and x.indices is y.indices and x.shape == y.shape and x.unique_indices:
            return x.like(of_elements(x.data, y.data))
        return of_arrays(x, y)

    return rule


def _reduce_sum(mat: BCOO, *, axes: Sequence[int], **_: Any) -> Any:
    return arithmetic.sum_of(mat, axes)


# ---- layout ----


def _dynamic_slice(mat: BCOO, *starts: Any, slice_sizes: Sequence[int]) -> BCOO:
    return slicing.bcoo_dynamic_slice(mat, starts, slice_sizes)


def _dot_general(lhs: Any, rhs: Any, **params: Any) -> Any:
    either = isinstance(lhs, BCSR) or isinstance(rhs, BCSR)
    return (bcsr_dot_general if either else products.bcoo_dot_general)(lhs, rhs, **params)


def _concatenate(*operands: Any, dimension: int) -> Any:
    either = any(isinstance(x, BCSR) for x in operands)
    return (bcsr_concatenate if either else layout.bcoo_concatenate)(operands, dimension=dimension)


def _stack(*operands: Any, axis: int) -> Any:
    shape = operands[0].shape
    new_shape = (*shape[:axis], 1, *shape[axis:])
    places = [i for i in range(len(new_shape)) if i != axis]
    with_axis = [
        _broadcast_in_dim(x, shape=new_shape, broadcast_dimensions=places) for x in operands
    ]
    return _concatenate(*with_axis, dimension=axis)


def _broadcast_in_dim(mat: Any, **params: Any) -> Any:
    function = bcsr_broadcast_in_dim if isinstance(mat, BCSR) else layout.bcoo_broadcast_in_dim
    return function(mat, **params)


sparse_rules[lax.broadcast_in_dim_p] = _broadcast_in_dim
sparse_rules[lax.concatenate_p] = _concatenate
sparse_rules[lax.dot_general_p] = _dot_general
sparse_rules[stack_p] = _stack
sparse_rules[todense_p] = lambda mat: mat.todense()
_BCOO_RULES: dict[Primitive, Callable[..., Any]] = {
    lax.add_p: _in_places(operator.add, arithmetic.add),
    add_any_p: _in_places(operator.add, arithmetic.add),
    lax.sub_p: _in_places(operator.sub, arithmetic.subtract),
    lax.mul_p: _in_places(operator.mul, arithmetic.multiply),
    lax.div_p: arithmetic.divide,
    lax.integer_pow_p: _integer_pow,
    lax.reduce_sum_p: _reduce_sum,
    lax.dynamic_slice_p: _dynamic_slice,
    lax.gather_p: slicing.bcoo_gather,
    lax.reshape_p: layout.bcoo_reshape,
    lax.rev_p: layout.bcoo_rev,
    lax.slice_p: slicing.bcoo_slice,
    lax.squeeze_p: layout.bcoo_squeeze,
    lax.transpose_p: layout.bcoo_transpose,
}
for _primitive, _rule in _BCOO_RULES.items():
    sparse_rules[_primitive] = _of_bcoo(_primitive.name, _rule)

# ---- control flow: the bodies are evaluated on trees, whose leaves the sparse arrays' parts are ----


def _function(closed: ClosedJaxpr) -> Callable[..., list[Any]]:
    return lambda *args: evaluate(closed, args)


def _cond(index: Any, *operands: Any, branches: Sequence[ClosedJaxpr], **_: Any) -> list[Any]:
    return lax.switch(index, [_function(branch) for branch in branches], *operands)


def _while(
    *args: Any,
    cond_nconsts: int,
    cond_jaxpr: ClosedJaxpr,
    body_nconsts: int,
    body_jaxpr: ClosedJaxpr,
) -> list[Any]:
    cond_consts, body_consts, init = split_list(args, cond_nconsts, body_nconsts)
    return lax.while_loop(
        lambda carry: evaluate(cond_jaxpr, [*cond_consts, *carry])[0],
        lambda carry: evaluate(body_jaxpr, [*body_consts, *carry]),
        [jnp.asarray(x) if not isinstance(x, JAXSparse) else x for x in init],
    )


def _scan(
    *args: Any,
    jaxpr: ClosedJaxpr,
    num_consts: int,
    num_carry: int,
    length: int,
    reverse: bool,
    **_: Any,
) -> list[Any]:
    consts, init, xs = split_list(args, num_consts, num_carry)
    if any(isinstance(x, JAXSparse) for x in xs):
        raise NotImplementedError("sparse rule for scan with sparse x values.")

    def step(carry: list[Any], x: list[Any]) -> tuple[list[Any], list[Any]]:
        outs = evaluate(jaxpr, [*consts, *carry, *x])
        return outs[:num_carry], outs[num_carry:]

    carry, ys = lax.scan(step, list(init), list(xs), length=length, reverse=reverse)
    return [*carry, *ys]


sparse_rules[cond_p] = _cond
sparse_rules[while_p] = _while
sparse_rules[scan_p] = _scan
