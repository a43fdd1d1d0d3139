"""Loops of unknown length in the calling thread: one that takes too long runs again on the device's
threads, and gives the same."""

import numpy as np
import pytest
from slow_params import slow_params

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.compile import plan
from tinyjax.fast import launch_fusion
from tinyjax.fast.prepared_launch import prepared
from tinyjax.runtime.devices import devices
from tinyjax.runtime.loops import StoppableStep

CPU = devices("cpu")[0]
pytestmark = pytest.mark.skipif(CPU.inline_device is None, reason="the driver has threads only")


def count(x):
    """Each power of two up to 99, and how many there are."""
    return lax.while_loop(lambda s: s[0] < 99, lambda s: (s[0] * 2, s[1] + 1), (x, 0))


def within(x):
    """A while within a while, whose body is a while's."""
    once = lambda x: x + count(x / 50)[1]  # noqa: E731
    return lax.while_loop(lambda x: x < 1000, lambda x: once(x) + x / 7, x)


def solved(b):
    """Jacobi's iterations, of several kernels."""
    a = jnp.eye(b.size) * 4 + jnp.sin(jnp.arange(b.size**2.0)).reshape(b.size, -1) / b.size
    better = lambda x: x + (b - a @ x) / 4  # noqa: E731
    return lax.while_loop(lambda x: jnp.max(abs(b - a @ x)) > 1e-3, better, b)


LOOPS = {
    "number": lambda v: count(v[0]),
    "vector": lambda v: lax.while_loop(lambda v: v[0] < 99, lambda v: v[::-1] * 2, v),
    "float64": lambda v: count(v[0].astype("float64")),
    "batched": jax.vmap(count),
    "in a scan": lambda v: lax.scan(lambda c, x: (c + count(x)[0], count(c)[1]), 1.0, v),
    "in a while": lambda v: within(v[0]),
    "batched, in a while": jax.vmap(within),
    "in a branch": lambda v: lax.cond(v[0] > 2, solved, lambda v: v * count(v[1])[0], v),
    "solver": solved,
    "between kernels": lambda v: jnp.sum(solved(jnp.tanh(v)) * v) + v,
    "two": lambda v: (count(v[0]), solved(v), count(v[1])),
    "after a host step": lambda v: solved(jnp.sort(v)),
    "in host steps": lambda v: lax.scan(lambda c, x: (solved(jnp.sort(c)), x), v, v),
}


def steps_of(executable):
    steps = executable.runtime_executable().step_program.steps
    return [step for step in steps if isinstance(step, StoppableStep)]


@pytest.fixture(params=["several", *slow_params("one kernel")])
def kernels(request, monkeypatch):
    if request.param == "several":
        monkeypatch.setattr(plan, "loop_kernel", lambda *args: "as the test wants")


@pytest.mark.parametrize("most", [30, *slow_params(1, 3000, 100_000)])
@pytest.mark.parametrize("name", LOOPS)
def test_a_loop_that_takes_too_long_gives_the_same(kernels, monkeypatch, name, most):
    monkeypatch.setattr(launch_fusion, "inline_operations", lambda *args: most)
    f, v = LOOPS[name], jnp.linspace(1, 3, 20)
    with jax.enable_x64(name == "float64"):
        with jax.disable_jit():
            expected = jax.tree.leaves(f(v))
        compiled = jax.jit(f)
        for found in (compiled(v), compiled(v), compiled(v)):
            for x, y in zip(jax.tree.leaves(found), expected, strict=True):
                np.testing.assert_allclose(x, y, rtol=1e-4, atol=1e-5)


def test_the_threads_kernel_is_built_when_it_is_first_needed():
    f = lambda n: lax.fori_loop(0, n, lambda i, x: 1 - x * x, 0.5)  # noqa: E731
    executable = jax.jit(f).lower(3).compile()
    (step,) = steps_of(executable)
    executable(3)
    assert "by_threads" not in vars(step)
    executable(10**8)
    assert not step.by_threads.inline


@pytest.mark.parametrize("prepare", [lambda program: program, prepared])
def test_after_a_loop_that_was_too_long_calls_go_to_the_threads_for_a_while(monkeypatch, prepare):
    monkeypatch.setattr(launch_fusion, "inline_operations", lambda *args: 1000)
    executable = jax.jit(lambda n: lax.fori_loop(0, n, lambda i, x: x + 1, 0)).lower(3).compile()
    (step,), call = steps_of(executable), prepare(executable.runtime_executable())
    lengths = (10**4, 3, 10**4, 3, 3, 3, 3)
    rests = [(int(call([jnp.asarray(n)])[0]), step.rest) for n in lengths]
    assert rests == [(10**4, 1), (3, 0), (10**4, 3), (3, 2), (3, 1), (3, 0), (3, 0)]


def test_a_loop_that_cannot_begin_anew_is_left_to_the_threads(kernels):
    f = lambda x: solved(jnp.sin(x))  # noqa: E731
    executable = jax.jit(f, donate_argnums=0).lower(jnp.ones(20)).compile()
    (step,) = steps_of(executable)
    assert not step.operations and not step.step.inline
    np.testing.assert_allclose(executable(jnp.ones(20)), f(jnp.ones(20)), rtol=1e-4)


def test_the_schedule_says_who_runs_a_loop():
    schedule = jax.jit(count).lower(1.0).as_text("schedule")
    assert (
        "or by the device's threads once its loops take more than 20,000,000 operations" in schedule
    )


def test_a_loop_among_several_launches_is_left_to_the_threads(monkeypatch):
    monkeypatch.setattr(launch_fusion, "MAX_KERNELS", 3)
    f = lambda v: solved(solved(jnp.sin(v) + jnp.sum(v)) * 2)  # noqa: E731
    executable = jax.jit(f).lower(jnp.ones(20)).compile()
    assert [step.step.inline for step in steps_of(executable)] == [False, False]
    np.testing.assert_allclose(executable(jnp.ones(20)), f(jnp.ones(20)), rtol=1e-4)
