"""Derivatives with regard to sparse arrays: those of their stored elements, in the same places.

jax.grad refuses a sparse argument, as its indices are integers; sparse.grad differentiates a function of
`data` alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tinyjax.numpy as jnp
from tinyjax.core.api_util import check_callable, wraps
from tinyjax.core.tree_util.pytrees import tree_flatten, tree_leaves, tree_unflatten
from tinyjax.lax import jacobian as dense
from tinyjax.sparse.sparsify import is_sparse
from tinyjax.transform import vjp


class _OfData:
    """The function of the numbers that some arguments hold, a list of arrays."""

    def __init__(
        self, fun: Callable[..., Any], argnums: int | Sequence[int], args: Any, kwargs: Any
    ):
        self.fun, self.args, self.kwargs = fun, args, kwargs
        self.one = isinstance(argnums, int)
        self.argnums = (argnums,) if isinstance(argnums, int) else tuple(argnums)
        for i in self.argnums:
            if not -len(args) <= i < len(args):
                raise ValueError(
                    f"argnums={argnums} for a function called with {len(args)} arguments"
                )
        chosen = [args[i] for i in self.argnums]
        self.leaves, self.tree = tree_flatten(chosen, is_leaf=is_sparse)
        self.data = [x.data if is_sparse(x) else x for x in self.leaves]

    def __call__(self, data: list[Any]) -> Any:
        new = [x.like(d) if is_sparse(x) else d for x, d in zip(self.leaves, data)]
        args = list(self.args)
        for i, argument in zip(self.argnums, tree_unflatten(self.tree, new)):
            args[i] = argument
        return self.fun(*args, **self.kwargs)

    def as_arguments(self, results: list[Any]) -> Any:
        """A result for each of the arrays, in the arguments' trees."""
        trees = tree_unflatten(self.tree, results)
        return trees[0] if self.one else tuple(trees)

    def gradients(self, grads: list[Any]) -> Any:
        return self.as_arguments(
            [x.like(g) if is_sparse(x) else g for x, g in zip(self.leaves, grads)]
        )

    def jacobians(self, parts: list[Any]) -> Any:
        return self.as_arguments([_jacobian_of(x, d) for x, d in zip(self.leaves, parts)])


def value_and_grad(
    fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False, **kwargs: Any
) -> Callable[..., Any]:
    """jax.value_and_grad of a function of sparse arguments; the gradient of a sparse one is sparse, with
    its indices. Raises ValueError for argnums that the call lacks, TypeError for what is no function."""
    check_callable(fun, "value_and_grad")

    @wraps(fun)
    def value_and_grad_fun(*args: Any, **kwds: Any) -> Any:
        of_data = _OfData(fun, argnums, args, kwds)
        value, grads = vjp.value_and_grad(of_data, has_aux=has_aux, **kwargs)(of_data.data)
        return value, of_data.gradients(grads)

    return value_and_grad_fun


def grad(
    fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False, **kwargs: Any
) -> Callable[..., Any]:
    """jax.grad of a function of sparse arguments, as value_and_grad."""
    both = value_and_grad(fun, argnums, has_aux, **kwargs)

    @wraps(fun)
    def grad_fun(*args: Any, **kwds: Any) -> Any:
        value, grads = both(*args, **kwds)
        return (grads, value[1]) if has_aux else grads

    return grad_fun


def _jacobian(way: Callable[..., Any]) -> Callable[..., Any]:
    def jacobian_of(
        fun: Callable[..., Any],
        argnums: int | Sequence[int] = 0,
        has_aux: bool = False,
        **kwargs: Any,
    ) -> Callable[..., Any]:
        @wraps(fun)
        def jacobian_fun(*args: Any, **kwds: Any) -> Any:
            of_data = _OfData(fun, argnums, args, kwds)
            out = way(of_data, has_aux=has_aux, **kwargs)(of_data.data)
            jacobian, *aux = out if has_aux else (out,)
            count = len(of_data.leaves)
            # A list of parts stands where the function gives an array.
            parts, tree = tree_flatten(
                jacobian, is_leaf=lambda x: isinstance(x, list) and len(x) == count
            )
            whole = tree_unflatten(tree, [of_data.jacobians(part) for part in parts])
            return (whole, *aux) if has_aux else whole

        return jacobian_fun

    return jacobian_of


def _jacobian_of(x: Any, data: Any) -> Any:
    """The derivatives of each element of a result: batches of the sparse argument."""
    if not is_sparse(x):
        return data
    batch = data.shape[: data.ndim - x.data.ndim]
    _, *places = tree_leaves(x)
    places = [jnp.broadcast_to(part, batch + part.shape) for part in places]
    flags = {"indices_sorted": x.indices_sorted, "unique_indices": x.unique_indices}
    return type(x)((data, *places), shape=batch + x.shape, **flags)


jacfwd = _jacobian(dense.jacfwd)
jacfwd.__doc__ = (
    "jax.jacfwd of a function of sparse arguments: the argument's places, for each result."
)
jacrev = _jacobian(dense.jacrev)
jacrev.__doc__ = (
    "jax.jacrev of a function of sparse arguments: the argument's places, for each result."
)
jacobian = jacrev
