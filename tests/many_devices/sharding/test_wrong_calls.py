"""Calls that a user gets wrong: the class of the error and its first words are JAX's, where JAX has words."""

import numpy as np
import pytest
from cpu_devices import cpu_devices

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.sharding import Mesh, NamedSharding
from tinyjax.sharding import PartitionSpec as P

X = np.ones((8, 6), np.float32)
CALLS = {
    "a spec that is too long": (
        lambda mesh: jax.device_put(X, NamedSharding(mesh, P("x", None, None))),
        "ValueError: One of device_put args is incompatible with its sharding annotation NamedSharding(",
    ),
    "an axis that can't be split, in jit": (
        lambda mesh: jax.jit(lambda x: jax.device_put(x, NamedSharding(mesh, P("x"))))(np.ones(7)),
        "IndivisibleError: One of device_put args was given the sharding NamedSharding(",
    ),
    "parts that are on no device": (
        lambda mesh: jax.make_array_from_single_device_arrays(
            (8, 6), NamedSharding(mesh, P()), [X]
        ),
        "TypeError: Unsupported type for elements in `arrays`: <class 'numpy.ndarray'>",
    ),
    "a mesh without devices": (
        lambda mesh: jax.make_mesh((0,), ("x",)),
        "ValueError: each axis of a mesh must have a device at least, got (0,)",
    ),
    "a negative size": (
        lambda mesh: jax.make_mesh((-1,), ("x",)),
        "ValueError: each axis of a mesh must have a device at least, got (-1,)",
    ),
    "no name": (
        lambda mesh: Mesh(mesh.devices, (None,)),
        "ValueError: Mesh axis names cannot be None. Got: (None,)",
    ),
    "a type that is none": (
        lambda mesh: Mesh(mesh.devices, ("x",), axis_types=("auto",)),
        "TypeError: axis_types passed to Mesh must be of type `jax.sharding.AxisType`. Got ('auto',)",
    ),
    "devices for a mesh": (
        lambda mesh: jax.shard_map(jnp.sin, mesh=jax.devices(), in_specs=P(), out_specs=P())(X),
        "TypeError: shard_map requires a `jax.sharding.Mesh` or a `jax.sharding.AbstractMesh` instance for",
    ),
    "an out_sharding that is none": (
        lambda mesh: jnp.dot(X.T, X, out_sharding="x"),
        "TypeError: `out_sharding` argument of dot_general only supports instances of `NamedSharding` or",
    ),
    "a part of another shape": (
        lambda mesh: jax.make_array_from_callback(
            (8,), NamedSharding(mesh, P("x")), lambda index: np.ones(3, np.float32)
        ),
        "ValueError: Expected shard shape (4,) doesn't match the single device array shape (3,). Shape of",
    ),
    "a name for a sharding": (
        lambda mesh: jax.make_array_from_callback((8,), "x", lambda index: X),
        "TypeError: sharding should be an instance of `jax.sharding`. Got x of type <class 'str'>",
    ),
}


@pytest.mark.parametrize("case", CALLS)
def test_what_is_wrong_is_said(case):
    call, error = CALLS[case]
    with pytest.raises(Exception) as raised:  # noqa: PT011  (the class is compared)
        call(Mesh(np.array(cpu_devices(2), object), ("x",)))
    assert f"{raised.type.__name__}: {raised.value}".startswith(error)
