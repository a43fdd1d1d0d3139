"""approx_max_k and approx_min_k: the greatest or least elements, of which some may be missed.

Here they are exact. On a CPU JAX sorts, too.

Source: F. Chern and others, "TPU-KNN", https://arxiv.org/abs/2206.14286
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from tinyjax.compile.kernel.rules import lowering_rules
from tinyjax.core.array import Array, ShapedArray
from tinyjax.core.bind import Primitive, abstract_eval_rules, impl_rules
from tinyjax.core.declared_functions import named
from tinyjax.core.dtypes import kind
from tinyjax.core.primitives import shape_of
from tinyjax.lax.gathering import gather_along_axis
from tinyjax.lax.lowering.elementwise import top_k_lowering
from tinyjax.lax.shape import canonicalize_axis
from tinyjax.lax.sorting import top_k_p
from tinyjax.transform.batching import batch_rules
from tinyjax.transform.jit.api import jitted
from tinyjax.transform.jvp import jvp_rules, zero_tangent

# Parameters: k, reduction_dimension, is_max_k, and parameters of an approximation, unused here.
approx_top_k_p = Primitive("approx_top_k", multiple_results=True, cost=0, makes_nan=False)


def _approx_impl(
    x: np.ndarray, *, k: int, reduction_dimension: int, is_max_k: bool, **_: Any
) -> list[np.ndarray]:
    axis = reduction_dimension % x.ndim
    values, places = impl_rules[top_k_p](x if is_max_k else -x, k=k, axis=axis, is_stable=True)
    return [values if is_max_k else -values, places]


def _approx_aval(x: ShapedArray, *, k: int, reduction_dimension: int, **_: Any) -> Any:
    if kind(x.dtype) != "f":
        raise ValueError(f"approx_max_k and approx_min_k take floats, got {x.dtype}")
    axis = reduction_dimension % len(x.shape)
    return abstract_eval_rules[top_k_p](x, k=k, axis=axis, is_stable=True)


def _approx_jvp(primals: Any, tangents: Any, **params: Any) -> Any:
    values, places = approx_top_k_p.bind(*primals, **params)
    axis = params["reduction_dimension"] % len(shape_of(places))
    moving = take_along_axis(tangents[0], places, axis)
    return [values, places], [moving, zero_tangent(places)]


@jitted(static_argnames=("axis",))
def take_along_axis(x: Any, places: Any, axis: int) -> Any:
    """Under the name that it has in JAX's jaxprs."""
    return gather_along_axis(x, places, axis)


def _approx_batch(vals: Any, dims: Any, *, reduction_dimension: int, **params: Any) -> Any:
    (x,), (dim,) = vals, dims
    axis = reduction_dimension % (len(shape_of(x)) - 1)
    return approx_top_k_p.bind(x, reduction_dimension=axis + (dim <= axis), **params), (dim, dim)


impl_rules[approx_top_k_p] = _approx_impl
abstract_eval_rules[approx_top_k_p] = _approx_aval
jvp_rules[approx_top_k_p] = _approx_jvp
batch_rules[approx_top_k_p] = _approx_batch
lowering_rules[approx_top_k_p] = top_k_lowering


def _approx(which: str, is_max_k: bool) -> Callable[..., list[Array]]:
    """approx_max_k or approx_min_k."""
    name = f"approx_{which}_k"
    doc = f"""A pair: the k {"greatest" if is_max_k else "least"} of the floats along an axis, in order, and
their indices (int32).

Here they are exact, as in JAX on a CPU: `recall_target` and what follows it change nothing.
Raises ValueError for other dtypes, and if k is negative or larger than the axis; TypeError for a scalar."""

    @named(name, doc)
    def approx_k(
        operand: Any,
        k: int,
        reduction_dimension: int = -1,
        recall_target: float = 0.95,
        reduction_input_size_override: int = -1,
        aggregate_to_topk: bool = True,
    ) -> list[Array]:
        ndim = len(shape_of(operand))
        if not ndim:
            raise TypeError(
                "approx_max_k and approx_min_k need an operand of at least one dimension"
            )
        canonicalize_axis(reduction_dimension, ndim)
        return approx_top_k_p.bind(
            operand,
            is_max_k=is_max_k,
            k=operator.index(k),
            reduction_dimension=reduction_dimension,
            recall_target=recall_target,
            reduction_input_size_override=reduction_input_size_override,
            aggregate_to_topk=aggregate_to_topk,
        )

    return approx_k


approx_max_k = _approx("max", True)
approx_min_k = _approx("min", False)
