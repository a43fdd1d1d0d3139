import gc
import multiprocessing
import threading
from pathlib import Path

import numpy as np
import pytest
from kernel_threads import launch_all

from tinyjax import lax
from tinyjax.compile.lowered import lower_jaxpr
from tinyjax.core import bind, primitives
from tinyjax.core.array import ArrayImpl
from tinyjax.core.avals import get_aval
from tinyjax.core.structs import ShapeDtypeStruct
from tinyjax.core.tracing import make_jaxpr
from tinyjax.runtime.devices import devices
from tinyjax.runtime.errors import DeviceError, KernelBuildError, OutOfDeviceMemory
from tinyjax.runtime.executable import compile_jaxpr
from tinyjax.runtime.queues import queue_of
from tinyjax.transform.jit.api import jit

CPU = devices("cpu")[0]


def array(x):
    x = np.asarray(x, np.float32)
    return ArrayImpl(x, get_aval(x))


def compiled(f, *args):
    return compile_jaxpr(make_jaxpr(f)(*args), CPU, "f")


def test_a_call_gives_the_eager_result():
    x = array([1, 2, 3])
    (y,) = compiled(lambda x: primitives.mul(primitives.sin(x), x), x)([x])
    np.testing.assert_allclose(y, np.sin([1, 2, 3]) * [1, 2, 3], rtol=1e-6)


def test_arguments_constants_and_literals_can_be_results():
    table = array([5, 6])

    def f(x):
        return x, table, np.float32(2.5), primitives.neg(x), x

    found = compiled(f, array([1, 2]))([array([1, 2])])
    assert [np.asarray(v).tolist() for v in found] == [[1, 2], [5, 6], 2.5, [-1, -2], [1, 2]]


def test_a_kernel_may_follow_a_host_step_and_the_other_way_round():
    x = array([3, 1, 2])
    (y,) = compiled(lambda x: primitives.neg(lax.sort(primitives.neg(x))), x)([x])
    assert np.asarray(y).tolist() == [3, 2, 1]


def test_calls_may_overlap_and_outlive_their_executable():
    xs = [array(np.full(1000, i)) for i in range(200)]
    executable = compiled(lambda x: primitives.reduce_sum(primitives.mul(x, 2.0), (0,)), xs[0])
    sums = [executable([x])[0] for x in xs]
    del executable, xs
    gc.collect()
    assert [float(s) for s in sums] == [2000.0 * i for i in range(200)]


def test_an_executable_can_be_called_from_several_threads():
    x = array(np.arange(10_000))
    executable = compiled(
        lambda x: primitives.reduce_sum(primitives.sin(primitives.add(x, 1.0)), (0,)), x
    )
    expected = float(executable([x])[0])
    found = []
    threads = [
        threading.Thread(target=lambda: found.extend(float(executable([x])[0]) for _ in range(50)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 200


def test_a_result_feeds_the_next_call_without_being_read():
    x = array(np.ones(100))
    executable = compiled(lambda x: primitives.add(x, 1.0), x)
    for _ in range(300):
        (x,) = executable([x])
    assert np.asarray(x).tolist() == [301.0] * 100


needs_opencl = pytest.mark.skipif(CPU.cl_device is None, reason="there is no OpenCL device")


@needs_opencl
def test_calls_under_way_make_a_limited_amount_of_memory(monkeypatch):
    queue = queue_of(CPU)
    monkeypatch.setattr(type(queue), "MAX_PENDING_BYTES", 2**20)
    launch_all(monkeypatch, inline=False)
    x = array(np.ones(100_000))
    executable = compiled(lambda x: primitives.sin(x), x)
    for _ in range(20):
        (x,) = executable([x])
        assert queue.pending_bytes <= 2**20
        assert len(queue.pending) <= 2


@needs_opencl
def test_memory_kept_for_reuse_is_limited(monkeypatch):
    queue = queue_of(CPU)
    monkeypatch.setattr(type(queue), "MAX_FREE_BYTES", 2**20)
    for rows in range(10):
        x = np.ones((rows + 50, 1000), np.float32)
        jit(lambda x: lax.sort(primitives.neg(lax.exp(x))))(x)
    assert 0 < queue.free_bytes <= 2**20
    assert queue.free_bytes == sum(m.nbytes for free in queue.free.values() for m in free)


# ---- text ----


def test_the_text_has_the_program_and_the_schedule():
    f = jit(lambda x, y, z: primitives.reduce_sum(primitives.add(x, primitives.mul(y, z)), (0,)))
    text = f.lower(*[np.ones(1000, np.float32)] * 3).as_text()
    assert text.count("__kernel") == 1
    assert "launch  k0_mul_add_reduce_sum(a, b, c) -> f:f32[]" in text


@pytest.mark.parametrize(
    "stage, line",
    [
        ("jaxpr", "{ lambda ; a:f32[3]. let"),
        (
            "groups",
            "1: host    c:f32[3] from b  # sort: all elements of a row are needed to place one",
        ),
        ("kernel", "kernel k0_sin(a_in: f32[3], b_out: f32[3]), work-items: 1"),
        ("opencl", "    b_out[i1] = b;"),
        ("schedule", "  results: c"),
    ],
)
def test_every_stage_can_be_printed(stage, line):
    closed = make_jaxpr(lambda x: lax.sort(primitives.sin(x)))(np.ones(3, np.float32))
    assert line in lower_jaxpr(closed, CPU).as_text(stage).splitlines()


def test_an_unknown_stage_is_refused():
    closed = make_jaxpr(primitives.sin)(1.0)
    with pytest.raises(ValueError, match="there are the stages 'jaxpr', .* the passes .*'cse'"):
        lower_jaxpr(closed, CPU).as_text("hlo")


def test_without_kernels_the_text_is_the_schedule():
    assert jit(lax.sort).lower(np.ones(3, np.float32)).as_text().startswith("schedule of sort")


def test_groups_that_compute_alike_share_a_kernel():
    def f(x):
        for _ in range(3):
            x = lax.sort(primitives.mul(primitives.sin(x), 2.0))
        return primitives.mul(primitives.sin(x), 3.0)

    text = jit(f).lower(np.ones(3, np.float32)).as_text()
    assert text.count("__kernel") == 2
    assert text.count("launch  k0_sin_mul") == 3


# ---- what can't be done ----


def test_an_array_too_large_for_the_device_is_refused():
    huge = ShapeDtypeStruct((2**20, 2**20), np.dtype("float32"))
    with pytest.raises(
        OutOfDeviceMemory, match=r"an array f32\[1048576,1048576\] takes 4.1e\+03 GiB"
    ):
        compile_jaxpr(make_jaxpr(primitives.neg)(huge), CPU)


def test_code_that_does_not_build_is_told_in_three_lines_and_a_file_has_the_rest():
    program = "// a kernel\n__kernel void k0() { nonsense; }\n" + "// the rest\n" * 500
    with pytest.raises(KernelBuildError) as raised:
        queue_of(CPU).build(program, ["k0"])
    message, line, where = str(raised.value).splitlines()
    assert "nonsense" in message and line == "   2 __kernel void k0() { nonsense; }"
    file = Path(where.split()[-1].rstrip("."))
    assert " 502 // the rest" in file.read_text() and message[-40:] in file.read_text()
    file.unlink()


def test_an_error_in_a_host_step_leaves_the_device_usable(monkeypatch):
    def fail(*args, **params):
        raise MemoryError("no more")

    f, x = jit(lambda x: primitives.neg(lax.sort(primitives.sin(x)))), np.ones(100_000, np.float32)
    with monkeypatch.context() as patched:
        patched.setitem(bind.impl_rules, lax.sort_p, fail)
        with pytest.raises(MemoryError, match="no more"):
            f(x)
    np.testing.assert_allclose(f(x), -np.sin(x), rtol=1e-6)


@needs_opencl
def test_ctrl_c_just_after_a_launch_waits_for_it(monkeypatch):
    launch_all(monkeypatch, inline=False)
    x = array(np.ones(100_000))
    executable = compiled(lambda x: primitives.sin(primitives.sin(x)), x)
    queue, events = queue_of(CPU), []
    enqueue = queue.cl.enqueue_nd_range_kernel

    def interrupted(*args):
        events.append(enqueue(*args))
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(queue.cl, "enqueue_nd_range_kernel", interrupted)
        with pytest.raises(KeyboardInterrupt):
            executable([x])
    assert [event.command_execution_status for event in events] == [0]  # COMPLETE


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@needs_opencl
def test_a_fork_reads_results_and_refuses_to_compute():
    f = jit(lambda x: primitives.sin(primitives.add(x, 1.0)))
    x = np.zeros(1000, np.float32)
    result = f(x)
    forked = multiprocessing.get_context("fork")
    reports = forked.SimpleQueue()

    def child():
        reports.put(float(np.asarray(result)[0]))
        try:
            f(x)
        except DeviceError as error:
            reports.put(str(error))

    process = forked.Process(target=child, daemon=True)
    process.start()
    process.join(60)
    assert process.exitcode == 0
    assert reports.get() == pytest.approx(np.sin(1))
    assert not reports.empty(), "the fork ran a compiled function"
    assert "by multiprocessing.get_context('spawn')" in reports.get()


def test_a_numpy_argument_or_constant_may_change_while_a_call_is_under_way():
    table = np.ones(1_000_000, np.float32)
    f = jit(lambda x: primitives.reduce_sum(primitives.mul(primitives.sin(x), table), (0,)))
    x = np.ones(1_000_000, np.float32)
    expected = float(f(x))
    result = f(x)
    x[:] = table[:] = 5
    assert float(result) == expected == float(f(np.ones_like(x)))
