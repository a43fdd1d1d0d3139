"""Which arrays share memory, and how much a call takes."""

import tracemalloc
import warnings

import numpy as np
import pytest

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.compile import plan
from tinyjax.compile.lowered import lower_jaxpr
from tinyjax.core.runtime_errors import JaxRuntimeError
from tinyjax.runtime.devices import devices
from tinyjax.runtime.executable import compile_jaxpr
from tinyjax.runtime.queues import queue_of

CPU = devices("cpu")[0]
pytestmark = pytest.mark.skipif(CPU.cl_device is None, reason="there is no OpenCL device")


def lowered(f, *args, donated=()):
    return lower_jaxpr(jax.make_jaxpr(f)(*args), CPU, "f", donated)


def ours(x):
    """An array that a compiled program made, and that nobody has looked at."""
    return compile_jaxpr(jax.make_jaxpr(lambda x: x * 1.5)(x), CPU)([jnp.asarray(x)])[0]


# ---- programs ----


def sorted_between(x):
    y = x * 2.0
    return lax.sort(y) + y


def test_a_result_is_made_in_the_memory_of_what_nothing_reads_any_more():
    text = lowered(sorted_between, jnp.ones(300)).as_text("memory")
    assert "the memory of b, in place" in text
    f = jax.jit(sorted_between)
    x = np.arange(300, dtype=np.float32)[::-1].copy()
    np.testing.assert_array_equal(f(x), np.sort(2 * x) + 2 * x)


def test_what_is_read_elsewhere_gives_its_memory_to_what_comes_later():
    def f(x):
        y = x * 2.0
        z = lax.sort(y) + y[::-1]
        return lax.sort(z) * z[::-1]

    text = lowered(f, jnp.ones(300)).as_text("memory")
    assert "in place" not in text and text.count("the memory of") == 1
    x = jnp.arange(300.0)[::-1]
    np.testing.assert_array_equal(jax.jit(f)(x), f(x))


def test_checkpoint_lowers_the_peak_of_a_gradient():
    """What it recomputes is computed just before the backward pass needs it."""

    def layer(w, x):
        return jnp.tanh(jnp.sin(x @ w) @ w)

    def peak(layer):
        def loss(ws, x):
            for w in ws:
                x = layer(w, x)
            return x.sum()

        ws, x = [jnp.ones((64, 64))] * 5, jnp.ones((512, 64))
        return lowered(jax.grad(loss), ws, x).plan.memory.peak_bytes

    assert peak(jax.checkpoint(layer)) < 0.7 * peak(layer)


def host_steps_in_a_chain(x):
    for _ in range(50):
        x = jnp.fft.fft(x).real
    return x


def test_results_of_host_steps_are_freed_after_their_last_reader():
    x = jnp.ones(1001)
    assert lowered(host_steps_in_a_chain, x).plan.memory.peak_bytes <= 8 * x.nbytes
    f, x = jax.jit(host_steps_in_a_chain), jnp.ones(2**15)
    expected = np.asarray(f(x))
    tracemalloc.start()
    np.testing.assert_array_equal(f(x), expected)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20 * x.nbytes


def several_kernels(x):
    for _ in range(4):
        y = jnp.sin(x)
        x = y - y[::-1].sum(1, keepdims=True) * y.T
    return x


def growing(x):
    return lax.while_loop(lambda c: c.max() < 100.0, lambda c: c * 1.5 + c[::-1], x)


@pytest.mark.parametrize("f", [several_kernels, growing])
def test_the_peak_is_what_a_call_allocates(f):
    x = jnp.ones((1000, 1000))
    executable = compile_jaxpr(jax.make_jaxpr(f)(x), CPU)
    executable([x])[0].block_until_ready()  # x is on the device now
    queue_of(CPU).free.clear()
    queue_of(CPU).pool.collect()
    queue_of(CPU).pool.clear()
    tracemalloc.start()
    executable([x])[0].block_until_ready()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    memory = executable.lowered.plan.memory
    assert 0.95 < peak / (memory.peak_bytes - memory.argument_bytes) < 1.05


# ---- loops ----


@pytest.fixture
def steps(monkeypatch):
    """No loop becomes one kernel."""
    monkeypatch.setattr(plan, "loop_kernel", lambda *args: "as the test wants")


def test_a_loop_writes_its_carry_over_that_of_the_iteration_before(steps):
    def f(x):
        return lax.while_loop(lambda c: c[0] < 100.0, lambda c: c * 2.0 + 1.0, x)

    x = jnp.arange(300.0)
    before = np.array(x)
    text = lowered(f, x).as_text("memory")
    assert "the memory of c, in place" in text
    for _ in range(2):
        np.testing.assert_array_equal(jax.jit(f)(x), f(x))
    np.testing.assert_array_equal(x, before)  # the first iteration had a copy


def test_parts_of_a_carry_in_one_memory_are_told_apart(steps):
    def f(x):
        return lax.fori_loop(0, 3, lambda i, c: (c[0] * 2.0, c[1] + c[0][::-1]), (x, x))

    x = jnp.arange(300.0)
    for found, expected in zip(jax.jit(f)(x), f(x)):
        np.testing.assert_array_equal(found, expected)


def test_rows_that_a_scan_stacks_are_made_where_they_go(steps):
    def body(c, x):
        return c + 1.0, c * 2.0

    c, xs = jnp.arange(30.0), jnp.ones(4)
    for found, expected in zip(jax.jit(lambda c: lax.scan(body, c, xs))(c), lax.scan(body, c, xs)):
        np.testing.assert_array_equal(found, expected)


# ---- donation ----


def test_a_donated_argument_becomes_the_result():
    f = jax.jit(lambda p, g: p - 0.5 * g, donate_argnums=0)
    p = ours(np.ones(1000, np.float32))
    memory = p.buffer
    new = f(p, np.ones(1000, np.float32))
    if new.buffer is not None:
        assert new.buffer.cl is memory.cl
    assert p.is_deleted()
    np.testing.assert_array_equal(new, np.ones(1000, np.float32))


@pytest.mark.parametrize("size", [20, 36, 50])
def test_vectors_that_overlap_are_not_in_place(size):
    def f(x, y, rows):
        return jnp.tanh(y * jnp.take_along_axis(x, rows, 0) + jnp.sin(y)) + jnp.exp(-y * y)

    x, y = (jnp.asarray(np.random.default_rng(n).normal(size=(3, size))) for n in (0, 1))
    rows = jnp.asarray(np.random.default_rng(2).integers(0, 3, (3, size)))
    expected = f(x, y, rows)
    found = jax.jit(f, donate_argnums=1)(x, y, rows)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_who_has_seen_a_donated_array_keeps_what_was_seen():
    p = ours(np.ones(1000, np.float32))
    seen = np.asarray(p)
    jax.jit(lambda p: p + 1.0, donate_argnums=0)(p).block_until_ready()
    np.testing.assert_array_equal(seen, np.full(1000, 1.5, np.float32))


def test_who_shares_a_donated_array_keeps_it():
    p = ours(np.ones(1000, np.float32))
    same = compile_jaxpr(jax.make_jaxpr(lambda x: x)(p), CPU)([p])[0]
    compile_jaxpr(jax.make_jaxpr(lambda x: x + 1.0)(p), CPU, donated=[True])([p])
    np.testing.assert_array_equal(same, np.full(1000, 1.5, np.float32))


def test_numpy_arrays_are_never_written_to():
    x = np.ones(1000, np.float32)
    jax.jit(lambda x: x + 1.0, donate_argnums=0)(x).block_until_ready()
    np.testing.assert_array_equal(x, np.ones(1000, np.float32))


def test_a_call_that_fails_has_its_donated_arguments_all_the_same():
    def fail(total):
        raise ValueError("no")

    def f(x):
        y = jnp.sin(x)
        return y + jax.pure_callback(fail, jax.ShapeDtypeStruct((), jnp.float32), y.sum())

    p = ours(np.ones(1000, np.float32))
    with pytest.raises(JaxRuntimeError, match="no"):
        jax.jit(f, donate_argnums=0)(p).block_until_ready()
    assert p.is_deleted()


def test_a_donation_that_no_result_can_use_is_refused_with_a_warning():
    x = jnp.ones(1000)
    with pytest.warns(UserWarning, match=r"donated buffers were not usable: float32\[1000\]"):
        jax.jit(lambda x: x.sum(), donate_argnums=0)(x)
    assert not x.is_deleted()


def test_bytes_count_not_shapes_and_unused_arguments_are_kept_without_a_word():
    x, unused = ours(np.ones((10, 30), np.float32)), jnp.ones((10, 30))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        f = jax.jit(lambda x, y: x.T.astype(jnp.int32), donate_argnums=(0, 1))
        np.testing.assert_array_equal(f(x, unused), np.ones((30, 10), np.int32))
    assert x.is_deleted() and not unused.is_deleted()


def test_one_array_cant_be_donated_and_used():
    x = jnp.ones(10)
    with pytest.raises(RuntimeError, match="argument 0 is donated"):
        jax.jit(lambda x, y: x + y, donate_argnums=0)(x, x)
