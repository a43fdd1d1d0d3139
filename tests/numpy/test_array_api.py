"""The array API standard 2024.12: all its functions are there, with its parameters.

Source: https://data-apis.org/array-api/2024.12/API_specification
"""

import inspect
from pathlib import Path

import numpy as np
import pytest

import tinyjax as jax
import tinyjax.numpy as jnp

STANDARD = (Path(__file__).parent.parent / "golden" / "array_api.txt").read_text().splitlines()
FUNCTIONS = [line.rstrip(")").split("(", 1) for line in STANDARD if "(" in line]
CONSTANTS = [line for line in STANDARD if "(" not in line]
INFO = jnp.__array_namespace_info__()


def found(name):
    """What jax.numpy, or its linalg or fft, has by this name."""
    value = jnp
    for part in name.split("."):
        value = getattr(value, part)
    return value


@pytest.mark.parametrize("name, parameters", FUNCTIONS, ids=[name for name, _ in FUNCTIONS])
def test_a_function_takes_what_the_standard_says(name, parameters):
    standard = inspect.signature(eval(f"lambda {parameters}: None")).parameters.values()
    positional = [p.name for p in standard if p.kind not in (p.KEYWORD_ONLY, p.VAR_KEYWORD)]
    by_name = [p.name for p in standard if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD)]
    signature = inspect.signature(found(name))
    signature.bind(*positional)
    signature.bind(
        *positional[: len(positional) - len(set(positional) & set(by_name))],
        **dict.fromkeys(by_name),
    )


@pytest.mark.parametrize("name", CONSTANTS)
def test_a_constant_or_dtype_is_there(name):
    found(name)


@pytest.mark.parametrize(
    "owner, name, by_name",
    [
        (jnp.ones(3), "__array_namespace__", ["api_version"]),
        (jnp.ones(3), "__dlpack__", ["stream", "max_version", "dl_device", "copy"]),
        (jnp.ones(3), "__dlpack_device__", []),
        (jnp.ones(3), "to_device", ["stream"]),
        (INFO, "capabilities", []),
        (INFO, "default_device", []),
        (INFO, "default_dtypes", ["device"]),
        (INFO, "devices", []),
        (INFO, "dtypes", ["device", "kind"]),
    ],
)
def test_a_method_takes_what_the_standard_says(owner, name, by_name):
    positional = ["device"] if name == "to_device" else []
    inspect.signature(getattr(owner, name)).bind(*positional, **dict.fromkeys(by_name))


@pytest.mark.parametrize("name", ["dtype", "device", "mT", "ndim", "shape", "size", "T"])
def test_an_array_has_the_attribute(name):
    getattr(jnp.ones((2, 2)), name)


def test_an_array_names_its_namespace():
    assert jnp.ones(3).__array_namespace__(api_version="2024.12").__name__ == jnp.__name__
    with pytest.raises(ValueError, match="2030.1"):
        jnp.ones(3).__array_namespace__(api_version="2030.1")


def test_default_dtypes_have_64_bits_only_if_enabled():
    assert INFO.default_dtypes()["real floating"] == np.float32
    with jax.enable_x64(True):
        assert INFO.default_dtypes(device=None)["indexing"] == np.int64


def test_dtypes_are_listed_by_kind():
    assert list(INFO.dtypes(kind="signed integer")) == ["int8", "int16", "int32"]
    assert list(INFO.dtypes(kind=("bool", "real floating"))) == ["bool", "float32"]
    with pytest.raises(ValueError, match="kind"):
        INFO.dtypes(kind="nope")


def test_devices_are_those_of_jax_and_none_the_default():
    assert INFO.devices() == [None, *jax.devices()]
    assert INFO.default_device() is None


def test_shapes_never_depend_on_values():
    assert not INFO.capabilities()["data-dependent shapes"]


def test_to_device_takes_a_device_and_no_stream():
    (device, *_) = jax.devices()
    assert jnp.ones(3).to_device(device).devices() == {device}
    with pytest.raises(NotImplementedError, match="stream"):
        jnp.ones(3).to_device(device, stream=1)
    with pytest.raises(ValueError, match="device"):
        jnp.ones(3).to_device("x")


def test_from_dlpack_puts_a_copy_on_the_device():
    (device, *_) = jax.devices()
    host = np.arange(3, dtype=np.float32)
    x = jnp.from_dlpack(host, device=device, copy=True)
    host[0] = 7
    assert x.tolist() == [0, 1, 2]
    assert x.devices() == {device}


def test_from_dlpack_without_a_copy_is_refused():
    with pytest.raises(ValueError, match="copy"):
        jnp.from_dlpack(np.arange(3.0), copy=False)


def test_from_dlpack_says_what_an_argument_lacks():
    with pytest.raises(TypeError, match="__dlpack__"):
        jnp.from_dlpack(3)
