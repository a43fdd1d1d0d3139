"""CPU devices for tests of one process, which has one: more of them over the same driver, as
JAX_NUM_CPU_DEVICES makes them."""

import tinyjax as jax
from tinyjax.runtime.devices import Device


def cpu_devices(count):
    first = jax.devices("cpu")[0]
    like_first = first.device_kind, first.cl_device, first.inline_device
    return [first, *(Device("cpu", i, *like_first) for i in range(1, count))]
