"""shard_map over two OpenCL devices of one process: each computes its part, in its memory."""

import pytest
from two_devices import by_two_devices, has_pocl

pytestmark = pytest.mark.skipif(not has_pocl(), reason="PoCL shows one processor as two devices")


def test_each_device_has_its_shard_and_sums_meet():
    by_two_devices("""
    split = jax.device_put(x, NamedSharding(mesh, P("i")))
    assert are_on_their_devices(split)
    specs = dict(in_specs=P("i"), out_specs=(P("i"), P()))
    f = jax.shard_map(lambda x: (2 * x, lax.psum(x, "i")), mesh=mesh, **specs)
    twice, total = jax.jit(f)(split)
    assert are_on_their_devices(twice) and are_on_their_devices(total)
    np.testing.assert_array_equal(twice, 2 * x)
    np.testing.assert_array_equal(total, x[:4] + x[4:])
    """)


@pytest.mark.slow
def test_arrays_are_made_of_what_devices_have():
    by_two_devices("""
    place = NamedSharding(mesh, P("i"))
    parts = [jax.device_put(part, d) for part, d in zip((x[:4], x[4:]), jax.devices())]
    made = jax.make_array_from_single_device_arrays(x.shape, place, parts)
    called = jax.make_array_from_callback(x.shape, place, lambda index: x[index])
    for array in (made, called):
        assert are_on_their_devices(array)
        np.testing.assert_array_equal(array, x)
    assert np.shares_memory(parts[0], made.addressable_shards[0].data)
    """)


@pytest.mark.slow
def test_a_plain_jit_of_a_spread_array_gives_what_it_gives_of_a_whole_one():
    by_two_devices("""
    split = jax.device_put(x, NamedSharding(mesh, P("i")))
    result = jax.jit(lambda x: jnp.sin(x) @ x.T)(split)
    np.testing.assert_allclose(result, np.sin(x) @ x.T, rtol=1e-5)
    assert result.sharding.spec == P("i") and are_on_their_devices(split)
    assert [shard.data.devices() for shard in result.addressable_shards] == [{d} for d in jax.devices()]
    """)


@pytest.mark.slow
def test_calls_that_were_made_before_give_what_they_gave():
    by_two_devices("""
    shardings = [NamedSharding(mesh, P(*axes)) for axes in (("i",), (None, "i"), ())]
    f = jax.jit(jax.shard_map(lambda x: 2 * x, mesh=mesh, in_specs=P("i"), out_specs=P("i")))
    for start in range(3):
        for sharding in shardings:
            result = f(jax.device_put(x + start, sharding))
            np.testing.assert_array_equal(result, 2 * (x + start))
            assert are_on_their_devices(result) and result.sharding.spec == P("i")
    assert len(f.calls) == len(shardings)
    """)


@pytest.mark.slow
def test_training_gives_what_one_device_gives():
    by_two_devices("""
    w = np.ones((2, 3), np.float32) / 10
    error = lambda w, x: jnp.mean(jnp.tanh(x @ w - 2.0) ** 2)
    mean = lambda w, x: lax.pmean(error(w, x), "i")
    of_all = jax.shard_map(mean, mesh=mesh, in_specs=(P(), P("i")), out_specs=P())

    def trained(loss, w, x):
        step = jax.jit(lambda w: w - 0.1 * jax.grad(loss)(w, x), donate_argnums=0)
        for _ in range(3):
            before, w = w, step(w)
        assert isinstance(before, np.ndarray) or before.is_deleted()
        return w

    split = jax.device_put(x, NamedSharding(mesh, P("i")))
    np.testing.assert_allclose(trained(of_all, w, split), trained(error, w, x), rtol=1e-5)
    """)


@pytest.mark.slow
def test_a_program_that_was_compiled_before_gives_what_jit_gives():
    by_two_devices("""
    split = jax.device_put(x, NamedSharding(mesh, P("i")))
    specs = dict(in_specs=P("i"), out_specs=(P("i"), P()))
    f = jax.jit(jax.shard_map(lambda x: (2 * x, lax.psum(x, "i")), mesh=mesh, **specs))
    for got, want in zip(f.lower(split).compile()(split), f(split)):
        assert got.sharding == want.sharding and are_on_their_devices(got)
        np.testing.assert_array_equal(got, want)
    """)


@pytest.mark.slow
def test_what_is_between_shard_maps_is_done_where_the_blocks_are():
    by_two_devices("""
    w = jax.device_put(x, NamedSharding(mesh, P("i")))
    both = dict(mesh=mesh, in_specs=P("i"), out_specs=P("i"))
    double = jax.shard_map(lambda w: 2 * w, **both)
    total = jax.shard_map(lambda w: lax.psum(w, "i"), mesh=mesh, in_specs=P("i"), out_specs=P())

    @jax.jit
    def step(w):
        whole = total(w)
        return w - 0.5 * jnp.sin(double(w)), whole @ whole.T

    cut, whole = step(w)
    for array, own_shape in ((cut, (4, 2)), (whole, (4, 4))):
        assert [block.shape for block in array.buffer.blocks] == [own_shape] * 2
        assert are_on_their_devices(array)
    t = x[:4] + x[4:]
    np.testing.assert_allclose(cut, x - 0.5 * np.sin(2 * x), rtol=1e-5)
    np.testing.assert_allclose(whole, t @ t.T, rtol=1e-5)
    gathered = jax.jit(lambda w: double(w).T @ w)(w)
    np.testing.assert_allclose(gathered, 2 * x.T @ x, rtol=1e-5)
    """)


@pytest.mark.slow
def test_large_arrays_are_summed_a_part_by_each():
    by_two_devices("""
    big = np.random.default_rng(0).normal(size=(4, 30001)).astype(np.float32)
    f = jax.shard_map(lambda x: lax.psum((x, x * 2), "i"), mesh=mesh, in_specs=P("i"), out_specs=P())
    for _ in range(5):
        once, twice = jax.jit(f)(big)
        np.testing.assert_allclose(once, big[:2] + big[2:], rtol=1e-6)
        np.testing.assert_allclose(twice, 2 * np.asarray(once), rtol=1e-6)
    """)


@pytest.mark.slow
def test_what_goes_wrong_on_one_device_ends_the_call():
    by_two_devices("""
    import pytest

    def only_on_the_first(number):
        if number == 0:
            raise LookupError("not here")
        return number

    def f(x):
        index = lax.axis_index("i")
        number = jax.pure_callback(only_on_the_first, index, index, vmap_method="sequential")
        return lax.psum(x + number, "i")

    with pytest.raises(Exception, match="not here"):
        jax.jit(jax.shard_map(f, mesh=mesh, in_specs=P("i"), out_specs=P()))(x)

    def uneven(x):
        return lax.while_loop(lambda x: x[0, 0] < 5, lambda x: x + lax.psum(x, "i"), x)

    with pytest.raises(jax.errors.JaxRuntimeError, match="do not come"):
        jax.jit(jax.shard_map(uneven, mesh=mesh, in_specs=P("i"), out_specs=P("i")))(x)
    """)


@pytest.mark.slow
def test_arrays_of_other_devices_are_refused():
    by_two_devices("""
    import pytest

    f = jax.shard_map(lambda x: x, mesh=mesh, in_specs=P("i"), out_specs=P("i"))
    backwards = Mesh(mesh.devices[::-1], "i")
    for elsewhere in (jax.devices()[1], NamedSharding(backwards, P("i"))):
        for how in (lambda f: f, jax.jit):
            with pytest.raises(ValueError, match="Received incompatible devices"):
                how(f)(jax.device_put(x, elsewhere))
    """)


RECORDED = """
import json
from pathlib import Path
from contextlib import nullcontext
import golden_cases
from golden_cases import codec
from golden_cases.shard_map import IN_GRID, answer, names
from tinyjax.experimental.shard_map import shard_map as old_shard_map
from tinyjax.runtime.devices import Device

path = Path(golden_cases.__file__).parents[1] / "golden" / "shard_map.json"
recorded = {call: got for call, got in json.loads(path.read_text()).items() if "error" not in got}
first, second = [
    [d, *(Device("cpu", i, d.device_kind, d.cl_device, d.inline_device) for i in more)]
    for d, more in zip(jax.devices(), ((2, 3, 4), (5, 6, 7)))
]
spoken_of = names(jax, jnp, np, P, Mesh, old_shard_map, first[:2] + second[:2] + first[2:] + second[2:])
for devices in (first + second, [d for both in zip(first, second) for d in both]):
    grid = spoken_of["grid"] = Mesh(np.array(devices, object).reshape(4, 2), ("x", "y"))
    for call in list(recorded)[slice(BEGIN, None, 10)]:
        got = answer(call, spoken_of, jax, codec.encode)
        assert "error" not in got, (call, got["error"])
        with jax.set_mesh(grid) if call.startswith(IN_GRID) else nullcontext():
            fun, *args = eval(call.removeprefix(IN_GRID), dict(spoken_of))
            values = [got["value"]]
            if fun is not jax.jvp:
                values.append(codec.encode(jax.jit(fun)(*args), jax))
        for value in values:
            difference = codec.difference(value, recorded[call]["value"], 64, scaled=True)
            assert difference is None, (call, difference)
"""


@pytest.mark.slow
@pytest.mark.parametrize("begin", [0, 5])
def test_recorded_calls_give_what_they_gave(begin):
    """The rows of the grid are one device's and the other's, and then its columns."""
    by_two_devices(RECORDED.replace("BEGIN", str(begin)))
