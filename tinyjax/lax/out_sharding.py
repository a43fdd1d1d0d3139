"""out_sharding: how a result is split over the devices of a mesh, said to the function that makes it.

After this file you can say what `jnp.dot(x, y, out_sharding=P("x"))` does: the PartitionSpec becomes a
NamedSharding on the current mesh, and a parameter of the primitive, which the result's type follows. Builds
on core/places, which has the parameters' names, and on placement.

Source: https://docs.jax.dev/en/latest/notebooks/explicit-sharding.html
"""

from __future__ import annotations

from typing import Any

from tinyjax.core.bind import watch
from tinyjax.core.places import PLACES
from tinyjax.runtime.placement import follow_operands


def place_params(primitive: str, out_sharding: Any, function: str = "") -> dict[str, Any]:
    """The parameter of a primitive for the `out_sharding` that a function got; none where that is None.

    Raises TypeError for what is no sharding, ValueError for one that the current mesh does not have."""
    if out_sharding is None:
        return {}
    from tinyjax.many_devices.sharding.types import explicit_sharding  # imported when first used

    watch(follow_operands)  # results are from now on where it says
    return {PLACES[primitive]: explicit_sharding(out_sharding, function or primitive)}
