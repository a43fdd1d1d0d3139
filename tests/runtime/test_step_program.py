"""Loops and branches as steps of a schedule, compared with eager evaluation.

Memory that is used again is filled with rubbish first: a step that reads it too late fails."""

import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from kernel_threads import launch_all
from slow_params import slow_params

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.compile import plan
from tinyjax.runtime.devices import devices
from tinyjax.runtime.errors import OutOfDeviceMemory
from tinyjax.runtime.queue import Queue
from tinyjax.runtime.queues import SharedMemoryQueue, queue_of

CPU = devices("cpu")[0]
pytestmark = pytest.mark.skipif(CPU.cl_device is None, reason="there is no OpenCL device")


@pytest.fixture(autouse=True)
def rubbish_in_free_memory(monkeypatch):
    recycle = Queue.recycle

    def fill_and_recycle(queue, memory):
        queue.finish()
        if memory.host is not None:
            memory.host.reshape(-1).view(np.uint8)[:] = 0xAB
        recycle(queue, memory)

    monkeypatch.setattr(Queue, "recycle", fill_and_recycle)


@pytest.fixture(autouse=True, params=["by threads", "inline", "as usual"])
def kernel_thread(request, monkeypatch):
    """All kernels are launched in the same way, or as it is by default: several together."""
    if request.param != "as usual":
        launch_all(monkeypatch, inline=request.param == "inline")
    return request.param


@pytest.fixture
def steps(monkeypatch):
    """No loop becomes one kernel."""
    monkeypatch.setattr(plan, "loop_kernel", lambda *args: "as the test wants")


@pytest.fixture
def own_memory(monkeypatch):
    """The device has separate memory, as far as rows of arrays are concerned."""
    for name in ("row", "row_place", "store_row", "copies_rows"):
        monkeypatch.setattr(SharedMemoryQueue, name, getattr(Queue, name))


def compare(f, *args):
    """The compiled function, called twice, gives what eager evaluation gives."""
    expected = jax.tree_util.tree_leaves(f(*args))
    compiled = jax.jit(f)
    for found in (compiled(*args), compiled(*args)):
        for x, y in zip(jax.tree_util.tree_leaves(found), expected, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-5, atol=1e-6)
            assert (x.dtype, x.weak_type) == (y.dtype, y.weak_type)


def schedule(f, *args):
    return jax.jit(f).lower(*args).as_text("schedule")


x = jnp.arange(12.0).reshape(4, 3)
c = jnp.ones(3)

# ---- scan ----


@pytest.mark.parametrize("reverse", [False, True])
def test_a_scan_walks_through_rows(steps, reverse):
    compare(
        lambda c, x: lax.scan(lambda c, r: (jnp.sin(c) + r, c * 2), c, x, reverse=reverse), c, x
    )


def test_the_schedule_shows_the_body_and_the_reason(steps):
    def cumulative(c, x):
        return lax.scan(lambda c, r: (c + r, lax.cumlogsumexp(c)), c, x)

    text = re.sub(r"  # work-items: \d+", "", schedule(cumulative, c, x))
    assert text.split("\n", 1)[1] == (
        """\
  0: loop    scan(a, b) -> c:f32[3], d:f32[4,3]  # steps, not one kernel: as the test wants
     body(e, f):
       0: launch  k0_body_0_add(e, f) -> g:f32[3]
       1: host    cumlogsumexp(e) -> h:f32[3]  # each element needs those before it
       results: g, h
  results: c, d"""
    )


def test_the_groups_show_the_body_too(steps):
    text = jax.jit(lambda c: lax.fori_loop(0, 3, lambda i, c: c * 2, c)).lower(c).as_text("groups")
    assert "\n   body(c):\n     0: kernel  d:f32[3] from c  # mul" in text


def test_the_program_has_the_kernels_of_bodies(steps):
    text = jax.jit(lambda c: lax.fori_loop(0, 3, lambda i, c: c * 2, c)).lower(c).as_text()
    assert "__kernel void k0_body_0_" in text


BODIES = {
    "carry is row": lambda c, r: (c + r, c + r),
    "carry as it was": lambda c, r: (c, r),
    "row becomes carry": lambda c, r: (r, c),
    "constant carry": lambda c, r: (jnp.zeros(3), 1.0),
    "host step": lambda c, r: (lax.cumlogsumexp(c - r), lax.cumlogsumexp(r)),
}


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("memory", ["shared", "own"])
def test_carries_and_rows_may_be_the_same_memory(steps, request, name, memory):
    if memory == "own":
        request.getfixturevalue("own_memory")
    compare(lambda c, x: lax.scan(BODIES[name], c, x), c, x)


@pytest.mark.parametrize("memory", ["shared", "own"])
def test_carries_that_change_places(steps, request, memory):
    if memory == "own":
        request.getfixturevalue("own_memory")
    compare(lambda c, x: lax.scan(lambda c, r: ((c[1], c[0]), (c[0], r)), (c, c + 1), x), c, x)


def test_results_of_a_loop_are_memory_of_their_own(steps):
    d = c + 1
    swapped = jax.jit(lambda c, d: lax.fori_loop(0, 4, lambda i, s: (s[1], s[0]), (c, d)))(c, d)
    for given, got in zip((c, d), swapped):
        np.testing.assert_array_equal(given, got)
        assert not np.shares_memory(np.asarray(given), np.asarray(got))


def test_results_of_a_loop_stay_when_it_is_called_again():
    def body(i, c, x):  # its result reuses the memory of i, which is of another dtype
        return jnp.sum(jnp.zeros(3).at[jnp.array([i, i])].mul(0.5) + x)

    f = jax.jit(lambda x: lax.fori_loop(0, 2, lambda i, c: body(i, c, x), x))
    results = [f(np.float32(x)) for x in range(4)]
    assert results == [0, 3, 6, 9]


def test_loops_without_iterations_or_elements(steps):
    compare(lambda c, x: lax.scan(lambda c, r: (c + r, r), c, x[:0]), c, x)
    compare(lambda c, x: lax.scan(lambda c, r: (c + r.sum(), r), c, x[:, :0]), c, x)


def test_constants_of_jitted_functions_in_bodies(steps):
    table = np.arange(3, dtype=np.float32)
    scaled = jax.jit(lambda y: y * table)
    compare(lambda c, x: lax.scan(lambda c, r: (scaled(c) + r, c), c, x), c, x)
    compare(lambda c: lax.while_loop(lambda c: scaled(c).sum() < 9, lambda c: scaled(c) + 1, c), c)
    compare(lambda i, c: lax.cond(i > 0, scaled, lambda c: c - 1, c), 1, c)


def test_many_iterations_hold_on_to_a_limited_amount_of_memory(steps, monkeypatch, kernel_thread):
    most = []
    keep = Queue.keep
    monkeypatch.setattr(
        Queue, "keep", lambda q, *args: (keep(q, *args), most.append(len(q.pending)))
    )
    float(jax.jit(lambda c: lax.fori_loop(0, 300, lambda i, c: c + 1, c))(jnp.float32(0)))
    assert len(most) >= (300 if kernel_thread == "by threads" else 0)
    assert max(most, default=0) <= Queue.MAX_PENDING


# ---- while ----


def test_a_while_loop_reads_its_condition(steps):
    def f(c):
        return lax.while_loop(lambda s: s[0] < 10, lambda s: (s[0] + 1, jnp.sin(s[1])), (0, c))

    compare(f, c)


def test_a_while_loop_may_never_run(steps):
    compare(lambda c: lax.while_loop(lambda c: c.sum() < 0, jnp.sin, c), c)


def test_examples_of_a_batch_stop_at_different_iterations(steps):
    halve = lambda v: lax.while_loop(lambda v: v.sum() < 100, lambda v: v * 2 + 1, v)  # noqa: E731
    compare(jax.vmap(halve), x)


# ---- cond ----


@pytest.mark.parametrize("index", [-1, 0, 1, 2, 7])
def test_an_index_chooses_the_branch(steps, index):
    branches = [lambda c: (c, jnp.sin(c)), lambda c: (c, c), lambda c: (jnp.zeros(3), jnp.sort(c))]
    compare(lambda i, c: lax.switch(i, branches, c), index, c)


def test_only_the_chosen_branch_runs(steps):
    called = []

    def noted(c):
        return jax.pure_callback(lambda c: (called.append(1), np.asarray(c))[1], c, c)

    f = jax.jit(lambda p, c: lax.cond(p, noted, lambda c: c, c))
    np.asarray(f(False, c))
    assert not called
    np.asarray(f(True, c))
    assert called


# ---- one in the other ----


@pytest.mark.parametrize("memory", ["shared", "own"])
def test_loops_and_branches_in_loops(steps, request, memory):
    if memory == "own":
        request.getfixturevalue("own_memory")

    def body(c, r):
        d = lax.fori_loop(0, 3, lambda i, d: lax.cumlogsumexp(jnp.sin(d) + r), c)
        e = lax.cond(r[0] > 4, lambda d: d, lambda d: jnp.cos(d) * r, d)
        return e, (d, e)

    compare(lambda c, x: lax.scan(body, c, x), c, x)


def test_the_gradient_of_a_scan(steps):
    f = jax.grad(lambda c, x: lax.scan(lambda c, r: (jnp.sin(c) * r, c * 2), c, x)[1].sum())
    compare(f, c, x)


# ---- effects and errors ----


def test_effects_keep_their_order_in_bodies(steps):
    seen = []

    def body(c, r):
        jax.debug.callback(lambda r: seen.append(("first", float(r))), r.sum())
        jax.debug.callback(lambda c: seen.append(("second", float(c))), c)
        return c + 1, None

    jax.jit(lambda x: lax.scan(body, 0.0, x)[1])(x)
    jax.effects_barrier()
    assert seen == [
        (w, v) for i, r in enumerate([3, 12, 21, 30]) for w, v in (("first", r), ("second", i))
    ]


def test_what_a_callback_keeps_does_not_change(steps):
    kept = []

    def body(c, r):
        c = jnp.sin(c) + r
        jax.debug.callback(kept.append, c)
        return c, None

    last, _ = jax.jit(lambda c, x: lax.scan(body, c, x))(c, x)
    jax.effects_barrier()
    np.testing.assert_array_equal(kept[-1], last)
    assert len({float(k[1]) for k in kept}) == 4


def test_what_a_callback_gave_may_change_afterwards(steps):
    buffer = np.zeros(3, np.float32)

    def count(c):
        buffer[:] += 1
        return buffer

    def body(c, _):
        return c, jax.pure_callback(count, c, c) + c

    _, found = jax.jit(lambda c: lax.scan(body, c, None, length=4))(c)
    assert found[:, 0].tolist() == [2, 3, 4, 5]


def test_a_nan_is_found_inside_a_loop():
    f = jax.jit(lambda c: lax.fori_loop(0, 5, lambda i, c: jnp.log(c) - 1, c))
    with jax.debug_nans(True), pytest.raises(FloatingPointError, match="encountered in log"):
        f(c)


def test_a_body_that_cannot_fit_is_refused(steps):
    def body(i, s):
        return s + jnp.sort(jnp.broadcast_to(s, (2**20, 2**20)) + 1.0)[0, 0]

    with pytest.raises(OutOfDeviceMemory, match=r"an array f32\[1048576,1048576\]"):
        jax.jit(lambda s: lax.fori_loop(0, 3, body, s))(1.0)


def test_an_error_in_an_iteration_leaves_the_queue_usable(steps):
    def fail(c):
        raise ValueError("enough")

    f = jax.jit(lambda c: lax.fori_loop(0, 9, lambda i, c: jax.pure_callback(fail, c, c) + 1, c))
    with pytest.raises(jax.errors.JaxRuntimeError, match="enough"):
        f(c)
    compare(lambda c: lax.fori_loop(0, 9, lambda i, c: c * 2, c), c)
    with ThreadPoolExecutor(1) as other:  # which would wait for ever for a lock still held
        assert other.submit(queue_of(CPU).lock.acquire, blocking=False).result()
        other.submit(queue_of(CPU).lock.release).result()


# ---- interrupts ----

RUNAWAY = """
import os, signal, sys, threading
import numpy as np
import tinyjax as jax, tinyjax.numpy as jnp
from tinyjax import lax

count_up = lambda c: lax.while_loop(lambda c: c[0] < 9, lambda c: jnp.sort(c + 1), c)
large = lambda c: jnp.resize(c, (512, 512)) @ jnp.ones((512, 4)) / 512
bodies = {{
    "steps": lambda c: lax.sort([c + 1, c], num_keys=2)[0],
    "kernel": lambda c: c * 0.5 + 1,
    "kernels": lambda c: jnp.abs(large(c)[0]),
    "inner": lambda c: lax.while_loop(lambda c: c[0] >= 0, lambda c: c[::-1] * 0.5 + 1, c),
}}
f = lambda c: lax.while_loop(lambda c: c[0] >= 0, bodies.get("{form}", bodies["kernel"]), c)
jax.jit(count_up)(jnp.zeros(4))
if "{form}" != "eager":
    lowered = jax.jit(f).lower(jnp.ones(4))
    assert ("one kernel," in lowered.as_text("schedule")) == ("{form}" in ("kernel", "inner"))
    f = lowered.compile()
try:
    threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    np.asarray(f(jnp.ones(4)))
except KeyboardInterrupt:
    print("interrupted")
print(jax.jit(count_up)(jnp.zeros(4)))
"""


@pytest.mark.slow
@pytest.mark.parametrize("form", ["kernel", *slow_params("kernels", "inner", "steps", "eager")])
def test_a_runaway_loop_is_interrupted_and_the_next_call_works(form):
    program = RUNAWAY.format(form=form)
    command = [sys.executable, "-c", program]
    result = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert result.stdout.split("\n")[:2] == ["interrupted", "[9. 9. 9. 9.]"], result.stderr
