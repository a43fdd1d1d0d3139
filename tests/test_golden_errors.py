"""Bad calls raise JAX's class of exception, with a message that names what was wrong."""

import json
from pathlib import Path

import pytest
from golden_cases import errors, inputs
from golden_cases.differences import marks

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax

RECORDED = json.loads((Path(__file__).parent / "golden" / "errors.json").read_text())


def _case(section, call, named):
    case_id = f"{section}: {call}"
    return pytest.param(section, call, named, id=case_id, marks=marks(case_id, call))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "section, call, named",
    [_case(section, *case) for section, cases in errors.SECTIONS.items() for case in cases],
)
def test_error(section, call, named):
    expected_class, jax_says = RECORDED[section][call]
    names = inputs.names(jax, jnp, lax) | errors.helpers(jax, jnp, lax)
    with pytest.raises(Exception) as raised:
        eval(call, names)
    context = f"\n{call}\n JAX: {expected_class}: {jax_says}\n got: {raised.value!r}"
    assert errors.public_class(raised.value, jax) == expected_class, context
    missing = errors.missing_from(str(raised.value), named)
    assert not missing, f"the message does not name {missing}{context}"


def test_every_bad_call_is_recorded():
    assert {section: list(calls) for section, calls in RECORDED.items()} == {
        section: [call for call, _ in cases] for section, cases in errors.SECTIONS.items()
    }
