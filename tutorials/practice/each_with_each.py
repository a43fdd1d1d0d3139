"""Tables of each with each: two vmaps, one in the other.

For each argument of a function of one example: along which axis is it mapped?
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tinyjax as jax


def distances(distance: Callable[[Any, Any], Any], points: Any, others: Any) -> Any:
    """The table with `distance(points[i], others[j])` at [i, j].

    `distance` takes one point and another, and is called once. Points may be trees, of arrays that have a
    point each along axis 0."""
    to_each = jax.vmap(distance, in_axes=(None, 0))
    return jax.vmap(to_each, in_axes=(0, None))(points, others)


def predictions(predict: Callable[[Any, Any], Any], models: dict[str, Any], inputs: Any) -> Any:
    """The table with what model i predicts of input j at [i, j].

    `predict` takes one model and one input, and is called once. A model is a dict of its "weight", its "bias"
    and its "scale". Of the models, models["weight"] has a row each, models["bias"] a number each, and
    models["scale"] is one number for all of them. The inputs are the columns of a matrix."""
    parts = {"weight": 0, "bias": 0, "scale": None}
    of_each = jax.vmap(predict, in_axes=(None, 1))
    return jax.vmap(of_each, in_axes=(parts, None))(models, inputs)
