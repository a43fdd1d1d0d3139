"""The cost model of a step on many machines."""

import numpy as np
import pytest

import tinyjax as jax
from tinyjax import lax
from tinyjax.many_devices.sharding.step_time import (
    Network,
    exchange_seconds,
    step_seconds,
    together,
)
from tinyjax.many_devices.sharding.traffic import Exchange, traffic_of
from tinyjax.sharding import AbstractMesh, AxisType
from tinyjax.sharding import PartitionSpec as P

SLOW_START, NARROW = Network(1.0, float("inf")), Network(0.0, 1.0)


def of(kind, size, operand=64):
    eqn = jax.make_jaxpr(lambda x: -x)(1.0).eqns[0]
    return Exchange(eqn, kind, ("d",), size, size, operand, 1)


@pytest.mark.parametrize(
    ("kind", "rounds", "sent"),
    [
        ("psum", 3, 2 * 64 * 7 / 8),
        ("all_gather", 3, 64 * 7),
        ("reduce_scatter", 3, 64 * 7 / 8),
        ("all_to_all", 3, 64 * 7 / 8),
        ("ppermute", 1, 64),
        ("pbroadcast", 3, 3 * 64),
    ],
)
def test_a_collective_takes_the_better_way_for_its_size(kind, rounds, sent):
    assert exchange_seconds(of(kind, 8), SLOW_START) == rounds
    assert exchange_seconds(of(kind, 8), NARROW) == sent


def test_twice_as_many_machines_send_hardly_more_each():
    eight, thousand = (exchange_seconds(of("psum", n, 2**30), NARROW) for n in (8, 1024))
    assert eight < thousand < 1.15 * eight


def test_sums_that_follow_each_other_are_one_message():
    assert [e.operand for e in together([of("psum", 4), of("psum", 4), of("all_gather", 4)])] == [
        128,
        64,
    ]


def test_a_step_of_machines_that_are_not_here():
    mesh = AbstractMesh((1024,), ("d",), AxisType.Auto)
    f = jax.shard_map(lambda x: lax.psum(x, "d"), mesh=mesh, in_specs=P("d"), out_specs=P())
    sent = traffic_of(jax.make_jaxpr(f)(jax.ShapeDtypeStruct((1024,), np.float32))).exchanges
    assert step_seconds(0.5, sent, Network(0.01, 1e9)) == pytest.approx(0.5 + 0.1, rel=1e-3)
    assert step_seconds(0.5, [], Network(0.01, 1e9)) == 0.5
