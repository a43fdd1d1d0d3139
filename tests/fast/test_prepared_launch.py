"""Calls of programs that are one inline launch: as the programs answer them."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.fast.prepared_launch import is_one_launch, prepared
from tinyjax.runtime.devices import devices
from tinyjax.runtime.errors import DeviceError
from tinyjax.studio.recorder import step_times

CPU = devices("cpu")[0]
pytestmark = pytest.mark.skipif(CPU.inline_device is None, reason="the driver has threads only")

ONES, TABLE = jnp.ones(3), np.arange(3, dtype=np.float32)
ONE_LAUNCH = {
    "a function of a number": (lambda x: x * jnp.sin(x), (jnp.float32(3),)),
    "several results": (lambda x, y: (x + y, x.sum(), {"a": x > y}), (ONES, 2 * ONES)),
    "an argument that is not read": (lambda x, y: y * 2, (ONES, ONES)),
    "an argument that is read twice": (lambda x: x @ x, (jnp.eye(4),)),
    "a constant": (lambda x: x * TABLE, (ONES,)),
    "a loop of unknown length": (
        lambda n: lax.fori_loop(0, n, lambda i, x: x + i, 0),
        (jnp.int32(10),),
    ),
    "a loop that is too long": (
        lambda n: lax.fori_loop(0, n, lambda i, x: x + i, 0),
        (jnp.int32(10**7),),
    ),
    "results in the memory of other outputs": (jnp.linalg.eigvalsh, (jnp.eye(4),)),
    "kernels in one": (lambda x: jnp.tanh(jnp.tanh(x @ x) @ x), (jnp.eye(16) / 2,)),
}
OTHERS = {
    "a host step": (lambda x: jnp.sort(x) + 1, (ONES,)),
    "a result that is an argument": (lambda x: (x, x + 1), (ONES,)),
    "a result twice": (lambda x: [x + 1] * 2, (ONES,)),
    "a large result": (lambda x: jnp.zeros(2**14) + x, (jnp.float32(1),)),
    "no elements": (lambda x: x + 1, (jnp.ones(0),)),
    "a dtype of ml_dtypes": (lambda x: x + 1, (ONES.astype(jnp.bfloat16),)),
    "a key": (lambda key: jax.random.split(key), (jax.random.key(0),)),
}


def program_of(f, *args, **options):
    return jax.jit(f, **options).lower(*args).compile().runtime_executable()


@pytest.mark.parametrize("kind", ONE_LAUNCH)
def test_one_launch_gives_what_the_program_does(kind):
    f, args = ONE_LAUNCH[kind]
    program, leaves = program_of(f, *args), jax.tree.leaves(args)
    assert is_one_launch(program)
    call = prepared(program)
    for expected, result in zip(program(leaves), call(leaves), strict=True):
        assert (expected.aval, expected.device) == (result.aval, result.device)
        np.testing.assert_array_equal(expected, result)


@pytest.mark.parametrize("kind", OTHERS)
def test_other_programs_are_called_themselves(kind):
    f, args = OTHERS[kind]
    program = program_of(f, *args)
    assert prepared(program) is program


def test_donated_memory_is_for_the_program_to_take():
    program = program_of(lambda x: x + 1, ONES, donate_argnums=0)
    assert prepared(program) is program


def test_arguments_come_from_the_host_and_are_refused_when_deleted():
    f = jax.jit(lambda x, y: x + y)
    f(1.0, ONES), f(1.0, ONES)
    np.testing.assert_array_equal(f(2.0, ONES), [3, 3, 3])
    gone = jnp.ones(3)
    gone.delete()
    with pytest.raises(RuntimeError, match="deleted"):
        f(2.0, gone)


def test_threads_do_not_take_each_others_arguments():
    f = jax.jit(lambda x: x * 2)
    with ThreadPoolExecutor(4) as pool:
        doubled = pool.map(lambda n: float(f(jnp.float32(n))), range(400))
        assert list(doubled) == [2 * n for n in range(400)]


def test_a_profiler_hears_of_the_launch():
    f = jax.jit(lambda x: x * 2)
    f(ONES), f(ONES)
    assert list(step_times(lambda: f(ONES))) == [(0,)]


def test_a_driver_that_fails_is_named(monkeypatch):
    program = program_of(lambda x: x * 2, ONES)
    call, queue = prepared(program), program.queue

    def fail(*args):
        raise queue.driver_error("no power")

    monkeypatch.setattr(queue, "run_inline", fail)
    with pytest.raises(DeviceError, match="while running"):
        call([ONES])
