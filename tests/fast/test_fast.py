"""The switch: with it off, nothing of tinyjax/fast runs, and the plain way does."""

import importlib
import subprocess
import sys

import pytest

import tinyjax as jax
from tinyjax import fast
from tinyjax.runtime.executable import Executable
from tinyjax.studio import viz
from tinyjax.transform.jit.api import PjitFunction


@pytest.mark.parametrize("function", fast.SHORTCUTS)
def test_each_file_has_the_shortcut_of_the_function_that_the_table_says(function):
    importlib.import_module(fast.SHORTCUTS[function])
    path = function.split(".")
    parts = next(n for n, word in enumerate(path) if word != word.lower() or n == len(path) - 1)
    found = importlib.import_module(".".join(path[:parts]))
    for name in path[parts:]:
        found = getattr(found, name)
    assert found.shortcut.__module__ == fast.SHORTCUTS[function]


PROGRAM = """
import os, sys
import tinyjax as jax
import tinyjax.numpy as jnp

folder = os.path.join(os.path.dirname(jax.__file__), "fast") + os.sep
seen = set()

def look(frame, event, argument):
    if frame.f_code.co_filename.startswith(folder):
        seen.add(os.path.basename(frame.f_code.co_filename))

f = jax.jit(lambda x: jnp.sort(jnp.tanh(jnp.tanh(x @ x) @ x)))
sys.setprofile(look)
for _ in range(3):
    f(jnp.ones((4, 4)))
jnp.zeros(10).at[jnp.zeros(99_000, int)].add(1.0)
sys.setprofile(None)
print(*sorted(seen))
"""


@pytest.mark.parametrize("value", ["0", "1"])
def test_off_nothing_of_the_folder_runs(value, monkeypatch):
    monkeypatch.setenv("TINYJAX_FAST", value)
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert ("call_cache.py" in done.stdout) == (value == "1")
    assert (done.stdout == "\n") == (value == "0")


@pytest.fixture
def plain_calls(monkeypatch):
    """A list that has an entry for each call that took the plain way."""
    calls = []
    cache_key = PjitFunction.trace_cached
    counted = lambda self, *args: (calls.append(self), cache_key(self, *args))[1]  # noqa: E731
    monkeypatch.setattr(PjitFunction, "trace_cached", counted)
    return calls


def test_within_a_block_calls_take_the_plain_way(plain_calls):
    f = jax.jit(lambda x: x + 1)
    for _ in range(3):
        f(1.0)
    assert len(plain_calls) == 1
    with jax.config.set("tinyjax_fast", False):
        assert f(1.0) == 2
    assert len(plain_calls) == 2


def test_a_thread_that_a_debugger_traces_takes_the_plain_way(plain_calls):
    f = jax.jit(lambda x: x + 2)
    f(1.0), f(1.0)
    before = sys.gettrace()
    sys.settrace(lambda *args: None)
    try:
        f(1.0)
    finally:
        sys.settrace(before)
    assert len(plain_calls) == 2


@pytest.mark.skipif(not hasattr(sys, "monitoring"), reason="needs Python 3.12")
def test_a_debugger_that_monitors_is_one_too(plain_calls):
    f = jax.jit(lambda x: x + 3)
    f(1.0), f(1.0)
    sys.monitoring.use_tool_id(sys.monitoring.DEBUGGER_ID, "test")
    try:
        f(1.0)
    finally:
        sys.monitoring.free_tool_id(sys.monitoring.DEBUGGER_ID)
    assert len(plain_calls) == 2


def test_recordings_and_explanations_run_the_plain_way(plain_calls):
    f = jax.jit(lambda x: x * 3)
    f(1.0), f(1.0)
    with viz.record():
        f(1.0)
    assert len(plain_calls) == 2


def test_a_program_is_compiled_plainly_where_it_was_compiled_with_shortcuts():
    f = jax.jit(lambda x: jax.numpy.tanh(jax.numpy.tanh(x @ x) @ x))
    x = jax.numpy.ones((4, 4))
    f(x)
    with jax.config.set("tinyjax_fast", False):
        f(x)
        assert "in one launch" not in f.lower(x).as_text("schedule")
    made = f.trace(x).jaxpr.cache.values()
    assert sum(isinstance(each, Executable) for each in made) == 2
