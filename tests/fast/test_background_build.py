"""Who answers while kernels build: NumPy, and then the compiled program, never both in one call."""

import gc
import math
import os
import subprocess
import sys
import weakref

import numpy as np
import pytest

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.compile.passes.pipeline import simplify
from tinyjax.core.config import config
from tinyjax.fast import background_build
from tinyjax.fast.background_build import BackgroundBuild, build_thread, numpy_seconds
from tinyjax.many_devices.across_processes import group_all_gather, group_psum
from tinyjax.runtime import executable
from tinyjax.runtime.devices import default_device

pytestmark = pytest.mark.skipif(
    default_device().cl_device is None, reason="without OpenCL there is nothing to build"
)


@pytest.fixture(autouse=True)
def in_the_background():
    with config.set("tinyjax_background_build", True):
        yield


def builds_of(f, *args) -> list:
    """What is built, or was, for the jitted function's calls with these arguments."""
    made = f.trace(*args).jaxpr.cache.values()
    return [build for build in made if isinstance(build, (BackgroundBuild, executable.Executable))]


def build_of(f, *args) -> BackgroundBuild:
    """The build that the jitted function's calls with these arguments wait for, or not."""
    (build,) = builds_of(f, *args)
    return build


# ---- who answers ----


def test_numpy_answers_until_the_kernels_are_built():
    f = jax.jit(lambda x: jnp.sin(x) * x)
    x = jnp.arange(4.0)
    with build_thread.at_work:  # nothing is built meanwhile
        first = f(x)
        assert build_of(f, x).executable is None
    build_of(f, x).done.wait()
    assert build_of(f, x).executable is not None
    np.testing.assert_allclose(f(x), first, rtol=1e-6)


def test_the_compiled_program_takes_over(monkeypatch):
    f = jax.jit(lambda x: x + 1)
    f(1.0)
    build_of(f, 1.0).done.wait()
    monkeypatch.setattr(BackgroundBuild, "evaluate", None)
    assert f(2.0) == 3.0


def test_after_a_slow_answer_the_next_call_waits(monkeypatch):
    f = jax.jit(lambda x: jnp.sin(x) * x - 1)
    x = jnp.arange(4.0)
    monkeypatch.setattr(background_build, "SLOW_ANSWER", 0)
    first = f(x)
    monkeypatch.setattr(BackgroundBuild, "evaluate", lambda *_: pytest.fail("NumPy answered"))
    np.testing.assert_allclose(f(x), first, rtol=1e-6)


def test_switched_off_every_call_waits():
    with config.set("tinyjax_background_build", False):
        f = jax.jit(lambda x: x + 2)
        assert f(1.0) == 3.0
        assert isinstance(build_of(f, 1.0), executable.Executable)


def test_switched_off_later_the_next_call_waits():
    f = jax.jit(lambda x: x + 3)
    f(1.0)
    with config.set("tinyjax_background_build", False):
        assert f(1.0) == 4.0
    assert build_of(f, 1.0).executable is not None


def test_compile_always_waits():
    compiled = jax.jit(lambda x: x + 4).lower(1.0).compile()
    assert isinstance(compiled.executable, executable.Executable)


def test_jitted_functions_inside_build_nothing_of_their_own():
    inner = jax.jit(lambda x: x * 2)
    f = jax.jit(lambda x: inner(x) + 1)
    with build_thread.at_work:
        assert f(1.0) == 3.0
        assert not builds_of(inner, 1.0)


# ---- what does not wait, and what does ----


def seconds_of(f, *args) -> float:
    return numpy_seconds(simplify(jax.make_jaxpr(f)(*args)).jaxpr)


def count_to(last):
    return lambda x: lax.while_loop(lambda x: x < last, lambda x: x + 1, x)


def test_numpy_tries_a_loop_of_unknown_length():
    f = jax.jit(count_to(10))
    with build_thread.at_work:
        assert f(0) == 10
        assert build_of(f, 0).executable is None


def test_a_loop_that_takes_too_long_begins_anew_when_its_kernel_is_built(monkeypatch):
    monkeypatch.setattr(background_build, "TRIAL_SECONDS", 1e-3)
    f = jax.jit(count_to(10**7))  # 10 s in NumPy
    assert f(0) == 10**7
    assert build_of(f, 0).executable is not None


def test_numpy_tries_loops_whose_estimate_is_somewhat_too_high():
    def steps(length):
        return lambda x: lax.fori_loop(0, length, lambda i, x: x + 1, x)

    def may_answer(f):
        return background_build.may_answer(simplify(jax.make_jaxpr(f)(0)).jaxpr)

    assert seconds_of(steps(100_000), 0) > background_build.MAX_NUMPY_SECONDS
    assert may_answer(steps(100_000)) and not may_answer(steps(10_000_000))


def called_back(x):
    return jax.pure_callback(lambda x: x, jax.ShapeDtypeStruct((), jnp.int32), x)


@pytest.mark.parametrize(
    "before", [lambda x: jax.debug.callback(lambda x: None, x) or x, called_back]
)
def test_a_loop_of_unknown_length_waits_where_python_would_be_called_again(before):
    f = jax.jit(lambda x: count_to(10)(before(x)))
    assert f(0) == 10
    assert isinstance(build_of(f, 0), executable.Executable)


def test_long_loops_and_large_arrays_take_long_in_numpy():
    def scan(length):
        return lambda x: lax.scan(lambda c, _: (jnp.sin(c), None), x, None, length)[0]

    assert (
        seconds_of(scan(10), 1.0)
        < background_build.MAX_NUMPY_SECONDS
        < seconds_of(scan(10**6), 1.0)
    )
    small, large = (
        jax.ShapeDtypeStruct((10,), jnp.float32),
        jax.ShapeDtypeStruct((10**9,), jnp.float32),
    )
    assert (
        seconds_of(jnp.sin, small) < background_build.MAX_NUMPY_SECONDS < seconds_of(jnp.sin, large)
    )


def test_a_matrix_product_takes_as_long_as_its_multiplications():
    def product(size):
        return seconds_of(jnp.matmul, *[jax.ShapeDtypeStruct((size, size), jnp.float32)] * 2)

    assert product(128) < background_build.MAX_NUMPY_SECONDS < product(5000)


@pytest.mark.parametrize(
    "meet", [lambda x: group_psum([x], (0, 1)), lambda x: group_all_gather(x, (0, 1))]
)
def test_processes_that_meet_wait_for_their_kernels(meet):
    x = jax.ShapeDtypeStruct((8,), jnp.float32)
    assert seconds_of(meet, x) == math.inf
    assert seconds_of(lambda x: lax.scan(lambda c, _: (c, meet(c)), x, None, 2), x) == math.inf


def test_what_looks_for_nans_waits():
    with jax.debug_nans(True), pytest.raises(FloatingPointError, match="log"):
        jax.jit(lambda x: jnp.log(x) + 5)(-1.0)


def test_while_a_trace_is_recorded_calls_wait(tmp_path):
    with jax.profiler.trace(tmp_path):
        jax.jit(lambda x: x * 3 + 7)(1.0)
    assert [event.kind for event in jax.profiler.events()] == ["kernel"]


# ---- results are as those of the compiled program ----

PROGRAMS = {
    "elementwise": lambda x: jnp.tanh(x) * jnp.exp(-x * x) + jax.nn.gelu(x),
    "reductions": lambda x: (x.sum(0), x.max(1), jnp.argmin(x), jax.nn.softmax(x)),
    "products": lambda x: x @ x.T + x @ jnp.ones(4, jnp.float32),
    "indexing": lambda x: (x[::-1, 1:], x.T, x[jnp.array([1, 0, 1])], x.at[0].add(1.0)),
    "integers": lambda x: (x.astype(jnp.int32) // 3, x > 0, jnp.cumsum(x.astype(jnp.int8))),
    "small floats": lambda x: (x.astype(jnp.bfloat16) * 2, x.astype(jnp.float16) + 1),
    "complex": lambda x: jnp.abs(x + 2j * x),
    "sorting": lambda x: (jnp.sort(x, 0), jnp.argsort(x, 1)),
    "scan": lambda x: lax.scan(lambda c, row: (c + row.sum(), c * row), 0.5, x),
    "cond": lambda x: lax.cond(x.sum() > 0, jnp.sin, jnp.cos, x),
    "gradient": jax.grad(lambda x: jnp.sum(jax.nn.log_softmax(x) ** 2)),
    "per example": jax.vmap(jax.value_and_grad(lambda x: jnp.sum(jnp.sin(x) * x))),
    "random": lambda x: jax.random.normal(jax.random.key(3), x.shape) + x,
    "weak types": lambda x: (2.0, x.sum() * 0 + 1, jnp.asarray(3)),
    "an argument": lambda x: (x, x),
    "no elements": lambda x: x[:0] * 2,
    "keys": lambda x: jax.random.split(jax.random.key(x[0, 0].astype(int))),
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS.keys())
def test_both_ways_give_the_same_up_to_rounding(program):
    f = jax.jit(program)
    x = jnp.asarray(np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32))
    with build_thread.at_work:
        answers = jax.tree.leaves(f(x))
    build_of(f, x).done.wait()
    compiled = jax.tree.leaves(f(x))
    for numpy, opencl in zip(answers, compiled, strict=True):
        assert numpy.aval == opencl.aval
        assert (numpy.device, numpy.committed) == (opencl.device, opencl.committed)
        if jnp.issubdtype(numpy.dtype, jax.dtypes.prng_key):
            numpy, opencl = jax.random.key_data(numpy), jax.random.key_data(opencl)
        rtol = 1e-2 if numpy.dtype in (jnp.bfloat16, jnp.float16) else 1e-5
        np.testing.assert_allclose(
            np.asarray(numpy, np.complex64), np.asarray(opencl, np.complex64), rtol=rtol, atol=1e-6
        )


def test_functions_differ_by_at_most_four_units_in_the_last_place():
    functions = [lax.sin, lax.tan, lax.exp, lax.log, lax.tanh, lax.logistic, lax.erfc, lax.lgamma]
    f = jax.jit(lambda x: [function(x) for function in functions])
    x = np.random.default_rng(0).uniform(0, 9, 1000).astype(np.float32)
    with build_thread.at_work:
        answers = f(x)
    build_of(f, x).done.wait()
    for numpy, opencl in zip(answers, f(x), strict=True):
        np.testing.assert_array_max_ulp(np.asarray(numpy), np.asarray(opencl), 4)


def test_the_result_of_an_evaluation_is_no_view_of_an_argument():
    f = jax.jit(lambda x: x[::2])
    x = jnp.arange(6.0)
    with build_thread.at_work:
        y = f(x)
    assert not np.may_share_memory(np.asarray(y), np.asarray(x))


# ---- effects, donation, settings ----


def test_effects_happen_once_in_each_call():
    seen = []
    f = jax.jit(lambda x: jax.debug.callback(seen.append, x) or x + 6)
    with build_thread.at_work:
        f(1.0)
    assert seen == [1.0]
    build_of(f, 1.0).done.wait()
    assert seen == [1.0]
    f(2.0)
    assert seen == [1.0, 2.0]


def test_donated_arguments_are_deleted():
    f = jax.jit(lambda x: x + 7, donate_argnums=0)
    x = jnp.arange(3.0)
    with build_thread.at_work:
        f(x)
    assert x.is_deleted()


def test_the_build_has_the_settings_of_the_call():
    f = jax.jit(lambda x: x * 2)
    with jax.enable_x64(True):
        with build_thread.at_work:
            f(np.float64(1 / 3))
        build_of(f, np.float64(1 / 3)).done.wait()
        assert f(np.float64(1 / 3)) == 2 / 3


def test_a_function_that_is_forgotten_before_its_turn_is_not_built():
    f, x = jax.jit(lambda x: jnp.sin(x) * x), jnp.arange(4.0)
    with build_thread.at_work:
        f(x)
        waiting = weakref.ref(build_of(f, x))
        del f
        gc.collect()
        assert waiting() is None


def test_an_error_of_the_build_is_told_and_raised_by_the_next_call(monkeypatch, caplog):
    def fail(*args):
        raise executable.OutOfDeviceMemory("no")

    monkeypatch.setattr(executable, "compile_jaxpr", fail)
    f = jax.jit(lambda x: x + 8)
    with build_thread.at_work:
        assert f(1.0) == 9.0
    build_of(f, 1.0).done.wait()
    assert (
        "could not be built, and NumPy has answered so far (OutOfDeviceMemory: no)" in caplog.text
    )
    with pytest.raises(executable.OutOfDeviceMemory) as first:
        f(1.0)
    shown = len(first.traceback)
    with pytest.raises(executable.OutOfDeviceMemory) as second:
        f(1.0)
    assert len(second.traceback) == shown


# ---- processes ----


def run(code: str) -> subprocess.CompletedProcess:
    environment = os.environ | {
        "PYTHONPATH": ":".join(filter(None, sys.path)),
        "TINYJAX_BACKGROUND_BUILD": "1",
    }
    return subprocess.run(
        [sys.executable, "-c", "import tinyjax as jax\n" + code],
        env=environment,
        capture_output=True,
        text=True,
    )


@pytest.mark.slow
def test_a_process_can_end_while_kernels_build(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))  # nothing is there from earlier runs
    done = run("for n in range(5): print(jax.jit(lambda x: jax.numpy.sin(x) * n)(0.0))")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split() == ["0.0"] * 5


@pytest.mark.slow
def test_a_fork_refuses_to_compute_whether_or_not_the_kernels_were_built():
    done = run(
        "import os\n"
        "from tinyjax.fast import background_build\n"
        "from tinyjax.runtime import errors\n"
        "background_build.BackgroundBuild.begin = lambda build: None\n"
        "f = jax.jit(lambda x: x + 1)\n"
        "print(f(0.0), flush=True)\n"
        "child = os.fork()\n"
        "if child: raise SystemExit(os.waitpid(child, 0)[1])\n"
        "try: print(f(1.0))\n"
        "except errors.DeviceError as error: print('spawn' in str(error))\n"
    )
    assert (done.returncode, done.stdout.split()) == (0, ["1.0", "True"])


@pytest.mark.slow
def test_a_process_can_fork_while_kernels_build(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    done = run(
        "import os\n"
        "y = jax.jit(lambda x: jax.numpy.sin(x) + 1)(0.0)\n"
        "child = os.fork()\n"
        "os.write(1, f'{y}\\n'.encode())\n"
        "if child: raise SystemExit(os.waitpid(child, 0)[1])\n"
    )
    assert (done.returncode, done.stdout.split()) == (0, ["1.0", "1.0"])
