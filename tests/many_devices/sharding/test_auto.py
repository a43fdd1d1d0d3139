"""Where the results of programs on spread arrays are, and which programs have no one place to run at."""

import numpy as np
import pytest
from cpu_devices import cpu_devices

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.many_devices.sharding.partition_spec import P
from tinyjax.sharding import Mesh, NamedSharding, SingleDeviceSharding

WSC = jax.lax.with_sharding_constraint


@pytest.fixture(scope="module")
def devices():
    return cpu_devices(4)


@pytest.fixture(scope="module")
def mesh(devices):
    return Mesh(np.array(devices).reshape(2, 2), ("x", "y"))


@pytest.fixture(scope="module")
def split(mesh):
    return NamedSharding(mesh, P("x"))


@pytest.fixture
def x(split):
    return jax.device_put(jnp.arange(8.0), split)


@pytest.fixture
def elsewhere(devices):
    return jax.device_put(jnp.arange(8.0), devices[1])


def test_a_mesh_of_the_same_names_is_another_one(devices, x):
    tall = Mesh(np.array(devices).reshape(4, 1), ("x", "y"))
    y = jax.device_put(x, NamedSharding(tall, P("x")))
    assert jax.jit(lambda x, y: (x, y))(x, y)[1].sharding.is_fully_replicated


def test_the_results_of_shard_map_are_where_its_specs_say(mesh):
    spec = P(("x", "y"))
    f = jax.shard_map(jnp.sin, mesh=mesh, in_specs=spec, out_specs=spec)
    for each in (f, jax.jit(f), jax.jit(lambda x: f(x) + 1)):
        assert each(jnp.ones(8)).sharding == NamedSharding(mesh, spec)


def test_operands_may_be_numpy_arrays(mesh):
    f = jax.shard_map(lambda x: x @ x, mesh=mesh, in_specs=P(), out_specs=P())
    ones = np.ones((2, 2), np.float32)
    assert jax.vjp(f, ones)[1](f(ones))[0].tolist() == [[8.0, 8.0], [8.0, 8.0]]


def test_a_wish_that_cannot_be_split_evenly_is_left_out(split):
    assert jax.jit(lambda x: WSC(x, split))(jnp.ones(7)).sharding.spec == P()


def test_a_constraint_goes_before_what_it_leaves_open(mesh, x):
    free = NamedSharding(mesh, P(P.UNCONSTRAINED, "x"))
    f = jax.jit(lambda x: WSC(x.reshape(2, 4), free))
    assert f(x).sharding.spec == P(None, "x")


def test_shardings_of_a_jitted_function_stay_with_it_in_transformations(mesh, split):
    f = jax.jit(lambda x: x * x, in_shardings=split, out_shardings=split)
    ones = jnp.ones(8)
    assert jax.grad(lambda x: f(x).sum())(ones).sharding == split
    assert all(out.sharding == split for out in jax.jvp(f, (ones,), (ones,)))
    assert jax.vmap(f)(jnp.ones((3, 8))).sharding.spec == P(None, "x")
    assert jax.jit(lambda x: (f(x), 1.0)[1])(ones).sharding.device_set == ones.devices()


# ---- one set of devices ----


PROGRAMS = {
    "with_sharding_constraint": lambda split, mesh: lambda x: WSC(x, split),
    "shard_map": lambda split, mesh: jax.shard_map(
        jnp.sin, mesh=mesh, in_specs=P("x"), out_specs=P("x")
    ),
}
JITTED = {
    "device_put": lambda split: jax.jit(lambda x: jax.device_put(x, split)),
    "out_shardings": lambda split: jax.jit(jnp.sin, out_shardings=split),
    "sharding_constraint within it": lambda split: jax.jit(
        lambda x: jax.jit(jnp.sin, in_shardings=split)(x)
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_an_array_that_was_put_elsewhere_is_refused(name, split, mesh, elsewhere):
    f = PROGRAMS[name](split, mesh)
    for each in (f, jax.jit(f)):
        with pytest.raises(
            ValueError, match="incompatible devices .* args.0. .* ids .1. .* ids .0, 1, 2, 3."
        ):
            each(elsewhere)


@pytest.mark.parametrize("name", JITTED)
def test_what_a_jitted_program_asks_for_is_where_its_arguments_are(name, split, elsewhere):
    for run in (lambda f: f(elsewhere), lambda f: f.lower(elsewhere)):
        with pytest.raises(
            ValueError, match=rf"incompatible devices .* args.0. .* and {name} with"
        ):
            run(JITTED[name](split))


def test_within_set_mesh_all_is_on_its_devices(mesh, elsewhere):
    with jax.set_mesh(mesh):
        for f in (jnp.sin, jax.jit(jnp.sin)):
            with pytest.raises(ValueError, match="and the mesh of jax.set_mesh with device ids"):
                f(elsewhere)
        assert jax.device_put(elsewhere, P("x")).sharding.spec == P("x")


def test_code_that_nobody_needs_asks_for_nothing(split, elsewhere):
    assert (
        jax.jit(lambda x: (WSC(x, split), x)[1])(elsewhere).sharding.device_set
        == elsewhere.devices()
    )


def test_a_constraint_to_one_device_says_where_the_program_runs(devices):
    there = SingleDeviceSharding(devices[1])
    assert jax.jit(lambda x: WSC(x, there) + 1)(jnp.ones(3)).sharding == there


def test_in_shardings_may_name_the_devices_in_another_order(devices, mesh, split, x):
    turned = Mesh(mesh.devices[::-1], ("x", "y"))
    y = jax.device_put(x, NamedSharding(turned, P("x")))
    assert jax.jit(jnp.sin, in_shardings=split)(y).sharding == split


def test_an_argument_keeps_its_memory_that_in_shardings_bring_elsewhere(split):
    x = jax.jit(lambda x: x + 1)(jnp.zeros(8))
    jax.jit(lambda x: x * 2, in_shardings=split, donate_argnums=0)(x)
    assert x.tolist() == [1.0] * 8


def test_jit_takes_a_device_or_shardings(split, devices):
    with pytest.raises(ValueError, match="If backend or device is specified on jit"):
        with pytest.warns(DeprecationWarning):
            jax.jit(jnp.sin, device=devices[1], out_shardings=split)
