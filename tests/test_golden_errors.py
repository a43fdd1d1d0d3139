"""Bad calls raise JAX's class of exception, with a message that names what was wrong."""

import json
from pathlib import Path

import pytest
from golden_cases import chapters, errors, inputs
from golden_cases.differences import marks

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax

GOLDEN = Path(__file__).parent / "golden"
FILES = {
    "errors": (errors.SECTIONS, errors.helpers(jax, jnp, lax))
} | {  # file -> sections, helpers
    f"{chapter}.errors": (sections, chapters.names(chapter, jax, jnp, lax))
    for chapter, sections in chapters.having("ERRORS").items()
}
RECORDED = {file: json.loads((GOLDEN / f"{file}.json").read_text()) for file in FILES}


def _case(file, section, call, named):
    case_id = f"{section}: {call}"
    return pytest.param(file, section, call, named, id=case_id, marks=marks(case_id, call))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "file, section, call, named",
    [
        _case(file, section, *case)
        for file, (sections, _) in FILES.items()
        for section, cases in sections.items()
        for case in cases
    ],
)
def test_error(file, section, call, named):
    expected_class, jax_says = RECORDED[file][section][call]
    names = inputs.names(jax, jnp, lax) | FILES[file][1]
    with pytest.raises(Exception) as raised:
        eval(call, names)
    context = f"\n{call}\n JAX: {expected_class}: {jax_says}\n got: {raised.value!r}"
    assert errors.public_class(raised.value, jax) == expected_class, context
    missing = errors.missing_from(str(raised.value), named)
    assert not missing, f"the message does not name {missing}{context}"


def test_every_bad_call_is_recorded():
    for file, (sections, _) in FILES.items():
        assert {section: list(calls) for section, calls in RECORDED[file].items()} == {
            section: [call for call, _ in cases] for section, cases in sections.items()
        }
