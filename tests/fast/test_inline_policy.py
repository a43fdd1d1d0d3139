import os
import subprocess
import sys

import numpy as np
import pytest

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.compile.lowered import lower_jaxpr
from tinyjax.fast import inline_policy
from tinyjax.fast.inline_policy import is_inline, stretches
from tinyjax.runtime.devices import devices
from tinyjax.runtime.queues import queue_of

CPU = devices("cpu")[0]
pytestmark = pytest.mark.skipif(CPU.inline_device is None, reason="the driver has threads only")


def routes(f, *args, cores=2):
    """For each group that is a kernel, whether the calling thread runs it."""
    plan = lower_jaxpr(jax.make_jaxpr(f)(*args), CPU).plan
    inline = {n for stretch in stretches(plan) if is_inline(plan, stretch, cores) for n in stretch}
    return [number in inline for number in plan.kernels]


def test_the_size_decides():
    assert routes(jnp.sin, jnp.ones(100)) == [True]
    assert routes(jnp.sin, jnp.ones(1_000_000)) == [False]


def test_what_more_cores_save_counts():
    x = jnp.ones(45_000)
    assert routes(jnp.sin, x, cores=2) == [True]
    assert routes(jnp.sin, x, cores=64) == [False]


def test_kernels_that_follow_each_other_go_the_same_way():
    both = lambda x, y: (jnp.sin(x), jnp.sin(y))  # noqa: E731
    assert routes(both, jnp.ones(100), jnp.ones(1_000_000)) == [False, False]
    apart = lambda x, y: jnp.sin(jnp.sum(jnp.sort(jnp.sin(y))) + x)  # noqa: E731
    assert routes(apart, jnp.ones(3), jnp.ones(1_000_000))[0] is False


def test_a_host_step_parts_them():
    f = lambda x: jnp.sin(jnp.sort(jnp.sin(x))[:10])  # noqa: E731
    assert routes(f, jnp.ones(1_000_000)) == [False, True]


def test_a_sequential_loop_gains_nothing_from_threads():
    recur = lambda c, xs: lax.scan(lambda c, x: (0.9 * c + x, c), c, xs)[1]  # noqa: E731
    assert routes(recur, jnp.zeros(16), jnp.ones((5_000, 16)), cores=64) == [True]
    assert routes(recur, jnp.zeros(16), jnp.ones((1_000_000, 16)), cores=64) == [False]


def count_up(body, x):
    return lax.while_loop(lambda x: x < 9, body, x)


def test_one_iteration_counts_of_loops_without_a_known_end():
    assert routes(lambda x: count_up(lambda x: x + 1, x), 1.0) == [True]
    assert routes(lambda x: count_up(lambda x: 1 + count_up(jnp.exp, x), x), 1.0) == [True]
    loops = jax.vmap(lambda x: count_up(lambda x: jnp.exp(x) + 1, x))
    assert routes(loops, jnp.ones(100)) == [True]
    assert routes(loops, jnp.ones(100_000)) == [False]


def programs(x):
    return jax.nn.softmax(jnp.sin(x) * 3), jnp.sum(jnp.exp(x)), jnp.cumsum(x), jnp.tanh(x.T)


def test_bits_do_not_depend_on_the_route(monkeypatch):
    x = jnp.asarray(np.random.default_rng(0).normal(size=(33, 65)).astype(np.float32))
    results = []
    for small in (True, False):
        monkeypatch.setattr(inline_policy, "is_small", lambda seconds, saved, small=small: small)
        results.append(jax.jit(lambda x: programs(x))(x))
    for inline, by_threads in zip(*results):
        np.testing.assert_array_equal(inline, by_threads)


@pytest.mark.parametrize("first", [True, False])
def test_results_of_one_route_are_arguments_of_the_other(monkeypatch, first):
    calls = []
    for small in (first, not first):
        monkeypatch.setattr(inline_policy, "is_small", lambda seconds, saved, small=small: small)
        f = jax.jit(lambda x: jnp.sin(x) + 1)
        f(jnp.ones(100_000))
        calls.append(f)
    x = expected = jnp.full(100_000, 0.5)
    for _ in range(20):
        x = calls[1](calls[0](x))
        expected = jnp.sin(jnp.sin(expected) + 1) + 1
    np.testing.assert_allclose(x, expected, rtol=1e-5)


def test_inline_work_leaves_nothing_to_wait_for():
    f = jax.jit(lambda x: x * 2)
    x = jnp.ones(3)
    f(x).block_until_ready()
    queue_of(CPU).finish()
    assert f(x).buffer.is_ready()


def test_a_driver_without_such_a_device_does_all_by_threads():
    code = "import tinyjax as jax; print(jax.devices()[0].inline_device, jax.jit(lambda x: x + 1)(1.0))"
    result = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env=os.environ | {"POCL_DEVICES": "pthread"},
    )
    assert result.stdout == "None 2.0\n", result.stderr
