"""Names that introductions still use and JAX has removed: they work, with a warning that has today's name."""

import importlib
import subprocess
import sys

import numpy as np
import pytest
from cpu_devices import cpu_devices

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.compat import older_functions, older_spellings


def named(name):
    """The object by its name in JAX."""
    module, _, attribute = ("tiny" + name).rpartition(".")
    return getattr(importlib.import_module(module), attribute)


@pytest.mark.parametrize("old, new", older_spellings.RENAMED.items())
def test_an_older_name_is_what_it_is_called_today(old, new):
    with pytest.warns(DeprecationWarning, match=f"{old} is an older spelling.*{new}"):
        assert named(old) is named(new)


@pytest.mark.parametrize("old", older_spellings.SAID_OTHERWISE)
def test_an_older_function_is_there(old):
    with pytest.warns(DeprecationWarning, match=f"{old} is an older spelling"):
        assert named(old) is getattr(older_functions, old.rpartition(".")[2])


@pytest.mark.parametrize("old, new", older_spellings.RENAMED_MODULES.items())
def test_an_older_module_is_what_it_is_called_today(old, new):
    sys.modules.pop(f"tiny{old}", None)  # a module is imported, and warned of, once
    with pytest.warns(DeprecationWarning, match=f"{old} is an older spelling.*{new}"):
        module = importlib.import_module(f"tiny{old}")
    assert module is sys.modules[f"tiny{new}"]
    assert module.__spec__.name == f"tiny{new}"


@pytest.mark.parametrize("old", [n for n in older_spellings.GONE if n.count(".") == 1])
def test_a_name_that_is_gone_says_what_to_do(old):
    with pytest.raises(AttributeError, match=f"{old} is in neither JAX nor tinyjax any longer: "):
        named(old)


@pytest.mark.parametrize("old", [n for n in older_spellings.GONE if n.count(".") == 2])
def test_a_module_that_is_gone_says_what_to_do(old):
    with pytest.raises(ImportError, match=f"{old} is in neither JAX nor tinyjax any longer: "):
        importlib.import_module(f"tiny{old}")


def test_today_none_of_these_is_a_name_of_jax():
    from tinyjax.core.missing_names import is_jax_name

    every = older_spellings.RENAMED | older_spellings.SAID_OTHERWISE | older_spellings.GONE
    assert [n for n in every if is_jax_name(*n.rsplit(".", 1))] == []


@pytest.mark.parametrize("name", older_spellings.PRIVATE)
@pytest.mark.filterwarnings("error")
def test_of_private_names_that_libraries_use_nothing_is_said(name):
    assert named(name) is not None


@pytest.mark.parametrize("name", ["core", "dtypes", "tree_util", "util"])
@pytest.mark.filterwarnings("error")
def test_private_modules_that_libraries_import_are_there(name):
    assert importlib.import_module(f"tinyjax._src.{name}")


# ---- updates by index ----

X = jnp.arange(4.0)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_updates_by_index_are_those_of_at():
    ops = importlib.import_module("tinyjax.ops")
    index = ops.index
    assert ops.index_update(X, index[1:3], 7).tolist() == [0, 7, 7, 3]
    assert ops.index_add(X, index[0], 5.0).tolist() == [5, 1, 2, 3]
    assert ops.index_mul(X, index[::2], 2).tolist() == [0, 1, 4, 3]
    assert ops.index_min(X, index[...], 1.5).tolist() == [0, 1, 1.5, 1.5]
    assert ops.index_max(X, np.array([1, 3]), 2.0, True, True).tolist() == [0, 2, 2, 3]
    assert ops.index_update(np.zeros(2), 1, 3).tolist() == [0, 3]


# ---- several devices ----


@pytest.fixture
def two():
    return cpu_devices(2)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_shards_go_to_a_device_each(two):
    tree = jax.device_put_sharded([{"a": X[:2]}, {"a": X[2:]}], two)
    assert tree["a"].tolist() == [[0, 1], [2, 3]]
    assert [shard.device for shard in tree["a"].addressable_shards] == two


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_what_is_replicated_is_on_all_devices(two):
    tree = jax.device_put_replicated((X, 1.0), two)
    assert tree[0].shape == (2, 4) and tree[1].tolist() == [1, 1]
    assert jax.pmap(lambda x: x * 2, devices=two)(tree[1]).tolist() == [2, 2]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_there_are_as_many_shards_as_devices(two):
    with pytest.raises(ValueError, match="3 shards for 2 devices"):
        jax.device_put_sharded([X, X, X], two)


# ---- others ----


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_small_ones():
    assert jax.lax.tie_in(X, 3) == 3
    assert jax.curry(pow)(2)(5) == 32 and jax.partial(pow, 2)(3) == 8
    with importlib.import_module("tinyjax.experimental").disable_x64():
        assert jnp.ones(1).dtype == jnp.float32


@pytest.mark.parametrize("old, new", [("host_count", 1), ("host_id", 0), ("host_ids", [0])])
def test_hosts_are_processes(old, new):
    with pytest.warns(UserWarning, match=f"jax.{old} has been renamed to jax.process_"):
        assert getattr(jax, old)() == new


def test_there_is_no_tpu_to_set_up():
    from tinyjax.tools import colab_tpu

    with pytest.warns(UserWarning, match="does nothing.*cpu:0"):
        colab_tpu.setup_tpu()


def test_a_backend_says_its_platform():
    from tinyjax.extend import backend

    assert backend.get_backend().platform == jax.default_backend()
    assert list(backend.backends())[0] == jax.default_backend()
    assert backend.get_default_device() == jax.devices()[0]
    with pytest.raises(RuntimeError, match="Unknown backend"):
        backend.get_backend("nope")


# ---- a whole program ----

PROGRAM = """
from jax.config import config
config.update("jax_enable_x64", True)
import jax
import jax.numpy as jnp
from jax import grad, tree_map
from jax.experimental import optimizers, stax
from jax.lib import xla_bridge
from jax.ops import index, index_update
print(config.jax_enable_x64, jax.config.jax_enable_x64)
print(tree_map(lambda x: x + 1, {"a": 1.0}), isinstance(jnp.ones(2), jax.interpreters.xla.DeviceArray))
print(index_update(jnp.zeros(3), index[1:], 2.0), xla_bridge.get_backend().platform)
init, apply = stax.serial(stax.Dense(2), stax.Relu)
print(init(jax.random.PRNGKey(0), (-1, 3))[0])
opt_init, opt_update, get_params = optimizers.sgd(0.5)
print(get_params(opt_update(0, [2.0], opt_init([jnp.float32(1)]))))
"""


def test_a_program_of_2020_runs(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    command = [sys.executable, "-W", "always", "-m", "tinyjax", "run", path]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.stdout.splitlines() == [
        "True True",
        "{'a': 2.0} True",
        "[0. 2. 2.] cpu",
        "(-1, 2)",
        "[Array(0., dtype=float32)]",
    ], done.stderr
    warned = [line for line in done.stderr.splitlines() if "is an older spelling" in line]
    assert len(warned) >= 5 and all(line.startswith(str(path)) for line in warned)
