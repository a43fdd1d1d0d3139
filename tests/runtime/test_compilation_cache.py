"""Compiled programs that outlive the process: what is kept, what is read again, and what is not."""

import os
import stat
import subprocess
import sys

import pytest

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.core.config import config
from tinyjax.experimental.compilation_cache import compilation_cache as public
from tinyjax.runtime import compilation_cache
from tinyjax.runtime.devices import default_device

pytestmark = pytest.mark.skipif(
    default_device().cl_device is None, reason="without OpenCL there is nothing to build"
)


@pytest.fixture(autouse=True)
def folder(tmp_path):
    """A folder in which all programs are kept, however fast they were built."""
    with (
        config.set("jax_compilation_cache_dir", str(tmp_path / "cache")),
        config.set("jax_persistent_cache_min_compile_time_secs", 0.0),
    ):
        yield tmp_path / "cache"


def compiled(n=0):
    """jit(scaled), as if it had never been seen; `n` makes it another program."""
    return jax.jit(lambda x: x * 3 + n)


def the_entry(folder):
    (entry,) = folder.iterdir()
    return entry


@pytest.fixture
def read(monkeypatch):
    """What was read from the folder: a binary, or None."""
    found, original = [], compilation_cache.read_entry

    def read_entry(path):
        found.append(original(path))
        return found[-1]

    monkeypatch.setattr(compilation_cache, "read_entry", read_entry)
    return found


# ---- hits ----


def test_a_program_is_built_once_and_then_read(folder, read):
    assert compiled()(2.0) == compiled()(2.0) == 6.0
    assert read[0] is None and read[1] is not None
    assert the_entry(folder).name.startswith("jit__lambda_-")


def test_equal_text_is_one_entry_whatever_the_function(folder):
    for f in (lambda x: jnp.sin(x), lambda y: jnp.sin(y)):
        jax.jit(f)(2.0)
    assert the_entry(folder)


def test_a_loop_that_never_ends_with_zeros_is_kept(folder, read):
    f = lambda n: lax.while_loop(lambda x: x < 10**7, lambda x: x + n, 0)  # noqa: E731
    for n in (10**6, 1) * 2:  # 1 takes the device's threads, whose program is kept too
        assert jax.jit(f)(n) == 10**7
    assert len(list(folder.iterdir())) == len([entry for entry in read if entry is None])


def test_what_was_read_computes_the_same():
    def f(x):
        return jax.lax.scan(lambda c, row: (c + jnp.tanh(row), jax.nn.softmax(c)), x[0], x)

    x = jnp.arange(12.0).reshape(3, 4)
    built, read = jax.jit(f)(x), jax.jit(lambda x: f(x))(x)
    assert all(jax.tree.leaves(jax.tree.map(lambda a, b: bool((a == b).all()), built, read)))


def test_a_program_without_kernels_has_no_entry(folder):
    jax.jit(lambda x: x)(1.0)
    assert not folder.exists()


# ---- what is kept ----


def test_fast_builds_and_small_programs_can_be_left_out(folder):
    with config.set("jax_persistent_cache_min_compile_time_secs", 1e6):
        compiled()(2.0)
    with config.set("jax_persistent_cache_min_entry_size_bytes", 2**40):
        compiled()(2.0)
    assert not folder.exists()


def test_the_cache_can_be_switched_off(folder):
    with config.set("jax_enable_compilation_cache", False):
        compiled()(2.0)
    assert not folder.exists()


def test_other_drivers_and_options_are_other_entries():
    class Driver:
        name, version, driver_version = "a CPU", "OpenCL 2.0", "3.0"
        platform = type("Platform", (), {"version": "1"})

    class NewDriver(Driver):
        driver_version = "3.1"

    paths = {
        compilation_cache.entry_path("f", "text", driver, options)
        for driver in (Driver, NewDriver)
        for options in ([], ["-w"])
    }
    assert len(paths) == 4


# ---- entries and folders that are not as they should be ----


@pytest.mark.parametrize(
    "damage",
    [lambda b: b[:-10], lambda b: b[:50] + b"?" + b[51:], lambda b: b"", lambda b: b"another" + b],
    ids=["cut short", "altered", "empty", "foreign"],
)
def test_a_damaged_entry_is_not_used_and_written_anew(folder, damage):
    compiled()(2.0)
    entry = the_entry(folder)
    whole = entry.read_bytes()
    entry.write_bytes(damage(whole))
    with pytest.warns(UserWarning, match="damaged, or of another version"):
        assert compiled()(2.0) == 6.0
    assert compilation_cache.read_entry(entry) is not None


def test_a_folder_that_cannot_be_written_to_is_a_warning(tmp_path):
    (tmp_path / "file").write_text("no folder")
    with config.set("jax_compilation_cache_dir", str(tmp_path / "file" / "cache")):
        with pytest.warns(UserWarning, match="writing .* failed"):
            assert compiled()(2.0) == 6.0
        with config.set("jax_raise_persistent_cache_errors", True), pytest.raises(OSError):
            compiled()(2.0)


def test_a_write_that_fails_leaves_nothing(folder, monkeypatch):
    def fail(*args):
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.warns(UserWarning, match="disk full"):
        compiled()(2.0)
    assert list(folder.iterdir()) == []


def test_entries_are_for_their_owner_alone(folder):
    compiled()(2.0)
    assert stat.S_IMODE(the_entry(folder).stat().st_mode) == 0o600


# ---- other processes ----

PROGRAM = """
import tinyjax as jax, tinyjax.numpy as jnp
def loss(params, x):
    for w, b in params.values():
        x = jnp.tanh(x @ w + b)
    return jnp.mean(jax.nn.log_softmax(x)) + jax.lax.while_loop(lambda s: s < 9, lambda s: s + 2, x.sum())
params = {name: (jnp.ones((4, 4)), jnp.ones(4)) for name in "abc"}
step = jax.jit(lambda p, x: jax.tree.map(lambda p, g: p - g, p, jax.jacfwd(loss)(p, x)))
"""


def run(code, **environment):
    environment = os.environ | {"PYTHONPATH": ":".join(filter(None, sys.path))} | environment
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM + code], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_text_of_a_program_is_the_same_in_every_process():
    code = "print(step.lower(params, jnp.ones((2, 4))).as_text())"
    texts = {run(code, PYTHONHASHSEED=seed) for seed in ("1", "2")}
    assert len(texts) == 1


@pytest.mark.slow
def test_another_process_reads_what_one_has_kept(folder):
    flags = {
        "JAX_COMPILATION_CACHE_DIR": str(folder),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_LOG_COMPILES": "1",
    }
    code = "import sys; sys.stderr = sys.stdout; print(step(params, jnp.ones((2, 4)))['a'][1])"
    first, second = run(code, **flags), run(code, **flags)
    assert "compilation cache hit" not in first
    assert "compilation cache hit: jit__lambda_" in second
    assert first.splitlines()[-1] == second.splitlines()[-1]


def test_set_cache_dir_sets_the_flag(folder, tmp_path):
    before = config.values["jax_compilation_cache_dir"]
    try:
        public.set_cache_dir(tmp_path)
        assert config.values["jax_compilation_cache_dir"] == str(tmp_path)
    finally:
        config.update("jax_compilation_cache_dir", before)
    public.reset_cache()
