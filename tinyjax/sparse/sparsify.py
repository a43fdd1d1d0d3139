"""sparsify: a function of ordinary arrays becomes one that takes sparse ones.

The function is traced as for ordinary arrays of the same shapes, and its equations are run on the arguments.
An equation that reads a sparse array is run by a rule of the table `sparse_rules`, or applied to the stored
elements if it works element by element. The others are bound: sparsify works within all transformations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tinyjax.core.api_util import wraps
from tinyjax.core.array import ShapedArray
from tinyjax.core.avals import get_aval
from tinyjax.core.bind import Primitive, impl_rules
from tinyjax.core.inlining import CALLS, called_by
from tinyjax.core.jaxpr import ClosedJaxpr, Literal, Var, literal_value
from tinyjax.core.quiet import run_quietly
from tinyjax.core.tracing import trace_to_jaxpr
from tinyjax.core.tree_util.pytrees import tree_flatten, tree_unflatten
from tinyjax.sparse.arithmetic import on_elements
from tinyjax.sparse.base import JAXSparse
from tinyjax.sparse.bcsr import BCSR

# primitive -> (*operands, **params) -> result (a list if multiple_results); one operand at least is sparse
sparse_rules: dict[Primitive, Callable[..., Any]] = {}


def is_sparse(x: Any) -> bool:
    return isinstance(x, JAXSparse)


def sparsify(f: Callable[..., Any], use_tracer: bool = False) -> Callable[..., Any]:
    """`f` of sparse arrays, in place of ordinary ones.

    Within it a tracer stands for each argument. `use_tracer` chooses between two ways that JAX has, and has
    no effect here. Raises NotImplementedError for an operation that has no rule for sparse arrays."""

    @wraps(f)
    def sparse_f(*args: Any, **kwargs: Any) -> Any:
        leaves, in_tree = tree_flatten((args, kwargs), is_leaf=is_sparse)
        out_tree: Any = None

        def flat_f(*flat: Any) -> list[Any]:
            nonlocal out_tree
            args_in, kwargs_in = tree_unflatten(in_tree, flat)
            outs, out_tree = tree_flatten(f(*args_in, **kwargs_in))
            return outs

        closed = trace_to_jaxpr(flat_f, [aval_of(x) for x in leaves])
        return tree_unflatten(out_tree, evaluate(closed, leaves))

    return sparse_f


def aval_of(x: Any) -> ShapedArray:
    return ShapedArray(x.shape, x.dtype) if is_sparse(x) else get_aval(x)


def evaluate(closed: ClosedJaxpr, args: Sequence[Any]) -> list[Any]:
    """Runs a jaxpr on values of which some are sparse."""
    jaxpr = closed.jaxpr
    env: dict[Var, Any] = dict(zip(jaxpr.constvars, closed.consts))
    env.update(zip(jaxpr.invars, args))

    def read(atom: Any) -> Any:
        return literal_value(atom) if isinstance(atom, Literal) else env[atom]

    for eqn in jaxpr.eqns:
        outs = _apply(eqn.primitive, [read(atom) for atom in eqn.invars], eqn.params)
        env.update(zip(eqn.outvars, outs))
    return [read(atom) for atom in jaxpr.outvars]


def _apply(primitive: Primitive, args: list[Any], params: dict[str, Any]) -> list[Any]:
    if not any(map(is_sparse, args)):
        out = primitive.bind(*args, **params)
    elif primitive in sparse_rules:
        out = sparse_rules[primitive](*args, **params)
    elif primitive.name in CALLS:
        return evaluate(called_by(primitive.name, params), args)
    else:
        out = _of_elements(primitive, args, params)
    return out if primitive.multiple_results else [out]


def _of_elements(primitive: Primitive, args: list[Any], params: dict[str, Any]) -> Any:
    """Applies an elementwise primitive of one operand to the stored elements.

    Raises NotImplementedError if it doesn't map 0 to 0, and for other primitives."""
    text = f"sparse rule for {primitive.name} is not implemented"
    if primitive.facts.axes != "elementwise":
        raise NotImplementedError(f"{text}.")
    zeros = [np.zeros((), aval_of(x).dtype) for x in args]
    of_zeros = np.asarray(run_quietly(impl_rules[primitive], *zeros, **params))
    if of_zeros.dtype == np.bool_ or (len(args) == 1 and of_zeros != 0):
        raise NotImplementedError(
            f"{text} because it would result in dense output. If this is your intent, use sparse.todense() "
            "to convert your arguments to dense matrices."
        )
    if len(args) > 1:
        raise NotImplementedError(f"{text}.")
    mat, is_linear = args[0], primitive.facts.linear == "all"
    is_rows = isinstance(mat, BCSR)
    out = on_elements(
        lambda x: primitive.bind(x, **params), mat.to_bcoo() if is_rows else mat, is_linear
    )
    return BCSR.from_bcoo(out) if is_rows else out
