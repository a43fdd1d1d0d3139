"""The search for a schedule, with a timer that is not one."""

import numpy as np
import pytest

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.compile.schedules.parallelize import Parallelize
from tinyjax.compile.schedules.vectorize import Vectorize
from tinyjax.studio.tune import moves, seconds_of, tune

X, ROW = np.ones((12, 50), np.float32), np.ones(50, np.float32)


@jax.jit
def scaled(x, row):
    return x * row + 1


def short_text(lowered, *args):
    """Takes as long as the kernel's work-items have lines."""
    (kernel,) = lowered.compiler_ir("kernel")
    return len(str(kernel)) / kernel.items


def test_the_search_finds_what_the_timer_likes_and_prints_what_it_tried(capsys):
    ((name, schedule),) = tune(scaled, X, ROW, timer=short_text, beam=2).items()
    assert any(isinstance(directive, Parallelize) for directive in schedule)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"{name}:" and "us  the compiler's: " in lines[1]
    assert any("us  the naive nest" in line for line in lines)
    assert any(", ".join(map(str, schedule)) in line for line in lines)


def test_what_was_found_can_be_kept():
    ((name, schedule),) = tune(scaled, X, ROW, timer=short_text, beam=2).items()
    own = scaled.lower(X, ROW).with_schedule(name, schedule)
    np.testing.assert_array_equal(own.compile()(X, ROW), scaled(X, ROW))


def test_where_nothing_is_faster_the_compiler_keeps_its_schedule():
    assert tune(scaled, X, ROW, timer=lambda lowered, *args: 1.0, beam=1) == {}


def test_no_time_is_enough_for_one_try(capsys):
    assert tune(scaled, X, ROW, timer=short_text, seconds=0) == {}
    assert len(capsys.readouterr().out.splitlines()) == 3


def test_vectors_are_tried_on_inner_loops_first():
    (nest,) = scaled.lower(X, ROW).compiler_ir("loop nests")
    assert next(iter(moves(nest))) == [Vectorize("i2", 16)]


def test_a_function_that_is_not_jitted_is_refused():
    with pytest.raises(TypeError, match=r"jitted function: call tune\(jax.jit\(f\)"):
        tune(lambda x: x + 1, X)


def test_a_program_without_kernels_says_so(capsys):
    assert tune(jax.jit(lambda x: x), X) == {}
    assert capsys.readouterr().out.startswith("no kernel has a schedule")


def test_a_call_can_be_measured():
    assert 0 < seconds_of(jax.jit(jnp.sum).lower(X), X) < 10


def test_its_older_name_is_imported_too():
    from tinyjax.compile import tune as older

    assert older.tune is tune
