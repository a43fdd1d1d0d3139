"""What is logged of tracing and compiling, and why a function is traced again."""

import logging

import numpy as np
import pytest

import tinyjax as jax
import tinyjax.numpy as jnp


@pytest.fixture
def logged(caplog):
    """What has been logged since it was last asked for."""
    caplog.set_level(logging.DEBUG, logger="jax")

    def messages(level=logging.WARNING):
        found = [r.getMessage() for r in caplog.records if r.levelno >= level]
        caplog.clear()
        return found

    return messages


# ---- jax.log_compiles ----

STAGES = [
    "Finished tracing <lambda> for jit",
    "Compiling jit(<lambda>) for arguments (float32[3])",
    "Finished lowering jit(<lambda>) to OpenCL C",
    "Finished building jit(<lambda>)",
]


def _stages(messages):
    return [message.split(" in ")[0] for message in messages]


def test_each_stage_is_logged_once(logged):
    f = jax.jit(lambda x: x + 1)
    with jax.log_compiles():
        f(jnp.ones(3))
        f(jnp.zeros(3))
    assert _stages(logged()) == STAGES


def test_ahead_of_time_each_stage_is_logged_too(logged):
    with jax.log_compiles():
        lowered = jax.jit(lambda x: x + 1).lower(jnp.ones(3))
        assert _stages(logged()) == STAGES[:3]
        lowered.compile()
    assert _stages(logged()) == STAGES[3:]


def test_without_it_the_same_is_there_for_who_debugs(logged):
    jax.jit(lambda x: x + 1)(1.0)
    assert "Finished tracing" in logged(logging.DEBUG)[0]
    jax.jit(lambda x: x + 1)(1.0)
    assert logged() == []


def test_loggers_have_the_names_of_jax(caplog):
    with jax.log_compiles():
        jax.jit(lambda x: x - 1)(1.0)
    assert {r.name for r in caplog.records} == {
        "jax._src.dispatch",
        "jax._src.interpreters.pxla",
    }


# ---- jax.explain_cache_misses ----


@pytest.fixture
def reasons(logged):
    """A function that calls `f` and gives the reasons for tracing it again, line by line."""

    def call(f, *args, **kwargs):
        with jax.explain_cache_misses():
            f(*args, **kwargs)
        return [line.strip() for message in logged() for line in message.split("\n")[1:]]

    return call


def test_the_first_trace_names_function_and_caller(logged):
    def scaled(x):
        return 2 * x

    with jax.explain_cache_misses():
        jax.jit(scaled)(1.0)
    assert logged()[0].startswith(f"traced for the first time: scaled, called at {__file__}:")


def test_a_call_that_is_known_logs_nothing(logged):
    f = jax.jit(lambda x: x)
    f(1.0)
    with jax.explain_cache_misses():
        f(2.0)
    assert logged() == []


def test_shapes_and_dtypes(reasons):
    f = jax.jit(lambda x, w: x + w["b"])
    reasons(f, jnp.ones(3), {"b": 1.0})
    assert reasons(f, jnp.ones(4), {"b": 1.0}) == ["argument x: float32[4] now, float32[3] before"]
    assert reasons(f, jnp.ones(4), {"b": jnp.ones(4, int)}) == [
        "argument w['b']: int32[4] now, float32[] before"
    ]
    (many,) = reasons(f, jnp.ones(5), {"b": 1.0})
    assert many.endswith("(3 shapes so far: padding to a common one saves traces)")


def test_weak_types(reasons):
    f = jax.jit(lambda x: x + 1)
    reasons(f, 1.0)
    (line,) = reasons(f, np.float32(1))
    assert line.startswith("argument x: float32[] is weakly typed before, as of a Python number")


def test_static_values(reasons):
    class Options:
        pass

    f = jax.jit(lambda x, n, options: x * n, static_argnums=(1, 2))
    options = Options()
    reasons(f, 1.0, 2, options)
    assert reasons(f, 1.0, 3, options) == ["static argument n: 3 now, 2 before"]
    (line,) = reasons(f, 1.0, 3, Options())
    assert line.endswith("(Options has no __eq__, so that no two of its objects are equal)")


def test_containers(reasons):
    f = jax.jit(lambda flag, x: x, static_argnums=0)
    reasons(f, True, {"a": 1.0})
    assert reasons(f, True, {"a": (1.0, 2.0)}) == [
        "containers in argument x: {'a': (*, *)} now, {'a': *} before"
    ]


def test_by_name_or_by_position(reasons):
    f = jax.jit(lambda x, y: x + y)
    reasons(f, 1.0, 2.0)
    by_position, by_name = reasons(f, 1.0, y=2.0)
    assert by_position.startswith("arguments by position: 1 now, 2 before")
    assert by_name == "argument y: by name now only"


def test_config(reasons):
    f = jax.jit(lambda: jnp.zeros(3))
    reasons(f)
    with jax.enable_x64(True):
        assert reasons(f) == ["config jax_enable_x64: True now, False before"]


def test_the_most_similar_call_is_compared_with(reasons):
    f = jax.jit(lambda x, y: x + y)
    reasons(f, jnp.ones(3), jnp.ones(3))
    reasons(f, 1, 2)
    assert reasons(f, jnp.ones((4, 3)), jnp.ones(3)) == [
        "argument x: float32[4,3] now, float32[3] before"
    ]


def test_a_new_function_in_each_round(reasons):
    def call_a_lambda():
        return reasons(jax.jit(lambda x: x + 1), 1.0)

    assert call_a_lambda() == []
    assert call_a_lambda()[0].startswith("another function object from the same line")


def test_after_its_cache_is_cleared_a_function_is_no_new_one(reasons):
    f = jax.jit(lambda x: x + 1)
    assert reasons(f, 1.0) == []
    f.clear_cache()
    assert reasons(f, 1.0) == []


def test_arguments_of_functions_that_take_any(reasons):
    f = jax.jit(lambda *xs, **named: sum(xs) + named["z"])
    reasons(f, 1.0, 2.0, z=3.0)
    assert reasons(f, 1.0, jnp.ones(2), z=jnp.ones(2)) == [
        "argument xs[1]: float32[2] now, float32[] before",
        "argument z: float32[2] now, float32[] before",
    ]


# ---- jax.check_tracer_leaks ----


def test_a_tracer_that_is_kept_is_found_where_the_trace_ends():
    kept = []
    with jax.checking_leaks(), pytest.raises(jax.errors.UnexpectedTracerError, match="made at"):
        jax.jit(lambda x: kept.append(x + 1) or x)(1.0)


def test_a_tracer_of_vmap_that_is_kept_is_found_too():
    kept = []
    with jax.checking_leaks(), pytest.raises(jax.errors.UnexpectedTracerError, match="VmapTracer"):
        jax.vmap(lambda x: kept.append(x) or x)(jnp.ones(3))
    with jax.checking_leaks():
        assert jax.vmap(jax.grad(lambda x: jnp.sin(x) * x))(jnp.ones(3)).shape == (3,)


@pytest.mark.slow
def test_functions_that_keep_nothing_pass():
    with jax.checking_leaks():
        f = jax.grad(lambda x: jax.lax.scan(lambda c, _: (jnp.sin(c), c), x, None, 3)[1].sum())
        assert jax.jit(f)(1.0) == f(1.0)
