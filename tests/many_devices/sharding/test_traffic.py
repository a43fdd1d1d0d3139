"""What devices of a mesh send each other, counted before a program runs."""

import numpy as np
import pytest
from cpu_devices import cpu_devices

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.many_devices.sharding.traffic import traffic_lines, traffic_of
from tinyjax.sharding import Mesh, NamedSharding
from tinyjax.sharding import PartitionSpec as P


@pytest.fixture(scope="module")
def mesh():
    return Mesh(np.array(cpu_devices(8), object).reshape(4, 2), ("x", "y"))


def sent(f, *args, places=()):
    """Of each collective: its name, its mesh axes, what one device sends and what all do."""
    traffic = traffic_of(jax.make_jaxpr(f)(*args), places)
    return [(e.kind, e.names, e.sent * e.times, e.sent_by_all * e.times) for e in traffic.exchanges]


def mapped(mesh, f):
    specs = P("x", "y")
    return jax.shard_map(f, mesh=mesh, in_specs=specs, out_specs=specs, check_vma=False)


X = np.ones((8, 6), np.float32)  # on a mesh of 4 times 2, parts of 2 times 3: 24 bytes


@pytest.mark.parametrize(
    ("collective", "bytes_of_one"),
    [
        (lambda x: lax.psum(x, "x"), 2 * 24 * 3 / 4),
        (lambda x: lax.pmax(x, ("x", "y")), 2 * 24 * 7 / 8),
        (lambda x: lax.all_gather(x, "x").sum(0), 24 * 3),
        (lambda x: lax.psum_scatter(x, "y", tiled=True), 24 / 2),
        (lambda x: lax.all_to_all(x, "y", 0, 0, tiled=True), 24 / 2),
        (lambda x: lax.ppermute(x, "x", [(i, (i + 1) % 4) for i in range(4)]), 24),
    ],
)
def test_bytes_of_a_collective_are_those_of_its_best_algorithm(mesh, collective, bytes_of_one):
    ((_, _, one, all_),) = sent(mapped(mesh, collective), X)
    assert (one, all_) == (bytes_of_one, 8 * bytes_of_one)


def test_a_loop_sends_as_often_as_it_runs_and_a_branch_as_much_as_the_worst(mesh):
    def loop(x):
        return lax.scan(lambda c, _: (lax.psum(c, "x"), None), x, None, length=5)[0]

    def branch(x):
        return lax.cond(x.sum() > 0, lambda x: lax.psum(x, "x"), lambda x: x, x)

    assert sent(mapped(mesh, loop), X) == [("psum", ("x",), 5 * 36, 5 * 288)]
    assert sent(mapped(mesh, branch), X) == [("psum", ("x",), 36, 288)]


def test_a_sum_over_a_split_axis_is_a_psum_and_other_things_gather(mesh):
    places = [NamedSharding(mesh, P("x"))]
    assert sent(lambda x: (x * 2).sum(1), X, places=places) == []
    assert sent(lambda x: x.sum(0), X, places=places) == [("psum", ("x",), 2 * 24 * 3 / 4, 288)]
    assert sent(lambda x: x.T @ x, X, places=places) == [("psum", ("x",), 144 * 3 / 2, 1728)]
    assert sent(lambda x: jnp.sort(x, 0), X, places=places) == [("all_gather", ("x",), 144, 1152)]


def test_to_keep_less_of_an_array_costs_nothing_and_to_have_more_a_gather(mesh):
    split, whole = NamedSharding(mesh, P("x")), NamedSharding(mesh, P())
    put = jax.lax.with_sharding_constraint
    assert sent(lambda x: put(x, split), X, places=[whole]) == []
    assert sent(lambda x: put(x, whole), X, places=[split]) == [("all_gather", ("x",), 144, 1152)]


def test_types_say_how_values_are_split(mesh):
    closed = jax.make_jaxpr(lambda x: jnp.sin(x).T)(X)
    traffic = traffic_of(closed, [NamedSharding(mesh, P(("x", "y")))])
    assert [traffic.type_text(v) for v in closed.jaxpr.outvars] == ["f32[6,8@(x,y)]"]


def test_below_the_schedule_is_what_is_sent(mesh):
    lowered = jax.jit(mapped(mesh, lambda x: lax.psum(x, "x"))).lower(X)
    ending = (
        "collectives, if each device of the mesh (x: 4, y: 2) is one by itself:\n"
        "  psum over x: each of 4 has 24 bytes and sends 36, all devices 288\n"
        "  in all, each device sends 36 bytes, and all of them 288"
    )
    assert lowered.as_text("schedule").endswith(ending)
    assert lowered.compile().as_text().endswith(ending)
    assert "collectives" not in jax.jit(jnp.sin).lower(X).as_text()


def test_a_mesh_without_collectives_says_so(mesh):
    closed = jax.make_jaxpr(mapped(mesh, jnp.sin))(X)
    assert traffic_lines(traffic_of(closed))[1:] == ["  none"]
