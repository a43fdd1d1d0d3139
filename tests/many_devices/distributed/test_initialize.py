"""What jax.distributed.initialize says of arguments that are wrong."""

import pytest

from tinyjax.many_devices.distributed.initialize import LAUNCHERS, initialize
from tinyjax.runtime import devices

PLACE = {"coordinator_address": "localhost:10000", "num_processes": 2, "process_id": 0}
ADDRESSES = ["localhost", ":1", "localhost:x", "localhost:65536", 10000]


@pytest.fixture(autouse=True)
def before_all_else(monkeypatch):
    monkeypatch.setattr(devices, "are_known", lambda: False)
    for name in (*LAUNCHERS, "JAX_COORDINATOR_ADDRESS"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("name", PLACE)
def test_a_missing_argument_is_named(name):
    with pytest.raises(ValueError, match=f"{name} should be defined"):
        initialize(**PLACE | {name: None})


@pytest.mark.parametrize("name", ["coordinator_address", "coordinator_bind_address"])
@pytest.mark.parametrize("address", ADDRESSES)
def test_an_address_is_a_host_and_a_port(name, address):
    with pytest.raises(ValueError, match=f"{name} must be 'host:port'"):
        initialize(**PLACE | {name: address})


@pytest.mark.parametrize("name", ["num_processes", "process_id"])
@pytest.mark.parametrize("value", ["2", 0.5])
def test_numbers_are_integers(name, value):
    with pytest.raises(TypeError, match=f"{name} must be an integer, got {value!r}"):
        initialize(**PLACE | {name: value})


def test_numbers_are_in_their_range():
    with pytest.raises(ValueError, match="num_processes must be at least 1, got 0"):
        initialize(**PLACE | {"num_processes": 0})
    for process in (-1, 2):
        with pytest.raises(ValueError, match=f"one of 0 .. 1, as num_processes=2, got {process}"):
            initialize(**PLACE | {"process_id": process})
