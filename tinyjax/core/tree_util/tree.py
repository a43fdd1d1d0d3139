"""`jax.tree`: the short names of the functions of `tree_util`, where each is explained."""

from __future__ import annotations

import dataclasses
from typing import Any

from tinyjax.core.tree_util import tree_all as all
from tinyjax.core.tree_util import tree_broadcast as broadcast
from tinyjax.core.tree_util import tree_flatten as flatten
from tinyjax.core.tree_util import tree_flatten_with_path as flatten_with_path
from tinyjax.core.tree_util import tree_leaves as leaves
from tinyjax.core.tree_util import tree_leaves_with_path as leaves_with_path
from tinyjax.core.tree_util import tree_map as map
from tinyjax.core.tree_util import tree_map_with_path as map_with_path
from tinyjax.core.tree_util import tree_reduce as reduce
from tinyjax.core.tree_util import tree_reduce_associative as reduce_associative
from tinyjax.core.tree_util import tree_structure as structure
from tinyjax.core.tree_util import tree_transpose as transpose
from tinyjax.core.tree_util import tree_unflatten as unflatten

__all__ = [
    "all",
    "broadcast",
    "flatten",
    "flatten_with_path",
    "leaves",
    "leaves_with_path",
    "map",
    "map_with_path",
    "reduce",
    "reduce_associative",
    "static",
    "structure",
    "transpose",
    "unflatten",
]


def static(**kwargs: Any) -> Any:
    """dataclasses.field marked static: register_dataclass makes it aux data, not a child."""
    return dataclasses.field(
        **kwargs | {"metadata": {"static": True, **kwargs.get("metadata", {})}}
    )
