"""Times of kernels and host steps, as records, a table and a file."""

import gzip
import itertools
import json

import numpy as np
import pytest

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.runtime.queues import queue_of
from tinyjax.studio import recorder

pytestmark = pytest.mark.skipif(
    jax.devices()[0].cl_device is None, reason="without OpenCL there are no kernels"
)


@pytest.fixture(autouse=True)
def _compiled():
    """Calls wait for their kernels: NumPy's answers are not recorded."""
    with jax.config.set("tinyjax_background_build", False):
        yield


@jax.jit
def step(x):
    return jnp.sort(jnp.sin(x) * 2) + 1


x = np.ones(1000, np.float32)


def recorded(tmp_path, fun):
    with jax.profiler.trace(tmp_path):
        jax.block_until_ready(fun())
    return jax.profiler.events()


def test_each_launch_is_an_event_that_names_kernel_function_and_primitives(tmp_path):
    first, second = [e for e in recorded(tmp_path, lambda: step(x)) if e.kind == "kernel"]
    assert (first.executable, first.lines, first.primitives) == ("step", (0,), ("sin", "mul"))
    assert first.name == "k0_sin_mul" and first.nbytes == 8000
    assert (second.lines, second.primitives) == ((2,), ("add",))
    assert first.device == jax.devices()[0]


def test_times_follow_each_other(tmp_path):
    kernels = [e for e in recorded(tmp_path, lambda: step(x)) if e.kind == "kernel"]
    for event in kernels:
        assert 0 <= event.queued <= event.submitted <= event.start <= event.end
        assert event.microseconds == event.end - event.start
    assert kernels[0].end <= kernels[1].start


def test_a_host_step_ends_between_the_kernels_around_it(tmp_path):
    events = sorted(recorded(tmp_path, lambda: step(x)), key=lambda e: e.end)
    assert [(e.kind, e.primitives) for e in events] == [
        ("kernel", ("sin", "mul")),
        ("host", ("sort",)),
        ("kernel", ("add",)),
    ]


def test_a_kernel_in_a_loop_is_an_event_a_round(tmp_path):
    def loop(x):
        return jax.lax.fori_loop(0, 3, lambda i, c: jax.lax.sort((c * 2, c), num_keys=2)[0], x)

    events = recorded(tmp_path, lambda: jax.jit(loop)(x))
    assert [e.kind for e in events].count("kernel") == 3
    assert [e.primitives for e in events if e.kind == "loop"] == [("scan",)]
    assert {e.loops for e in events} == {(), (0,)}


def test_large_and_small_kernels_are_both_recorded(tmp_path):
    double = jax.jit(lambda x: x * 2)
    for n in (1, 3_000_000):
        (event,) = recorded(tmp_path, lambda n=n: double(np.ones(n, np.float32)))
        assert event.kind == "kernel" and event.nbytes == 8 * n


def test_annotations_are_events_with_their_arguments(tmp_path):
    @jax.profiler.annotate_function
    def train():
        with jax.profiler.StepTraceAnnotation("train step", step_num=3):
            return step(x)

    events = [e for e in recorded(tmp_path, train) if e.kind == "annotation"]
    assert "train" in events[0].name and events[1].name == "train step"
    assert events[1].arguments == (("step_num", 3),)


def test_an_annotation_without_a_trace_does_nothing():
    before = jax.profiler.events()
    with jax.profiler.TraceAnnotation("alone"):
        pass
    assert jax.profiler.events() == before


def test_the_file_is_where_jax_puts_it_and_perfetto_reads_it(tmp_path):
    with jax.profiler.trace(tmp_path, create_perfetto_trace=True):
        step(x)
    files = sorted(tmp_path.glob("plugins/profile/*/*.trace.json.gz"))
    assert len(files) == 1
    content = json.loads(gzip.open(files[0]).read())
    spans = [e for e in content["traceEvents"] if e["ph"] == "X"]
    assert [s["name"] for s in spans] == [e.name for e in jax.profiler.events()]
    assert spans[0]["args"]["jitted function"] == "step"
    assert (files[0].parent / "perfetto_trace.json.gz").exists()


def test_the_summary_has_a_line_a_kernel(tmp_path):
    recorded(tmp_path, lambda: [step(x), step(x)])
    head, *lines = jax.profiler.summary().splitlines()
    assert head.split()[:3] == ["function", "kernel", "launches"]
    assert len(lines) == 3 and all(line.split()[0] == "step" for line in lines)
    assert any("sort (host)" in line for line in lines)
    assert any("k0_sin_mul" in line and " 2 " in line for line in lines)


def test_the_summary_fits_100_columns_however_long_names_are():
    names = " ".join(["broadcast_in_dim"] * 30)
    long = recorder.Event(
        "kernel", f"k0_{names.replace(' ', '_')}", 0.0, 18_938.0, executable="a_function" * 9,
        primitives=tuple(names.split()), nbytes=10**9,
    )  # fmt: skip
    lines = jax.profiler.summary([long]).splitlines()
    assert max(map(len, lines)) <= 100 and "18.9 ms" in lines[1]


def test_the_summary_of_nothing_is_its_head():
    assert len(jax.profiler.summary([]).splitlines()) == 1


def test_while_nobody_traces_queues_take_no_times(tmp_path):
    queue = queue_of(jax.devices()[0])
    assert queue.on_step is None
    recorded(tmp_path, lambda: step(x))
    assert queue.on_step is None
    if queue.device.cl_device is not None:
        assert queue.on_launch is None and queue.queue.properties == 0


def test_each_step_of_a_schedule_has_its_time():
    times = jax.profiler.step_times(lambda: step(x))
    assert list(times) == [(0,), (1,), (2,)] and all(0 < t < 1e6 for t in times.values())


def test_a_clock_too_coarse_for_a_step_gives_the_mean_of_many_calls(monkeypatch):
    ticks = itertools.cycle([0.0, 0.0, 0.0, 100.0])
    events = lambda run: [recorder.Event("kernel", "k", 0.0, next(ticks), lines=(0,))]  # noqa: E731
    monkeypatch.setattr(recorder, "call_events", events)
    assert jax.profiler.step_times(lambda: None) == {(0,): 25.0}


def test_of_a_clock_too_coarse_a_call_has_the_mean_times_of_many(monkeypatch):
    ends = itertools.cycle([0.0, 0.0, 0.0, 100.0])
    events = lambda run: [recorder.Event("kernel", "k", 0.0, next(ends), lines=(0,))]  # noqa: E731
    monkeypatch.setattr(recorder, "call_events", events)
    assert [event.microseconds for event in recorder.shortest_call(lambda: None)] == [25.0]


@pytest.mark.parametrize(
    ("microseconds", "text"),
    [(0.04, "0.0 µs"), (8.04, "8.0 µs"), (146.2, "146 µs"), (18_938, "18.9 ms"), (2_500_000, "2.50 s")],
)  # fmt: skip
def test_a_time_is_written_in_the_unit_that_fits_it(microseconds, text):
    assert recorder.time_text(microseconds) == text


def test_the_time_of_a_loop_has_that_of_its_iterations():
    def loop(x):
        return jax.lax.fori_loop(0, 3, lambda i, c: jax.lax.sort((c * 2, c), num_keys=2)[0], x) + 1

    compiled = jax.jit(loop).lower(x).compile()
    assert list(jax.profiler.step_times(lambda: compiled(x))) == [(0,), (1,)]


def test_one_trace_at_a_time(tmp_path):
    with pytest.raises(RuntimeError, match="No profile started"):
        jax.profiler.stop_trace()
    with jax.profiler.trace(tmp_path):
        with pytest.raises(RuntimeError, match="Profile has already been started"):
            jax.profiler.start_trace(tmp_path)
        with pytest.raises(RuntimeError, match="a trace is recorded"):
            jax.profiler.step_times(lambda: step(x))
