"""What JAX gives, with eight CPU devices: meshes, arrays on them, and programs on such arrays."""

import json
from pathlib import Path

import pytest
from golden_cases.many_devices import answers_with_many_devices

GOLDEN = Path(__file__).parents[1] / "golden"
RECORDED = {
    name: json.loads((GOLDEN / f"{name}.json").read_text())
    for name in ("meshes", "sharded_programs")
}
CALLS = [(name, call) for name, calls in RECORDED.items() for call in calls]


@pytest.fixture(scope="module")
def answers():
    return {name: answers_with_many_devices(name, "tinyjax") for name in RECORDED}


@pytest.mark.parametrize("name, call", CALLS)
def test_it_is_what_jax_gives(answers, name, call):
    assert answers[name][call] == RECORDED[name][call]
