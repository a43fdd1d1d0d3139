import re
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.compile.lowered import lower_jaxpr
from tinyjax.fast import inline_policy, launch_fusion
from tinyjax.fast.launch_fusion import fused_launches, runs, temporaries_of
from tinyjax.runtime.devices import devices
from tinyjax.runtime.step_program_builder import text_of

CPU = devices("cpu")[0]
pytestmark = pytest.mark.skipif(CPU.inline_device is None, reason="the driver has threads only")


def network(w, x):
    return jnp.tanh(jnp.tanh(x @ w) @ w)


ARGS = np.eye(16, dtype=np.float32) / 2, np.ones((8, 16), np.float32)


def compiled(f, *args):
    return jax.jit(f).lower(*args).compile()


def steps_of(f, *args):
    return compiled(f, *args).runtime_executable().step_program.numbers


def test_kernels_that_follow_each_other_are_one_step():
    assert steps_of(network, *ARGS) == [[0, 1]]


def test_a_host_step_parts_them():
    f = lambda w, x: network(w, jnp.sort(network(w, x)))  # noqa: E731
    assert steps_of(f, *ARGS) == [[0, 1], [2], [3, 4]]


def test_the_schedule_says_so():
    schedule = jax.jit(network).lower(*ARGS).as_text("schedule")
    names = re.findall(r"launch  (\w+)", schedule)
    assert f"in one launch, run by the calling thread: {', '.join(names)}" in schedule


def test_the_kernels_are_functions_of_one():
    builder = compiled(network, *ARGS).runtime_executable().builder
    text = text_of(list(builder.kernels[True].values()))
    assert text.count("__kernel") == 1 and "get_global_id" not in text
    assert len(re.findall(r"static .* void", text)) == 1  # both are the same


def test_what_only_the_stretch_sees_is_a_temporary():
    lowered = lower_jaxpr(jax.make_jaxpr(network)(*ARGS), CPU)
    plan = lowered.plan
    assert temporaries_of(plan, [0, 1]) == list(plan.groups[0].outputs)
    assert temporaries_of(plan, [0]) == temporaries_of(plan, [1]) == []


def test_a_result_of_an_inner_kernel_is_not():
    f = lambda w, x: (jnp.tanh(x @ w), network(w, x))  # noqa: E731
    inner, outer = jax.jit(f)(*ARGS)
    np.testing.assert_allclose(inner, np.tanh(0.5) * np.ones((8, 16)), rtol=1e-6)
    np.testing.assert_allclose(outer, np.tanh(np.tanh(0.5) / 2) * np.ones((8, 16)), rtol=1e-6)


def test_several_results_may_have_no_reader():
    def f(w, x):
        step = lambda carry: (carry[0] + 1, carry[1] * 2, carry[2] + carry[0] * carry[1])  # noqa: E731
        return network(w, lax.fori_loop(0, 3, lambda _, carry: step(carry), (x, x, x))[2])

    assert steps_of(f, *ARGS) == [[0, 1, 2]]


def test_results_keep_their_memory_when_the_function_is_called_again():
    f = jax.jit(network)
    w, x = map(jnp.asarray, ARGS)
    first = f(w, x)
    before = np.array(first)
    f(w, 2 * x).block_until_ready()
    np.testing.assert_array_equal(first, before)


def test_threads_may_call_it_at_once():
    f, (w, x) = compiled(network, *ARGS), ARGS
    factors = np.linspace(0, 1, 200, dtype=np.float32)
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda factor: np.array(f(w, factor * x)), factors))
    for factor, result in zip(factors, results):
        np.testing.assert_allclose(result, np.tanh(np.tanh(factor * x @ w) @ w), rtol=1e-5)


def test_donated_arguments_become_results():
    f = jax.jit(lambda w, x: (network(w, x) + x, x @ w), donate_argnums=1)
    w, x = map(jnp.asarray, ARGS)
    expected = f.__wrapped__(w, x)
    for got, wanted in zip(f(w, x + 0), expected):
        np.testing.assert_allclose(got, wanted, rtol=1e-6)


def test_kernels_that_share_a_sum_are_among_them(monkeypatch):
    monkeypatch.setattr(inline_policy, "is_small", lambda seconds, saved: True)
    x = np.random.default_rng(0).normal(size=300_000).astype(np.float32)
    f = lambda x: jnp.sum(jnp.sin(x / jnp.sqrt(jnp.sum(x * x))))  # noqa: E731
    assert steps_of(f, x) == [[0, 1]]
    for _ in range(2):  # what they count with is as it was
        np.testing.assert_allclose(jax.jit(f)(x), np.sum(np.sin(x / np.linalg.norm(x))), rtol=1e-3)


def test_a_loop_that_may_run_long_is_among_them():
    def f(x):
        doubled = jax.vmap(lambda x: lax.while_loop(lambda c: c < 9, lambda c: c * 2, x))(x)
        return jnp.sum(doubled - jnp.sum(jnp.sin(x)))

    x = np.linspace(1, 2, 100_000, dtype=np.float32)
    assert len(steps_of(f, x)) == 1
    doubled = np.where(x * 8 < 9, x * 16, x * 8)
    np.testing.assert_allclose(jax.jit(f)(x), np.sum(doubled - np.sum(np.sin(x))), rtol=1e-3)


def numbers_of(launches):
    return [launch.numbers for launch in launches]


def test_a_launch_has_so_many_kernels_at_most(monkeypatch):
    monkeypatch.setattr(launch_fusion, "MAX_KERNELS", 2)
    f = lambda w, x: network(w, network(w, x)) @ w  # noqa: E731
    plan = lower_jaxpr(jax.make_jaxpr(f)(*ARGS), CPU).plan
    assert runs(plan, [0, 1, 2, 3, 4]) == [[0, 1, 2, 3, 4]]
    assert numbers_of(fused_launches(plan, [0, 1, 2, 3, 4])) == [[0, 1], [2, 3], [4]]
    assert steps_of(f, *ARGS) == [[0, 1], [2, 3], [4]]
    np.testing.assert_allclose(jax.jit(f)(*ARGS), f(*ARGS), rtol=1e-6)


def test_threads_run_a_long_stretch_in_few_launches_unless_it_is_very_long(monkeypatch):
    monkeypatch.setattr(launch_fusion, "MAX_KERNELS", 2)
    monkeypatch.setattr(launch_fusion, "is_inline", lambda *args: False)
    f = lambda w, x: network(w, network(w, x)) @ w  # noqa: E731
    assert steps_of(f, *ARGS) == [[0, 1], [2, 3], [4]]
    np.testing.assert_allclose(jax.jit(f)(*ARGS), f(*ARGS), rtol=1e-6)
    monkeypatch.setattr(launch_fusion, "MAX_STRETCH", 4)
    assert steps_of(f, *ARGS) == [[0], [1], [2], [3], [4]]


def test_launches_of_a_run_share_the_memory_of_what_only_they_use(monkeypatch):
    monkeypatch.setattr(launch_fusion, "MAX_KERNELS", 2)
    f = lambda w, x: jnp.sum(network(w, network(w, x)))  # noqa: E731
    plan = lower_jaxpr(jax.make_jaxpr(f)(*ARGS), CPU).plan
    launches = fused_launches(plan, list(plan.kernels))
    assert len(launches) > 1 and not any(launch.outputs for launch in launches[:-1])
    assert len({launch.work[0] for launch in launches}) == 1
    steps = compiled(f, *ARGS).runtime_executable().step_program.steps
    (arena,) = steps[-1].last_uses
    assert all(arena in step.arguments for step in steps)


def test_calls_at_the_same_time_do_not_share_an_arena(monkeypatch):
    monkeypatch.setattr(launch_fusion, "MAX_KERNELS", 2)
    f, xs = (
        jax.jit(lambda w, x: jnp.sum(network(w, network(w, x)))),
        np.arange(40, dtype=np.float32),
    )
    alone = [f(ARGS[0], x + ARGS[1]) for x in xs]
    with ThreadPoolExecutor(4) as pool:
        together = pool.map(lambda x: f(ARGS[0], x + ARGS[1]), xs)
        np.testing.assert_array_equal(list(together), alone)


def test_a_launch_has_so_many_parameters_at_most():
    xs = [np.full((5, 6), i, np.float32) for i in range(64)]
    products = lambda *xs: [jnp.tanh(x @ y.T) @ y for x, y in zip(xs, xs[1:])]  # noqa: E731
    plan = lower_jaxpr(jax.make_jaxpr(products)(*xs), CPU).plan
    launches = fused_launches(plan, list(plan.kernels))
    counts = [len(launch.kernel.buffers) for launch in launches]
    assert len(counts) > 1 and max(counts) <= 1024 / 8
    for found, wanted in zip(jax.jit(products)(*xs), products(*xs)):
        np.testing.assert_allclose(found, wanted, rtol=1e-5)


def test_what_only_one_launch_uses_is_no_parameter():
    def angles(xs):  # first, a kernel for each makes a number that a later one reads
        return sum(jnp.sum(jnp.sin(x) @ x) for x in jnp.split(xs, 50))

    x = np.random.default_rng(0).normal(size=(150, 3, 3)).astype(np.float32)
    f = lambda x: angles(x) * 1.0  # noqa: E731
    assert len(steps_of(f, x)) < 4
    np.testing.assert_allclose(jax.jit(f)(x), f(x), rtol=1e-4)


def test_bodies_of_loops_have_such_steps(monkeypatch):
    def f(w, x):
        return lax.fori_loop(
            0, 3, lambda i, x: jax.lax.sort((network(w, x),) * 2, num_keys=2)[0], x
        )

    assert "in one launch" in jax.jit(f).lower(*ARGS).as_text("schedule")
    expected = ARGS[1]
    for _ in range(3):
        expected = np.tanh(np.tanh(expected @ ARGS[0]) @ ARGS[0])
    np.testing.assert_allclose(jax.jit(f)(*ARGS), expected, rtol=1e-5)


def test_a_profiler_names_all_of_them(tmp_path):
    f = compiled(network, *ARGS)
    with jax.profiler.trace(tmp_path):
        f(*ARGS).block_until_ready()
    (event,) = jax.profiler.events()
    assert event.name.split(", ") == re.findall(r"launch  (\w+)", f.as_text("schedule"))
