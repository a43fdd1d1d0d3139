"""Collectives over an axis that several processes share: what each gets is its part of what one would."""

import numpy as np
import pytest
from processes import by_mpiexec, needs_mpi

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.many_devices.across_processes import group_all_gather, group_psum

# `mapped(f, size, ranks)(x)`: f of each row of x, along the axis "i", of which this process has `size` rows.
PROGRAM = """
import numpy as np
import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.core.bind import extend_axis_env
from tinyjax.core.jaxpr import jaxpr_as_fun
from tinyjax.many_devices.mapped import axis_in_parts
from tinyjax.transform.batching_of_jaxpr import batch_jaxpr

jax.distributed.initialize()
process, count = jax.process_index(), jax.process_count()
jax.devices()


def mapped(f, size, ranks=()):
    axis = axis_in_parts("i", size, ranks, process)

    def of_all(x):
        with extend_axis_env(axis.env):
            closed = jax.make_jaxpr(f)(x[0])
        batched, _ = batch_jaxpr(closed, axis, (0,), (True,) * len(closed.out_avals))
        return jaxpr_as_fun(batched)(x)

    return of_all


n = 2 * count
x = np.arange(n * n, dtype=np.float32).reshape(n, n)
own = slice(2 * process, 2 * process + 2)
around = [(k, (k + 1) % n) for k in range(n)]


def check(f):
    expected = mapped(f, n)(x)
    for how in (jax.jit, lambda f: f):
        got = how(mapped(f, 2, tuple(range(count))))(x[own])
        for of_part, of_all in zip(got, expected):
            np.testing.assert_allclose(np.float32(of_part), np.float32(of_all)[own], rtol=1e-6)
"""
FUNCTIONS = """
check(lambda x: lax.psum(x, "i"))
check(lambda x: lax.psum(1, "i") * x + lax.axis_index("i"))
check(lambda x: lax.psum((x, x[0], jnp.int32(x), x.astype(jnp.bfloat16)), "i"))
check(lambda x: lax.psum(x, "i", axis_index_groups=[[0, 2], [1, 3]]) if n == 4 else x)
check(lambda x: (lax.pmax(x, "i"), lax.pmin(x * jnp.nan, "i")))
check(lambda x: (lax.all_gather(x, "i"), lax.psum_scatter(x, "i"), lax.all_to_all(x, "i", 0, 0)))
check(lambda x: lax.ppermute(x, "i", around))
"""
LOOPS = """
check(lambda x: lax.scan(lambda c, _: (c + lax.psum(c * 0.5, "i"), c), x, None, length=3))
check(lambda x: lax.while_loop(
    lambda c: lax.psum(c[0], "i") < 100.0, lambda c: c + lax.psum(c, "i"), x + 1))
check(lambda x: lax.cond(lax.psum(x[0], "i") > 0, lambda x: lax.psum(x, "i"), lambda x: x, x))
"""


@needs_mpi
@pytest.mark.slow
@pytest.mark.parametrize("code, count", [(FUNCTIONS + LOOPS, 2), (FUNCTIONS, 4)])
def test_each_process_gets_its_part(code, count):
    ended = by_mpiexec(PROGRAM + code, count)
    assert ended.status == 0, ended.err


@needs_mpi
@pytest.mark.slow
def test_programs_that_differ_in_a_shape_are_named():
    code = "jax.jit(mapped(lambda x: lax.psum(x[process:], 'i'), 2, (0, 1)))(x[own])"
    ended = by_mpiexec(PROGRAM + code)
    assert ended.status != 0
    assert "process 0: jit(of_all): group_psum of float32[4]\n" in ended.err
    assert "process 1: jit(of_all): group_psum of float32[3]\n" in ended.err


def test_a_sum_of_processes_is_a_line_of_the_schedule_and_works_in_place():
    @jax.jit
    def f(x):
        return group_psum([x * 2], (0, 1))[0] + 1

    lowered = f.lower(jnp.ones(3000))
    line = "meet    group_psum(b) -> c:f32[3000]  # 2 processes meet: each sends 12,000 bytes, all 24,000"
    assert line in lowered.as_text("schedule")
    assert "c:f32[3000]  12,000 bytes, the memory of b" in lowered.as_text("memory")


def test_collectives_of_processes_are_not_merged_or_dropped():
    def f(x):
        return (
            group_psum([x], (0, 1))[0],
            group_psum([x], (0, 1))[0],
            group_all_gather(x, (0, 1)),
        )

    kept = jax.jit(lambda x: f(x)[0]).lower(np.float32(1)).as_text("simplified")
    assert (kept.count("group_psum"), kept.count("group_all_gather")) == (2, 1)


def test_without_other_processes_there_is_nobody_to_meet():
    with pytest.raises(RuntimeError, match=r"jax.distributed.initialize\(\) first"):
        group_psum([np.float32(1)], (0, 1))
