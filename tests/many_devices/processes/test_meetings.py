"""Meetings of a program: how many there are, and what tells one program's from another's."""

import numpy as np
import pytest
from processes import by_mpiexec, needs_mpi

import tinyjax as jax
from tinyjax.many_devices.across_processes import group_all_gather, group_psum
from tinyjax.many_devices.processes.meetings import fingerprint, with_meetings

x = np.ones(3, np.float32)


def meetings(f, *args):
    """The primitives that meet, and with how many operands."""
    closed = with_meetings(jax.make_jaxpr(f)(*args), "p")
    return [(e.primitive.name, len(e.invars)) for e in closed.eqns if "ranks" in e.params]


def total(x, ranks=(0, 1)):
    return group_psum([x], ranks)[0]


def test_sums_travel_together_until_one_is_read():
    assert meetings(lambda x: (total(x), total(x * 2) + total(x.sum())), x) == [("group_psum", 3)]
    assert meetings(lambda x: total(total(x) * 2), x) == [("group_psum", 1)] * 2


def test_sums_of_other_processes_meet_by_themselves():
    assert meetings(lambda x: (total(x), total(x, (0, 2)), total(x + 1)), x) == [
        ("group_psum", 2),
        ("group_psum", 1),
    ]


def test_other_effects_keep_their_place():
    found = meetings(lambda x: (total(x), group_all_gather(x, (0, 1)), total(x * 2)), x)
    assert [name for name, _ in found] == ["group_psum", "group_all_gather", "group_psum"]


def test_bodies_of_loops_meet_once_as_well():
    def f(x):
        return jax.lax.fori_loop(0, 3, lambda i, c: (total(c[0]), total(c[1])), (x, x))

    closed = with_meetings(jax.make_jaxpr(f)(x), "p")
    body = closed.eqns[0].params["jaxpr"].eqns
    assert [e.params["at"] for e in body if "ranks" in e.params] == ["number 1 of program p"]


def test_a_fingerprint_is_that_of_the_text():
    def of(f):
        return fingerprint(jax.make_jaxpr(f)(x).jaxpr)

    assert of(lambda x: x * 2) == of(lambda y: y * 2)
    programs = [
        lambda x: x * 2,
        lambda x: x * 3,
        lambda x: 2 * x + x,
        lambda x: x + 2,
        jax.jit(lambda x: x * 2),
        lambda x: x[::-1],
        lambda x: x.sum(),
    ]
    assert len(set(map(of, programs))) == len(programs)


ELSEWHERE = """
import numpy as np
import tinyjax as jax
from tinyjax import lax
from tinyjax.sharding import PartitionSpec as P
jax.distributed.initialize()
mesh = jax.make_mesh((2,), ("i",), axis_types=(jax.sharding.AxisType.Auto,))
factor = 1.0 if jax.process_index() == 0 else 10.0
f = jax.jit(jax.shard_map(
    lambda x: lax.psum(x * factor, "i"), mesh=mesh, in_specs=P("i"), out_specs=P()))
f(np.ones(8, np.float32))
"""


@needs_mpi
@pytest.mark.slow
def test_programs_of_equal_shapes_that_differ_are_an_error():
    ended = by_mpiexec(ELSEWHERE)
    assert ended.status != 0
    assert "The processes don't do the same" in ended.err
    for process in range(2):
        assert f"process {process}: jit(<lambda>): group_psum number 1 of program " in ended.err
