"""The switches: who sets them, for how long, and who sees it."""

import subprocess
import sys
import threading

import pytest

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.core.config import config


def test_a_block_wins_over_the_global_value_and_ends():
    assert not config.jax_enable_x64
    with config.set("jax_enable_x64", True):
        assert config.jax_enable_x64
        with config.set("jax_enable_x64", False):
            assert not config.jax_enable_x64
        assert config.jax_enable_x64
    assert not config.jax_enable_x64


def test_a_block_ends_when_it_raises():
    with pytest.raises(KeyError), config.set("jax_debug_nans", True):
        raise KeyError
    assert not config.jax_debug_nans


def test_a_block_is_for_its_own_thread():
    seen = []
    with config.set("jax_enable_x64", True):
        thread = threading.Thread(target=lambda: seen.append(config.jax_enable_x64))
        thread.start()
        thread.join()
    assert seen == [False]


def test_update_is_seen_by_all_threads_also_running_ones():
    seen, updated = [], threading.Event()

    def read_before_and_after():
        seen.append(config.read("jax_disable_jit"))
        started.set()
        updated.wait()
        seen.append(config.read("jax_disable_jit"))

    started = threading.Event()
    thread = threading.Thread(target=read_before_and_after)
    thread.start()
    started.wait()
    try:
        config.update("jax_disable_jit", True)
        updated.set()
        thread.join()
    finally:
        config.update("jax_disable_jit", False)
    assert seen == [False, True]


def test_every_change_changes_the_key_that_traces_are_cached_by():
    before = config.key
    with config.set("jax_enable_x64", True):
        assert config.key != before
    assert config.key == before


def test_unknown_names_and_values_are_refused():
    with pytest.raises(AttributeError, match="Unrecognized config option: jax_enable_x65"):
        config.update("jax_enable_x65", True)
    with pytest.raises(ValueError, match="one of"):
        config.update("jax_numpy_dtype_promotion", "strictly")
    with pytest.raises(AttributeError, match="no flag"):
        config.jax_enable_x65  # noqa: B018


def test_only_what_a_trace_depends_on_is_in_the_key():
    before = config.key
    with config.set("jax_log_compiles", True), config.set("jax_platform_name", "cpu"):
        assert config.key == before


def test_a_block_of_another_thread_can_be_copied():
    with config.set("jax_enable_x64", True):
        values = dict(vars(config))
    with config.as_in(values):
        assert config.jax_enable_x64
    assert not config.jax_enable_x64


def test_values_and_read_name_all_flags():
    assert config.values["jax_persistent_cache_min_compile_time_secs"] == 1.0
    assert config.read("jax_compilation_cache_dir") is None
    with pytest.raises(AttributeError, match="Unrecognized config option: update"):
        config.read("update")


def test_a_wrong_name_is_told_the_like_ones():
    with pytest.raises(AttributeError, match="did you mean jax_debug_nans"):
        config.update("jax_debug_nan", True)


def test_flags_are_not_assigned_to():
    with pytest.raises(AttributeError, match="set by jax.config.update"):
        config.jax_enable_x64 = True
    assert not config.jax_enable_x64


def test_no_tracing_forbids_what_is_not_compiled_yet():
    f = jax.jit(lambda x: x + 1)
    f(1.0)
    with jax.no_tracing():
        assert f(2.0) == 3.0
        with pytest.raises(RuntimeError, match="re-tracing function <lambda>"):
            f(jnp.ones(3))


def test_numbers_are_numbers():
    with pytest.raises(ValueError, match="is a number, got 'soon'"):
        config.update("jax_persistent_cache_min_compile_time_secs", "soon")


def test_flags_of_the_command_line(monkeypatch):
    arguments = ["prog", "data", "--jax_debug_infs=1", "--other=3", "--", "--jax_nothing=1"]
    monkeypatch.setattr(sys, "argv", arguments)
    try:
        config.parse_flags_with_absl()
        assert config.jax_debug_infs
    finally:
        config.update("jax_debug_infs", False)


def test_a_platform_by_its_name():
    assert jax.default_backend() in ("cpu", "gpu")
    with config.set("jax_platform_name", "cpu"):
        assert jax.default_backend() == "cpu"
    with config.set("jax_platform_name", "tpu"), pytest.raises(RuntimeError, match="tpu"):
        jax.default_backend()


def _with_environment(value: str) -> subprocess.CompletedProcess:
    code = "from tinyjax.core.config import config; print(config.jax_enable_x64)"
    environment = {"JAX_ENABLE_X64": value, "PYTHONPATH": ":".join(filter(None, sys.path))}
    return subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True
    )


def test_environment_variables_give_the_first_values():
    assert _with_environment("1").stdout.strip() == "True"
    assert _with_environment("0").stdout.strip() == "False"


def test_an_environment_variable_that_is_no_flag_value_says_so():
    assert "use 0 or 1" in _with_environment("maybe").stderr


def test_settings_that_few_programs_use_are_for_a_while():
    with jax.legacy_prng_key("allow"), jax.enable_custom_prng(False), jax.auto_pcast(False):
        assert jax.config.jax_auto_pcast is False
    assert jax.config.jax_auto_pcast is True
    with (
        pytest.warns(UserWarning, match="no effect"),
        jax.transfer_guard_device_to_host("disallow"),
    ):
        assert jax.config.jax_transfer_guard_device_to_host == "disallow"


def test_the_environment_is_told_as_text(capsys):
    text = jax.print_environment_info(return_string=True)
    assert text.startswith("jax:") and "device info:" in text and "numpy:" in text
    assert jax.print_environment_info() is None and capsys.readouterr().out == text + "\n"


def test_x64_enabled_is_a_shorter_name_of_the_flag():
    assert not config.x64_enabled
    with jax.enable_x64(True):
        assert config.x64_enabled
