"""Jacobians and Hessians: grad's machinery, vectorised over a standard basis.

jacfwd suits few inputs: it pushes a basis of tangents forward with vmap(jvp). jacrev suits few outputs: it
pulls a basis of cotangents back with vmap(vjp).

Source: https://docs.jax.dev/en/latest/jacobian-vector-products.html
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tinyjax.core import dtypes, type_promotion
from tinyjax.core.api_util import check_callable, function_of, wraps
from tinyjax.core.array import ShapedArray
from tinyjax.core.avals import get_aval
from tinyjax.core.primitives import add, reshape
from tinyjax.core.tree_util.pytrees import tree_flatten, tree_map, tree_structure, tree_unflatten
from tinyjax.lax.comparison import eq
from tinyjax.lax.conversion import convert_type
from tinyjax.lax.creation import broadcasted_iota
from tinyjax.lax.joining import split_p
from tinyjax.transform.batching import vmap
from tinyjax.transform.jvp import full, jvp
from tinyjax.transform.vjp import check_reverse_input, vjp


def jacfwd(
    fun: Callable,
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Callable[..., Any]:
    """The Jacobian of `fun`, column by column: a result of shape out.shape + in.shape for each pair
    of a result leaf and an argument leaf.

    Raises TypeError for integer inputs. Best where inputs are fewer than outputs."""
    check_callable(fun, "differentiate")

    @wraps(fun)
    def jacfun(*args: Any, **kwargs: Any) -> Any:
        dynamic, main = function_of(fun, argnums, args, kwargs, ValueError)
        leaves, in_tree = tree_flatten(dynamic)
        avals = [get_aval(x) for x in leaves]
        _check_forward_inputs(avals, holomorphic)

        def push(*tangents: Any) -> Any:
            out, out_tangents, *aux = jvp(
                main, dynamic, tree_unflatten(in_tree, tangents), has_aux=has_aux
            )
            return out, out_tangents, aux

        out, out_tangents, aux = vmap(push, out_axes=(None, -1, None))(*_standard_basis(avals))
        if holomorphic:
            _check_outputs("jacfwd", [get_aval(y) for y in tree_flatten(out)[0]], holomorphic)

        def unpack(y: Any, y_dot: Any) -> Any:
            aval = get_aval(y)
            return tree_unflatten(in_tree, _split(_of_type(y_dot, aval), aval.ndim, avals))

        jacobian = tree_map(unpack, out, out_tangents)
        jacobian = _pick_argnums(jacobian, argnums, out_tangents)
        return (jacobian, *aux) if has_aux else jacobian

    return jacfun


def jacrev(
    fun: Callable,
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Callable[..., Any]:
    """Like jacfwd, but row by row. Best if there are fewer outputs than inputs."""
    check_callable(fun, "differentiate")

    @wraps(fun)
    def jacfun(*args: Any, **kwargs: Any) -> Any:
        dynamic, main = function_of(fun, argnums, args, kwargs, ValueError)
        for x in tree_flatten(dynamic)[0]:
            check_reverse_input("jacrev", x, holomorphic, allow_int)
        out, f_vjp, *aux = vjp(main, *dynamic, has_aux=has_aux)
        outs, out_tree = tree_flatten(out)
        avals = [get_aval(x) for x in outs]
        _check_outputs("jacrev", avals, holomorphic)

        def pull(*cotangents: Any) -> Any:
            return f_vjp(tree_unflatten(out_tree, cotangents))

        gradients = vmap(pull)(*_standard_basis(avals))
        gradients = gradients[0] if isinstance(argnums, int) else gradients
        leaves, in_tree = tree_flatten(gradients)
        in_avals = [get_aval(x) for x in tree_flatten(dynamic)[0]]
        columns = [_split(_of_type(x, aval), 0, avals) for x, aval in zip(leaves, in_avals)]
        rows = [
            tree_unflatten(in_tree, [column[i] for column in columns]) for i in range(len(avals))
        ]
        jacobian = tree_unflatten(out_tree, rows)
        return (jacobian, *aux) if has_aux else jacobian

    return jacfun


jacobian = jacrev


def hessian(
    fun: Callable,
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Callable[..., Any]:
    """The second derivatives of `fun`, forward over reverse: jacfwd(jacrev(fun))."""
    inner = jacrev(fun, argnums, has_aux=has_aux, holomorphic=holomorphic)
    return jacfwd(inner, argnums, has_aux=has_aux, holomorphic=holomorphic)


# ---- parts ----


def _standard_basis(avals: Sequence[ShapedArray]) -> list[Any]:
    """One array per leaf. Along a new first axis they hold the unit vectors of all leaves together."""
    total = sum(aval.size for aval in avals)
    index = dtypes.default_dtype(int)
    rows, columns = (broadcasted_iota(index, (total, total), axis) for axis in (0, 1))
    is_diagonal = eq(add(rows, np.zeros((), index)), columns)
    basis = convert_type(is_diagonal, type_promotion.result_type(*[aval.dtype for aval in avals]))
    return [
        convert_type(part, aval.dtype, aval.weak_type)
        for part, aval in zip(_split(basis, 1, avals), avals)
    ]


def _split(x: Any, axis: int, avals: Sequence[ShapedArray]) -> list[Any]:
    """Cuts axis `axis`, which runs over all leaves' elements, into leaves, and reshapes it to their
    shapes."""
    sizes = np.array([aval.size for aval in avals])
    before, after = x.shape[:axis], x.shape[axis + 1 :]
    parts = split_p.bind(x, sizes=tuple(sizes), axis=axis)
    return [reshape(part, (*before, *aval.shape, *after)) for part, aval in zip(parts, avals)]


def _of_type(derivative: Any, aval: ShapedArray) -> Any:
    """`x` in the dtype and weak type of the result or argument; float0 becomes integer zeros."""
    if derivative.dtype == dtypes.float0:
        return full(ShapedArray(derivative.shape, aval.dtype, aval.weak_type), 0)
    return convert_type(derivative, aval.dtype, aval.weak_type)


def _pick_argnums(jacobian: Any, argnums: Any, outs: Any) -> Any:
    """If argnums is an int, the single argument's part instead of a tuple."""
    if not isinstance(argnums, int):
        return jacobian
    out_tree = tree_structure(outs)
    parts = out_tree.flatten_up_to(jacobian)
    return tree_unflatten(out_tree, [part[0] for part in parts])


def _check_forward_inputs(avals: Sequence[ShapedArray], holomorphic: bool) -> None:
    for aval in avals:
        if holomorphic and dtypes.kind(aval.dtype) != "c":
            raise TypeError(
                f"jacfwd with holomorphic=True requires complex inputs, got {aval.dtype.name}."
            )
        if not holomorphic and dtypes.kind(aval.dtype) != "f":
            raise TypeError(
                "jacfwd requires real-valued inputs (input dtype that is a sub-dtype of np.floating), "
                f"but got {aval.dtype.name}. For holomorphic differentiation, pass holomorphic=True."
            )


def _check_outputs(name: str, avals: Sequence[ShapedArray], holomorphic: bool) -> None:
    for aval in avals:
        if dtypes.kind(aval.dtype) != ("c" if holomorphic else "f"):
            raise TypeError(
                f"{name} requires real-valued outputs (complex ones with holomorphic=True), but got "
                f"{aval.dtype.name}."
            )
