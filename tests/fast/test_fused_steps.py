"""Loops and branches of several kernels in one launch give what eager evaluation gives."""

import numpy as np
import pytest

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.compile import plan
from tinyjax.fast import launch_fusion
from tinyjax.runtime.devices import devices
from tinyjax.runtime.loops import LoopStep
from tinyjax.runtime.step_program_builder import text_of

CPU = devices("cpu")[0]
pytestmark = pytest.mark.skipif(CPU.inline_device is None, reason="the driver has threads only")


@pytest.fixture(autouse=True, params=["as usual", "shared", "shared, and given up"])
def sharing(request, monkeypatch):
    """No loop becomes one kernel; work-items share all kernels, lending cores to each other or not, or as it
    is by default."""
    monkeypatch.setattr(plan, "loop_kernel", lambda *args: "as the test wants")
    if request.param != "as usual":
        patience = 1 if "given up" in request.param else 10**9
        monkeypatch.setattr(launch_fusion, "patience", lambda plan, number, cores: patience)
        monkeypatch.setattr(launch_fusion, "is_inline", lambda plan, stretch, cores: False)
        lends = request.param == "shared"
        monkeypatch.setattr(launch_fusion, "lends_cores", lambda plan, numbers, cores: lends)
    return request.param


def floats(*shape):
    return np.random.default_rng(len(shape)).uniform(-1, 1, shape).astype(np.float32)


def launches(f, *args):
    """How many launches a call has, outside of loops that the host runs."""
    return len(jax.jit(f).lower(*args).compile().runtime_executable().step_program.steps)


A, X = floats(40, 40) / 6, floats(5, 40)


def rotating(a, xs):
    step = lambda c, x: ((c[1], jnp.tanh(c[0] @ c[1]) + x[0], c[0], c[3]), (c[0], c[3][0]))  # noqa: E731
    return lax.scan(step, (a, a.T, 2 * a, a), xs, reverse=True)


def summed_in_place(a, xs):
    return lax.scan(lambda c, x: (c + x[:, None] * (c[0] @ a), c[1]), jnp.zeros_like(a), xs)


def two_of_one(a, xs):
    return lax.scan(lambda c, x: ((c[0] @ a + x,) * 2, (c[1], c[1])), (xs[0], xs[1]), xs)


def numbers_and_constants(a, xs):
    table = jnp.asarray(np.arange(40, dtype=np.float32))

    def step(c, x):
        half, flag, number = c
        return (half * jnp.bfloat16(0.5), jnp.logical_not(flag), 7), (table[::-1] * x @ a, number)

    return lax.scan(step, (jnp.ones(3, jnp.bfloat16), True, 1), xs)


def complex_numbers_pass(a, xs):
    step = lambda c, x: ((c[0], lax.cond(x[0] > 0, lambda z, v: v * 2, lambda z, v: v, *c)), x)  # noqa: E731
    return lax.scan(step, (jnp.complex64(1 + 2j), xs[0]), xs)


def until_all_are_done(a, xs):
    one = lambda x: lax.while_loop(lambda x: jnp.sum(x) < 9, lambda x: jnp.abs(a @ x) + 0.5, x)  # noqa: E731
    return jax.vmap(one)(xs)


def never(a, xs):
    return lax.while_loop(lambda s: s[1] < 0, lambda s: (s[0] @ a, s[1] + 1), (xs, 0))


def loops_within(a, xs):
    def step(c, x):
        c, y = lax.scan(lambda c, r: (c[::-1] * 0.5 + r @ a[0], c.sum()), c, a[:3])
        c = lax.while_loop(lambda c: jnp.sum(c) > x.sum(), lambda c: (a @ c)[::-1] / 2 - 1, c)
        return c, y

    return lax.scan(step, xs[0], xs)


def branches(a, xs):
    def step(c, x):
        index, v = c
        ways = (lambda v: v @ a, lambda v: v, lambda v: jnp.stack([v[1], v[0]]) * x)
        v = lax.switch(index, ways, v)
        v = lax.cond(x[0] > 0, lambda v: v / jnp.sum(v), lambda v: v - x, v)
        return (index + 1, v), (index, v)

    return lax.scan(step, (-1, xs[:2]), xs)


PROGRAMS = [
    rotating, summed_in_place, two_of_one, numbers_and_constants, complex_numbers_pass,
    until_all_are_done, never, loops_within, branches,
    jax.grad(lambda a, xs: summed_in_place(a, xs)[1].sum()),
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_launch_gives_what_eager_evaluation_gives(program):
    assert launches(program, A, X) == 1
    f = jax.jit(program)
    for args in [(A, X), (A / 2, X + 1), (A, X)]:  # its memory is used again
        with jax.disable_jit():
            expected = jax.tree.leaves(program(*args))
        for x, y in zip(jax.tree.leaves(f(*args)), expected, strict=True):
            x, y = np.asarray(x, np.complex64), np.asarray(y, np.complex64)
            np.testing.assert_allclose(x, y, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("workers", [3, 7])
def test_shares_need_not_be_equal(monkeypatch, workers):
    expected = jax.tree.leaves(jax.jit(rotating)(A, X))
    fused = launch_fusion.fused_launches
    monkeypatch.setattr(
        launch_fusion, "fused_launches", lambda plan, run, _: fused(plan, run, workers)
    )
    f = jax.jit(lambda a, xs: rotating(a, xs))
    for _ in range(3):
        for x, y in zip(jax.tree.leaves(f(A, X)), expected):
            np.testing.assert_array_equal(x, y)


def test_arguments_stay_as_they_were_and_donated_ones_become_results():
    a, xs = jnp.asarray(A), jnp.asarray(X)
    expected = jax.tree.leaves(jax.jit(rotating)(a, xs))
    np.testing.assert_array_equal(a, A)
    np.testing.assert_array_equal(xs, X)
    donating = jax.jit(lambda a, xs: rotating(a, xs), donate_argnums=0)
    for x, y in zip(jax.tree.leaves(donating(a + 0, xs)), expected):
        np.testing.assert_array_equal(x, y)


def test_a_host_step_in_the_body_leaves_the_loop_to_the_host():
    def program(a, xs):
        return lax.scan(lambda c, x: (lax.cumlogsumexp(c @ a), c[0]), xs, None, length=3)

    executable = jax.jit(program).lower(A, X).compile().runtime_executable()
    assert [type(step) for step in executable.step_program.steps] == [LoopStep]


def test_which_work_items_share_a_kernel(sharing):
    executable = jax.jit(rotating).lower(A, X).compile().runtime_executable()
    (launch,) = executable.lowered.plan.launches
    text = text_of([launch])
    assert text.count("__kernel") == 1
    assert ("_share(" in text) == (sharing != "as usual") == (launch.kernel.items > 1)
