"""Fully sharded training: a part of the params on each device."""

import functools

import numpy as np
import pytest
from cpu_devices import cpu_devices
from drawn import drawn, floats, same, shape_of_rank, shown
from practice.fully_sharded import fully_sharded_step

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.core.jaxpr import subjaxprs
from tinyjax.sharding import Mesh
from tinyjax.sharding import PartitionSpec as P

RATE = 0.25
PARAMS = {"w": np.linspace(-1, 1, 32, dtype=np.float32).reshape(8, 4), "b": np.ones(4, np.float32)}
BATCH = (np.linspace(0, 2, 96, dtype=np.float32).reshape(12, 8), np.arange(12, dtype=np.float32))


def loss(params, batch):
    xs, ys = batch
    return jnp.mean((jnp.sum(jnp.tanh(xs @ params["w"] + params["b"]), axis=1) - ys) ** 2)


@functools.cache
def mesh(count=4):
    return Mesh(np.array(cpu_devices(count), object), ("d",))


@pytest.mark.parametrize("count", [1, 2, 4])
def test_a_step_is_that_of_one_device_with_the_whole_batch(count):
    with jax.disable_jit():  # compiled below
        params, value = fully_sharded_step(loss, mesh(count), RATE)(PARAMS, BATCH)
    want, grads = jax.value_and_grad(loss)(PARAMS, BATCH)
    np.testing.assert_allclose(value, want, rtol=1e-5, err_msg="the loss of the whole batch")
    for name, grad in grads.items():
        told = f"{name}: down by the rate times the gradient of the whole batch"
        np.testing.assert_allclose(
            params[name], PARAMS[name] - RATE * grad, 1e-4, 1e-5, err_msg=told
        )


def split(params):
    return jax.device_put(params, jax.NamedSharding(mesh(), P("d")))


def test_each_device_keeps_its_part_of_the_params():
    params, value = fully_sharded_step(loss, mesh(), RATE)(split(PARAMS), BATCH)
    shapes = {name: x.addressable_shards[0].data.shape for name, x in params.items()}
    assert shapes == {"w": (2, 4), "b": (1,)}, "a quarter of each, along axis 0"
    assert value.is_fully_replicated


@pytest.mark.parametrize("rate", [0.0, 1e-5, -30])
def test_any_rate_will_do(rate):
    with jax.disable_jit():
        step = fully_sharded_step(lambda p, batch: jnp.mean(batch) * jnp.sum(p), mesh(2), rate)
        params, _ = step(np.zeros(4, np.float32), np.ones(4, np.float32))
        short = lambda p, batch: (jnp.mean(batch) * jnp.sum(p)).astype("float16")  # noqa: E731
        of_short, value = fully_sharded_step(short, mesh(2), 0.1 + rate)(
            np.zeros(4, np.float32), np.ones(4, np.float32)
        )
    np.testing.assert_allclose(params, np.full(4, -rate), rtol=1e-6)
    assert value.dtype == np.float16
    np.testing.assert_allclose(of_short, np.full(4, -rate - 0.1), rtol=1e-6)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_a_step_of_float64s_is_as_exact_and_numbers_may_be_of_any_size(scale):
    x, batch = scale * np.arange(1.0, 5), np.array([1.1, 1.3])
    with jax.enable_x64(), jax.disable_jit():
        step = fully_sharded_step(lambda p, batch: jnp.mean(batch) * jnp.sum(p * p), mesh(2), 0.1)
        params, value = step(x, batch)
    assert (params.dtype, value.dtype) == (np.float64, np.float64)
    np.testing.assert_allclose(value, 36 * scale**2, 1e-12)
    np.testing.assert_allclose(params, 0.76 * x, 1e-12)


def test_a_device_computes_with_all_params_and_its_part_of_the_batch():
    seen = []

    def looked_at(params, batch):
        seen.append((params["w"].shape, batch[0].shape, batch[1].shape))
        return loss(params, batch)

    jax.make_jaxpr(fully_sharded_step(looked_at, mesh(), RATE))(PARAMS, BATCH)
    assert set(seen) == {((8, 4), (3, 8), (3,))}


def test_the_parts_are_gathered_and_put_together_in_order():
    def last_row(params, batch):
        return jnp.mean(batch) * jnp.sum(params[-1])

    with jax.disable_jit():
        params, value = fully_sharded_step(last_row, mesh(), 1.0)(np.arange(8.0), np.ones(4))
    assert value == 7.0, "the last of the params is the last device's"
    assert params.tolist() == [0, 1, 2, 3, 4, 5, 6, 6]
    with jax.disable_jit():
        step = fully_sharded_step(last_row, mesh(), 1.0)
        params, _ = step(np.arange(8.0).reshape(8, 1, 1), np.ones(4))
    assert params.shape == (8, 1, 1) and params.reshape(-1).tolist() == [0, 1, 2, 3, 4, 5, 6, 6]


def collectives(jaxpr):
    """Each collective in a program, with the number of elements of its operand."""
    found = []
    for eqn in jaxpr.eqns:
        if eqn.primitive.name in ("psum", "psum_invariant", "all_gather", "reduce_scatter"):
            found.append((eqn.primitive.name, eqn.invars[0].aval.size))
        for inner in subjaxprs(eqn.params):
            found += collectives(inner)
    return found


def test_gradients_are_added_up_where_they_are_kept():
    """A psum of all gradients would give each device all of them; it needs a part."""
    step = fully_sharded_step(loss, mesh(), RATE)
    found = collectives(jax.make_jaxpr(step)(PARAMS, BATCH).jaxpr)
    sums = [size for name, size in found if name.startswith("psum")]
    assert max(sums, default=0) <= 8, f"a psum of more than a part of the params: {found}"
    assert [name for name, _ in found].count("reduce_scatter") == 2, (
        f"one psum_scatter for w, one for b: {found}"
    )


def test_steps_are_compiled_once():
    traced = []
    step = fully_sharded_step(lambda p, b: (traced.append(1), loss(p, b))[1], mesh(), 0.01)
    params, first = step(split(PARAMS), BATCH)
    before = len(traced)
    _, last = step(params, BATCH)
    assert len(traced) == before, "the second step was traced again: is it jitted?"
    assert last < first, "the loss goes down"
    _, again = step(params, BATCH)
    assert again == last, "params that were given are still there, and give the same"


@drawn(4, most=8)
def test_drawn_trees_go_down_by_their_own_gradients(rng, most):
    """The loss is the mean of the batch's squares times a weighted sum of the params' sines."""
    count, rate = [4, 2, 1][most % 3], float(rng.choice([0.5, -2.0, 1e-3]))
    names = [f"p{n}" for n in range(rng.integers(1, 3))]
    shapes = [
        (
            count * int(rng.integers(1, 3)),
            *shape_of_rank(rng, int(rng.integers(most // 2, most)), most=2),
        )
        for _ in names
    ]
    params = {name: [floats(rng, *shape)] for name, shape in zip(names, shapes)}
    params["last"] = floats(rng, 4).astype(np.float16)
    batch = {"x": floats(rng, 4 * int(rng.integers(1, 3)), 3)}

    weights = jax.tree.map(lambda p: floats(rng, *p.shape), params)

    def weighted(p, weight):
        return jnp.sum(jnp.sin(p.astype("float32")) * weight)

    def loss(params, batch):
        sums = jax.tree.leaves(jax.tree.map(weighted, params, weights))
        return jnp.mean(batch["x"] ** 2) * sum(sums)

    with shown(devices=count, rate=rate, shapes=shapes), jax.disable_jit():
        got, value = fully_sharded_step(loss, mesh(count), rate)(params, batch)
        mean = np.mean(batch["x"] ** 2)
        same(value, loss(params, batch), "the loss", 1e-3)
        assert jax.tree.structure(got) == jax.tree.structure(params), f"another tree: {got}"
        for p, weight, after in zip(*map(jax.tree.leaves, (params, weights, got))):
            want = (p - rate * mean * np.cos(p.astype("float32")) * weight).astype(p.dtype)
            same(after, want, "a part of the params", 1e-2 if p.dtype == "float16" else 1e-4)
