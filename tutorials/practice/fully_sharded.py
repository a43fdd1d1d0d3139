"""Fully sharded training: each device keeps a part of the params, and has all of them only while it computes.

For a network whose parameters, gradients and optimizer's state do not fit on one device.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tinyjax as jax
from tinyjax import lax
from tinyjax.sharding import Mesh
from tinyjax.sharding import PartitionSpec as P


def fully_sharded_step(loss: Callable, mesh: Mesh, rate: float) -> Callable:
    """A jitted step of gradient descent, step(params, batch) -> (params, value), on a mesh of one axis, "d".

    `loss(params, batch)` is a mean over the examples of a batch. Both are pytrees, whose arrays are split
    along their axis 0 over the devices; so are the params that come back. The value is the loss of the whole
    batch, and the params go `rate` times its gradient down. A device computes with all of the params and its
    part of the batch; but no psum is of more than a part: each device gets its part of the gradients."""

    def loss_of_device(parts: Any, batch: Any) -> Any:
        params = jax.tree.map(lambda part: lax.all_gather(part, "d", tiled=True), parts)
        return lax.pmean(loss(params, batch), "d")

    def step(parts: Any, batch: Any) -> Any:
        value, grads = jax.value_and_grad(loss_of_device)(parts, batch)
        return jax.tree.map(lambda part, grad: part - rate * grad, parts, grads), value

    return jax.jit(
        jax.shard_map(step, mesh=mesh, in_specs=(P("d"), P("d")), out_specs=(P("d"), P()))
    )
