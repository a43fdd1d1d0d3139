"""Programs on a device "wasm", in wasmtime."""

import os
import subprocess
import sys

import numpy as np
import pytest

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.core.tracing import make_jaxpr
from tinyjax.runtime.devices import Device
from tinyjax.runtime.errors import OutOfDeviceMemory
from tinyjax.runtime.executable import compile_jaxpr
from tinyjax.runtime.queues import listen, queue_of
from tinyjax.runtime.step_program import KernelStep
from tinyjax.studio.recorder import ProfileRecorder

pytest.importorskip("wasmtime")
WASM = Device("wasm", 0, "WebAssembly")


def compiled(f, *args):
    return compile_jaxpr(make_jaxpr(f)(*args), WASM)


def run(f, *args):
    """What f gives as kernels in WebAssembly."""
    results = compiled(f, *args)([jnp.asarray(x) for x in args])
    return [np.asarray(result) for result in results]


X = np.linspace(-2, 2, 1000, dtype=np.float32)


def test_a_program_of_several_kernels_gives_what_numpy_gives():
    (found,) = run(lambda x: jnp.sin(x) / jnp.sum(jnp.cos(x) ** 2), X)
    np.testing.assert_allclose(found, np.sin(X) / np.sum(np.cos(X) ** 2), rtol=1e-5, atol=1e-7)


def test_arguments_and_constants_stay_as_they_are():
    x, y = X.copy(), X.copy()
    run(lambda x: x * y + 1, x)
    assert (x == X).all() and (y == X).all()


def test_results_are_arrays_of_the_device():
    (result,) = compiled(lambda x: x + 1, X)([jnp.asarray(X)])
    assert result.device == WASM
    assert str(result.device) == "wasm:0" and repr(WASM) == "WasmDevice(id=0)"


def test_an_array_without_elements_needs_no_kernel():
    (found,) = run(lambda x: x * 2, np.zeros((0, 3), np.float32))
    assert found.shape == (0, 3)


def test_a_transposed_operand_is_taken_in_the_order_of_its_axes():
    x = np.arange(6, dtype=np.float32).reshape(2, 3).T
    np.testing.assert_array_equal(run(lambda x: x + 1, x)[0], x + 1)


def test_a_loop_of_steps_keeps_its_carry_apart_from_its_rows():
    def loop(x):
        def body(carry, row):
            carry = jnp.sort(carry) + row
            return carry, carry * 2

        return lax.scan(body, jnp.zeros(3), x)

    x = np.arange(12, dtype=np.float32).reshape(4, 3)
    carry, rows = run(loop, x)
    np.testing.assert_array_equal(carry, x.sum(0))
    np.testing.assert_array_equal(rows, 2 * np.cumsum(x, axis=0))


def test_a_loop_in_one_kernel_goes_on_from_launch_to_launch():
    def halves(x):
        return lax.while_loop(lambda c: c[1] > 1e-3, lambda c: (c[0] + 1, c[1] / 2), (0, x))

    count, last = run(halves, np.float32(1.0))
    assert (count, last) == (10, 2.0**-10)


def test_a_large_product_is_a_kernel_as_there_is_no_blas():
    x = np.ones((600, 600), np.float32)
    program = compiled(lambda x: x @ x, x)
    assert all(isinstance(step, KernelStep) for step in program.step_program.steps)


def test_donated_memory_is_used_for_the_result():
    program = compile_jaxpr(make_jaxpr(lambda x: x + 1)(X), WASM, donated=[True])
    (x,) = compiled(lambda x: x * 2, X)([jnp.asarray(X)])
    (result,) = program([x])
    assert x.is_deleted()
    np.testing.assert_array_equal(result, X * 2 + 1)


def test_functions_of_a_float64_are_the_hosts():
    with jax.enable_x64():
        x = np.array([0.0, 1.0, 2.5])
        (found,) = run(lambda x: jnp.exp(x) + lax.erf(x) + x**x, x)
        from math import erf

        np.testing.assert_allclose(found, np.exp(x) + [erf(v) for v in x] + x**x, rtol=1e-14)


def test_a_profiler_hears_of_launches():
    recorder = ProfileRecorder()
    program, x = compiled(lambda x: x * 2 + 1, X), jnp.asarray(X)
    listen(recorder.on_launch, recorder.on_step)
    try:
        program([x])
    finally:
        listen(None, None)
    (event,) = recorder.finished()
    assert (event.kind, event.device, event.primitives) == ("kernel", WASM, ("mul", "add"))
    assert event.end >= event.start


def test_too_large_an_array_is_an_error_of_the_device():
    with pytest.raises(OutOfDeviceMemory, match=r"no memory for float32\[1099511627776\]"):
        queue_of(WASM).allocate((2**40,), np.dtype("float32"))


PROGRAM = """
import tinyjax as jax, tinyjax.numpy as jnp
x = jnp.arange(4.0)
print(jax.devices(), jax.devices("wasm")[0].device_kind, jax.default_backend())
print(jax.jit(jax.grad(lambda x: (x**3).sum()))(x))
print(jax.jit(lambda x: x).lower(x).as_text("schedule").splitlines()[0])
"""


@pytest.mark.slow
def test_it_is_the_device_of_a_program_that_asks_for_it():
    settings = os.environ | {"JAX_PLATFORMS": "wasm", "JAX_NUM_CPU_DEVICES": "2"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, env=settings
    )
    assert done.stdout.splitlines() == [
        "[WasmDevice(id=0), WasmDevice(id=1)] WebAssembly wasm",
        "[ 0.  3. 12. 27.]",
        "schedule of <lambda> on WasmDevice(id=0) (WebAssembly)",
    ], done.stderr
