"""Reverse-mode differentiation: linearize, then transpose.

`grad` linearizes the function at its arguments, which computes its value and keeps the residuals, then runs
the linear jaxpr backwards from a cotangent of 1. There is no tape.

Source: https://docs.jax.dev/en/latest/autodidax.html#part-4-linearize-and-vjp-and-partial-eval
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tinyjax.core import dtypes
from tinyjax.core.api_util import (
    FlatArgsFun,
    as_argnums,
    check_callable,
    fun_name,
    function_of,
    wraps,
)
from tinyjax.core.array import ShapedArray
from tinyjax.core.avals import get_aval
from tinyjax.core.bind import check_values
from tinyjax.core.debug_info import name_and_place
from tinyjax.core.tree_util.partial import Partial
from tinyjax.core.tree_util.prefixes import structures_differ
from tinyjax.core.tree_util.pytrees import register_pytree_node, tree_flatten, tree_unflatten
from tinyjax.transform.jvp import full, instantiate_zeros
from tinyjax.transform.linearize import Linearized, linearize_flat, with_aux_apart
from tinyjax.transform.transposition import ValAccum, backward_pass, checked_cotangent

# ---- vjp ----


class VJP(Partial):
    """The function that vjp returns: from a cotangent of the result to the primals' cotangents."""


register_pytree_node(
    VJP,
    lambda f_vjp: ((f_vjp.args, f_vjp.keywords), f_vjp.func),
    lambda func, children: VJP(func, *children[0], **children[1]),
)


def vjp(fun: Callable, *primals: Any, has_aux: bool = False) -> Any:
    """The value of `fun` at `primals`, and a function from a cotangent of it to the primals'.

    The function gives a tuple with an entry for each primal, of its tree structure, shapes and
    dtypes (float0 for integers). It is a node whose leaves are the residuals: jit can take and return
    it. With has_aux, gives (out, f_vjp, aux).
    Raises TypeError or ValueError if a cotangent does not fit the result."""
    check_callable(fun, "differentiate")
    main, aux = with_aux_apart(fun, has_aux)
    leaves, in_tree = tree_flatten(primals)
    flat_fun = FlatArgsFun(main, in_tree)
    outs, linearized = linearize_flat(flat_fun, leaves)
    out_tree = flat_fun.out_tree
    out_avals = [get_aval(x).to_tangent_aval() for x in outs]

    def f_vjp(
        residuals: Sequence[Any], cotangent: Any, *more: Any, pull: Callable | None = None
    ) -> Any:
        """`pull` replaces pull_back: it takes the primals' tree too, and returns the tree of results."""
        if more:
            raise TypeError(
                f"The function returned by vjp was called with {1 + len(more)} arguments, and takes one: the "
                f"cotangent of the result of {name_and_place(fun)}. Give several results' as a tuple"
            )
        cts, ct_tree = tree_flatten(cotangent)
        if ct_tree != out_tree:
            raise ValueError(
                f"unexpected tree structure of argument to vjp function: got {ct_tree}, but expected "
                f"{out_tree}, that of the function's result"
                + structures_differ("the result", out_tree, "the cotangent", ct_tree)
            )
        cts = [checked_cotangent(ct, aval, "vjp function") for ct, aval in zip(cts, out_avals)]
        if pull is not None:
            return pull(in_tree, linearized, residuals, cts)
        return tree_unflatten(in_tree, pull_back(linearized, residuals, cts))

    return tree_unflatten(out_tree, outs), VJP(f_vjp, linearized.residuals), *aux


def pull_back(linearized: Linearized, residuals: Sequence[Any], cts: Sequence[Any]) -> list[Any]:
    """The cotangents of all primals from the cotangents of all results. Zeros become arrays, also for
    primals that are not in the linear jaxpr (integers, whose tangents have dtype float0)."""
    jaxpr = linearized.jaxpr
    used = [ct for ct, nonzero in zip(cts, linearized.nonzero_outs) if nonzero]
    accums = [ValAccum(v.aval) for v in jaxpr.invars]
    backward_pass(jaxpr, residuals, accums, used)
    found = iter(accums)
    return [
        full(aval, 0) if aval.dtype == dtypes.float0 else instantiate_zeros(next(found).freeze())
        for aval in linearized.in_avals
    ]


# ---- grad ----


def grad(
    fun: Callable,
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Callable[..., Any]:
    """The gradient of a scalar-valued function, as a function of the same arguments.

    Its result has the tree structure, shapes and dtypes of argument `argnums` (a tuple of them for a
    tuple of argnums); with has_aux it is (gradient, aux). `holomorphic` promises that `fun` is
    complex differentiable; `allow_int` gives float0 zeros for integers.
    Raises TypeError for integer arguments and results that are no real scalar."""
    value_and_grad_f = value_and_grad(fun, argnums, has_aux, holomorphic, allow_int)

    @wraps(fun)
    def grad_f(*args: Any, **kwargs: Any) -> Any:
        value, gradient = value_and_grad_f(*args, **kwargs)
        return (gradient, value[1]) if has_aux else gradient

    return grad_f


def value_and_grad(
    fun: Callable,
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Callable[..., Any]:
    """As grad, but gives (value, gradient), or ((value, aux), gradient) with has_aux."""
    check_callable(fun, "differentiate")
    as_argnums(argnums, "argnums")  # raises before the first call

    @wraps(fun)
    def value_and_grad_f(*args: Any, **kwargs: Any) -> Any:
        dynamic, partial_fun = function_of(fun, argnums, args, kwargs, TypeError)
        leaves, in_tree = tree_flatten(dynamic)
        for x in leaves:
            check_reverse_input("grad", x, holomorphic, allow_int)
        main, aux = with_aux_apart(partial_fun, has_aux)
        flat_fun = FlatArgsFun(main, in_tree)
        out, cts = _value_and_cotangents(flat_fun, leaves, holomorphic, fun)
        gradients = tree_unflatten(in_tree, cts)
        gradient = gradients[0] if isinstance(argnums, int) else gradients
        return ((out, *aux) if has_aux else out), gradient

    return value_and_grad_f


def _value_and_cotangents(
    flat_fun: FlatArgsFun, leaves: Sequence[Any], holomorphic: bool, fun: Callable
) -> tuple[Any, list[Any]]:
    """The value of a function of leaves, as a tree, and a cotangent for each leaf: linearizes at the
    leaves, then pulls back from 1. Raises TypeError, naming `fun`, for a value that is no scalar."""
    outs, linearized = linearize_flat(flat_fun, leaves)
    out = tree_unflatten(flat_fun.out_tree, outs)
    seed = full(_checked_grad_output(out, holomorphic, fun), 1)
    return out, pull_back(linearized, linearized.residuals, [seed])


def check_reverse_input(name: str, x: Any, holomorphic: bool, allow_int: bool) -> None:
    """Raises TypeError for an argument that grad or jacrev can't differentiate by."""
    for check in check_values:
        check(name, [x])
    dtype = get_aval(x).dtype
    if holomorphic and dtypes.kind(dtype) != "c":
        raise TypeError(
            f"{name} with holomorphic=True requires inputs with complex dtype, but got {dtype.name}."
        )
    if dtypes.kind(dtype) not in "fc" and not allow_int:
        raise TypeError(
            f"{name} requires real- or complex-valued inputs (input dtype that is a sub-dtype of "
            f"np.inexact), but got {dtypes.long_name(dtype)}. If you want to use "
            "Boolean- or integer-valued inputs, use vjp or set allow_int to True."
        )


def _checked_grad_output(out: Any, holomorphic: bool, fun: Callable) -> ShapedArray:
    """The aval of a differentiable function's result: a scalar of floating (or complex) dtype."""
    try:
        aval = get_aval(out)
    except TypeError:
        raise TypeError(
            f"Gradient only defined for scalar-output functions. Output of {fun_name(fun)} was: {out!r}."
            " Return one scalar array (has_aux=True for more)"
        ) from None
    if aval.shape:
        raise TypeError(
            "Gradient only defined for scalar-output functions. Output had shape: "
            f"{aval.shape}. Sum it, or use jacrev"
        )
    allowed = "c" if holomorphic else "f"
    if dtypes.kind(aval.dtype) not in allowed:
        kind_name = "complex" if holomorphic else "real-valued (floating)"
        is_complex = dtypes.kind(aval.dtype) == "c"
        remedy = "pass holomorphic=True, or use jax.vjp" if is_complex else "use jax.vjp"
        raise TypeError(
            f"grad{' with holomorphic=True' if holomorphic else ''} requires {kind_name} outputs, but got "
            f"{aval.dtype.name}. To differentiate it anyway, {remedy}"
        )
    return aval
