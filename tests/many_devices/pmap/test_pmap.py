"""pmap: one program, a slice for each device, and collectives where they meet."""

import json
from pathlib import Path

import pytest
from cpu_devices import cpu_devices
from golden_cases.many_devices import answers_with_many_devices

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax


@pytest.fixture(scope="module")
def two():
    return cpu_devices(2)


# ---- what users see ----

RECORDED = json.loads((Path(__file__).parents[2] / "golden" / "pmap.json").read_text())


@pytest.fixture(scope="module")
def answers():
    return answers_with_many_devices("pmap", "tinyjax")


@pytest.mark.parametrize("call", RECORDED)
def test_pmap_gives_what_jax_gives(answers, call):
    assert answers[call] == RECORDED[call]


def test_a_function_is_traced_anew_where_an_axis_around_has_another_size(two):
    of_sum = jax.pmap(lambda x: x * lax.psum(1, "batch"), devices=two)
    for size in (2, 3):
        xs = jnp.ones((size, 2))
        assert (jax.vmap(of_sum, axis_name="batch")(xs) == size).all()


def test_a_result_that_is_an_operand_of_all_devices_is_there_for_each(two):
    both = jax.pmap(lambda x, w: (x * w, w), in_axes=(0, None), devices=two)
    (_, ws), pullback = jax.vjp(lambda x: both(x, 3.0), jnp.ones(2))
    assert ws.tolist() == [3.0, 3.0]
    assert pullback((jnp.ones(2), jnp.ones(2)))[0].tolist() == [3.0, 3.0]


def test_each_device_computes_with_its_slice(two):
    y = jax.pmap(lambda x: x * 2, devices=two)(jnp.arange(6.0).reshape(2, 3))
    places = [shard.device for shard in y.addressable_shards]
    assert places == two
    assert y.tolist() == [[0, 2, 4], [6, 8, 10]]


def test_a_result_that_goes_into_pmap_again_stays_where_it_is(two):
    double = jax.pmap(lambda x: x * 2, devices=two)
    y = double(jnp.arange(2.0))
    double(y)
    assert y.is_unread


def test_the_function_is_traced_once_for_equal_shapes(two):
    traced = []
    f = jax.pmap(lambda x: traced.append(x) or x + 1, devices=two)
    f(jnp.ones(2))
    f(jnp.zeros(2))
    assert len(traced) == 1
    f(jnp.ones((2, 3)))
    assert len(traced) == 2


def test_data_parallel_training_follows_the_whole_batch(two):
    """The mean of the devices' gradients is the gradient of the mean."""
    x, y = jnp.arange(8.0).reshape(4, 2), jnp.arange(4.0)

    def loss(w, x, y):
        return jnp.mean((x @ w - y) ** 2)

    def step(w, x, y):
        return w - 0.01 * lax.pmean(jax.grad(loss)(w, x, y), "devices")

    w = jnp.ones(2)
    parallel = jax.pmap(step, "devices", in_axes=(None, 0, 0), out_axes=None, devices=two)
    got = parallel(w, x.reshape(2, 2, 2), y.reshape(2, 2))
    assert jnp.allclose(got, w - 0.01 * jax.grad(loss)(w, x, y), rtol=1e-6)


def test_a_donated_argument_is_gone(two):
    x = jnp.ones(2)
    jax.pmap(lambda a: a + 1, devices=two, donate_argnums=0)(x)
    assert x.is_deleted()


# ---- how it works ----


def test_a_call_is_a_jit_of_a_shard_map(two):
    jaxpr = jax.make_jaxpr(jax.pmap(lambda x: lax.psum(x, "i"), "i", devices=two))(jnp.ones(2))
    (call,) = jaxpr.eqns
    (eqn,) = call.params["jaxpr"].eqns
    assert (call.primitive.name, eqn.primitive.name) == ("jit", "shard_map")
    assert str(eqn.params["jaxpr"].in_avals) == "[ShapedArray(float32[1])]"


def test_the_cotangent_of_what_all_devices_share_is_the_sum_of_theirs(two):
    def total(w):
        scaled = jax.pmap(lambda w, x: w * x, in_axes=(None, 0), devices=two)
        return scaled(w, jnp.array([2.0, 3.0])).sum()

    assert jax.grad(total)(1.0) == 5.0


# ---- errors ----


def test_too_few_devices_say_how_to_have_more():
    with pytest.raises(ValueError, match="over 999 slices.*JAX_NUM_CPU_DEVICES=999"):
        jax.pmap(lambda x: x)(jnp.ones(999))


def test_slices_of_different_numbers_are_named(two):
    with pytest.raises(
        ValueError, match=r"pmap got inconsistent sizes[\s\S]*size 3: axis 0 of argument y"
    ):
        jax.pmap(lambda x, y: x + y, devices=two)(jnp.ones(2), jnp.ones(3))


def test_a_pmap_within_a_pmap_points_to_vmap(two):
    with pytest.raises(ValueError, match="Use vmap for the inner one"):
        jax.pmap(jax.pmap(lambda x: x, devices=two), devices=two)(jnp.ones((2, 2)))


def test_in_axes_must_fit_the_arguments(two):
    with pytest.raises(TypeError, match="pmap in_axes must be an int, None, or a tuple"):
        jax.pmap(lambda x: x, in_axes={"x": 0}, devices=two)
    with pytest.raises(ValueError, match=r"len\(in_axes\)=2, len\(args\)=1"):
        jax.pmap(lambda x: x, in_axes=(0, 0), devices=two)(jnp.ones(2))
    with pytest.raises(ValueError, match="rank should be at least 3"):
        jax.pmap(lambda x: x, in_axes=2, devices=two)(jnp.ones(2))


def test_out_axes_must_be_numbers_or_none(two):
    with pytest.raises(
        TypeError, match="pmap out_axes must be an int, None, or .nested. container"
    ):
        jax.pmap(lambda x: x, out_axes="x", devices=two)(jnp.ones(2))


def test_an_axis_name_must_be_hashable():
    with pytest.raises(TypeError, match=r"axis_name must be hashable.*\['i'\]"):
        jax.pmap(lambda x: x, axis_name=["i"])


def test_devices_must_be_devices_and_different_ones(two):
    with pytest.raises(TypeError, match=r"must be Devices such as jax.devices\(\)\[0\], got 'cpu'"):
        jax.pmap(lambda x: x, devices=["cpu"])
    with pytest.raises(ValueError, match="must be different ones"):
        jax.pmap(lambda x: x, devices=[two[0], two[0]])


def test_there_must_be_a_slice():
    with pytest.raises(ValueError, match="the mapped axis has size 0"):
        jax.pmap(lambda x: x)(jnp.ones((0, 3)))


def test_ppermute_among_devices_names_each_once(two):
    def permuted(*perm):
        f = jax.pmap(lambda x: lax.ppermute(x, "i", perm), "i", devices=two)
        return f(jnp.array([1.0, 2.0])).tolist()

    assert permuted((0, 1)) == [0, 1]
    assert permuted() == [0, 0]
    with pytest.raises(IndexError, match="indices of an axis of size 2"):
        permuted((9, 0))
    with pytest.raises(ValueError, match="must be unique"):
        permuted((0, 1), (1, 1))


def test_groups_of_devices_have_one_size(two):
    uneven = [[0, 1], []]
    with pytest.raises(ValueError, match="all the same size"):
        jax.pmap(lambda x: lax.psum(x, "i", axis_index_groups=uneven), "i", devices=two)(
            jnp.ones(2)
        )
