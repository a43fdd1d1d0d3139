"""shard_map: values, types, printed jaxprs and errors as those of JAX on a mesh of eight devices."""

import json
from pathlib import Path

import numpy as np
import pytest
from cpu_devices import cpu_devices
from golden_cases import codec
from golden_cases.shard_map import CALLS, PRINTED_OTHERWISE, SAID_OTHERWISE, answer, names
from printed_jaxprs import without_laid_seeds

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.experimental.shard_map import shard_map as old_shard_map
from tinyjax.sharding import Mesh, NamedSharding
from tinyjax.sharding import PartitionSpec as P

RECORDED = json.loads((Path(__file__).parents[2] / "golden" / "shard_map.json").read_text())
ULPS = 64  # sums of parts are in another order


@pytest.fixture(scope="module")
def spoken_of():
    return names(jax, jnp, np, P, Mesh, old_shard_map, cpu_devices(8))


@pytest.mark.parametrize("call", RECORDED)
def test_shard_map_gives_what_jax_gives(call, spoken_of):
    want, got = RECORDED[call], answer(call, spoken_of, jax, codec.encode)
    if "error" in want:
        assert got.get("error") == want["error"] or _is_listed(SAID_OTHERWISE, call)
        return
    assert "error" not in got, got["error"]
    assert codec.difference(got["value"], want["value"], ULPS, scaled=True) is None
    printed, text = "\n".join(got["jaxpr"]), "\n".join(want["jaxpr"])
    if "reshard 1.0" in text:
        printed, text = without_laid_seeds(printed), without_laid_seeds(text)
    is_listed = _is_listed(PRINTED_OTHERWISE, call)
    assert printed == text or is_listed
    assert printed != text or not is_listed, "it is as in JAX, and listed as what is not"


def _is_listed(reasons, call):
    return any(part in call for part in reasons)


def test_all_calls_are_recorded():
    assert list(RECORDED) == CALLS


# ---- compiled ----

COMPILED = [call for call in RECORDED if "error" not in RECORDED[call] and call.startswith("sm(")]


def _compiled_as_evaluated(calls, spoken_of):
    for call in calls:
        fun, *args = eval(call, dict(spoken_of))
        got, want = (codec.encode(f(*args), jax) for f in (jax.jit(fun), fun))
        assert codec.difference(got, want, ULPS, scaled=True) is None, call


def test_a_compiled_shard_map_gives_what_an_evaluated_one_gives(spoken_of):
    _compiled_as_evaluated(COMPILED[60:120:12], spoken_of)


@pytest.mark.slow
def test_all_of_them_compiled(spoken_of):
    _compiled_as_evaluated(COMPILED, spoken_of)


# ---- what is not JAX's to say ----


@pytest.fixture(scope="module")
def line():
    return Mesh(np.array(cpu_devices(4), object), ("x",))


def test_what_is_equal_on_all_devices_is_computed_once(line):
    f = jax.shard_map(
        lambda a, w: a * jnp.sin(w), mesh=line, in_specs=(P("x"), P()), out_specs=P("x")
    )
    simplified = jax.jit(f).lower(jnp.ones(8), jnp.ones(2)).compiler_ir("simplified")
    (sine,) = [eqn for eqn in simplified.eqns if eqn.primitive.name == "sin"]
    assert sine.outvars[0].aval.shape == (2,)


def test_results_lie_on_the_mesh_as_their_specs_say(line):
    f = jax.shard_map(
        lambda a: (a, lax.psum(a, "x")), mesh=line, in_specs=P("x"), out_specs=(P("x"), P())
    )
    parts, total = f(jnp.arange(8.0))
    assert parts.sharding == NamedSharding(line, P("x"))
    assert [shard.data.tolist() for shard in parts.addressable_shards] == [
        [0, 1],
        [2, 3],
        [4, 5],
        [6, 7],
    ]
    assert total.is_fully_replicated


def test_so_do_those_of_a_jitted_one(line):
    f = jax.shard_map(
        lambda a, w: (lax.psum_scatter(a @ w, "x", tiled=True), a),
        mesh=line,
        in_specs=(P(None, "x"), P("x")),
        out_specs=(P("x"), P(None, "x")),
    )
    args = jax.device_put((jnp.ones((4, 8)), jnp.ones((8, 3))), NamedSharding(line, P()))
    assert [x.sharding.spec for x in jax.jit(f)(*args)] == [P("x"), P(None, "x")]


def test_the_gradient_of_shared_weights_is_summed_though_nobody_says_so(line):
    """By its type, w is equal on all devices, and so is its gradient."""
    grad = jax.grad(lambda w, a: jnp.sum(w * a))
    f = jax.shard_map(grad, mesh=line, in_specs=(P(), P("x")), out_specs=P())
    assert f(jnp.ones(2), jnp.arange(8.0)).tolist() == [12.0, 16.0]
