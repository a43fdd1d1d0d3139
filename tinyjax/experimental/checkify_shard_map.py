"""checkify of shard_map: each device gives its own error."""

from __future__ import annotations

from typing import Any

import numpy as np

from tinyjax import lax
from tinyjax.core.inlining import eager_jaxpr_fun
from tinyjax.core.lists import split_list
from tinyjax.core.tracing import trace_to_jaxpr
from tinyjax.core.tree_util.pytrees import tree_leaves
from tinyjax.experimental.checkify_trace import checked_jaxpr, checkify_rules, cut
from tinyjax.many_devices.shard_map.primitive import manual_env, mapped_axes, shard_map_p
from tinyjax.many_devices.sharding.partition_spec import PartitionSpec
from tinyjax.many_devices.varying import pvary_to


def _shard_map(errors: Any, *args: Any, **params: Any) -> Any:
    """The error of the first device that has one: each gives its own, along a new axis."""
    names = tuple([name for name, _ in mapped_axes(params)])
    with manual_env(params):
        checked, kind = checked_jaxpr(params["jaxpr"], errors)
        count = len(tree_leaves(kind))

        def with_axis(*parts: Any) -> list[Any]:
            error, outs = split_list(eager_jaxpr_fun(checked)(*parts), count)
            vma = frozenset(names)
            return [pvary_to(lax.expand_dims(x, (0,)), vma) for x in error] + outs

        jaxpr = trace_to_jaxpr(with_axis, checked.in_avals)
    out_specs = (*(PartitionSpec(names),) * count, *params["out_specs"])
    new_params = params | {"jaxpr": jaxpr, "out_specs": out_specs}
    error, outs = cut(kind, shard_map_p.bind(*args, **new_params))
    first = lax.argmax(lax.ne(error.code, np.int32(0)), 0, np.int32)
    return error.map(lambda x: lax.dynamic_index_in_dim(x, first, 0, keepdims=False)), outs


checkify_rules[shard_map_p] = _shard_map
