"""optax from PyPI, unmodified, on tinyjax: each function that it exports gives what it gives on JAX."""

import importlib.util
import json
import re
from pathlib import Path

import pytest
from golden_cases import codec, with_optax

RECORDED = json.loads((Path(__file__).parent / "golden" / "optax.json").read_text())
CALLS = [(group, call) for group, calls in RECORDED.items() for call in calls]
ULPS = 168  # 1e-5 and less of the largest number of an array
# L-BFGS has found the minimum by then: its steps are differences of gradients that are all but zero, and
# how far it gets is decided by their rounding, which is the processor's.
ULPS_OF_LBFGS = 1680

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        importlib.util.find_spec("optax") is None,
        reason="optax is not installed: pip install optax",
    ),
]


@pytest.fixture(scope="module")
def found():
    """All answers, from one process in which `import jax` gives tinyjax."""
    return with_optax.answers("tinyjax")


@pytest.mark.parametrize("group, call", CALLS, ids=[call for _, call in CALLS])
def test_optax_gives_what_it_gives_on_jax(found, group, call):
    got, want = found[group][call], RECORDED[group][call]
    assert "error" not in got, got
    ulps = ULPS_OF_LBFGS if "lbfgs" in call else ULPS
    difference = codec.difference(got, want, ulps, scaled=True)
    assert difference is None, f"{difference}\n JAX gave {want}\n     got {got}"


def test_every_call_is_recorded():
    assert {group: list(calls) for group, calls in RECORDED.items()} == with_optax.groups()


def test_every_function_that_optax_exports_is_called(found):
    calls = " ".join(call for _, call in CALLS)
    assert [name for name in found["functions"] if not re.search(rf"\b{name}\b", calls)] == []
