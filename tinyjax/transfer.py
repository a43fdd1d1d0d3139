"""Moving values: onto a device with device_put, back to NumPy with device_get.

After this file you can say what "committed" means: an array that was put on a device explicitly makes
the computations it enters run there. Builds on array, core, devices and tree_util.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tinyjax.array import ArrayImpl
from tinyjax.core import (
    Primitive,
    Tracer,
    abstract_eval_rules,
    get_aval,
    impl_rules,
    to_numpy,
)
from tinyjax.devices import Device
from tinyjax.interpreters.batching import defvectorized
from tinyjax.interpreters.transposition import deflinear2
from tinyjax.tree_util import tree_map

device_put_p = Primitive("device_put", takes_arrays=True)


def device_put(x: Any, device: Device | None = None) -> Any:
    """A pytree with its leaves as Arrays on `device` (and committed to it, if it is given).

    Raises TypeError for a leaf that is no array or scalar, or a `device` that is none.
    Source: https://docs.jax.dev/en/latest/_autosummary/jax.device_put.html
    """
    if device is not None and not isinstance(device, Device):
        raise TypeError(
            f"device_put takes a Device such as jax.devices()[0], got {device!r} of type {type(device)}"
        )
    return tree_map(lambda leaf: device_put_p.bind(leaf, device=device), x)


def _device_put_impl(x: Any, *, device: Device | None) -> ArrayImpl:
    aval = get_aval(x)
    if isinstance(x, ArrayImpl) and (device is None or x.device == device):
        return ArrayImpl(x._value, aval, x.buffer, device, x.committed or device is not None)
    return ArrayImpl(to_numpy(x, aval), aval, device=device, committed=device is not None)


impl_rules[device_put_p] = _device_put_impl
abstract_eval_rules[device_put_p] = lambda aval, device: aval
deflinear2(device_put_p, lambda ct, x, device: [ct])
defvectorized(device_put_p)


def device_get(x: Any) -> Any:
    """A pytree with its leaves as NumPy arrays; waits for those still being computed.

    Raises errors.TracerArrayConversionError for a tracer.
    Source: https://docs.jax.dev/en/latest/_autosummary/jax.device_get.html
    """
    return tree_map(lambda leaf: np.asarray(leaf) if hasattr(leaf, "__array__") else leaf, x)


def block_until_ready(x: Any) -> Any:
    """Waits for all arrays of a pytree, and gives it back."""
    return tree_map(
        lambda leaf: (
            leaf.block_until_ready()
            if isinstance(leaf, ArrayImpl) and not isinstance(leaf, Tracer)
            else leaf
        ),
        x,
    )
